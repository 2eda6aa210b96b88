"""What every command prints, to a person and as JSON, and what it leaves behind."""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from tests.support import DATA

from recollect.memory import Memory

CLAUDE = "a1b2c3d4-1111-4aaa-8bbb-000000000001"


class TestIngest:
    def test_the_counts_of_a_summary_add_up(self, recollect: Any) -> None:
        report = recollect("ingest", DATA, "--json").json["report"]
        parts = ("taken", "duplicate", "bad", "blank", "waiting")
        assert report["lines"] == sum(report[part] for part in parts) > 0
        assert report["sources"] == report["changed"] > 0

    def test_a_person_is_told_what_is_safe_and_what_to_do_next(self, recollect: Any, log: Any) -> None:
        log().prompt("hello").answer({"type": "text", "text": "hi"}).write()
        answer = recollect("ingest")
        assert answer.code == 0
        assert "Safe in " in answer.out
        assert "sessions  1" in answer.out
        assert "tokens    15 in 1 response" in answer.out
        assert "2 = 2 new" in answer.out
        assert "recollect show 3f2a9c01" in answer.err

    def test_quiet_leaves_stderr_empty(self, recollect: Any, log: Any) -> None:
        log().prompt("hello").write()
        assert recollect("ingest", "--quiet").err == ""

    def test_a_second_sweep_reads_nothing(self, filled: Any) -> None:
        report = filled("ingest", DATA, "--json").json["report"]
        assert report["bytes_parsed"] == report["changed"] == 0
        assert report["unchanged"] == report["sources"]

    def test_a_dry_run_tells_the_same_and_makes_no_store(self, recollect: Any) -> None:
        dry = recollect("ingest", DATA, "--dry-run", "--json").json
        assert dry["dry_run"]
        assert recollect("status").code == 4
        wet = recollect("ingest", DATA, "--json").json
        assert dry["report"] == wet["report"]
        assert dry["store"] == wet["store"]

    @pytest.mark.on_disk("compares the file's bytes")
    def test_a_dry_run_on_a_store_changes_nothing(self, filled: Any, log: Any, tmp_path: Path) -> None:
        before = (tmp_path / "memory.h5").read_bytes()
        path = log().prompt("new").write()
        answer = filled("ingest", path, "--dry-run")
        assert "Would take" in answer.out
        assert "1 = 1 new" in answer.out
        assert (tmp_path / "memory.h5").read_bytes() == before

    def test_bad_lines_and_unknown_types_are_named(self, recollect: Any, log: Any) -> None:
        path = log().prompt("a").raw("{broken").raw("").record("moonbeam").write()
        answer = recollect("ingest", path)
        assert "1 bad" in answer.out
        assert "1 blank" in answer.out
        assert "moonbeam (1)" in answer.out
        assert f"{path}:2" in answer.out

    def test_a_source_that_cannot_be_read_is_told_with_exit_8(
        self, recollect: Any, log: Any, tmp_path: Path
    ) -> None:
        log().prompt("fine").write()
        folder = tmp_path / "home" / ".claude" / "projects" / "-home-ada-harbor"
        bad = folder / "rollout-2026-04-01T10-00-00-019d0000-aaaa-7000-8000-000000000001.jsonl.zst"
        bad.write_bytes(b"not zstd at all")
        answer = recollect("ingest", "--json")
        assert answer.code == 8
        assert answer.json["report"]["taken"] == 1
        assert list(answer.json["report"]["failed"])

    def test_the_log_that_goes_next_is_named(self, recollect: Any, log: Any) -> None:
        path = log().prompt("old").write()
        import time

        old = time.time() - 27.5 * 86_400
        os.utime(path, (old, old))
        answer = recollect("ingest")
        assert "At risk" in answer.out
        assert "goes in 2 days" in answer.out
        assert str(path) in answer.out
        path.unlink()
        assert "Only here: 1 session" in recollect("status").out


class TestStatus:
    def test_it_tells_what_is_stored_and_what_changed_since(self, recollect: Any, log: Any) -> None:
        written = log().prompt("a").raw("{broken")
        written.write()
        recollect("ingest")
        quiet = recollect("status", "--json").json
        assert quiet["retention"]["changed_sources"] == 0
        assert quiet["odd_lines"]["bad"] == 1
        assert quiet["totals"]["sessions"] == 1
        assert quiet["store"]["journal_pending"] == 0
        written.prompt("b").write()
        assert recollect("status", "--json").json["retention"]["changed_sources"] == 1
        told = recollect("status").out
        assert "1 source changed since the last ingest" in told
        assert "1 bad" in told

    def test_agents_whose_client_nobody_ran_are_named(self, recollect: Any) -> None:
        recollect("ingest", DATA / "pi")
        assert recollect("status", "--json").json["unproven"] == []
        assert "unproven" not in recollect("status").out
        recollect("ingest", DATA / "amp")
        amp = {"agent": "amp", "title": "Amp", "sessions": 1}
        assert recollect("status", "--json").json["unproven"] == [amp]
        assert "no client was run for Amp (1 session)" in recollect("status").out

    def test_without_a_store_the_next_step_is_named(self, recollect: Any) -> None:
        answer = recollect("status")
        assert answer.code == 4
        assert answer.out == ""
        assert answer.err.startswith("recollect: ")
        assert "  try: run `recollect ingest`" in answer.err


class TestSessions:
    def test_newest_first_subagents_only_when_asked(self, filled: Any) -> None:
        some, everything = (
            filled("sessions", "--json").json,
            filled("sessions", "--all", "--limit", "0", "--json").json,
        )
        assert {s["relation"] for s in some["sessions"]}.isdisjoint({"subagent"})
        hidden = sum(s["relation"] == "subagent" for s in everything["sessions"])
        assert some["subagents_hidden"] == hidden > 0
        ends = [s["ended_ms"] or 0 for s in everything["sessions"]]
        assert ends == sorted(ends, reverse=True)

    def test_filters(self, filled: Any) -> None:
        codex = filled("sessions", "--agent", "codex", "--json").json["sessions"]
        assert {s["agent"] for s in codex} == {"codex"}
        harbor = filled("sessions", "--project", "HARBOR", "--limit", "2", "--json").json
        assert len(harbor["sessions"]) == 2 < harbor["total"]
        assert filled("sessions", "--project", "nowhere", "--json").json["sessions"] == []

    def test_every_short_id_names_its_session(self, filled: Any) -> None:
        for session in filled("sessions", "--all", "--json").json["sessions"]:
            assert len(session["short"]) >= min(8, len(session["id"]))
            assert filled("tail", session["short"], "--json").json["session"]["id"] == session["id"]

    def test_the_table_is_plain_and_aligned_in_a_pipe(self, filled: Any) -> None:
        lines = filled("sessions").out.splitlines()
        assert lines[0].startswith("id  ")
        at = lines[0].index("agent")
        assert {line[at:].split()[0] for line in lines[1:]} == {
            session["agent"] for session in filled("sessions", "--json").json["sessions"]
        }


class TestShow:
    def test_a_transcript_reads_from_top_to_bottom(self, filled: Any) -> None:
        told = filled("show", "a1b2").out
        assert told.index("call Read  /home/ada/harbor/harbor/tokens.py") < told.index("result Read")
        assert "call Bash  pytest -q tests/test_tokens.py" in told
        assert "led to   subagent" in told
        assert "result Bash (error)" in told
        assert "fork of a1b2c3d4" in filled("show", "d4b2").out

    def test_json_has_every_entry_whole(self, filled: Any) -> None:
        shown = filled("show", "a1b2", "--json").json
        assert len(shown["entries"]) == shown["session"]["entries"]
        assert {"id": "agent-7c01", "relation": "subagent"} in shown["children"]

    def test_kinds_choose(self, filled: Any) -> None:
        shown = filled("show", "a1b2", "--json", "--kind", "prompt", "--kind", "answer").json["entries"]
        assert {entry["kind"] for entry in shown} == {"prompt", "answer"}

    def test_long_results_are_cut_unless_full(self, recollect: Any, log: Any) -> None:
        text = "\n".join(f"row {n}" for n in range(40))
        result = [{"type": "tool_result", "tool_use_id": "t1", "content": text}]
        call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "seq 40"}}
        log().answer(call).record("user", message={"role": "user", "content": result}).write()
        recollect("ingest")
        assert "28 more lines; --full prints them" in recollect("show", "3f2a").out
        assert "row 39" not in recollect("show", "3f2a").out
        assert "row 39" in recollect("show", "3f2a", "--full").out
        assert "35 more lines" in recollect("show", "3f2a", "--lines", "5").out

    def test_a_session_that_is_not_there_or_not_one(self, filled: Any) -> None:
        missing, several = filled("show", "ffff"), filled("show", "019d")
        assert (missing.code, several.code) == (3, 3)
        assert "give more of the id" in several.err
        failed = filled("show", "ffff", "--json")
        assert failed.json["schema"] == "recollect.error/1"
        assert failed.json["exit_code"] == failed.code == 3


class TestTail:
    def test_the_last_entries_are_those_of_show(self, filled: Any) -> None:
        everything = filled("show", "a1b2", "--json").json["entries"]
        assert filled("tail", "a1b2", "-n", "5", "--json").json["entries"] == everything[-5:]
        assert filled("tail", "a1b2", "-n", "0", "--json").json["entries"] == []
        assert filled("tail", "a1b2", "-n", "999", "--json").json["entries"] == everything

    def test_a_filter_still_gives_the_number_asked_for(self, filled: Any) -> None:
        prompts = filled("show", "a1b2", "--json", "--kind", "prompt").json["entries"]
        assert len(prompts) >= 3
        assert filled("tail", "a1b2", "-n", "3", "--json", "--kind", "prompt").json["entries"] == prompts[-3:]


class TestUsage:
    @pytest.mark.parametrize("by", ["day", "model", "project", "session", "agent"])
    def test_rows_add_up(self, filled: Any, by: str) -> None:
        report = filled("usage", "--by", by, "--json").json
        for field in ("responses", "tokens", "input", "output"):
            assert sum(row[field] for row in report["rows"]) == report["total"][field]
        told = filled("usage", "--by", by).out
        assert told.splitlines()[-1].startswith("total")

    def test_an_unknown_price_is_unknown(self, recollect: Any, log: Any) -> None:
        log().answer({"type": "text", "text": "hi"}, model="moonbeam-9").write()
        recollect("ingest")
        answer = recollect("usage", "--by", "model")
        assert "unknown" in answer.out
        assert "no price is known for moonbeam-9: 1 response" in answer.err

    def test_explain_names_the_lines(self, filled: Any) -> None:
        lines = filled("usage", "--by", "model", "--explain", "--group", "claude-opus-4-6", "--json").json[
            "lines"
        ]
        assert {line["model"] for line in lines} == {"claude-opus-4-6"}
        for line in lines:
            text = Path(line["path"]).read_text("utf-8").splitlines()[line["line_number"] - 1]
            assert "claude-opus-4-6" in text
        assert len(filled("usage", "--explain", "--limit", "3").out.splitlines()) == 4

    def test_a_group_without_explain_is_refused(self, filled: Any) -> None:
        assert filled("usage", "--group", "x").code == 2
        assert filled("usage", "--explain", "--by", "model", "--group", "nobody").code == 3


class TestExport:
    def test_raw_is_the_file_byte_for_byte(self, filled: Any, tmp_path: Path) -> None:
        target = tmp_path / "out.jsonl"
        answer = filled("export", "a1b2", "--to", "raw", "-o", target, "--json")
        source = (DATA / "claude" / f"{CLAUDE}.jsonl").read_bytes()
        assert target.read_bytes() == source
        assert answer.json["bytes"] == len(source)
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
        assert filled("export", "a1b2", "--to", "raw", "-o", "-").out.encode() == source

    def test_jsonl_has_one_object_per_entry(self, filled: Any) -> None:
        lines = [
            json.loads(line) for line in filled("export", "a1b2", "--to", "jsonl", "-o", "-").out.splitlines()
        ]
        assert {line.pop("schema") for line in lines} == {"recollect.entry/1"}
        assert lines == filled("show", "a1b2", "--json").json["entries"]

    def test_markdown_begins_with_the_title(self, filled: Any) -> None:
        page = filled("export", "a1b2", "--to", "markdown", "-o", "-").out
        assert page.startswith("# Fix token refresh in harbor\n")
        assert "## Call Bash" in page

    def test_an_existing_file_stays_unless_forced(self, filled: Any, tmp_path: Path) -> None:
        target = tmp_path / "mine.txt"
        target.write_text("mine")
        answer = filled("export", "a1b2", "--to", "raw", "-o", target)
        assert answer.code == 2
        assert "--force" in answer.err
        assert target.read_text() == "mine"
        assert filled("export", "a1b2", "--to", "raw", "-o", target, "--force").code == 0
        assert target.read_text() != "mine"

    def test_a_link_to_nowhere_counts_as_existing(self, filled: Any, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
        assert filled("export", "a1b2", "--to", "raw", "-o", tmp_path / "link").code == 2
        assert not (tmp_path / "elsewhere").exists()

    def test_targets_that_cannot_be(self, filled: Any, tmp_path: Path) -> None:
        assert filled("export", "a1b2", "--to", "raw", "-o", tmp_path).code == 2
        assert filled("export", "a1b2", "--to", "raw", "-o", tmp_path / "no" / "where").code == 2
        assert filled("export", "a1b2", "--to", "raw", "-o", "-", "--json").code == 2

    def test_a_disk_that_refuses_leaves_nothing_behind(
        self, filled: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(fd: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("recollect.export.files.os.fsync", refuse)
        folder = tmp_path / "folder"
        folder.mkdir()
        answer = filled("export", "a1b2", "--to", "raw", "-o", folder / "x")
        assert answer.code == 7
        assert list(folder.iterdir()) == []


class TestInspect:
    def test_it_counts_types(self, filled: Any, store: str) -> None:
        seen = filled("inspect", store, "--json").json
        types = {each["name"]: each for each in seen["types"]}
        assert types["user"]["known"]
        assert not types["hologram_state"]["known"]
        assert seen["counts"]["sessions"] == filled("status", "--json").json["totals"]["sessions"]
        assert "hologram_state" in filled("inspect", store).out

    @pytest.mark.on_disk("looks at files that are no stores")
    def test_what_is_no_store_is_told_apart(self, recollect: Any, tmp_path: Path) -> None:
        other = tmp_path / "other.h5"
        assert recollect("inspect", other).code == 4
        other.write_bytes(b"something else entirely" * 1000)
        assert recollect("inspect", other).code in (4, 5)
        assert other.read_bytes() == b"something else entirely" * 1000
        assert recollect("inspect", tmp_path).code == 4


class TestConvert:
    def test_files_become_a_store_of_their_own(self, recollect: Any, tmp_path: Path) -> None:
        out = tmp_path / "own.h5"
        files = sorted((DATA / "claude").glob("*.jsonl"))[:2]
        made = recollect("convert", *files, "-o", out, "--json").json
        assert [each["path"] for each in made["files"]] == [str(each) for each in files]
        assert made["sessions"] == 2
        assert not (tmp_path / "memory.h5").exists()
        assert recollect("--store", out, "sessions", "--json").json["total"] == 2

    def test_an_existing_store_is_only_added_to(self, recollect: Any, tmp_path: Path) -> None:
        out = tmp_path / "own.h5"
        one, two, *_ = sorted((DATA / "claude").glob("*.jsonl"))
        assert recollect("convert", one, "-o", out).code == 0
        before = out.read_bytes()
        assert recollect("convert", two, "-o", out).code == 2
        assert out.read_bytes() == before
        assert recollect("convert", two, "-o", out, "--append", "--json").json["sessions"] == 2

    def test_after_ctrl_c_the_hint_leads_on(
        self, recollect: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def stop(*_: object) -> None:
            raise KeyboardInterrupt

        out = tmp_path / "own.h5"
        with monkeypatch.context() as patch:
            patch.setattr("recollect.cli.progress.Progress.__call__", stop)
            answer = recollect("convert", DATA / "claude", "-o", out)
        assert answer.code == 130
        assert "again with --append" in answer.err
        assert recollect("convert", DATA / "claude", "-o", out, "--append").code == 0

    def test_what_is_no_log_is_told_with_exit_8(self, recollect: Any, tmp_path: Path) -> None:
        other = tmp_path / "shopping.txt"
        other.write_text("milk")
        answer = recollect("convert", DATA / "claude", other, "-o", tmp_path / "own.h5")
        assert answer.code == 8
        assert "shopping.txt: no agent's log" in answer.err
        assert recollect("convert", tmp_path / "none", "-o", tmp_path / "two.h5").code == 8
        assert not (tmp_path / "two.h5").exists()


class TestUpkeep:
    def test_a_sound_store_checks_clean(self, filled: Any) -> None:
        answer = filled("check", "--json")
        assert answer.code == 0
        assert answer.json["ok"]
        assert filled("check").out.startswith("ok")

    def test_damage_is_exit_1(self, filled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        class Finding:
            level, what = "error", "lines 3 to 9 fail their checksum"

        monkeypatch.setattr(Memory, "check", lambda self: [Finding()], raising=False)
        answer = filled("check")
        assert answer.code == 1
        assert "error: lines 3 to 9" in answer.out
        assert "--repair" in answer.err
        assert filled("check", "--json").json["findings"] == [{"level": "error", "what": Finding.what}]

    def test_repair_says_what_was_lost(self, filled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        class Repaired:
            kept_lines, lost_lines, lost, moved_to = 10, 2, ["lines 3 and 4 of x"], "memory.h5.bad"

        monkeypatch.setattr(Memory, "repair", lambda self: Repaired(), raising=False)
        answer = filled("check", "--repair")
        assert answer.code == 1
        assert "10 lines kept, 2 lost" in answer.out
        assert "lines 3 and 4 of x" in answer.out
        assert filled("check", "--repair", "--json").json["lost_lines"] == 2
        Repaired.lost_lines, Repaired.lost = 0, [f"place {n}" for n in range(20)]
        answer = filled("check", "--repair")
        assert answer.code == 1, "what cannot be counted is lost as well"
        assert "and 12 more" in answer.out
        Repaired.lost = []
        assert filled("check", "--repair").code == 0

    def test_reparse_changes_no_entry(self, filled: Any) -> None:
        before = filled("show", "a1b2", "--json").json
        report = filled("reparse", "--json").json
        assert report["entries_before"] == report["entries_after"]
        assert filled("show", "a1b2", "--json").json == before
        assert "read again" in filled("reparse").out

    def test_compact_keeps_every_session(self, filled: Any) -> None:
        before = filled("sessions", "--all", "--limit", "0", "--json").json
        report = filled("compact", "--json").json
        assert report["bytes_after"] <= report["bytes_before"]
        assert filled("sessions", "--all", "--limit", "0", "--json").json == before
        assert "before" in filled("compact").out

    def test_a_snapshot_is_a_store(self, filled: Any, tmp_path: Path) -> None:
        copy = tmp_path / "copy.h5"
        assert filled("snapshot", copy, "--json").json["bytes"] == copy.stat().st_size
        one, other = filled("sessions", "--json"), filled("sessions", "--json", "--store", copy)
        assert one.json == other.json
        assert filled("snapshot", copy).code == 2
        assert filled("snapshot", tmp_path / "no" / "where.h5").code == 2
        assert str(tmp_path / "two.h5") in filled("snapshot", tmp_path / "two.h5").out


@pytest.mark.on_disk("names no store at all")
@pytest.mark.parametrize("command", ["start", "mcp", "ingest", "status", "init"])
def test_a_store_that_nothing_opens_is_refused_before_anything_is_said(recollect: Any, command: str) -> None:
    answer = recollect("--store", "moon:x", command)
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith("recollect: nothing here opens stores of the kind moon:")


class TestShowing:
    def test_an_edit_is_a_diff(self, recollect: Any, log: Any) -> None:
        change = {"file_path": "/srv/quay.py", "old_string": "a\nleaks", "new_string": "a\nholds"}
        call = {"type": "tool_use", "id": "t1", "name": "Edit", "input": change}
        log().prompt("mend it").answer(call).write()
        recollect("ingest", "--quiet")
        shown = recollect("show", "3f2a").out
        assert "call Edit  /srv/quay.py\n           a\n          -leaks\n          +holds\n" in shown
        assert "... 2 more lines; --full" in recollect("show", "3f2a", "--lines", "1").out

    def test_what_has_no_text_is_left_out(self, recollect: Any, log: Any) -> None:
        book = log().prompt("mend it").record("attachment", attachment={"type": "task_reminder"})
        book.answer({"type": "text", "text": "  "}).answer({"type": "text", "text": "Mended."}).write()
        recollect("ingest", "--quiet")
        shown = recollect("show", "3f2a").out
        assert "context" not in shown
        assert shown.count("answer") == 1
        assert len(recollect("show", "3f2a", "--json").json["entries"]) == 4


class TestUsageOfSome:
    """`--last`, `--since`, `--until`, and filters by name."""

    @pytest.fixture
    def spread(self, recollect: Any, log: Any) -> Any:
        book = log()
        days = [time.strftime("%Y-%m-%d", time.gmtime(time.time() - ago * 86_400)) for ago in (0, 6, 7)]
        for number, day in enumerate(days):
            book.fields["timestamp"] = f"{day}T00:00:00.001Z"
            book.prompt("mend it").answer({"type": "text", "text": "Mended."}, output=10**number)
        book.write()
        recollect("ingest", "--quiet")

        def output(*words: str) -> int:
            total: int = recollect("usage", *words, "--json").json["total"]["output"]
            return total

        return output, days

    def test_the_last_days_end_with_today(self, spread: Any) -> None:
        output, _ = spread
        assert [output("--last", length) for length in ("1d", "7d", "8d", "2w")] == [1, 11, 111, 111]
        assert output("--last", "9999h") == 111

    def test_from_one_day_to_the_end_of_another(self, spread: Any) -> None:
        output, (_, last, older) = spread
        assert output("--since", last) == 11
        assert output("--until", last) == 110
        assert output("--since", older, "--until", older) == 100

    def test_by_name(self, spread: Any) -> None:
        output, _ = spread
        assert output("--project", "HARBOR", "--model", "Opus", "--agent", "claude") == 111
        assert output("--project", "ferry") == output("--model", "gpt") == output("--agent", "codex") == 0

    @pytest.mark.parametrize(
        "words", [["--last", "7"], ["--last", "0d"], ["--since", "soon"], ["--by", "day,day"], ["--by", "x"]]
    )
    def test_words_that_are_off(self, recollect: Any, words: list[str]) -> None:
        assert recollect("usage", *words).code == 2

    def test_last_stands_alone(self, spread: Any, recollect: Any) -> None:
        assert recollect("usage", "--last", "7d", "--since", "2026-03-01").code == 2

    def test_two_groupings_are_two_columns(self, spread: Any, recollect: Any) -> None:
        lines = recollect("usage", "--by", "agent,model").out.splitlines()
        assert lines[0].split()[:3] == ["agent", "model", "responses"]
        assert lines[1].split()[:3] == ["claude", "claude-opus-4-6", "3"]
        assert lines[-1].startswith("total ")

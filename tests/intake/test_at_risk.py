"""What the agents' own clean-up takes away is told from the files' dates alone."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from recollect.intake import at_risk
from recollect.intake.at_risk import standing
from recollect.values.records import Cursor, Role, SourceFile
from recollect.values.stored import Source

DAY = 86_400
NOW = 1_800_000_000


def source(
    path: Path,
    session: str = "s",
    *,
    agent: str = "claude",
    role: Role = Role.MAIN,
    host: str = "me",
    superseded: bool = False,
) -> Source:
    cursor = Cursor()
    if path.exists():
        now = path.stat()
        cursor = Cursor(
            size=now.st_size, mtime_ns=now.st_mtime_ns, ctime_ns=now.st_ctime_ns, inode=now.st_ino
        )
    return Source(SourceFile(agent, str(path), role), host, cursor, session, 1, 1, superseded)


def written(home: Path, name: str, days_old: float) -> Path:
    path = home / ".claude" / "projects" / "p" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    os.utime(path, (NOW - days_old * DAY,) * 2)
    return path


def look(home: Path, *sources: Source, **environ: str) -> object:
    return standing(sources, host="me", home=home, environ=environ, now_ms=NOW * 1000)


class TestStanding:
    def test_the_oldest_log_on_disk_goes_first(self, tmp_path: Path) -> None:
        young, old = written(tmp_path, "a.jsonl", 2), written(tmp_path, "b.jsonl", 24.5)
        found = look(tmp_path, source(young, "a"), source(old, "b"))
        assert found.oldest.path == str(old)
        assert found.oldest.session == "b"
        assert found.oldest.days_left == 5
        assert (found.soon, found.gone, found.changed) == (1, 0, 0)
        assert found.newest_ms == (NOW - 2 * DAY) * 1000

    def test_what_is_overdue_goes_at_the_next_start(self, tmp_path: Path) -> None:
        assert look(tmp_path, source(written(tmp_path, "a.jsonl", 90))).oldest.days_left == 0

    def test_soon_is_within_a_week_by_sessions(self, tmp_path: Path) -> None:
        ages = {"a": 24.5, "a2": 29, "b": 22.5, "c": 21.5, "d": 90}
        sources = [source(written(tmp_path, f"{name}.jsonl", age), name[0]) for name, age in ages.items()]
        assert look(tmp_path, *sources).soon == 3  # c has eight days left

    def test_of_several_agents_that_delete_the_days_are_those_of_whose_log_goes_first(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without a log in danger it is the shortest that any of them grants."""

        @dataclass
        class Deletes:
            title: str
            days: int | None

            def deletes_after_days(self, home: Path, environ: object) -> int | None:
                return self.days

            def roots(self, home: Path, environ: object) -> list[Path]:
                return [home / self.title]

        def log(folder: str, days_old: float) -> Source:
            path = tmp_path / folder / "log.jsonl"
            path.parent.mkdir()
            path.write_text("x")
            os.utime(path, (NOW - days_old * DAY,) * 2)
            return source(path, folder)

        several = [Deletes("hasty", 10), Deletes("slow", 90), Deletes("keeper", None)]
        monkeypatch.setattr(at_risk, "agents", lambda: several)
        assert look(tmp_path).cleanup_days == 10
        hasty, slow = log("hasty", 2.5), log("slow", 85.5)
        found = look(tmp_path, hasty, slow, log("keeper", 900))
        assert (found.oldest.agent, found.oldest.days_left, found.cleanup_days) == ("slow", 4, 90)
        assert look(tmp_path, hasty).cleanup_days == 10

    def test_a_log_that_may_not_be_looked_at_is_not_gone(self, tmp_path: Path) -> None:
        loop = tmp_path / "loop"
        loop.symlink_to(loop)
        assert look(tmp_path, source(loop / "a.jsonl")).gone == 0
        (tmp_path / "file").write_text("x")
        assert look(tmp_path, source(tmp_path / "file" / "a.jsonl")).gone == 1

    def test_a_subagent_counts_as_a_transcript_and_a_spilled_result_does_not(self, tmp_path: Path) -> None:
        path = written(tmp_path, "a.jsonl", 25)
        assert look(tmp_path, source(path, role=Role.SUBAGENT)).soon == 1
        assert look(tmp_path, source(path, role=Role.SIDECAR)).oldest is None

    def test_logs_elsewhere_and_of_others_are_in_no_danger(self, tmp_path: Path) -> None:
        elsewhere = tmp_path / "backup.jsonl"
        elsewhere.write_text("x")
        os.utime(elsewhere, (1, 1))
        codex = written(tmp_path, "c.jsonl", 90)
        other = source(written(tmp_path, "d.jsonl", 90), host="another")
        codex = tmp_path / ".codex" / "sessions" / "rollout.jsonl"
        codex.parent.mkdir(parents=True)
        codex.write_text("x")
        assert look(tmp_path, source(elsewhere), source(codex, agent="codex"), other).oldest is None

    def test_a_session_is_gone_when_all_its_transcripts_are(self, tmp_path: Path) -> None:
        there, gone = written(tmp_path, "a.jsonl", 1), tmp_path / "gone.jsonl"
        assert look(tmp_path, source(gone, "s"), source(there, "s")).gone == 0
        assert look(tmp_path, source(gone, "s"), source(there, "t")).gone == 1
        assert look(tmp_path, source(gone, "s", role=Role.SIDECAR)).gone == 0
        assert look(tmp_path, source(gone, "s", superseded=True), source(there, "s")).gone == 0
        assert look(tmp_path, source(gone, "s", host="another")).gone == 0

    def test_a_compressed_log_is_not_gone(self, tmp_path: Path) -> None:
        plain = tmp_path / "rollout.jsonl"
        (tmp_path / "rollout.jsonl.zst").write_text("x")
        assert look(tmp_path, source(plain, agent="codex")).gone == 0

    def test_a_change_is_seen_by_date_and_size(self, tmp_path: Path) -> None:
        path = written(tmp_path, "a.jsonl", 1)
        held = source(path)
        assert look(tmp_path, held).changed == 0
        path.write_text("xy")
        assert look(tmp_path, held).changed == 1

    def test_a_name_no_file_can_have_is_passed_over(self, tmp_path: Path) -> None:
        assert look(tmp_path, source(Path("a"), "s")).gone == 1
        bad = Source(SourceFile("claude", "a\0b"), "me", Cursor(), "s", 1, 1)
        assert look(tmp_path, bad).gone == 0

"""The command line as a whole: words, exit codes, streams, imports, documents."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support import DATA, ROOT
from tests.support.foreign_memories import foreign_database

from recollect.cli import main, parser, progress, reference
from recollect.memory import Memory
from recollect.present.short_ids import short_ids

COMMANDS = [name for name, _, _ in reference.subcommands(parser.build_parser())]
_HEAVY = "import sys; from recollect.cli import main; code = main(sys.argv[1:]); "
_HEAVY += (
    "print(sorted({'numpy', 'h5py', 'rich', 'orjson'} & set(sys.modules)), file=sys.stderr); sys.exit(code)"
)


class TestWords:
    def test_no_word_is_the_help(self, recollect: Any) -> None:
        assert recollect().code == 0
        assert "commands:" in recollect().out

    @pytest.mark.parametrize("name", COMMANDS)
    def test_every_command_has_help_with_examples(self, recollect: Any, name: str) -> None:
        answer = recollect(name, "--help")
        assert answer.code == 0
        assert 1 <= answer.out.split("examples:")[1].count(f"recollect {name}") <= 3

    def test_every_argument_is_described(self) -> None:
        for _, _, command in reference.subcommands(parser.build_parser()):
            for action in command._actions:
                assert action.help, (command.prog, action.dest)

    @pytest.mark.parametrize(
        "words",
        [
            ["shw"],
            ["show"],
            ["tail", "x", "-n", "-1"],
            ["tail", "x", "-n", "1e3"],
            ["--stor", "x", "status"],
            ["usage", "--by", "moon"],
            ["export", "x", "--to", "pdf", "-o", "y"],
            ["status", "more"],
        ],
    )
    def test_words_that_are_off_are_exit_2(self, recollect: Any, words: list[str]) -> None:
        answer = recollect(*words)
        assert answer.code == 2
        assert answer.out == ""
        assert answer.err.startswith("recollect: ")
        assert "  try: recollect" in answer.err
        assert recollect(*words, "--json").json["error"] == "UsageError"

    def test_shared_options_stand_before_or_after(self, filled: Any, tmp_path: Path) -> None:
        other = tmp_path / "other.h5"
        for words in (["--store", other, "--json", "status"], ["status", "--json", "--store", other]):
            assert filled(*words).json["exit_code"] == 4
        assert filled("--json", "status").json == filled("status", "--json").json

    def test_version(self, recollect: Any) -> None:
        assert re.fullmatch(r"recollect \d+\.\d+\.\d+\n", recollect("--version").out)

    def test_a_command_is_a_file_with_its_words_and_its_function(self) -> None:
        """Found by itself, and nothing but the file of a command that is named is read."""
        folder = Path(parser.__file__).parent
        named = {path.stem for path in folder.glob("*.py") if "def add_words(" in path.read_text()}
        assert named == set(COMMANDS)
        for name in COMMANDS:
            found = reference.subcommands(parser.build_parser(["--store", "x.h5", name]))
            assert [each for each, _, _ in found] == [name]
            assert callable(getattr(importlib.import_module(f"recollect.cli.{name}"), name))

    @pytest.mark.parametrize("word", ["parser", "screen", "words", "__init__", "Search", "no-such", "os"])
    def test_a_file_that_is_no_command_is_no_command(self, recollect: Any, word: str) -> None:
        assert recollect(word).code == 2


class TestExit:
    def test_a_bug_is_exit_70_and_its_traceback_waits(
        self, filled: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(self: object) -> None:
            raise KeyError("oh \x1b[2J no")

        monkeypatch.setattr(Memory, "info", broken)
        answer = filled("status")
        assert answer.code == 70
        assert "this is a bug: KeyError" in answer.err
        assert "RECOLLECT_DEBUG=1" in answer.err
        assert "Traceback" not in answer.err
        assert "\x1b" not in answer.err
        monkeypatch.setenv("RECOLLECT_DEBUG", "1")
        assert "Traceback" in filled("status").err
        assert filled("status", "--json").json["error"] == "Bug"

    def test_a_store_that_cannot_be_written(self, recollect: Any, log: Any, tmp_path: Path) -> None:
        log().prompt("x").write()
        (tmp_path / "file").write_text("in the way")
        answer = recollect("ingest", "--store", tmp_path / "file" / "memory.h5")
        assert answer.code in (4, 7)
        assert answer.err.startswith("recollect: ")

    def test_ctrl_c_says_what_is_safe(
        self, recollect: Any, log: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for n in range(6):
            log(f"3f2a9c0{n}-0000-4000-8000-000000000001").prompt("x").write()
        calls = iter(range(1000))
        shown = progress.Progress.__call__

        def interrupted(self: progress.Progress, path: str, done: int, total: int) -> None:
            shown(self, path, done, total)
            if next(calls) == 4:
                os.kill(os.getpid(), signal.SIGINT)

        monkeypatch.setattr(progress.Progress, "__call__", interrupted)
        answer = recollect("ingest")
        assert answer.code == 130
        assert "stopped; " in answer.err
        assert "are safe in" in answer.err
        assert "run the same command again" in answer.err
        monkeypatch.undo()

    def test_after_ctrl_c_the_same_command_finishes(
        self, recollect: Any, log: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = log().prompt("x").write()

        def stop(self: progress.Progress, *_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(progress.Progress, "__call__", stop)
            assert recollect("ingest", path, "--json").json["error"] == "Interrupted"
        assert recollect("ingest", path, "--json").json["totals"]["sessions"] == 1

    def test_the_first_ctrl_c_waits_for_a_safe_moment(self) -> None:
        shown = progress.Progress(_silent())
        with shown.running():
            shown("a", 0, 10)
            os.kill(os.getpid(), signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                shown("a", 1, 10)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_before_work_begins_and_the_second_time_ctrl_c_acts_at_once(self) -> None:
        shown = progress.Progress(_silent())
        with shown.running(), pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        with shown.running():
            shown("a", 0, 10)
            os.kill(os.getpid(), signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)

    @pytest.mark.parametrize(
        "words",
        [
            ["show", "3f2a", "--full"],
            ["show", "3f2a", "--json"],
            ["export", "3f2a", "--to", "raw", "-o", "-"],
        ],
    )
    @pytest.mark.on_disk("another process looks at the store")
    def test_a_reader_that_goes_away_is_no_error(self, recollect: Any, log: Any, words: list[str]) -> None:
        log().prompt("word " * 100_000).write()
        recollect("ingest")
        child = subprocess.Popen(
            [sys.executable, "-m", "recollect", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert child.stdout is not None
        child.stdout.close()
        assert child.stderr is not None
        with child.stderr:
            assert child.stderr.read() == b""
        assert child.wait() == 141

    def test_another_pipe_that_breaks_is_not_taken_for_it(
        self, filled: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(self: object) -> None:
            raise BrokenPipeError(32, "Broken pipe")

        monkeypatch.setattr(Memory, "info", broken)
        assert filled("status").code == 70

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    @pytest.mark.on_disk("another process looks at the store")
    def test_an_output_that_is_full_is_told(self, filled: Any) -> None:
        with open("/dev/full", "wb") as full:
            words = [sys.executable, "-m", "recollect", "sessions"]
            done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, check=False)
        assert done.returncode == 7
        assert done.stderr.startswith(b"recollect: could not write")


class TestCost:
    @pytest.mark.parametrize("words", [["--help"], ["show", "--help"], ["nonsense"], ["tail"], ["--version"]])
    @pytest.mark.on_disk("no store is opened")
    def test_help_and_mistakes_import_nothing_heavy(self, words: list[str]) -> None:
        done = subprocess.run(
            [sys.executable, "-c", _HEAVY, *words], capture_output=True, text=True, check=False
        )
        assert done.stderr.splitlines()[-1] == "[]"

    @pytest.mark.parametrize(
        "words", [["tail", "a1b2"], ["tail", "a1b2", "--json"], ["sessions"], ["status"]]
    )
    @pytest.mark.on_disk("another process looks at the store")
    def test_rich_stays_out_of_pipes_and_json(self, filled: Any, words: list[str]) -> None:
        done = subprocess.run(
            [sys.executable, "-c", _HEAVY, *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0
        assert "rich" not in done.stderr.splitlines()[-1]
        assert "h5py" in done.stderr.splitlines()[-1]


class TestDocuments:
    def test_the_reference_is_what_the_parser_says(self) -> None:
        written = (ROOT / "docs" / "cli.md").read_text("utf-8")
        assert written == reference.reference(), "run python -m recollect.cli.reference"

    @pytest.mark.on_disk("`init` and `hook` are about stores in files")
    def test_every_field_of_every_object_is_documented(self, filled: Any, store: str, tmp_path: Path) -> None:
        document = (ROOT / "docs" / "json.md").read_text("utf-8")
        sections = {part.split("\n", 1)[0]: part for part in document.split("\n## ")[1:]}
        gauge = tmp_path / "gauge.py"
        gauge.write_text("nobody wrote this\n")
        (tmp_path / "config.toml").write_text("[retention]\nraw_max_age_days = 1\n")
        calls: dict[str, list[Any]] = {
            "ingest": [DATA], "search": ["kind:prompt", "--explain"], "blame": ["tokens.py"],
            "why": [f"{gauge}:1"], "how": ["pytest"], "fix": ["1 failed"], "digest": ["a1b2"],
            "digests": ["token"], "today": ["--day", "2026-04-01"], "week": ["--day", "2026-04-03"],
            "activity": [], "lessons": ["--min", "1"], "facts": [],
            "remember": ["the quay is painted in spring", "--id", "quay"], "notes": [],
            "show": ["a1b2"], "tail": ["a1b2"],
            "sessions": ["--all"], "projects": [], "usage": [], "status": [],
            "init": ["--dry-run", "--agent", "claude"],
            "hook": ["status", "--agent", "claude"], "watch": ["--once"], "fleet": ["list"],
            "chroma": ["--install-shim", tmp_path / "shim"], "catalog": [], "threads": [],
            "thread": ["a1b2"], "entities": [], "entity": ["tokens.py"], "graph": ["pytest"],
            "recall": ["token"],
            "assemble": ["token"], "saved": [], "resume": ["a1b2", "--to", "claude", "--dry-run"],
            "index": [], "export": ["a1b2", "--to", "raw", "-o", tmp_path / "raw"], "inspect": [store],
            "convert": [DATA, "-o", tmp_path / "new.h5"], "merge": [tmp_path / "new.h5"],
            "migrate": [foreign_database(tmp_path / "palace.db", "mempalace")], "check": [],
            "reparse": [], "compact": [], "retention": [],
            "snapshot": [tmp_path / "copy.h5"], "erase": ["a1b2", "--dry-run"], "complete": ["kind"],
            "completion": ["bash"], "embedder": [],
        }  # fmt: skip
        # start answers as ingest does, and mcp speaks a protocol of its own
        assert ["start", *calls] == [name for name in COMMANDS if name != "mcp"]
        objects = [filled(name, *words, "--json").json for name, words in calls.items()]
        objects.append(filled("usage", "--explain", "--json").json)
        part = filled("export", "--agent", "claude", "--to", "store", "-o", tmp_path / "part.h5", "--json")
        objects.append(part.json)
        filled("index")  # what is derived went with `reparse`
        objects.append(filled("graph", "relate", "a", "b", "c", "--json").json)
        objects.append(filled("graph", "add", "a", "--json").json)
        objects.append(filled("graph", "--json").json)
        objects.append(filled("graph", "path", "a", "c", "--json").json)
        objects.append(filled("graph", "export", "--to", "json", "-o", tmp_path / "g", "--json").json)
        objects.append(filled("chroma", "--install-shim", tmp_path / "shim", "--remove", "--json").json)
        objects.append(filled("entities", "--trending", "--until", "2026-04-03", "--json").json)
        assert objects[-1]["moves"]
        objects.append(filled("activity", "--dangerous", "--json").json)
        objects.append(filled("blame", "--commit", "abcdef0", "--json").json)
        objects.append(filled("threads", "--tree", "--json").json)
        objects.append(filled("show", "nobody", "--json").json)
        objects.append(filled("watch", "--install", "--json").json)
        filled("assemble", "token", "--save", "mine")
        objects.append(filled("saved", "--json").json)
        objects.append(filled("saved", "show", "mine", "--json").json)
        objects.append(filled("saved", "delete", "mine", "--json").json)
        objects.append(filled("assemble", "token", "--export", "codex", "--dry-run", "--json").json)
        objects.append(filled("hook", "install", "--agent", "claude", "--json").json)
        objects.append(filled("hook", "remove", "--agent", "claude", "--json").json)
        objects.append(filled("embedder", "estimate", "--json").json)
        objects.append(filled("projects", "label", "ada/harbor", "domain=keys", "--json").json)
        objects.append(filled("show", objects[1]["hits"][0]["id"], "--json").json)
        for name, field in (
            ("search", "hits"),
            ("blame", "sessions"),
            ("how", "commands"),
            ("fix", "found"),
            ("entities", "entities"),
            ("today", "projects"),
            ("retention", "sessions"),
        ):
            assert objects[list(calls).index(name)][field], f"{name} found nothing to document"
        line = filled("export", "a1b2", "--to", "jsonl", "-o", "-").out.splitlines()[0]
        objects.append(json.loads(line))
        objects[list(calls).index("migrate")]["tables"] = {}  # by names that are another program's
        told_as = {"remember": "note", "migrate": "migration"}
        assert [each["schema"] for each in objects[: len(calls)]] == [
            f"recollect.{told_as.get(name, name)}/1" for name in calls
        ]
        for each in objects:
            assert each["schema"] in sections
            shared = "".join(text for name, text in sections.items() if not name.startswith("recollect."))
            for field in _fields(each):
                assert f"`{field}`" in sections[each["schema"]] + shared, (each["schema"], field)

    def test_repair_is_documented(self) -> None:
        assert "## recollect.repair/1" in (ROOT / "docs" / "json.md").read_text("utf-8")

    def test_every_exit_code_is_documented(self) -> None:
        from recollect.values import errors

        text = (ROOT / "docs" / "cli.md").read_text("utf-8")
        for each in vars(errors).values():
            if isinstance(each, type) and issubclass(each, errors.RecollectError):
                assert f"| {each.exit_code} |" in text


# Their keys are data.
_BY_NAME = {
    "bad_reasons",
    "unknown_types",
    "failed",
    "skipped",
    "explain",
    "parts",
    "kept",
    "folded",
    "added",
    "left_out",
    "masked",
}


def _fields(value: Any) -> set[str]:
    if isinstance(value, list):
        return {field for each in value for field in _fields(each)}
    if not isinstance(value, dict):
        return set()
    inner = [_fields(each) for name, each in value.items() if name not in _BY_NAME]
    return (set(value) - {"schema"}).union(*inner)


def _silent() -> Any:
    return argparse.Namespace(quiet=True)


class TestIds:
    def test_short_ids_are_unique_and_even(self) -> None:
        ids = ["aaaaaaaa-1", "aaaaaaaa-2", "bbbbbbbb-1", "cc", "aaaaaaaa"]
        short = short_ids(ids)
        assert short == {
            "aaaaaaaa-1": "aaaaaaaa-1",
            "aaaaaaaa-2": "aaaaaaaa-2",
            "bbbbbbbb-1": "bbbbbbbb",
            "cc": "cc",
            "aaaaaaaa": "aaaaaaaa",
        }

    def test_main_takes_words(self, capfd: pytest.CaptureFixture[str]) -> None:
        assert main(["--help"]) == 0

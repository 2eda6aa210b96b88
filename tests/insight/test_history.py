"""What was done about a file, for a purpose, against an error: found in hand-written conversations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.claude_talk import Talk
from tests.support.memories import open_memory

from recollect.insight.history import command_of
from recollect.memory import Memory
from recollect.values.records import Entry, Kind


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    first = Talk(1, "/home/ada/harbor")
    first.user("Where are tokens kept?")
    first.call("Read", "class TokenStore: ...", file_path="/home/ada/harbor/src/auth/token_store.py")
    first.assistant("In the token store.")
    second = Talk(2, "/home/ada/harbor")
    second.user("Make the token store honour clock skew")
    second.call(
        "Edit", "done", file_path="/home/ada/harbor/src/auth/token_store.py", old_string="a", new_string="b"
    )
    second.call(
        "Bash",
        "E   psycopg.OperationalError: connection refused on port 5433",
        failed=True,
        command="pytest -q tests/auth",
        description="Run the auth tests",
    )
    second.call(
        "Edit", "done", file_path="/home/ada/harbor/compose.yaml", old_string="5432", new_string="5433"
    )
    second.call("Bash", "ready", command="docker compose up -d db", description="Start the database")
    second.call("Bash", "12 passed", command="pytest -q tests/auth", description="Run the auth tests")
    second.assistant("The database now listens on 5433, and the tests pass.")
    third = Talk(3, "/home/ada/other")
    third.user("Deploy the site to staging")
    third.call("Bash", "uploaded", command="make upload ENV=staging")
    third.call("Write", "done", file_path="/home/ada/other/token_store.py", content="x")
    third.call(
        "Bash", "psycopg.OperationalError: connection refused on port 5433", failed=True, command="./migrate"
    )
    for talk in (first, second, third):
        talk.write(folder / "logs")
    with open_memory(folder / "memory.h5") as made:
        made.ingest([folder / "logs"])
        yield made


class TestBlame:
    def test_sessions_come_newest_first_with_what_was_asked(self, memory: Memory) -> None:
        found = memory.blame("auth/token_store.py")
        assert [(t.session.facts.id[:8], t.changes, t.looks) for t in found] == [
            ("00000002", 1, 0),
            ("00000001", 0, 1),
        ]
        assert found[0].prompt is not None
        assert found[0].prompt.entry.text == "Make the token store honour clock skew"
        assert found[1].prompt is not None
        assert found[1].prompt.entry.text == "Where are tokens kept?"

    def test_a_whole_path_means_one_file_and_a_name_every_one(self, memory: Memory) -> None:
        assert len(memory.blame("/home/ada/other/token_store.py")) == 1
        assert len(memory.blame("token_store.py")) == 3
        assert memory.blame("oken_store.py") == []

    def test_a_patch_with_a_relative_path_is_in_its_sessions_folder(self, folder: Path) -> None:
        talk = Talk(4, "/home/ada/harbor")
        talk.user("patch it")
        talk.call("apply_patch", "ok", input="*** Begin Patch\n*** Update File: src/a.py\n@@\n*** End Patch")
        talk.write(folder / "logs")
        with open_memory(folder / "memory.h5") as memory:
            memory.ingest([folder / "logs"])
            assert len(memory.blame("/home/ada/harbor/src/a.py")) == 1
            assert memory.blame("/home/ada/other/src/a.py") == []


class TestHow:
    def test_commands_are_counted_by_how_they_ended(self, memory: Memory) -> None:
        found = {each.text: (each.worked, each.failed) for each in memory.how("run the auth tests")}
        assert found["pytest -q tests/auth"] == (1, 1)

    def test_what_was_run_after_a_fitting_prompt_counts(self, memory: Memory) -> None:
        assert memory.how("deploy site to staging")[0].text == "make upload ENV=staging"

    def test_a_shell_is_known_by_any_name(self) -> None:
        wrapped = json.dumps({"command": ["bash", "-lc", "make test"]})
        assert command_of(Entry(Kind.CALL, wrapped)) == "make test"
        assert command_of(Entry(Kind.CALL, json.dumps({"cmd": "ls"}))) == "ls"
        assert command_of(Entry(Kind.CALL, "[1]")) == ""
        assert command_of(Entry(Kind.CALL, "plain text")) == "plain text"


class TestFix:
    def test_what_ended_an_error_is_told_first(self, memory: Memory) -> None:
        found = memory.fix("psycopg.OperationalError: connection refused on port 5433")
        assert [each.hit.session.facts.id[:8] for each in found] == ["00000002", "00000003"]
        best = found[0]
        assert best.ended_by == "pytest -q tests/auth"
        assert [step.entry.tool for step in best.steps] == ["Edit", "Bash"]
        assert best.answer is not None
        assert "now listens on 5433" in best.answer.entry.text

    def test_an_error_that_nothing_ended_says_so(self, memory: Memory) -> None:
        unsolved = memory.fix("psycopg.OperationalError: connection refused on port 5433")[1]
        assert (unsolved.ended_by, unsolved.answer) == ("", None)

    def test_the_text_is_no_query(self, memory: Memory) -> None:
        assert memory.fix('error: "unclosed (and -odd: OR') is not None

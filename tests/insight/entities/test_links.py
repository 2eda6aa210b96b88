"""A profile tells what a thing is tied to, and shows each tie; what is not certain is not told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.claude_talk import Talk, remembered

from recollect.memory import Memory
from recollect.values.entities import EntityProfile

DOCK = "/home/ada/harbor/src/dock.py"
ERROR = "valueerror no berth is free"
BROKEN = "Traceback (most recent call last):\nValueError: no berth is free"


def harbor() -> Talk:
    talk = Talk(1, "/home/ada/harbor")
    talk.user("Moor the ship")
    talk.call(
        "Write", "written", file_path=DOCK, content="def moor_ship(berth):\n    return PierLog(berth)\n"
    )
    talk.call("Bash", BROKEN, failed=True, command="pytest -q tests/test_dock.py")
    talk.call("Edit", "edited", file_path=DOCK, old_string="PierLog(berth)", new_string="return berth")
    talk.call("Bash", "1 passed", command="pytest -q tests/test_dock.py")
    talk.user("Let's use PostgreSQL instead of SQLite for the berths.")
    talk.assistant("PostgreSQL it is.")
    return talk


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    yield from _memory(folder, harbor())


def _memory(folder: Path, *talks: Talk) -> Iterator[Memory]:
    with remembered(folder, *talks) as memory:
        memory.index()
        yield memory


def links(found: EntityProfile, kind: str) -> list[tuple[str, str, int]]:
    return [(each.type, each.name, each.times) for each in found.links if each.kind == kind]


def shown(memory: Memory, found: EntityProfile, kind: str) -> str:
    (link,) = [each for each in found.links if each.kind == kind]
    _, stored = memory.find(link.entry)
    assert stored is not None
    return stored.entry.text


class TestDefinedIn:
    def test_by_the_edit_that_declares_it(self, memory: Memory) -> None:
        found = memory.entity("moor_ship")
        assert links(found, "defined-in") == [("file", "src/dock.py", 1)]
        assert "def moor_ship" in shown(memory, found, "defined-in")
        assert links(memory.entity("PierLog"), "defined-in") == []

    def test_by_a_look_into_the_file(self, folder: Path) -> None:
        talk = Talk(1, "/home/ada/harbor")
        talk.call("Read", "     1→import os\n     2→class PierLog:\n", file_path=DOCK)
        for memory in _memory(folder, talk):
            assert links(memory.entity("PierLog"), "defined-in") == [("file", "src/dock.py", 1)]

    @pytest.mark.parametrize(
        ("tool", "arguments", "result"),
        [
            ("Write", {"file_path": DOCK, "content": "import { type PierLog } from 'y'"}, "ok"),
            ("Write", {"file_path": "/home/ada/notes.md", "content": "```py\nclass PierLog:\n```"}, "ok"),
            ("Read", {"file_path": "/home/ada/notes.md"}, "```py\nclass PierLog:\n    pass\n```"),
            ("Grep", {"pattern": "PierLog", "path": DOCK}, "src/dock.py:2:class PierLog:"),
            ("Read", {"file_path": DOCK}, "     1→log = PierLog()\n"),
        ],
    )
    def test_not_by_an_import_a_note_a_search_or_a_use(
        self, folder: Path, tool: str, arguments: dict[str, Any], result: str
    ) -> None:
        talk = Talk(1, "/home/ada/harbor")
        talk.user("`PierLog` and `PierLog()` in src/dock.py")
        talk.call(tool, result, **arguments)
        for memory in _memory(folder, talk):
            assert links(memory.entity("PierLog"), "defined-in") == []

    def test_not_by_what_a_patch_takes_away(self, folder: Path) -> None:
        talk = Talk(1, "/home/ada/harbor")
        for sign, path in (("+", "new.py"), ("-", "old.py")):
            patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n{sign}class PierLog:\n*** End Patch"
            talk.call("apply_patch", "ok", input=patch)
        for memory in _memory(folder, talk):
            assert "old.py" not in str(memory.entity("PierLog").links)


class TestFailsWith:
    def test_a_command_and_its_error_know_each_other(self, memory: Memory) -> None:
        run, error = memory.entity("pytest", "command"), memory.entity(ERROR)
        assert links(run, "fails-with") == [("error", ERROR, 1)]
        assert links(error, "fails-with") == [("command", "pytest", 1)]
        assert shown(memory, run, "fails-with") == shown(memory, error, "fails-with") == BROKEN

    @pytest.mark.parametrize(
        ("command", "result"),
        [
            ("make build; pytest -q", BROKEN),  # which of them failed nobody can say
            ("pytest -q | head", "/bin/bash: line 1: head: command not found"),  # not the one that failed
            ("pytest -q", "<tool_use_error>ValueError: no berth is free</tool_use_error>"),  # never ran
        ],
    )
    def test_what_may_be_another_ones_failure_is_none(self, folder: Path, command: str, result: str) -> None:
        talk = Talk(1, "/home/ada/harbor")
        talk.call("Bash", result, failed=True, command=command)
        for memory in _memory(folder, talk):
            known = [each.name for each in memory.entities("command").entities]
            assert "pytest" in known
            assert [memory.entity(name, "command").links for name in known] == [()] * len(known)

    def test_a_file_and_the_errors_of_outputs_that_name_it_alone(self, folder: Path) -> None:
        talk = Talk(1, "/home/ada/harbor")
        talk.call("Bash", "src/dock.py:3: ValueError: no berth is free", failed=True, command="pytest")
        talk.call(
            "Bash", "src/a.py src/b.py src/c.py\nTypeError: ship has no keel", failed=True, command="pytest"
        )
        for memory in _memory(folder, talk):
            assert [name for _, name, _ in links(memory.entity("src/dock.py"), "fails-with")]
            assert memory.entity("typeerror ship has no keel").entity.mentions == 1
            assert links(memory.entity("src/a.py"), "fails-with") == []


class TestFixedBy:
    def test_the_file_changed_before_the_run_that_worked(self, memory: Memory) -> None:
        found = memory.entity(ERROR)
        assert links(found, "fixed-by") == [("file", "src/dock.py", 1)]
        assert "return berth" in shown(memory, found, "fixed-by")

    def test_not_what_the_same_output_shows_besides(self, folder: Path) -> None:
        talk = Talk(1, "/home/ada/harbor")
        talk.user("Test it")
        talk.call("Bash", f"{BROKEN}\nTypeError: ship has no keel", failed=True, command="pytest -q")
        talk.call("Edit", "ok", file_path=DOCK, old_string="x", new_string="y")
        talk.call("Bash", "1 passed", command="pytest -q")
        for memory in _memory(folder, talk):
            assert links(memory.entity(ERROR), "fixed-by") == [("file", "src/dock.py", 1)]
            assert links(memory.entity("typeerror ship has no keel"), "fixed-by") == []

    def test_not_where_it_never_worked_or_many_files_were_changed(self, folder: Path) -> None:
        never, many = Talk(1, "/home/ada/harbor"), Talk(2, "/home/ada/harbor")
        for talk, files in ((never, ("a.py",)), (many, ("a.py", "b.py", "c.py"))):
            talk.user("Test it")
            talk.call("Bash", BROKEN, failed=True, command="pytest -q tests/test_dock.py")
            for name in files:
                talk.call("Edit", "ok", file_path=f"/home/ada/harbor/{name}", old_string="x", new_string="y")
        many.call("Bash", "1 passed", command="pytest -q tests/test_dock.py")
        for memory in _memory(folder, never, many):
            assert links(memory.entity(ERROR), "fixed-by") == []


def test_decisions_are_those_whose_words_name_it(memory: Memory) -> None:
    (decided,) = memory.entity("PostgreSQL").decisions
    assert "instead of SQLite" in decided.text
    _, stored = memory.find(decided.entry)
    assert stored is not None
    assert decided.text in stored.entry.text
    assert memory.entity("moor_ship").decisions == ()


def test_a_word_of_a_decision_that_is_only_a_word_decides_nothing(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.call("Write", "ok", file_path=DOCK, content="class Berth:\n    pass\n")
    talk.user("Let's use one Berth instead of two for every ship.")
    for memory in _memory(folder, talk):
        ((_, digest),) = [memory.digest(talk.id)]
        assert any("Berth" in each.text for each in digest.decisions)
        assert memory.entity("Berth", "class").decisions == ()


def test_a_thing_is_told_apart_by_what_it_stood_beside_then_and_now(folder: Path) -> None:
    talks = []
    for day in range(1, 31):
        talk = Talk(day, "/home/ada/harbor")
        for _ in range(2):
            talk.user(f"src/dock.py and src/quay.py with {'Redis' if day <= 15 else 'PostgreSQL'}")
        talks.append(talk)
    for memory in _memory(folder, *talks):
        found = memory.entity("src/dock.py")
        assert [each.name for each in found.then] == ["Redis"]
        assert [each.name for each in found.now] == ["PostgreSQL"]
        assert memory.entity("Redis").then == ()


def test_a_path_in_two_projects_is_told_and_taken_apart(folder: Path) -> None:
    talks = [Talk(1, "/home/ada/harbor"), Talk(2, "/home/ada/tides")]
    talks[0].user("src/main.rs with Redis")
    talks[0].user("src/main.rs with Redis")
    talks[1].user("src/main.rs with PostgreSQL")
    talks[1].user("src/main.rs with PostgreSQL, twice src/main.rs")
    talks[1].user("src/main.rs")
    for memory in _memory(folder, *talks):
        assert memory.entity("src/main.rs").projects == (("tides", 3), ("harbor", 2))
        own = memory.entity("src/main.rs", project="HARBOR")
        assert (own.projects, own.entity.mentions, own.session_count) == ((("harbor", 2),), 2, 1)
        assert [each.name for each in own.neighbours] == ["Redis"]
        assert own.entity.first_day == own.entity.last_day

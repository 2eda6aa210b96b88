"""The tables of mentions say the same however they came about, and answer what is asked of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support import DATA
from tests.support.claude_talk import Talk
from tests.support.memories import open_memory, scratch

from recollect.insight.derive import derive, take_a_step
from recollect.insight.entities.profile import Entities
from recollect.memory import Memory
from recollect.search.mentions import MENTIONS, NAMES, TABLES, THINGS, TYPES
from recollect.store import derived
from recollect.store.contract import View, Writer
from recollect.store.derived import Column, DerivedTable, stored_table
from recollect.store.hdf5.engine import Hdf5Store
from recollect.values.errors import NotFound, StoreBusy, UsageError
from recollect.values.records import Cursor, Entry, Kind, Line, Parsed, SessionFacts, SourceFile

Said = list[tuple[str, str, str, int]]


def said_of(view: View) -> Said:
    """Every mention as the id of its entry, type, name and day: numbers are an engine's own business."""
    things, mentions = view.derived(THINGS), view.derived(MENTIONS)
    names, types = view.derived(NAMES)["name"], np.asarray(things["type"]).tolist()
    ids = view.entry_ids(np.asarray(mentions["entry"]).tolist())
    numbers, days = np.asarray(mentions["entity"]).tolist(), np.asarray(mentions["day"]).tolist()
    return sorted(
        (id_, TYPES[types[number]], str(names[number]), day)
        for id_, number, day in zip(ids, numbers, days, strict=True)
    )


def mentions(memory: Memory) -> Said:
    with memory.view() as view:
        return said_of(view)


def harbor() -> Talk:
    talk = Talk(1, "/home/ada/harbor")
    talk.user("Why does src/dock.py fail?")
    talk.call(
        "Read", "     1→import numpy\n     2→class Pier: ...\n", file_path="/home/ada/harbor/src/dock.py"
    )
    talk.call("Bash", "ValueError: no berth is free", failed=True, command="pytest -q tests/test_dock.py")
    talk.call("Bash", "Error: this is shown, it did not happen", command="cat notes.log")
    talk.assistant("`Pier` in src/dock.py asks PostgreSQL; I fix it with `moorShip()`.")
    talk.user("Commit it to main")
    talk.call("Bash", "[main 1a2b3c4] moor", command="git commit -am moor")
    return talk


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    harbor().write(tmp_path / "logs")
    other = Talk(2, "/home/ada/tides")
    other.user("Use PostgreSQL in src/dock.py, too")
    other.write(tmp_path / "logs")
    with open_memory(tmp_path / "memory.h5") as made:
        made.ingest([tmp_path / "logs"])
        made.index()
        yield made


class TestTheSameHoweverMade:
    def test_entries_are_looked_at_by_whoever_indexes(self, memory: Memory, tmp_path: Path) -> None:
        assert memory.entities().unread == 0
        third = Talk(3, "/home/ada/harbor")
        third.user("src/late.py")
        third.write(tmp_path / "logs")
        memory.ingest([tmp_path / "logs"])
        assert memory.entities().unread == 1
        memory.index()
        assert memory.entities().unread == 0
        assert memory.entity("src/late.py").entity.mentions == 1

    @pytest.mark.parametrize("at_once", [1, 2, 3, 1 << 14])
    def test_in_steps_of_any_size(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch, at_once: int
    ) -> None:
        """A result may come in a later step than its call."""
        expected = mentions(memory)
        assert len({(type_, name) for _, type_, name, _ in expected}) > 15
        monkeypatch.setattr(derived, "_ENTRIES_AT_ONCE", at_once)
        with memory._store.writer() as writer:
            drop(writer)
        memory.index()
        assert mentions(memory) == expected

    @settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow], deadline=None)
    @given(cuts=st.sets(st.integers(1, 13)), at_once=st.integers(1, 5))
    def test_as_a_conversation_grows(self, cuts: set[int], at_once: int) -> None:
        lines = harbor()._lines
        with scratch() as folder, pytest.MonkeyPatch.context() as patched:
            patched.setattr(derived, "_ENTRIES_AT_ONCE", at_once)
            with open_memory(folder / "steps.h5") as memory, open_memory(folder / "whole.h5") as whole:
                for cut in [*sorted(cuts), len(lines)]:
                    talk = harbor()
                    talk._lines = lines[:cut]
                    talk.write(folder / "logs")
                    memory.ingest([folder / "logs"])
                    derive(memory._store)
                whole.ingest([folder / "logs"])
                derive(whole._store)
                assert mentions(memory) == mentions(whole)

    @pytest.mark.parametrize("verb", ["reparse", "compact"])
    def test_after_the_store_was_written_anew(self, memory: Memory, verb: str) -> None:
        memory.ingest([DATA / "claude", DATA / "codex"])
        memory.index()
        expected = mentions(memory)
        getattr(memory, verb)()
        assert memory.entities().entities == ()
        memory.index()
        assert mentions(memory) == expected

    def test_tables_that_do_not_go_together_begin_anew(self, memory: Memory) -> None:
        expected = mentions(memory)
        with memory._store.writer() as writer:
            writer.drop_derived(NAMES)
            writer.commit()
        memory.index()
        assert mentions(memory) == expected

    def test_a_step_that_fails_leaves_nothing_behind(self, memory: Memory) -> None:
        """The tables are written together or not at all, wherever it stops."""
        with memory._store.writer() as writer:
            drop(writer)
        with pytest.raises(OSError, match="no room"), memory._store.writer() as writer:
            take_a_step(cast("Writer", Full(writer)))
        with memory.view() as view:
            assert {stored_table(view, each).built_to for each in TABLES} == {0}

    def test_while_another_process_writes_indexing_goes_on_without_it(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def busy(**_: object) -> None:
            raise StoreBusy("memory.h5", 1)

        with memory._store.writer() as writer:
            drop(writer)
        monkeypatch.setattr(memory._store, "writer", busy)
        assert memory.index().text
        assert memory.entities().unread > 0


class Full:
    """A writer on a disk that has room for the first table only."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)

    def add_derived(self, into: DerivedTable, columns: Mapping[str, Column], *, built_to: int) -> None:
        if into == NAMES:
            raise OSError("no room")
        self._writer.add_derived(into, columns, built_to=built_to)


def drop(writer: Writer) -> None:
    for each in TABLES:
        writer.drop_derived(each)
    writer.commit()


class TestAsking:
    def test_the_most_mentioned_come_first(self, memory: Memory) -> None:
        found = memory.entities(limit=2)
        assert [(each.type, each.name, each.mentions) for each in found.entities] == [
            ("file", "src/dock.py", 4),
            ("tool", "Bash", 3),
        ]
        assert found.total == len(memory.entities().entities) > 2
        assert found.entities[0].first_day < found.entities[0].last_day

    def test_a_type_and_a_project_narrow_it(self, memory: Memory) -> None:
        files = memory.entities("file").entities
        assert {each.type for each in files} == {"file"}
        assert [(each.name, each.mentions) for each in memory.entities("file", project="TIDES").entities] == [
            ("src/dock.py", 1)
        ]
        with pytest.raises(UsageError, match="no things of type"):
            memory.entities("thing")

    def test_a_profile_tells_when_where_and_beside_what(self, memory: Memory) -> None:
        found = memory.entity("PostgreSQL")
        assert (found.entity.type, found.entity.mentions, found.session_count) == ("database", 2, 2)
        assert [count for _, count in found.days] == [1, 1]
        assert {name for name, _ in found.projects} == {"harbor", "tides"}
        assert [session.facts.cwd for session, _ in found.sessions] == ["/home/ada/tides", "/home/ada/harbor"]
        assert [(each.type, each.name, each.shared) for each in found.neighbours] == [
            ("file", "src/dock.py", 2)
        ]
        assert len(found.entries) == 2

    def test_a_profile_tells_the_pieces_of_work_that_mention_it_most(self, tmp_path: Path) -> None:
        for number, (times, cwd) in enumerate(((1, "tides"), (2, "harbor"), (1, "harbor")), start=1):
            talk = Talk(number, f"/home/ada/{cwd}")
            for at in range(times):
                talk.user(f"src/dock.py of {number} {at}")
            talk.write(tmp_path / "logs")
            if number == 2:
                going_on = talk.fork(20)
                going_on.user("src/dock.py again")
                going_on.write(tmp_path / "logs")
        with open_memory(tmp_path / "memory") as memory:
            memory.ingest([tmp_path / "logs"])
            memory.index()
            for _ in range(2):  # worked out, then as it was kept
                found = memory.entity("dock.py")
                told = [(thread.id[:8], len(thread.sessions), count) for thread, count in found.threads]
                assert told == [("00000002", 2, 5), ("00000003", 1, 1), ("00000001", 1, 1)]
                assert found.thread_count == 3

    @pytest.mark.parametrize("name", ["src/dock.py", "dock.py", "SRC/Dock.py"])
    def test_the_end_of_a_path_is_enough_and_case_does_not_matter(self, memory: Memory, name: str) -> None:
        assert memory.entity(name).entity.name == "src/dock.py"

    def test_of_several_things_of_a_name_the_type_says_which(self, memory: Memory, tmp_path: Path) -> None:
        talk = Talk(4, "/home/ada/harbor")
        talk.user("`git status` with git")
        talk.call("Bash", "x", command="git")
        talk.call("Bash", "x", command="git")
        talk.write(tmp_path / "logs")
        memory.ingest([tmp_path / "logs"])
        memory.index()
        assert (memory.entity("git").entity.type, memory.entity("git").namesakes) == ("command", ())
        assert memory.entity("Git").entity.type == "tool"
        assert memory.entity("GIT").namesakes == (("tool", "Git"),)
        assert memory.entity("git", "tool").entity.mentions == 1

    def test_a_thing_has_a_name(self, memory: Memory) -> None:
        with pytest.raises(UsageError, match="a name"):
            memory.entity(" ")

    def test_what_nothing_mentions_is_not_found(self, memory: Memory) -> None:
        with pytest.raises(NotFound) as raised:
            memory.entity("dock")
        assert raised.value.hint == "recollect entity src/dock.py"
        with pytest.raises(NotFound) as raised:
            memory.entity("zeppelin")
        assert raised.value.hint == "recollect entities"

    def test_what_was_replaced_does_not_count(self, tmp_path: Path) -> None:
        with Hdf5Store.open(tmp_path / "memory.h5", create=True) as store:
            for number, replaces in enumerate([(), ("u0",)]):
                entry = Entry(Kind.PROMPT, f"src/a{number}.py")
                parsed = Parsed("user", (entry,), uuid=f"u{number}", replaces=replaces)
                with store.writer() as writer:
                    line = Line(f"{number}".encode(), 0, parsed)
                    file, facts = SourceFile("owl", "/logs/a.jsonl"), SessionFacts("owl", "a")
                    writer.take(file, "here", [line], Cursor(offset=number + 1), facts, parser=1)
                    writer.commit()
                derive(store)
            with store.view() as view:
                assert sorted(name for _, _, name, _ in said_of(view)) == ["src/a0.py", "src/a1.py"]
                assert [each.name for each in Entities(view).listed().entities] == ["src/a1.py"]

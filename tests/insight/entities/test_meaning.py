"""What was meant at first and lately is told by entries that are there, and only where enough was said."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.claude_talk import Talk, remembered

from recollect.insight.entities import meaning
from recollect.memory import Memory
from recollect.search.vectors.index import VectorIndex
from recollect.values.entities import Meaning

THEN = "src/dock.py: paint the wooden door of the pier in red, number {n}"
NOW = "src/dock.py: the database query of the tides is slow, add an index to the table, number {n}"


def talks(days: int, *texts: str, by: str = "user") -> Iterator[Talk]:
    """Each text for its share of the days, three times a day."""
    for day in range(1, days + 1):
        talk = Talk(day, "/home/ada/harbor")
        talk.user("go on")
        for n in range(3):
            text = texts[(day - 1) * len(texts) // days].format(n=3 * day + n)
            talk.user(text) if by == "user" else talk.call("Bash", text, command="x")
        yield talk


@contextlib.contextmanager
def indexed(folder: Path, *made: Talk) -> Iterator[Memory]:
    with remembered(folder, *made) as memory:
        memory.index()
        yield memory


def told(memory: Memory) -> Meaning:
    found = memory.entity("src/dock.py").meaning
    assert found is not None
    return found


def test_two_periods_are_told_by_an_entry_of_each_and_are_less_alike_than_usual(folder: Path) -> None:
    with indexed(folder, *talks(28, THEN, NOW)) as memory:
        found = told(memory)
        assert "wooden door" in found.then.text
        assert "database query" in found.now.text
        assert found.likeness < 0.8 < found.usual
        assert found.has_changed
        entries = [memory.find(each.entry)[1] for each in (found.then, found.now)]
        assert [each.entry.text for each in entries if each] == [found.then.text, found.now.text]


def test_where_the_same_is_said_all_along_they_are_as_alike_as_usual(folder: Path) -> None:
    with indexed(folder, *talks(28, THEN)) as memory:
        found = told(memory)
        assert not found.has_changed


def test_of_what_only_tools_print_nothing_is_told(folder: Path) -> None:
    with indexed(folder, *talks(28, THEN, NOW, by="tool")) as memory:
        assert memory.entity("src/dock.py").meaning is None


def test_within_days_nothing_has_changed_and_no_vector_is_looked_at(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(VectorIndex, "of", lambda *_: pytest.fail("it looks"))
    with indexed(folder, *talks(5, THEN, NOW)) as memory:
        assert memory.entity("src/dock.py").meaning is None


def test_at_most_so_many_entries_are_looked_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meaning, "SAMPLE", 7)
    asked: list[int] = []
    of = VectorIndex.of
    monkeypatch.setattr(VectorIndex, "of", lambda self, rows: asked.extend(rows) or of(self, rows))
    with indexed(folder, *talks(28, THEN, NOW)) as memory:
        assert "wooden door" in told(memory).then.text
    assert len(asked) == 14


def test_without_vectors_the_rest_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VectorIndex, "of", lambda *_: {})
    with indexed(folder, *talks(28, THEN, NOW)) as memory:
        found = memory.entity("src/dock.py")
        assert (found.meaning, found.entity.mentions) == (None, 84)


def test_an_entry_of_a_vector_index_has_its_own(folder: Path) -> None:
    with indexed(folder, *talks(3, THEN)) as memory:
        with memory.view() as view:
            rows = list(range(view.info().rows_end))
        found = memory.indexes.vectors_of([*rows, 10_000])
        assert found
        assert set(found) <= set(rows)
        assert all(abs(float((each * each).sum()) - 1) < 1e-3 for each in found.values())

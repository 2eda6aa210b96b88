"""What a person knows exactly (a name, a path, an error, a phrase) ranks first when it is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.search.asks import ASKS, Ask
from tests.support.memories import memory_at, scratch
from tests.support.talks import read_talks, write_logs

from recollect.memory import Memory
from recollect.values.stored import StoredEntry


@dataclass(frozen=True)
class Library:
    """The talks in a memory, and the ids of what each marker names."""

    memory: Memory
    marked: dict[str, set[str]]
    entries: dict[str, StoredEntry]


@pytest.fixture(scope="module")
def library() -> Iterator[Library]:
    with scratch() as folder:
        marked = write_logs(read_talks(), folder / "logs")
        with memory_at(folder) as memory:
            memory.ingest([folder / "logs"])
            entries = {e.id: e for s in memory.sessions() for e in memory.show(s.facts.id)}
            yield Library(memory, marked, entries)


@pytest.mark.parametrize("mode", ["hybrid", "text"])
@pytest.mark.parametrize("ask", ASKS, ids=lambda ask: ask.query)
def test_what_is_known_exactly_ranks_first(library: Library, ask: Ask, mode: str) -> None:
    hits = library.memory.search(ask.query, mode=mode, plain=ask.plain).hits
    assert hits, "nothing found"
    assert hits[0].id in library.marked[ask.marker], hits[0].stored.entry.text[:200]


def test_the_set_is_large_enough_to_mean_something(library: Library) -> None:
    assert len(ASKS) >= 60
    assert len({ask.query for ask in ASKS}) == len(ASKS)
    assert len(library.memory.sessions()) >= 20
    assert len(library.entries) >= 400


@pytest.mark.parametrize("ask", ASKS, ids=lambda ask: ask.query)
def test_only_what_is_marked_holds_it(library: Library, ask: Ask) -> None:
    """The set checks itself: an ask without a right answer, or with another one, would test nothing."""
    marked = library.marked[ask.marker]
    assert marked
    assert marked <= library.entries.keys()
    literal = re.compile(rf"(?<![A-Za-z0-9_.-]){re.escape(ask.literal)}(?![A-Za-z0-9_-])")
    holding = {entry.id for entry in library.entries.values() if literal.search(_unescaped(entry.entry.text))}
    assert holding == marked


def _unescaped(text: str) -> str:
    """A tool call's text is JSON."""
    return text.replace("\\\\", "\\").replace('\\"', '"')

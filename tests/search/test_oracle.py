"""Filters give exactly the entries that satisfy them, before and after a reopen, in one order."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, example, given, note
from hypothesis import strategies as st
from tests.search.oracle import (
    LEAVES,
    NOW,
    RANKING,
    Leaf,
    Seen,
    Tale,
    Tree,
    allows,
    holds,
    many_tales,
    seen,
    tales,
    trees,
    typed,
    write,
)
from tests.support.examples import examples
from tests.support.memories import memory_at, scratch

from recollect.memory import Memory
from recollect.store.hdf5.engine import Hdf5Store
from recollect.values.records import Entry, Kind, Parsed, SessionFacts

several = examples(
    40,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
)


def found(memory: Memory, query: str) -> list[str]:
    """The ids of everything that matches, in order."""
    results = memory.search(query, mode="text", limit=10_000, collapse=False, now=NOW)
    assert results.fresh.unindexed == 0
    ids = [hit.id for hit in results.hits]
    assert len(set(ids)) == len(ids)
    return ids


@pytest.fixture(scope="module")
def sample() -> Iterator[tuple[Memory, list[Seen]]]:
    written = many_tales()
    with scratch() as folder:
        store(folder, written)
        with memory_at(folder) as memory:
            yield memory, seen(written)


def store(folder: Path, written: list[Tale]) -> None:
    with Hdf5Store.open(folder / "memory.h5", create=True) as made, made.writer() as writer:
        write(writer, written)


@several
@given(tales(), st.lists(trees(), min_size=1, max_size=12))
@example([Tale(SessionFacts("claude", "aaaa0001"), "laptop", (Parsed("user", (Entry(Kind.PROMPT),)),))], [])
def test_a_search_gives_exactly_what_satisfies_it(written: list[Tale], queries: list[Tree]) -> None:
    everything = seen(written)
    with scratch() as folder:
        store(folder, written)
        with memory_at(folder) as memory:
            first = [found(memory, typed(tree)) for tree in queries]
            assert first == [found(memory, typed(tree)) for tree in queries]
        with memory_at(folder) as memory:
            assert first == [found(memory, typed(tree)) for tree in queries]
        shutil.rmtree(folder / "cache", ignore_errors=True)
        with memory_at(folder) as memory:
            assert first == [found(memory, typed(tree)) for tree in queries]
    for tree, ids in zip(queries, first, strict=True):
        note(typed(tree))
        assert set(ids) == {entry.id for entry in everything if holds(tree, entry)}, typed(tree)


@several
@given(st.lists(trees(), min_size=1, max_size=12), st.sampled_from(["hybrid", "vector"]))
def test_what_is_found_by_meaning_satisfies_the_filters_too(
    sample: tuple[Memory, list[Seen]], queries: list[Tree], mode: str
) -> None:
    memory, everything = sample
    memory.indexes.catch_up()  # without ties, which make threads of what no id or slug names
    for tree in queries:
        results = memory.search(typed(tree), mode=mode, limit=10_000, collapse=False, now=NOW)
        ids = [hit.id for hit in results.hits]
        assert len(set(ids)) == len(ids)
        assert set(ids) <= {entry.id for entry in everything if allows(tree, entry)}, typed(tree)
        if mode == "hybrid":
            assert set(ids) >= {entry.id for entry in everything if holds(tree, entry)}, typed(tree)


@pytest.mark.parametrize("leaf", [*LEAVES, *RANKING], ids=lambda leaf: leaf.typed)
def test_each_filter_alone_and_excluded(leaf: Leaf, sample: tuple[Memory, list[Seen]]) -> None:
    memory, everything = sample
    wanted = {entry.id for entry in everything if leaf.holds(entry)}
    assert set(found(memory, leaf.typed)) == wanted
    assert set(found(memory, "-" + leaf.typed)) == {entry.id for entry in everything} - wanted


def test_the_filters_divide_the_sample(sample: tuple[Memory, list[Seen]]) -> None:
    """The set checks itself: a filter that lets nothing or everything through would test little."""
    _, everything = sample
    counts = {leaf.typed: sum(map(leaf.holds, everything)) for leaf in (*LEAVES, *RANKING)}
    empty = {typed for typed, count in counts.items() if not count}
    assert len(everything) > 400
    assert len(empty) <= 16, empty
    assert not [typed for typed, count in counts.items() if count == len(everything)]


def test_however_much_matches_all_of_it_is_found(folder: Path) -> None:
    """More than any list of candidates holds, by a filter, by a word, page by page."""
    count = 700
    entries = [Entry(Kind.PROMPT, "lamp " * (n % 3 + 1), 0, n + 1) for n in range(count)]
    lines = tuple(Parsed("user", (entry,)) for entry in entries)
    store(folder, [Tale(SessionFacts("claude", "aaaa0001"), "laptop", lines)])
    with memory_at(folder) as memory:
        for query in ("kind:prompt", "lamp", "/lamp/"):
            whole = found(memory, query)
            assert len(set(whole)) == count
            pages = [
                memory.search(query, mode="text", limit=100, offset=at, collapse=False, now=NOW).hits
                for at in range(0, count + 100, 100)
            ]
            assert [hit.id for page in pages for hit in page] == whole
            # A pattern stops reading when it has what was asked for, and cannot know the rest.
            total = memory.search(query, mode="text", now=NOW, limit=5).total
            assert total == (-1 if query.startswith("/") else count)

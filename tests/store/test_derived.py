"""A new derived table touches one file. This is one: described, made and asked here, known nowhere else."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support import DATA
from tests.support.memories import open_memory, scratch

from recollect.store.contract import View
from recollect.store.derived import (
    NAME,
    NUMBERS,
    TEXT,
    Column,
    DerivedTable,
    Rewrite,
    catch_up,
    current_rows,
    stored_table,
)
from recollect.store.hdf5.engine import Hdf5Store
from recollect.testing.derived import listed

# -- the toy: how often which tool was called, and with what first --------------------------------

CALLS = DerivedTable("toy-calls", 1, (("entry", "<u8"), ("tool", NAME), ("input", TEXT)))


def calls(view: View, start: int, stop: int) -> dict[str, Column]:
    found = [each for each in view.entry_range(start, stop) if each.entry.tool]
    return {
        "entry": np.array([each.row for each in found], np.uint64),
        "tool": [each.entry.tool for each in found],
        "input": [each.entry.text for each in found],
    }


# -- and what becomes of it --------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of all fixtures with the toy in it."""
    with open_memory(tmp_path / "memory.h5") as memory:
        memory.ingest([DATA / "claude"])
    with Hdf5Store(tmp_path / "memory.h5") as store, store.writer() as writer:
        assert catch_up(writer, CALLS, calls) > 5
    return tmp_path / "memory.h5"


def toy(path: Path) -> tuple[dict[str, list[object]], int]:
    with Hdf5Store(path) as store, store.view() as view:
        return listed(view.derived(CALLS)), stored_table(view, CALLS).built_to


def test_a_toy_table_follows_what_is_ingested(path: Path) -> None:
    before, built_to = toy(path)
    with open_memory(path) as memory:
        memory.ingest([DATA / "codex"])
        assert memory.check() == []
    assert toy(path) == (before, built_to)  # nobody asked for it
    with Hdf5Store(path) as store, store.writer() as writer:
        rows = listed(current_rows(writer, CALLS, calls))
        assert rows == listed(calls(writer.view(), 0, writer.view().info().entries))
    assert rows["input"][: len(before["input"])] == before["input"]
    assert len(rows["input"]) > len(before["input"])


@pytest.mark.parametrize("rewrite", ["compact", "reparse", "repair"])
def test_a_rewrite_drops_a_toy_that_holds_rows_and_it_is_made_again(path: Path, rewrite: str) -> None:
    before, _ = toy(path)
    with open_memory(path) as memory:
        getattr(memory, rewrite)()
        assert memory.check() == []
    assert toy(path)[1] == 0
    with Hdf5Store(path) as store, store.writer() as writer:
        assert listed(current_rows(writer, CALLS, calls)) == before


def test_a_snapshot_has_the_toy(path: Path) -> None:
    with open_memory(path) as memory:
        memory.snapshot(path.with_name("copy.h5"))
    assert toy(path.with_name("copy.h5")) == toy(path)


# -- descriptions ------------------------------------------------------------------------------------

words = st.from_regex(r"[a-z][a-z0-9_-]{0,9}", fullmatch=True)
kinds = st.sampled_from((*NUMBERS, NAME, TEXT))


@st.composite
def tables(draw: st.DrawFn) -> DerivedTable:
    names = draw(st.lists(words, min_size=1, max_size=5, unique_by=lambda name: name.split("_")[0]))
    columns = tuple((name, draw(kinds)) for name in names)
    return DerivedTable(draw(words), draw(st.integers(1, 9)), columns, draw(st.sampled_from(Rewrite)))


@given(tables())
def test_a_description_reads_back_as_it_was(table: DerivedTable) -> None:
    assert DerivedTable.from_description(table.described()) == table


@pytest.mark.parametrize(
    "text",
    [
        "3",
        "{}",
        '{"name": "a", "revision": 1, "columns": {}, "rewrite": "drop"}',
        '{"name": "a/b", "revision": 1, "columns": {"a": "<u8"}, "rewrite": "drop"}',
        '{"name": "a", "revision": 0, "columns": {"a": "<u8"}, "rewrite": "drop"}',
        '{"name": "a", "revision": "1", "columns": {"a": "<u8"}, "rewrite": "drop"}',
        '{"name": "a", "revision": 1, "columns": {"a": "<u3"}, "rewrite": "drop"}',
        '{"name": "a", "revision": 1, "columns": {"a": "<u8"}, "rewrite": "bury"}',
        '{"name": "a", "revision": 1, "columns": {"a": "text", "a_at": "<u8"}, "rewrite": "drop"}',
    ],
)
def test_what_no_table_can_be_is_no_description(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        DerivedTable.from_description(text)


def cells(kind: str) -> st.SearchStrategy[object]:
    if kind in (NAME, TEXT):
        return st.text(st.characters(), max_size=8)
    if "f" in kind:
        return st.floats(allow_nan=False, width=32)
    of = np.iinfo(kind)
    return st.integers(int(of.min), int(of.max))


@given(table=tables(), data=st.data(), cuts=st.lists(st.integers(0, 6), max_size=4))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_rows_in_any_batches_read_as_if_added_in_one_go(
    table: DerivedTable, data: st.DataObject, cuts: list[int]
) -> None:
    row = st.tuples(*(cells(kind) for _, kind in table.columns))
    rows = data.draw(st.lists(row, min_size=sum(cuts), max_size=sum(cuts)))
    ends = np.cumsum([0, *cuts]).tolist()

    def columns(start: int, stop: int) -> dict[str, Column]:
        return {
            name: [each[n] for each in rows[start:stop]]
            if kind in (NAME, TEXT)
            else np.array([each[n] for each in rows[start:stop]], kind)
            for n, (name, kind) in enumerate(table.columns)
        }

    with scratch() as folder, Hdf5Store.open(folder / "memory.h5", create=True) as store:
        for start, stop in itertools.pairwise(ends):
            with store.writer() as writer:
                writer.add_derived(table, columns(start, stop), built_to=stop)
                writer.commit()
        with store.view() as view:
            assert listed(view.derived(table)) == listed(columns(0, len(rows)))

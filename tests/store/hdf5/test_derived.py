"""Damage to a derived table costs that table, and nothing else; what nobody knows does no harm."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support import DATA
from tests.support.memories import content, open_memory

from recollect.memory import Memory
from recollect.store.derived import TEXT, Column, DerivedTable, Rewrite, catch_up, current_rows
from recollect.store.hdf5.engine import Hdf5Store
from recollect.testing.derived import COLUMNS, ROWS, listed, make, some_rows
from recollect.values.errors import DerivedDamaged

COUNT = 5000
KEPT = DerivedTable("kept", 1, COLUMNS, Rewrite.CARRY)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A store of some fixtures with a table that is dropped and one that is carried."""
    path = tmp_path_factory.mktemp("derived") / "memory.h5"
    with open_memory(path) as memory:
        memory.ingest([DATA / "codex"])
    with Hdf5Store(path) as store, store.writer() as writer:
        writer.add_derived(ROWS, some_rows(0, COUNT), built_to=1)
        writer.add_derived(KEPT, some_rows(0, COUNT), built_to=1)
        writer.commit()
    return path.read_bytes()


@pytest.fixture
def path(good: bytes, tmp_path: Path) -> Path:
    (tmp_path / "memory.h5").write_bytes(good)
    return tmp_path / "memory.h5"


PAIRS = st.tuples(st.text("aé\x00 ", max_size=9), st.text(max_size=3))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(
        st.lists(st.tuples(st.text("aé\x00 ", max_size=9), st.text(max_size=3)), max_size=6), max_size=4
    ),
    data=st.data(),
)
def test_texts_read_back_wherever_they_lie(
    tmp_path: Path, steps: list[list[tuple[str, str]]], data: st.DataObject
) -> None:
    """Two columns share a stream, so that the texts of one lie behind each other within a step alone."""
    table = DerivedTable("pairs", 1, (("one", TEXT), ("other", TEXT)))
    (tmp_path / "texts.h5").unlink(missing_ok=True)
    with Hdf5Store.open(tmp_path / "texts.h5", create=True) as store:
        with store.writer() as writer:
            for step in steps:
                columns = {"one": [one for one, _ in step], "other": [other for _, other in step]}
                writer.add_derived(table, columns, built_to=0)
            writer.commit()
        every = [pair for step in steps for pair in step]
        start = data.draw(st.integers(0, len(every)))
        with store.view() as view:
            for first in (0, start):
                read = view.derived(table, first)
                assert list(zip(read["one"], read["other"], strict=True)) == every[first:]


def chunks_of(path: Path, group: str) -> Iterator[tuple[int, int]]:
    """Where each chunk of a group's datasets is in the file, and how long."""
    found: list[tuple[int, int]] = []

    def note(_: str, held: h5py.Group | h5py.Dataset) -> None:
        if isinstance(held, h5py.Dataset):
            infos = [held.id.get_chunk_info(n) for n in range(held.id.get_num_chunks())]
            found.extend((info.byte_offset, info.size) for info in infos)

    with h5py.File(path, "r") as file:
        file[group].visititems(note)
    return iter(found)


def flip(path: Path, at: int, bit: int = 0) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << bit
    path.write_bytes(data)


def reads(path: Path, table: DerivedTable) -> dict[str, list[object]]:
    with Hdf5Store(path) as store, store.view() as view:
        return listed(view.derived(table))


def first_chunk(path: Path, column: str) -> int:
    with h5py.File(path, "r") as file:
        return int(file[column].id.get_chunk_info(0).byte_offset)


@pytest.mark.parametrize(
    "column", ["rows/entry", "rows/said_at", "names/at", "texts/blocks/crc", "texts/data"]
)
def test_damage_to_a_table_is_a_warning_and_costs_nothing_else(path: Path, column: str) -> None:
    with open_memory(path) as memory:
        before = content(memory)
    flip(path, first_chunk(path, f"derived/{ROWS.name}/1/{column}") + 30)
    with open_memory(path) as memory:
        assert content(memory) == before
        assert [finding.level for finding in memory.check()] == ["warning"]
    assert reads(path, KEPT) == listed(some_rows(0, COUNT))
    with Hdf5Store(path) as store, store.writer() as writer:
        with pytest.raises(DerivedDamaged):
            writer.view().derived(ROWS)
        rows = listed(current_rows(writer, ROWS, make))
        assert rows == listed(make(writer.view(), 0, writer.view().info().entries))
    with open_memory(path) as memory:
        assert memory.check() == []


@pytest.mark.parametrize("rewrite", [Memory.compact, Memory.reparse, Memory.repair], ids=lambda f: f.__name__)
@pytest.mark.parametrize("damaged", [False, True])
def test_every_rewrite_carries_the_rows_that_read(
    path: Path, rewrite: Callable[..., object], damaged: bool
) -> None:
    if damaged:
        flip(path, first_chunk(path, f"derived/{KEPT.name}/1/rows/weight") + 30)
    with open_memory(path) as memory:
        rewrite(memory)
        assert memory.check() == []
    assert reads(path, KEPT) == listed(some_rows(0, 0 if damaged else COUNT))
    with Hdf5Store(path) as store, store.view() as view:
        assert [table.name for table in view.derived_tables()] == ([] if damaged else [KEPT.name])


@pytest.mark.parametrize("rewrite", [Memory.compact, Memory.reparse, Memory.repair], ids=lambda f: f.__name__)
def test_tables_that_only_a_later_version_knows_do_no_harm(
    path: Path, rewrite: Callable[..., object]
) -> None:
    with Hdf5Store(path) as store, store.writer() as writer:
        table = DerivedTable("later", 7, (("a", "<u8"),))
        writer.add_derived(table, {"a": np.array([1], np.uint64)}, built_to=1)
        group = writer._file["derived/later/7"]
        group.attrs["table"] = np.bytes_(json.dumps({**json.loads(table.described()), "rewrite": "bury"}))
        writer.commit()
    with open_memory(path) as memory:
        before = content(memory)
        assert memory.check() == []
        with memory.view() as view:
            assert "later" not in [each.name for each in view.derived_tables()]
        rewrite(memory)
        assert content(memory) == before
        assert memory.check() == []


@given(chunk=st.integers(0), byte=st.integers(0), bit=st.integers(0, 7))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_flipped_bit_makes_a_wrong_row(path: Path, good: bytes, chunk: int, byte: int, bit: int) -> None:
    """Of numbers, words and what says where they are alike."""
    path.write_bytes(good)
    spots = [*chunks_of(path, f"derived/{KEPT.name}/1")]
    at, size = spots[chunk % len(spots)]
    flip(path, at + byte % size, bit)
    with Hdf5Store(path) as store, store.view() as view:
        found: dict[str, Column] = {}
        try:
            found = view.derived(KEPT)
        except DerivedDamaged:
            return
    assert listed(found) in (listed(some_rows(0, 0)), listed(some_rows(0, COUNT)))


@given(where=st.integers(0, 400), bit=st.integers(0, 7))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_flipped_bit_makes_a_wrong_description(path: Path, good: bytes, where: int, bit: int) -> None:
    """The description and how far it is built stand under HDF5's own checksum."""
    at = good.index(KEPT.described().encode())
    (data := bytearray(good))[at - 100 + where] ^= 1 << bit
    path.write_bytes(data)
    with Hdf5Store(path) as store, store.view() as view:
        assert [(t, t.rows, t.built_to) for t in view.derived_tables() if t.name == KEPT.name] in (
            [],
            [(KEPT, COUNT, 1)],
        )


def test_rows_of_a_killed_writer_are_nowhere(path: Path, good: bytes) -> None:
    with Hdf5Store(path) as store, store.writer() as writer:
        writer.add_derived(ROWS, some_rows(COUNT, 2 * COUNT), built_to=9)
        writer.view()
    assert reads(path, ROWS) == listed(some_rows(0, COUNT))
    assert path.read_bytes() == good


def test_a_store_of_the_format_before_gets_its_first_table(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "memory.h5"
    path.write_bytes(gzip.decompress((DATA / "stores" / "format-1.h5.gz").read_bytes()))
    with Hdf5Store(path) as store:
        with store.view() as view:
            assert view.derived_tables() == []
        with store.writer() as writer:
            assert catch_up(writer, ROWS, make)
    with open_memory(path) as memory:
        assert memory.check() == []

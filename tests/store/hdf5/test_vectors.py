"""Vectors are derived: damage to them costs them, and nothing else; every rewrite keeps the others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.support import DATA
from tests.support.examples import examples
from tests.support.memories import content, open_memory

from recollect.memory import Memory
from recollect.store.contract import Array
from recollect.store.hdf5.engine import Hdf5Store
from recollect.store.hdf5.layout import BLOCK_BYTES
from recollect.testing.stores import listed, rows_of, vectors
from recollect.values.stored import VectorModel

MODEL = VectorModel("static", "r1", 64)
PER_BLOCK = BLOCK_BYTES // (8 + 2 * MODEL.dims)
COUNT = 2 * PER_BLOCK + 100


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Array, Array]:
    """A store of all fixtures with three blocks of vectors, and the vectors."""
    path = tmp_path_factory.mktemp("vectors") / "memory.h5"
    with open_memory(path) as memory:
        memory.ingest([DATA / "claude", DATA / "codex"])
    keys, rows = rows_of(COUNT, MODEL.dims)
    with Hdf5Store(path) as store, store.writer() as writer:
        writer.add_vectors(MODEL, keys, rows)
        writer.commit()
    return path.read_bytes(), keys, rows


@pytest.fixture
def path(good: tuple[bytes, Array, Array], tmp_path: Path) -> Path:
    (tmp_path / "memory.h5").write_bytes(good[0])
    return tmp_path / "memory.h5"


def places(path: Path, dataset: str) -> Iterator[tuple[int, int]]:
    """Where each chunk of a dataset is in the file, and how long."""
    with h5py.File(path, "r") as file:
        held = file[dataset]
        for n in range(held.id.get_num_chunks()):
            info = held.id.get_chunk_info(n)
            yield info.byte_offset, info.size


def frame_start(path: Path, number: int) -> int:
    """Where a block's frame begins in the file."""
    with h5py.File(path, "r") as file:
        at = int(file["vectors/0/blocks/at"][number])
    chunk, _ = list(places(path, "vectors/0/data"))[at // 65536]
    return chunk + at % 65536


def flip(path: Path, at: int, bit: int = 0) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << bit
    path.write_bytes(data)


def read(path: Path) -> list[tuple[int, list[float]]]:
    with Hdf5Store(path) as store, store.view() as view:
        return vectors(view, MODEL)


def add(path: Path, keys: Array, rows: Array) -> None:
    with Hdf5Store(path) as store, store.writer() as writer:
        writer.add_vectors(MODEL, keys, rows)
        writer.commit()


def test_a_damaged_block_costs_its_own_rows_and_can_be_filled_again(
    path: Path, good: tuple[bytes, Array, Array]
) -> None:
    _, keys, rows = good
    with open_memory(path) as memory:
        before = content(memory)
    flip(path, frame_start(path, 1) + 50)
    lost = slice(PER_BLOCK, 2 * PER_BLOCK)
    kept = [row for n, row in enumerate(listed(keys, rows)) if not lost.start <= n < lost.stop]
    assert read(path) == kept
    with Hdf5Store(path) as store, store.view() as view:
        assert vectors(view, MODEL, lost.start - 1, lost.stop + 1) == [kept[lost.start - 1], kept[lost.start]]
        assert view.vector_models()[0].rows == COUNT
    with open_memory(path) as memory:
        assert content(memory) == before
        (finding,) = memory.check()
    assert finding.level == "warning"
    assert f"{PER_BLOCK} of {COUNT} vectors of static r1" in finding.what
    add(path, keys[lost], rows[lost])
    assert sorted(read(path)) == sorted(listed(keys, rows))


@pytest.mark.parametrize("rewrite", [Memory.compact, Memory.reparse, Memory.repair], ids=lambda f: f.__name__)
@pytest.mark.parametrize("damaged", [False, True])
def test_every_rewrite_keeps_the_vectors_that_read(
    path: Path, good: tuple[bytes, Array, Array], rewrite, damaged: bool
) -> None:
    _, keys, rows = good
    if damaged:
        flip(path, frame_start(path, 0) + 50)
    with open_memory(path) as memory:
        rewrite(memory)
        assert memory.check() == []
    assert read(path) == listed(keys, rows)[PER_BLOCK if damaged else 0 :]


def test_a_snapshot_has_the_vectors(path: Path, good: tuple[bytes, Array, Array]) -> None:
    with open_memory(path) as memory:
        memory.snapshot(path.with_name("copy.h5"))
    assert read(path.with_name("copy.h5")) == listed(*good[1:])


@pytest.mark.parametrize(
    "told",
    [
        '{"name": "static", "revision": "r2", "dims": 64, "key": 1}',
        "[]",
        "{",
        "3",
        '{"name": "static"}',
        '{"name": "static", "revision": "r1", "dims": 0, "key": 1}',
    ],
)
def test_a_model_whose_description_is_damaged_is_absent_and_begins_again(path: Path, told: str) -> None:
    with h5py.File(path, "r+") as file:
        file["vectors/0"].attrs["model"] = told
    data = bytearray(path.read_bytes())
    data[56:64] = len(data).to_bytes(8, "little")  # h5py made the file longer than its header says
    path.write_bytes(_sealed(data))
    assert read(path) == []
    keys, rows = rows_of(3, MODEL.dims, seed=1)
    add(path, keys, rows)
    assert read(path) == listed(keys, rows)
    with open_memory(path) as memory:
        assert [f.level for f in memory.check()] == ["warning"]
        memory.compact()
        assert memory.check() == []
    assert read(path) == listed(keys, rows)


@pytest.mark.parametrize("column", ["end", "at", "length", "crc"])
def test_a_damaged_index_of_blocks_makes_the_model_absent(path: Path, column: str) -> None:
    (at, _), *_ = places(path, f"vectors/0/blocks/{column}")
    flip(path, at + 20)
    assert read(path) == []
    with open_memory(path) as memory:
        assert [f.level for f in memory.check()] == ["warning"]
        memory.repair()
        assert memory.check() == []


@given(chunk=st.integers(0), byte=st.integers(0), bit=st.integers(0, 7))
@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_flipped_bit_makes_a_wrong_vector(
    path: Path, good: tuple[bytes, Array, Array], chunk: int, byte: int, bit: int
) -> None:
    """Of keys, numbers and the index of blocks alike."""
    whole, keys, rows = good
    path.write_bytes(whole)
    spots = [*places(path, "vectors/0/data")]
    spots += [spot for c in ("end", "at", "length", "crc") for spot in places(path, f"vectors/0/blocks/{c}")]
    at, size = spots[chunk % len(spots)]
    flip(path, at + byte % size, bit)
    true = dict(listed(keys, rows))
    assert all(true.get(key) == row for key, row in read(path))


@given(
    batches=st.lists(st.integers(0, 40), max_size=6),
    dims=st.integers(1, 9),
    span=st.tuples(st.integers(0, 150), st.integers(0, 150)),
)
@examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_rows_come_back(tmp_path: Path, batches: list[int], dims: int, span: tuple[int, int]) -> None:
    """Whatever half-precision numbers they are made of, NaN and infinities too."""
    (tmp_path / "any.h5").unlink(missing_ok=True)
    model, random = VectorModel("any", "1", dims), np.random.default_rng(sum(batches))
    keys = random.integers(0, 2**64, sum(batches), np.uint64)
    rows = random.integers(0, 2**16, (sum(batches), dims), np.uint16).view(np.float16)
    with Hdf5Store.open(tmp_path / "any.h5", create=True) as store:
        for start, stop in zip(np.cumsum([0, *batches]), np.cumsum(batches), strict=False):
            with store.writer() as writer:
                writer.add_vectors(model, keys[start:stop], rows[start:stop])
                writer.commit()
        with store.view() as view:
            found = view.vectors(model, *span)
            assert found[0].tolist() == keys[slice(*span)].tolist()
            assert found[1].tobytes() == rows[slice(*span)].tobytes()


def _sealed(data: bytearray) -> bytes:
    """The same file with a header page that fits its fields again."""
    import zlib

    data[72:76] = zlib.crc32(data[:72]).to_bytes(4, "little")
    data[2048:4096] = data[:2048]
    return bytes(data)


def test_the_model_is_described_in_plain_json(path: Path) -> None:
    with h5py.File(path, "r") as file:
        told = json.loads(file["vectors/0"].attrs["model"])
    assert {name: told[name] for name in ("name", "revision", "dims")} == {
        "name": "static",
        "revision": "r1",
        "dims": 64,
    }

"""Vectors of one model: rows of a key and a vector, packed into a stream of their own.

They are derived, and kept because they are dear to make. A key stands for a text and not for
a row, so a rewrite carries them over as they are.

Damage here is no error. Rows of a block that fails its checksum are left out, and a model whose
description does not read is not there: whoever misses them embeds again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from recollect.store.contract import Array
from recollect.store.hdf5.frames import Damaged, compress
from recollect.store.hdf5.guard import FAILURES, StoreFile
from recollect.store.hdf5.layout import BLOCK_BYTES, KEY_BYTES, VECTORS
from recollect.store.hdf5.library import h5py
from recollect.store.hdf5.tables import Stream
from recollect.values.ids import name_key
from recollect.values.stored import VectorModel

DIMS_MAX = 1 << 16  # no model has more, and a row is still a small part of a block


class Vectors:
    """The rows of one model. Appended ones can be read at once."""

    def __init__(self, file: StoreFile, number: str) -> None:
        self.model = _described(file.at(f"{VECTORS}/{number}"))
        self._stream = Stream(file, f"{VECTORS}/{number}")
        _ = self._stream.index  # read now: without it there is nothing to leave out rows by
        self._row_bytes = _row_bytes(self.model.dims)
        ends = self._stream.index["end"]
        if np.any(ends % np.uint64(self._row_bytes)):
            raise Damaged("its blocks do not hold whole rows")
        self._stream.check_words(ends[-1:])

    @staticmethod
    def create(file: StoreFile, model: VectorModel) -> Vectors:
        if not file.has(VECTORS):
            file.make_group(VECTORS)
        text = {"name": model.name, "revision": model.revision, "dims": model.dims, "key": _key(model)}
        try:
            number = str(max((int(name) for name in file.names(VECTORS) if name.isdecimal()), default=-1) + 1)
            group = Stream.create(file.at(VECTORS), number)
            group.attrs["model"] = json.dumps(text)
        except FAILURES as error:
            raise Damaged(f"/{VECTORS} takes no other model: {error}") from error
        return Vectors(file, number)

    @property
    def stream(self) -> Stream:
        return self._stream

    @property
    def rows(self) -> int:
        return self._stream.end // self._row_bytes

    def read(self, start: int, stop: int) -> tuple[Array, Array]:
        """Keys and vectors of those rows, from start to stop, that can be read."""
        keys = [np.zeros(0, "<u8")]
        vectors = [np.zeros((0, self.model.dims), "<f2")]
        for number, first, last in self._blocks():
            if first >= stop or last <= start:
                continue
            try:
                block = self._stream.block(number)
            except Damaged:
                continue
            inside = slice(max(start - first, 0), stop - first)
            found = _unpacked(block, self.model.dims)
            keys.append(found[0][inside])
            vectors.append(found[1][inside])
        return np.concatenate(keys), np.concatenate(vectors)

    def append(self, keys: Array, vectors: Array) -> None:
        rows = max(BLOCK_BYTES // self._row_bytes, 1)
        for at in range(0, len(keys), rows):
            block = _packed(keys[at : at + rows], vectors[at : at + rows])
            self._stream.add_frame(len(block), compress(block))

    def damaged_rows(self) -> int:
        """How many rows do not read."""
        count = 0
        for number, first, last in self._blocks():
            try:
                self._stream.block(number)
            except Damaged:
                count += last - first
        return count

    def _blocks(self) -> Iterator[tuple[int, int, int]]:
        """(number, first row, row behind the last) of every block."""
        ends = (self._stream.index["end"] // self._row_bytes).tolist()
        return zip(range(len(ends)), [0, *ends], ends, strict=False)


def find_vectors(file: StoreFile) -> tuple[dict[VectorModel, Vectors], list[str]]:
    """What can be read, by model, in the order the models came; and what is wrong with the rest."""
    found: dict[VectorModel, Vectors] = {}
    wrong: list[str] = []
    try:
        held = file.names(VECTORS) if file.has(VECTORS) else []
        names = sorted((name for name in held if name.isdecimal()), key=int)
    except (Damaged, *FAILURES) as error:
        return {}, [f"{VECTORS}: {error}"]
    for name in names:
        try:
            vectors = Vectors(file, name)
        except (Damaged, *FAILURES) as error:
            wrong.append(f"{VECTORS}/{name}: {error}")
        else:
            found[vectors.model] = vectors
    return found, wrong


def _described(group: h5py.Group) -> VectorModel:
    """The model an attribute speaks of. HDF5 keeps strings without a checksum: the key is theirs."""
    told = json.loads(group.attrs["model"])
    model = VectorModel(str(told["name"]), str(told["revision"]), int(told["dims"]))
    if told["key"] != _key(model) or not 0 < model.dims <= DIMS_MAX:
        raise Damaged("its model's key is not that of its name, revision and dims")
    return model


def _key(model: VectorModel) -> int:
    return name_key("model", model.name, model.revision, str(model.dims))


def _row_bytes(dims: int) -> int:
    return KEY_BYTES + 2 * dims


def _packed(keys: Array, vectors: Array) -> bytes:
    """Keys first, then the lower bytes of all numbers, then the higher ones: so they compress by a fifth."""
    halves = np.ascontiguousarray(vectors, "<f2").view("u1").reshape(-1, 2)
    return np.ascontiguousarray(keys, "<u8").tobytes() + halves.T.tobytes()


def _unpacked(block: bytes, dims: int) -> tuple[Array, Array]:
    rows = len(block) // _row_bytes(dims)
    keys = np.frombuffer(block, "<u8", rows)
    halves = np.frombuffer(block, "u1", offset=rows * KEY_BYTES).reshape(2, -1)
    return keys, halves.T.copy().view("<f2").reshape(rows, dims)

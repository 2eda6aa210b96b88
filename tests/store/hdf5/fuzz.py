"""Store files that somebody made to do harm, by the thousand, and what becomes of who opens them.

`mutate` makes one out of a good store: of a kind, and by a number, always the same. Some are bytes gone
wrong, in HDF5's own structures with their checksums made right again; some are what HDF5 offers and no
store has; some are tables that lie. Run as a program on a folder with a good store it makes a run of
them, reads each in every way a person would, and prints a line of JSON for each.

Nothing here may be slow to give up: who loops is ended by a limit on the time it computes, not on the
time that passes, and who takes too much memory is refused it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import json
import os
import random
import resource
import shutil
import signal
import struct
import sys
import traceback
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import zstandard
from tests.support import DATA
from tests.support.logs import claude_path, said, uuid_of, write
from tests.support.memories import open_memory

from recollect.cli import main as recollect
from recollect.light.store_header import PAGE_BYTES, Header
from recollect.store.derived import DerivedTable
from recollect.store.hdf5.check import check_path
from recollect.store.hdf5.engine import Hdf5Store
from recollect.store.hdf5.layout import BLOCKS, STREAMS, TABLES
from recollect.values.errors import RecollectError
from recollect.values.stored import VectorModel

CPU_SECONDS = 20.0  # that reading one file may take
MEMORY_BYTES = 310 << 20  # that a process may ever hold: `reparse` of a line of 64 MiB takes the most, 305
_DATA_BYTES = 1 << 30  # at which memory is refused, so that a bomb harms nobody else
_LIBVER = ("v108", "v108")
TABLE = DerivedTable("toy-calls", 1, (("entry", "<u8"), ("tool", "name"), ("input", "text")))
_UNDEFINED = (1 << 64) - 1

Mutation = Callable[[Path, random.Random], object]
KINDS: dict[str, Mutation] = {}


def make_good(folder: Path) -> Path:
    """A small store that has everything a store can have, and a log to add to it."""
    write(claude_path(folder / "logs", 1), b"".join(said(n, f"prompt {n} alpha") + b"\n" for n in range(40)))
    write(claude_path(folder / "more", 2), said(99, "another one") + b"\n")
    path = folder / "good.h5"
    with open_memory(path) as memory:
        memory.ingest([DATA / "codex", folder / "logs"])
    with Hdf5Store.open(path) as store, store.writer() as writer:
        writer.add_vectors(VectorModel("toy", "1", 8), np.arange(50, dtype="<u8"), np.ones((50, 8), "<f2"))
        words = {"entry": np.arange(20), "tool": ["a", "b"] * 10, "input": [f"x{n}" for n in range(20)]}
        writer.add_derived(TABLE, words, built_to=20)
        for n in range(12):  # more than a group's header has room for
            writer.add_derived(DerivedTable(f"table-{n}", 1, (("a", "<f4"),)), {"a": [n]}, built_to=1)
        writer.commit()
    return path


def mutate(good: Path, target: Path, number: int, kind: str = "") -> str:
    """Make mutant `number`, of a kind that goes by its number; says which."""
    chance = random.Random(f"recollect {number}")
    kind = kind or list(KINDS)[number % len(KINDS)]
    shutil.copyfile(good, target)
    KINDS[kind](target, chance)
    return kind


def of_kind(mutation: Mutation) -> Mutation:
    KINDS[mutation.__name__.strip("_")] = mutation
    return mutation


# -- bytes -----------------------------------------------------------------------------------------


def _edit(path: Path, change: Callable[[bytearray], object]) -> None:
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)


def seal(path: Path) -> None:
    """Let the header page say how long the file is, as hostile hands would."""

    def change(data: bytearray) -> None:
        data.extend(bytes(-len(data) % PAGE_BYTES))
        header = Header.unpack(bytes(data[:PAGE_BYTES]), path)
        data[:PAGE_BYTES] = header.changed(size=len(data)).pack()

    _edit(path, change)


@of_kind
def _bits(path: Path, chance: random.Random) -> None:
    def change(data: bytearray) -> None:
        for _ in range(chance.choice((1, 1, 2, 8, 64))):
            data[chance.randrange(PAGE_BYTES, len(data))] ^= 1 << chance.randrange(8)

    _edit(path, change)


@of_kind
def _pages(path: Path, chance: random.Random) -> None:
    """Pages of zeros, of noise, or of what belongs elsewhere."""

    def change(data: bytearray) -> None:
        for _ in range(chance.choice((1, 1, 2, 5))):
            page, other = (chance.randrange(1, len(data) // PAGE_BYTES) * PAGE_BYTES for _ in range(2))
            fill = chance.choice((bytes(PAGE_BYTES), chance.randbytes(PAGE_BYTES), data[other:][:PAGE_BYTES]))
            data[page : page + PAGE_BYTES] = fill

    _edit(path, change)


@of_kind
def _cut_short(path: Path, chance: random.Random) -> None:
    os.truncate(path, chance.randrange(PAGE_BYTES, path.stat().st_size))
    seal(path)


@of_kind
def _unsealed_header(path: Path, chance: random.Random) -> None:
    """A header that passes its checksum and says anything; or an HDF5 file within its page."""

    def change(data: bytearray) -> None:
        header = Header.unpack(bytes(data[:PAGE_BYTES]), path)
        field = chance.choice(("size", "epoch", "generation", "folded", "created_ms"))
        changed = header.changed(**{field: chance.choice(_NUMBERS) % (1 << 64)}).pack()
        data[:PAGE_BYTES] = changed
        if chance.random() < 0.4:
            at = chance.choice((512, 1024, 2048))
            data[at : at + 48] = data[PAGE_BYTES : PAGE_BYTES + 48]

    _edit(path, change)


@of_kind
def _structures(path: Path, chance: random.Random) -> None:
    """Bytes of HDF5's own structures, with their checksums made right."""

    def change(data: bytearray) -> None:
        for _ in range(chance.choice((1, 1, 1, 2, 4))):
            start, size, sum_at = chance.choice(checked(data))
            at = start + chance.randrange(4, size)
            width = chance.choice((1, 1, 2, 4, 8))
            value = chance.choice(_NUMBERS) if chance.random() < 0.7 else chance.getrandbits(64)
            data[at : at + width] = (value % (1 << (8 * width))).to_bytes(width, "little")[: len(data) - at]
            check_again(data, start, size, sum_at)

    _edit(path, change)


@of_kind
def _messages(path: Path, chance: random.Random) -> None:
    """A message of an object's header becomes another one."""

    def change(data: bytearray) -> None:
        headers = [each for each in checked(data) if data[each[0] : each[0] + 4] == b"OHDR"]
        start, size, sum_at = chance.choice(headers)
        flags = data[start + 5]
        at = start + 6 + (16 if flags & 32 else 0) + (4 if flags & 16 else 0) + (1 << (flags & 3))
        places = []
        while at + 4 <= start + sum_at:
            places.append(at)
            at += 4 + int.from_bytes(data[at + 1 : at + 3], "little")
        at = chance.choice(places)
        what = chance.randrange(3)
        if what == 0:
            data[at] = chance.randrange(24)
        elif what == 1:
            data[at + 3] = chance.choice((2, 8, 16, 32, 64, 255))
        else:
            length = int.from_bytes(data[at + 1 : at + 3], "little")
            inside = at + 4 + chance.randrange(max(length, 1))
            data[inside] = chance.choice((0, 1, 2, 3, 4, 9, 127, 128, 255))
        check_again(data, start, size, sum_at)

    _edit(path, change)


@of_kind
def _chunk_indexes(path: Path, chance: random.Random) -> None:
    """Fields of what has no checksum: indexes of chunks, and collections of strings."""

    def change(data: bytearray) -> None:
        places = [*_all(data, b"TREE"), *_all(data, b"TREE"), *_all(data, b"GCOL")]
        for _ in range(chance.choice((1, 1, 3))):
            start = chance.choice(places)
            at = start + chance.choice((4, 5, 6, 8, 16, 24, 28, 32, 40, 48, 56, chance.randrange(4, 200)))
            width = chance.choice((1, 2, 4, 8))
            value = chance.choice((*_NUMBERS, start - PAGE_BYTES, chance.choice(places) - PAGE_BYTES))
            data[at : at + width] = (value % (1 << (8 * width))).to_bytes(width, "little")

    _edit(path, change)


def checked(data: bytearray) -> list[tuple[int, int, int]]:
    """(start, size, where its checksum is) of the structures that have one."""
    found = [(PAGE_BYTES, 48, 44)]
    for at in _all(data, b"OHDR"):
        flags = data[at + 5]
        head = 6 + (16 if flags & 32 else 0) + (4 if flags & 16 else 0)
        width = 1 << (flags & 3)
        size = head + width + int.from_bytes(data[at + head : at + head + width], "little")
        found.append((at, size + 4, size))
        for place in range(at + head + width, min(at + size, len(data) - 24)):
            if data[place : place + 4] == b"\x10\x10\0\0":
                address, length = struct.unpack_from("<QQ", data, place + 4)
                if 8 < length < 4096 and data[PAGE_BYTES + address :][:4] == b"OCHK":
                    found.append((PAGE_BYTES + address, length, length - 4))
    found += [(at, 146, 142) for at in _all(data, b"FRHP")]
    for at in _all(data, b"FSHD"):
        found.append((at, 82, 78))
        address, used = struct.unpack_from("<QQ", data, at + 54)
        if data[PAGE_BYTES + address :][:4] == b"FSSE" and used < 4096:
            found.append((PAGE_BYTES + address, used, used - 4))
    found += [(at, 512, 17) for at in _all(data, b"FHDB") if _is_of_links(data, at)]
    for at in _all(data, b"BTHD"):
        found.append((at, 38, 34))
        root, held = struct.unpack_from("<QH", data, at + 16)
        size = 6 + held * int.from_bytes(data[at + 10 : at + 12], "little")
        found.append((PAGE_BYTES + root, size + 4, size))
    return [each for each in found if each[0] + each[1] <= len(data) and each[1] > 4]


def _is_of_links(data: bytearray, block: int) -> bool:
    """Whether a block of a heap is the first of one that names are in: those of attributes are larger."""
    heap = PAGE_BYTES + int.from_bytes(data[block + 5 : block + 13], "little")
    return data[heap : heap + 4] == b"FRHP" and struct.unpack_from("<Q", data, heap + 112)[0] == 512


def check_again(data: bytearray, start: int, size: int, sum_at: int) -> None:
    """Make a structure's checksum that of its bytes."""
    piece = bytearray(data[start : start + size])
    piece[sum_at : sum_at + 4] = bytes(4)
    body = bytes(piece[:sum_at]) if sum_at + 4 == size else bytes(piece)
    struct.pack_into("<I", data, start + sum_at, _lookup3(body))


def _all(data: bytearray, mark: bytes) -> list[int]:
    places, at = [], data.find(mark)
    while at >= 0:
        places.append(at)
        at = data.find(mark, at + 1)
    return places


def _lookup3(data: bytes) -> int:
    """HDF5's checksum of metadata: Bob Jenkins' lookup3."""
    mask = 0xFFFFFFFF

    def rot(value: int, by: int) -> int:
        return ((value << by) | (value >> (32 - by))) & mask

    a = b = c = (0xDEADBEEF + len(data)) & mask
    while len(data) > 12:
        x, y, z = struct.unpack_from("<III", data)
        a, b, c = (a + x) & mask, (b + y) & mask, (c + z) & mask
        a = (a - c) & mask ^ rot(c, 4)
        c = (c + b) & mask
        b = (b - a) & mask ^ rot(a, 6)
        a = (a + c) & mask
        c = (c - b) & mask ^ rot(b, 8)
        b = (b + a) & mask
        a = (a - c) & mask ^ rot(c, 16)
        c = (c + b) & mask
        b = (b - a) & mask ^ rot(a, 19)
        a = (a + c) & mask
        c = (c - b) & mask ^ rot(b, 4)
        b = (b + a) & mask
        data = data[12:]
    if not data:
        return c
    x, y, z = struct.unpack("<III", data.ljust(12, b"\0"))
    a, b, c = (a + x) & mask, (b + y) & mask, (c + z) & mask
    for one, two, by in (("c", "b", 14), ("a", "c", 11), ("b", "a", 25), ("c", "b", 16)):
        held = {"a": a, "b": b, "c": c}
        held[one] = ((held[one] ^ held[two]) - rot(held[two], by)) & mask
        a, b, c = held["a"], held["b"], held["c"]
    for one, two, by in (("a", "c", 4), ("b", "a", 14), ("c", "b", 24)):
        held = {"a": a, "b": b, "c": c}
        held[one] = ((held[one] ^ held[two]) - rot(held[two], by)) & mask
        a, b, c = held["a"], held["b"], held["c"]
    return c


# -- what HDF5 offers and no store has -------------------------------------------------------------

_NUMBERS = (0, 1, 2, 3, 7, 8, 255, 256, 4095, 65535, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32,
            1 << 40, (1 << 62), (1 << 63) - 1, 1 << 63, _UNDEFINED - 1, _UNDEFINED)  # fmt: skip


@contextlib.contextmanager
def _changing(path: Path, libver: tuple[str, str] = _LIBVER) -> Iterator[h5py.File]:
    with h5py.File(path, "r+", libver=libver) as file:
        yield file
    seal(path)


def _datasets(file: h5py.File) -> list[str]:
    found: list[str] = []
    file.visititems(lambda name, each: found.append(name) if isinstance(each, h5py.Dataset) else None)
    return sorted(found)


def _groups(file: h5py.File) -> list[str]:
    found: list[str] = []
    file.visititems(lambda name, each: found.append(name) if isinstance(each, h5py.Group) else None)
    return sorted(found)


@of_kind
def _links(path: Path, chance: random.Random) -> None:
    """A name that leads elsewhere: to another place, another file, round in a circle."""
    other = path.with_name("secret.h5")
    with h5py.File(other, "w") as file:
        file["numbers"] = np.arange(10)
    with _changing(path) as file:
        name = chance.choice([*_datasets(file), *_groups(file)])
        parent = name.rpartition("/")[0] or "/"
        others = [each for each in (*_datasets(file), *_groups(file)) if not each.startswith(name)]
        leads: list[Any] = [
            h5py.SoftLink("/" + chance.choice(others)),
            h5py.SoftLink("/" + name),
            h5py.ExternalLink(other.name, "/numbers"),
            h5py.ExternalLink(str(other), "/"),
            h5py.ExternalLink("/etc/passwd", "/"),
            file[parent],
            file["/"],
            file[chance.choice(others)],
        ]
        lead = chance.choice(leads)
        del file[name]
        if chance.random() < 0.95:
            file[name] = lead


@of_kind
def _datasets_of_other_sorts(path: Path, chance: random.Random) -> None:
    """A dataset of any shape, type, layout or filter in the place of one of ours."""
    outside = path.with_name("secret.bin")
    outside.write_bytes(b"secret" * 1000)
    with _changing(path, ("v108", chance.choice(("v108", "latest")))) as file:
        name = chance.choice(_datasets(file))
        old = file[name]
        rows, dtype, chunks = old.shape[0], old.dtype, old.chunks
        values = old[:]
        del file[name]
        many = chance.choice((1 << 30, 1 << 40, (1 << 62) - 1, 1 << 33))
        create = functools.partial(file.create_dataset, name)
        chunked = functools.partial(create, chunks=chunks, maxshape=(None,))
        makes: list[Callable[[], object]] = [
            lambda: create((rows,), dtype, external=[(str(outside), 0, 1 << 20)]),
            lambda: _virtual(file, name, path, rows, dtype),
            lambda: chunked((many,), dtype, shuffle=True, compression="gzip", compression_opts=6),
            lambda: create((rows,), dtype, chunks=(1 << 27,), maxshape=(None,)),
            lambda: chunked((many,), dtype),
            lambda: chunked((rows,), dtype, fillvalue=7),
            lambda: create(data=values),
            lambda: chunked(data=values, compression="lzf"),
            lambda: chunked(data=values, fletcher32=True),
            lambda: chunked(data=values, compression="gzip"),
            lambda: chunked(data=values, scaleoffset=0),
            lambda: create(data=values.reshape(1, -1)),
            lambda: create(data=[f"s{n}" for n in range(rows)]),
            lambda: chunked((rows,), h5py.vlen_dtype("i8")),
            lambda: chunked((rows,), [("a", "i4"), ("b", "f8", (3,))]),
            lambda: chunked((rows,), h5py.ref_dtype),
            lambda: chunked((rows,), h5py.regionref_dtype),
            lambda: create((rows,), chance.choice((">u8", "<f8", "<i2", "S8", "?"))),
            lambda: create(data=h5py.Empty("f")),
            lambda: create((), "f4"),
            lambda: file.create_group(name),
            lambda: _committed(file, name, dtype, rows, chunks),
            lambda: _with_filter(file, name, dtype, rows, chunks, chance),
        ]
        chance.choice(makes)()


def _virtual(file: h5py.File, name: str, path: Path, rows: int, dtype: Any) -> None:
    layout = h5py.VirtualLayout((rows,), dtype)
    layout[:] = h5py.VirtualSource(path.with_name("secret.h5"), "numbers", (rows,))
    with contextlib.suppress(ValueError):  # where the old format cannot say it, nothing is there at all
        file.create_virtual_dataset(name, layout)


def _committed(file: h5py.File, name: str, dtype: Any, rows: int, chunks: Any) -> None:
    file[name + "-type"] = np.dtype(dtype)
    file.create_dataset(name, (rows,), file[name + "-type"], chunks=chunks, maxshape=(None,))


def _with_filter(file: h5py.File, name: str, dtype: Any, rows: int, chunks: Any, chance: Any) -> None:
    """With a filter that only a plugin could bring."""
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk(chunks)
    code = chance.choice((305, 32001, 32015, 65535))
    properties.set_filter(code, h5py.h5z.FLAG_OPTIONAL, tuple(range(chance.choice((0, 1, 40)))))
    space = h5py.h5s.create_simple((rows,), (h5py.h5s.UNLIMITED,))
    type_ = h5py.h5t.py_create(np.dtype(dtype))
    made = h5py.h5d.create(file.id, name.encode(), type_, space, properties)
    if rows:
        made.write_direct_chunk((0,), bytes(64), 0)


@of_kind
def _attributes(path: Path, chance: random.Random) -> None:
    """Attributes of any size and sort, most of all where some are read."""
    with _changing(path) as file:
        places = ["vectors/0", "derived/toy-calls/1"] * 4 + _groups(file) + _datasets(file)
        holder = file[chance.choice(places)]
        names = [*holder.attrs, "other"]
        values: list[Any] = [
            "x" * chance.choice((1, 4000, 60000)), np.bytes_(b"{" * 30000), np.arange(5000, dtype="<u8"),
            h5py.Empty("f"), np.float64("inf"), "[" * 30000, holder.ref,
            '{"name":"a","revision":"b","dims":1e400,"key":1}',
            np.bytes_(b'{"name":"toy-calls","revision":1,"columns":{"a":["b"]},"rewrite":"drop"}'),
            np.zeros(3, [("a", "i4"), ("b", "S3")]), b"\xff\xfe", ["a", "b"],
        ]  # fmt: skip
        name = chance.choice(names)
        with contextlib.suppress(OSError, ValueError, RuntimeError):  # more than HDF5 itself takes
            holder.attrs[name] = chance.choice(values)
            for n in range(chance.choice((0, 0, 0, 30))):
                holder.attrs[f"a{n}"] = n


@of_kind
def _extents(path: Path, chance: random.Random) -> None:
    """Columns longer than what is there, shorter than their table, or with chunks that are missing."""
    with _changing(path) as file:
        for _ in range(chance.choice((1, 1, 4))):
            dataset = file[chance.choice(_datasets(file))]
            rows = dataset.shape[0]
            if rows >= 1 << 33:  # HDF5 would visit every chunk that it no longer has
                continue
            longer = (rows + 1, rows * 2 + 1, rows + 100_000, 1 << 33, 1 << 40, (1 << 62) - 1)
            dataset.resize((chance.choice((0, max(rows - 1, 0), *longer)),))


@of_kind
def _foreign(path: Path, chance: random.Random) -> None:
    """HDF5 files of others, some behind a header of ours."""
    header = path.read_bytes()[:PAGE_BYTES]
    block = chance.choice((0, PAGE_BYTES, PAGE_BYTES))
    path.unlink()
    libver = chance.choice((None, ("v108", "v108"), "latest", "earliest"))
    with h5py.File(path, "w", userblock_size=block, libver=libver) as file:
        group: Any = file
        for _ in range(chance.choice((0, 1, 200))):
            group = group.create_group("tables")
        for n in range(chance.choice((1, 30, 300))):
            group.create_dataset(f"d{n}", data=np.arange(chance.choice((0, 10))))
    if block and chance.random() < 0.8:
        _edit(path, lambda data: data.__setitem__(slice(0, PAGE_BYTES), header))
        seal(path)


# -- tables that lie -------------------------------------------------------------------------------


def _columns() -> list[str]:
    tables = [f"tables/{table}/{column}" for table, columns in TABLES.items() for column in columns]
    return tables + [f"streams/{stream}/blocks/{column}" for stream in STREAMS for column in BLOCKS]


@of_kind
def _cells(path: Path, chance: random.Random) -> None:
    """Numbers of rows, lengths, places and kinds that cannot be."""
    with _changing(path) as file:
        for _ in range(chance.choice((1, 1, 1, 3, 10))):
            _put(file, chance.choice(_columns()), chance)


@of_kind
def _chains(path: Path, chance: random.Random) -> None:
    """What leads from row to row: to itself, onwards, out of the table; or tells of everything often."""
    with _changing(path) as file:
        chain, owners, link = chance.choice((("extents", "sessions", "extent"), ("spans", "sources", "span")))
        rows = len(file[f"tables/{chain}/before"])
        for _ in range(chance.choice((1, 3))):
            row = chance.randrange(rows)
            column, value = chance.choice(
                (
                    ("before", row), ("before", rows - 1), ("before", min(row + 1, rows - 1)),
                    ("before", (1 << 63) - 1), ("count", (1 << 64) - 1), ("count", 1 << 62),
                    ("first", (1 << 64) - 1), ("first", 0), ("count", 30),
                )
            )  # fmt: skip
            file[f"tables/{chain}/{column}"][row] = value
        if chance.random() < 0.5:
            at = file[f"tables/{owners}/{link}"]
            at[chance.randrange(len(at))] = chance.choice((rows - 1, rows, 1 << 40))
        if chance.random() < 0.3:
            older = file["tables/sources/older"]
            older[chance.randrange(len(older))] = chance.randrange(len(older))


@of_kind
def _blocks(path: Path, chance: random.Random) -> None:
    """Streams whose blocks overlap, run backwards, lie outside, or are longer than anything."""
    with _changing(path) as file:
        stream = chance.choice(("streams/lines", "streams/texts", "vectors/0", "derived/toy-calls/1/texts"))
        for _ in range(chance.choice((1, 2))):
            _put(file, f"{stream}/blocks/{chance.choice(list(BLOCKS))}", chance)


@of_kind
def _bombs(path: Path, chance: random.Random) -> None:
    """Frames of zstd that claim, or hold, far more than they are long; their checksums fit."""
    with _changing(path) as file:
        stream = chance.choice(("streams/lines", "streams/texts", "vectors/0", "derived/toy-calls/1/texts"))
        group, many = file[stream], chance.choice((1, 1, 40))
        size = chance.choice((64 << 20, 256 << 20, 60 << 20))
        frame = _bomb(size)
        if chance.random() < 0.3:  # it says more than it holds
            frame, size = zstandard.ZstdCompressor().compress(b"little"), chance.choice((1 << 32, 1 << 40))
        if chance.random() < 0.3:  # it does not say how much it holds
            frame = frame[:4] + bytes((frame[4] & 0x3F,)) + frame[5:]
        at, rows = group["data"].shape[0], group["blocks/end"].shape[0]
        group["data"].resize((at + len(frame),))
        group["data"][at:] = np.frombuffer(frame, "u1")
        end = int(group["blocks/end"][rows - 1]) if rows else 0
        for column, values in (
            ("end", [end + size * (n + 1) for n in range(many)]), ("at", [at] * many),
            ("length", [len(frame)] * many), ("crc", [zlib.crc32(frame)] * many),
        ):  # fmt: skip
            group[f"blocks/{column}"].resize((rows + many,))
            group[f"blocks/{column}"][rows:] = values
        if stream == "streams/lines":
            ends = file["tables/lines/end"]
            row = chance.randrange(len(ends))
            ends[row:] = end + size * many if chance.random() < 0.5 else end + 1000
        elif stream == "streams/texts":
            table, name = chance.choice((("names", ""), ("sessions", "title_"), ("sources", "state_")))
            file[f"tables/{table}/{name}at"][:] = end
            file[f"tables/{table}/{name}length"][:] = chance.choice((size - 1, 60_000)) % (1 << 32)


_FRAMES: dict[int, bytes] = {}


def _bomb(size: int) -> bytes:
    if size not in _FRAMES:
        packer = zstandard.ZstdCompressor().compressobj(size=size)
        pieces = [packer.compress(b"a" * (1 << 20)) for _ in range(size >> 20)]
        _FRAMES[size] = b"".join(pieces) + packer.flush()
    return _FRAMES[size]


@of_kind
def _inflating(path: Path, chance: random.Random) -> None:
    """Chunks that inflate to more than a chunk, to less, to nothing, or are no zlib at all."""
    with _changing(path) as file:
        dataset = file[chance.choice(_columns())]
        large, short = zlib.compress(bytes(20 << 20)), zlib.compress(bytes(1 << 20))[:-4]
        others = (zlib.compress(b""), b"", b"\x78", zlib.compress(b"ab"), chance.randbytes(100))
        packed = chance.choice((large, short, *others))
        if dataset.shape[0]:
            dataset.id.write_direct_chunk((0,), packed or b"\0", 0)


@of_kind
def _words(path: Path, chance: random.Random) -> None:
    """Texts that are not UTF-8, no JSON, nested without end; all checksums fit."""
    nested = (b"[" * 100_000, b"[[]" + b",[]" * 100_000, b"{}" * 10, b'"' * 200, b"1" * 6000)
    others = (b"\xff\xfe\x80" * 50, b"\0" * 200, b"\xed\xa0\x80" * 40, "\u202e\x1b[2J".encode() * 30)
    bad = chance.choice((*nested, *others))
    with _changing(path) as file:
        group = file["streams/texts"]
        frame = zstandard.ZstdCompressor().compress(bad)
        at, rows = group["data"].shape[0], group["blocks/end"].shape[0]
        end = int(group["blocks/end"][rows - 1])
        group["data"].resize((at + len(frame),))
        group["data"][at:] = np.frombuffer(frame, "u1")
        for column, value in (
            ("end", end + len(bad)),
            ("at", at),
            ("length", len(frame)),
            ("crc", zlib.crc32(frame)),
        ):
            group[f"blocks/{column}"].resize((rows + 1,))
            group[f"blocks/{column}"][rows] = value
        table, name = chance.choice(
            (("names", ""), ("sessions", "title_"), ("sessions", "id_"), ("sources", "state_"),
             ("sources", "path_"), ("entries", ""))
        )  # fmt: skip
        row = chance.randrange(file[f"tables/{table}/{name}at"].shape[0])
        file[f"tables/{table}/{name}at"][row] = end
        file[f"tables/{table}/{name}length"][row] = chance.choice((len(bad), len(bad) - 1, 7))
        if table == "entries":
            file["tables/entries/form"][row] = chance.choice((0, 1, 2, 3, 4, 255))


def _put(file: h5py.File, name: str, chance: random.Random) -> None:
    """A number that cannot be, or need not, in some row of a column."""
    column = file[name]
    if not column.shape[0]:
        return
    row, bits = chance.randrange(column.shape[0]), 8 * column.dtype.itemsize
    value = chance.choice(
        (*_NUMBERS, row, row + 1, column.shape[0], column.shape[0] - 1, int(column[row]) + 1)
    )
    value %= 1 << bits
    column[row] = value - (1 << bits) if column.dtype.kind == "i" and value >= 1 << (bits - 1) else value


# -- reading them ----------------------------------------------------------------------------------


def read_all(path: Path) -> str:
    """All a library's user could read; every error is one of ours and names the file."""
    try:
        with open_memory(path, create=False) as memory, memory.view() as view:
            lines = view.info().lines
            for session in view.sessions():
                for _ in view.entries(session):
                    pass
            for source in view.sources():
                for _ in view.lines(source):
                    pass
            view.usage()
            view.types(), view.flag_counts(), view.replaced()
            for model in view.vector_models():
                view.vectors(model)
            for table in view.derived_tables():
                with contextlib.suppress(RecollectError):
                    view.derived(table)
            if lines:
                view.locate_many(range(0, min(lines, 5000), 7))
        return "fine"
    except RecollectError as error:
        return "refused" if str(path) in str(error) or error.exit_code == 3 else f"NAMELESS {error}"


def check(path: Path) -> str:
    found = [finding for finding in check_path(path) if finding.level == "error"]
    return "damage" if found else "fine"


COMMANDS: tuple[tuple[str, ...], ...] = (
    ("inspect", "FILE"), ("status", "--store", "FILE"), ("sessions", "--store", "FILE"),
    ("show", uuid_of(1), "--store", "FILE"), ("search", "alpha", "--mode", "text", "--store", "FILE"),
    ("export", uuid_of(1), "--to", "raw", "-o", "OUT", "--force", "--store", "FILE"),
    ("convert", "MORE", "-o", "FILE", "--append"), ("tail", uuid_of(1), "--store", "FILE"),
    ("usage", "--store", "FILE"), ("compact", "--store", "FILE"), ("blame", "a.py", "--store", "FILE"),
    ("snapshot", "COPY", "--store", "FILE"), ("ingest", "MORE", "--store", "FILE"),
    ("reparse", "--store", "FILE"), ("check", "--repair", "--store", "FILE"),
)  # fmt: skip


def say(words: tuple[str, ...], path: Path) -> str:
    """A command of a person; it ends with one of its exit codes, and names the file if it refuses it."""
    given = {"FILE": path, **{word: path.with_name(word.lower()) for word in ("OUT", "MORE", "COPY")}}
    out, told = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(told):
        code = recollect([str(given.get(word, word)) for word in words])
    if code not in (0, 1, 3, 4, 5, 8) or "Traceback" in told.getvalue():
        return f"EXIT {code} of {' '.join(words)}: {told.getvalue()[-1500:]}"
    if code in (4, 5) and str(path) not in told.getvalue():
        return f"NAMELESS {told.getvalue()[-500:]}"
    return "fine" if code in (0, 1, 3, 8) else "refused"


def outcome(path: Path, number: int) -> str:
    """How reading a file went; in capitals what must not be."""
    reads: list[Callable[[], str]] = [lambda: check(path), lambda: read_all(path)]
    reads += [lambda: say(COMMANDS[number // len(KINDS) % len(COMMANDS)], path)]
    try:
        told = [read() for read in reads]
    except BaseException:
        return "TRACEBACK " + traceback.format_exc()[-2500:]
    bad = [each for each in told if each.split()[0].isupper()]
    if bad:
        return bad[0]
    return "refused" if told[1] == "refused" else "damage" if told[0] == "damage" else "fine"


def main() -> None:
    """GOOD FOLDER FIRST LAST: read those mutants, one after the other."""
    good, folder, first, last = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    resource.setrlimit(resource.RLIMIT_DATA, (_DATA_BYTES, _DATA_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ |= {"HOME": str(folder), "RECOLLECT_DEBUG": "1"}
    os.environ |= {f"XDG_{name}_HOME": str(folder / name) for name in ("CACHE", "DATA", "CONFIG", "STATE")}
    shutil.copytree(good.parent / "more", folder / "more")
    _import_all(good, folder)
    for number in range(first, last):
        print(json.dumps([number, *_apart(good, folder, number)]), flush=True)


def _import_all(good: Path, folder: Path) -> None:
    """Import what the commands import, and run nothing: a fork has the modules, and no threads."""
    out, into = os.pipe()
    child = os.fork()
    if not child:
        shutil.copyfile(good, folder / "mutant.h5")
        for words in COMMANDS:
            say(words, folder / "mutant.h5")
        os.write(into, "\n".join(sys.modules).encode())
        os._exit(0)
    os.close(into)
    with open(out, "rb") as told:
        modules = told.read().decode().split()
    os.waitpid(child, 0)
    _empty(folder)
    for name in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def _empty(folder: Path) -> None:
    for left in folder.iterdir():
        if left.is_file():
            left.unlink()


def _apart(good: Path, folder: Path, number: int) -> tuple[str, str, int]:
    """Of what kind a mutant is, how reading it went, and what memory that took: in a process of its own."""
    out, into = os.pipe()
    child = os.fork()
    if not child:
        path = folder / "mutant.h5"
        kind = mutate(good, path, number)
        os.write(into, f"{kind}\n".encode())
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        os.write(into, outcome(path, number).encode("utf-8", "replace")[-4000:])
        os._exit(0)
    os.close(into)
    with open(out, "rb") as told:
        kind, _, said = told.read().decode("utf-8", "replace").partition("\n")
    _, status, usage = os.wait4(child, 0)
    _empty(folder)
    code = os.waitstatus_to_exitcode(status)
    return kind, f"{'SIGNAL' if code < 0 else 'DIED'} {abs(code)}" if code else said, usage.ru_maxrss << 10


if __name__ == "__main__":
    main()

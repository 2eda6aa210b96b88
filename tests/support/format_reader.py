"""A reader of stores written from `docs/format.md` alone: h5py, zstandard and the standard library.

Nothing here may import Recollect. Where this file and the page disagree, one of them is wrong.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import zstandard

PAGE = 4096
UNTERMINATED, CONTINUES, DOCUMENT = 1, 4, 2
NONE, LITERAL, SLICE, STORED = 0, 1, 2, 3
MARK, END_MARK = b"\xf5RCLFRM\xfa", b"\xfaEND"


class Header(NamedTuple):
    """The header page, field by field."""

    magic: bytes
    format: int
    page_bytes: int
    created_ms: int
    store_id: bytes
    generation: int
    epoch: int
    size: int
    folded: int

    @classmethod
    def of(cls, page: bytes) -> Header | None:
        """None when the page fails its checksum."""
        assert page[:8] == b"RCLSTORE", "not a store"
        if zlib.crc32(page[:72]) != struct.unpack_from("<I", page, 72)[0]:
            return None
        header = cls._make(struct.unpack_from("<8sIIQ16sQQQQ", page))
        assert header.format == 1, "a later format"
        return header


class Redo(NamedTuple):
    """A complete redo file."""

    store_id: bytes
    base: int
    generation: int
    size: int
    pages: dict[int, bytes]

    @classmethod
    def beside(cls, path: Path) -> Redo | None:
        try:
            data = path.with_name(path.name + "-redo").read_bytes()
        except FileNotFoundError:
            return None
        assert len(data) >= 52, "damaged"
        assert data[:8] == b"RCLREDO1", "damaged"
        store_id, base, generation, size, count = struct.unpack_from("<16sQQQI", data, 8)
        index_end = 52 + count * 12
        assert len(data) == index_end + 4 + count * PAGE, "damaged"
        assert struct.unpack_from("<I", data, index_end)[0] == zlib.crc32(data[:index_end]), "damaged"
        pages = {}
        for n in range(count):
            number, crc = struct.unpack_from("<QI", data, 52 + n * 12)
            page = data[index_end + 4 + n * PAGE :][:PAGE]
            assert zlib.crc32(page) == crc, "damaged"
            pages[number] = page
        return cls(store_id, base, generation, size, pages)


class Source(NamedTuple):
    row: int
    host: str
    path: str
    session: str
    superseded: bool


class Entry(NamedTuple):
    id: str
    session: str
    type: str
    kind: int
    flags: int
    time_ms: int
    tool: str
    call: str
    model: str
    text: str


class FormatReader:
    """One store, opened and read as the page says. Columns are read whole: this is a test, not a product."""

    def __init__(self, path: Path) -> None:
        self.path = path
        page = path.read_bytes()[:PAGE]
        header, redo = Header.of(page), Redo.beside(path)
        self.overlaid = redo is not None and (
            header is None
            or (redo.store_id == header.store_id and redo.base <= header.generation <= redo.generation)
        )
        opened: Any = path
        if self.overlaid:
            assert redo is not None
            content = bytearray(path.read_bytes()[: redo.size].ljust(redo.size, b"\0"))
            for number, page in redo.pages.items():
                content[number * PAGE : (number + 1) * PAGE] = page
            opened, header = io.BytesIO(content), Header.of(bytes(content[:PAGE]))
        assert header is not None, "damaged"
        self.header = header
        self.file = h5py.File(opened, "r")
        self._columns: dict[str, list[int]] = {}
        self._blocks: dict[tuple[str, int], bytes] = {}

    def __enter__(self) -> FormatReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    # -- columns and streams

    def column(self, table: str, name: str) -> list[int]:
        key = f"{table}/{name}"
        if key not in self._columns:
            self._columns[key] = self.file[key][:].tolist()
        return self._columns[key]

    def cell(self, table: str, name: str, row: int) -> int:
        return self.column(f"tables/{table}", name)[row]

    def rows(self, table: str) -> int:
        lengths = {len(dataset) for dataset in self.file[f"tables/{table}"].values()}
        assert len(lengths) == 1, f"the columns of {table} differ in length"
        return lengths.pop()

    def stream(self, path: str, start: int, stop: int) -> bytes:
        if start >= stop:
            return b""
        ends = self.column(f"{path}/blocks", "end")
        number = next_above(ends, start)
        found = []
        while start < stop:
            base = ends[number - 1] if number else 0
            found.append(self.block(path, number)[start - base : stop - base])
            start, number = ends[number], number + 1
        return b"".join(found)

    def block(self, name: str, number: int) -> bytes:
        if (name, number) not in self._blocks:
            ends, at, length, crc = (self.column(f"{name}/blocks", c) for c in ("end", "at", "length", "crc"))
            frame = self.file[f"{name}/data"][at[number] : at[number] + length[number]].tobytes()
            assert zlib.crc32(frame) == crc[number], f"block {number} of {name} is rotten"
            if len(self._blocks) > 16:
                self._blocks.clear()
            self._blocks[name, number] = zstandard.ZstdDecompressor().decompress(frame)
            assert len(self._blocks[name, number]) == ends[number] - (ends[number - 1] if number else 0)
        return self._blocks[name, number]

    # -- texts and names

    def text(self, at: int, length: int) -> str:
        return self.word("streams/texts", at, length)

    def word(self, stream: str, at: int, length: int) -> str:
        return self.stream(stream, at, at + length).decode("utf-8", "surrogatepass")

    def text_at(self, table: str, what: str, row: int) -> str:
        return self.text(self.cell(table, f"{what}at", row), self.cell(table, f"{what}length", row))

    def name(self, row: int) -> str:
        return self.text_at("names", "", row)

    def named(self, table: str, column: str, row: int) -> str:
        return self.name(self.cell(table, column, row))

    def enumeration(self, name: str) -> dict[str, int]:
        found: dict[str, int] = json.loads(self.file.attrs[name])
        return found

    # -- lines and sources

    def line(self, row: int) -> bytes:
        start = self.cell("lines", "end", row - 1) if row else 0
        return self.stream("streams/lines", start, self.cell("lines", "end", row))

    def chain(self, table: str, last: int) -> list[int]:
        intervals = []
        while last >= 0:
            first = self.cell(table, "first", last)
            intervals.append(range(first, first + self.cell(table, "count", last)))
            last = self.cell(table, "before", last)
        return [row for interval in reversed(intervals) for row in interval]

    def sources(self) -> list[Source]:
        return [
            Source(
                row,
                self.named("sources", "host", row),
                self.text_at("sources", "path_", row),
                self.text_at("sessions", "id_", self.cell("sources", "session", row)),
                bool(self.cell("sources", "flags", row) & 2),
            )
            for row in range(self.rows("sources"))
        ]

    def content(self, source: int) -> Iterator[bytes]:
        """A source's bytes, piece by piece."""
        rows = self.chain("spans", self.cell("sources", "span", source))
        assert len(rows) == self.cell("sources", "lines", source)
        joint = b""
        for row in rows:
            yield joint + self.line(row)
            whole = self.cell("sources", "framing", source) == DOCUMENT
            joint = b"" if whole or self.cell("lines", "flags", row) & CONTINUES else b"\n"
        if rows and not self.cell("sources", "flags", source) & UNTERMINATED:
            yield joint

    # -- sessions and entries

    def sessions(self) -> list[tuple[str, str, str]]:
        """(agent, host, id) of every session, by row."""
        return [
            (
                self.named("sessions", "agent", row),
                self.named("sessions", "host", row),
                self.text_at("sessions", "id_", row),
            )
            for row in range(self.rows("sessions"))
        ]

    def entries(self, session: int) -> list[Entry]:
        rows = self.chain("extents", self.cell("sessions", "extent", session))
        assert len(rows) == self.cell("sessions", "entries", session)
        return [self.entry(row) for row in rows]

    def entry(self, row: int) -> Entry:
        line = self.cell("entries", "line", row)
        number = row - (self.cell("lines", "entries", line - 1) if line else 0)
        call = self.cell("entries", "call", row)
        return Entry(
            id=f"{self.cell('lines', 'key_a', line):016x}"[:12] + (f".{number}" if number else ""),
            session=self.text_at("sessions", "id_", self.cell("entries", "session", row)),
            type=self.named("lines", "type", line),
            kind=self.cell("entries", "kind", row),
            flags=self.cell("entries", "flags", row),
            time_ms=self.cell("entries", "time", row),
            tool=self.named("entries", "tool", row),
            call=f"{call:016x}" if call else "",
            model=self.named("entries", "model", row),
            text=self.entry_text(row, line),
        )

    def entry_text(self, row: int, line: int) -> str:
        form, at, length = (self.cell("entries", c, row) for c in ("form", "at", "length"))
        if form == NONE:
            return ""
        if form == STORED:
            return self.text(at, length)
        piece = self.line(line)[at : at + length]
        assert len(piece) == length
        if form == SLICE:
            return piece.decode("utf-8", "surrogatepass")
        assert form == LITERAL
        text = json.loads(piece)
        assert isinstance(text, str)
        return text

    # -- vectors

    def vectors(self) -> dict[tuple[str, str, int], list[tuple[int, list[float]]]]:
        """(key, numbers) of every row that reads, by name, revision and dims."""
        found: dict[tuple[str, str, int], list[tuple[int, list[float]]]] = {}
        for number in sorted(self.file.get("vectors", ()), key=int):
            told = json.loads(self.file[f"vectors/{number}"].attrs["model"])
            model = (told["name"], told["revision"], told["dims"])
            if told["key"] == name_key("model", *map(str, model)):
                found[model] = list(self.vector_rows(f"vectors/{number}", model[2]))
        return found

    def vector_rows(self, stream: str, dims: int) -> Iterator[tuple[int, list[float]]]:
        for number in range(len(self.column(f"{stream}/blocks", "end"))):
            try:
                block = self.block(stream, number)
            except AssertionError:
                continue
            count = len(block) // (8 + 2 * dims)
            low, high = block[8 * count : (8 + dims) * count], block[(8 + dims) * count :]
            halves = bytes(byte for pair in zip(low, high, strict=True) for byte in pair)
            numbers = struct.unpack(f"<{dims * count}e", halves)
            for n, key in enumerate(struct.unpack_from(f"<{count}Q", block)):
                yield key, list(numbers[n * dims : (n + 1) * dims])

    # -- derived tables

    def derived(self) -> dict[tuple[str, int], tuple[int, dict[str, list[Any]]]]:
        """How far each table is built, and its columns, by name and revision."""
        found = {}
        for name, revisions in self.file.get("derived", {}).items():
            for revision, group in revisions.items():
                told = json.loads(group.attrs["table"])
                assert (told["name"], str(told["revision"])) == (name, revision)
                path = f"derived/{name}/{revision}"
                columns = {c: self.derived_column(path, c, kind) for c, kind in told["columns"].items()}
                found[name, told["revision"]] = int(group.attrs["built_to"]), columns
        return found

    def derived_column(self, path: str, column: str, kind: str) -> list[Any]:
        if kind == "text":
            at, length = (self.column(f"{path}/rows", f"{column}_{part}") for part in ("at", "length"))
            return [self.word(f"{path}/texts", *place) for place in zip(at, length, strict=True)]
        values = self.column(f"{path}/rows", column)
        if kind != "name":
            return list(values)
        at, length = (self.column(f"{path}/names", part) for part in ("at", "length"))
        return [self.word(f"{path}/texts", at[row], length[row]) for row in values]

    # -- the journal

    def journal(self) -> list[tuple[int, list[Any], bytes]]:
        """(sequence, the nine fields, bytes) of every segment that is not in the store yet."""
        try:
            data = self.path.with_name(self.path.name + "-wal").read_bytes()
        except FileNotFoundError:
            return []
        found = []
        at = data.find(MARK)
        while at >= 0:
            frame = frame_at(data, at)
            if frame is not None and frame[0] > self.header.folded:
                sequence, payload = frame
                length = struct.unpack_from("<I", payload)[0]
                found.append((sequence, json.loads(payload[4 : 4 + length]), payload[4 + length :]))
            at = data.find(MARK, at + 1 if frame is None else at + 32 + len(frame[1]))
        return found


def frame_at(data: bytes, at: int) -> tuple[int, bytes] | None:
    """The journal frame that starts here, if it is whole."""
    if len(data) < at + 24:
        return None
    length, crc, sequence = struct.unpack_from("<IIQ", data, at + 8)
    payload = data[at + 24 : at + 24 + length]
    if not 1 <= length <= 64 << 20 or zlib.crc32(data[at + 16 : at + 24] + payload) != crc:
        return None
    tail = data[at + 24 + length : at + 32 + length]
    return (sequence, payload) if tail == struct.pack("<I", length) + END_MARK else None


def line_key(data: bytes) -> tuple[int, int]:
    """(key_a, key_b) of a line."""
    digest = hashlib.blake2b(data, digest_size=16).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


def name_key(*parts: str) -> int:
    if parts == ("",):
        return 0
    joined = b"\0".join(part.encode("utf-8", "surrogatepass") for part in parts)
    return bytes_key(joined)


def bytes_key(data: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little") or 1


def next_above(ends: list[int], value: int) -> int:
    """The first position whose number is greater."""
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        if ends[middle] > value:
            high = middle
        else:
            low = middle + 1
    return low

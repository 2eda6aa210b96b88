"""Lines on their way into the tables: numbered from zero, names and texts of their own.

A pack needs no store, so that other processes can fill it; `Hdf5Writer.adopt` shifts its
numbers to where its rows come to stand. Rows are tuples until the end, because turning a
whole pack into columns at once is what makes ingest fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from recollect.store.contract import Array, View
from recollect.store.derived import Column, DerivedTable
from recollect.store.hdf5.forms import TextForm, as_bytes, find
from recollect.store.hdf5.frames import compress
from recollect.store.hdf5.layout import BLOCK_BYTES, TABLES, TEXT_BYTES_MAX
from recollect.store.merge import ChargedUsage
from recollect.values.ids import name_key
from recollect.values.records import Cursor, Entry, Line, Provenance, SessionFacts, SourceFile, Usage
from recollect.values.stored import Session, Source, TakeResult, VectorModel

_KEYS_KEPT = 8192
_STORED_CHARS_MAX = TEXT_BYTES_MAX // 4  # of a text that is longer than its own line


class Replacing(NamedTuple):
    """A line that takes the place of those of these keys, or takes back all from one of a key on; 0: none."""

    line: int
    keys: tuple[int, ...]
    rewinds: int


class Pack:
    """Lines, entries and usage, in order, by owner: a number the caller gives each session."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {"": 0}
        self.texts = bytearray()
        self.blocks: list[bytearray] = []
        self.line_count = 0
        self.entry_count = 0
        self.usage: dict[int, ChargedUsage] = {}  # the largest record of each response
        self.replacing: list[Replacing] = []
        self._open = bytearray()
        self._end = 0
        self._lines: list[tuple[int, ...]] = []
        self._digests: list[bytes] = []
        self._entries: list[tuple[int, ...]] = []
        self._keys: dict[str, int] = {"": 0}

    @property
    def byte_count(self) -> int:
        return self._end

    def add(self, lines: Sequence[Line], digests: Sequence[bytes], owner: int) -> None:
        """Put lines behind the others; `digests` are their keys."""
        self._digests += digests
        for line in lines:
            self._add_line(line, owner)

    def entry_end(self, line: int) -> int:
        """How many entries there are up to and including this line's."""
        return self._lines[line][1]

    def _add_line(self, line: Line, owner: int) -> None:
        data, parsed = line.data, line.parsed
        self._open += data
        self._end += len(data)
        if len(self._open) >= BLOCK_BYTES:
            self.cut()
        for key, usage in line.kept.usages if line.kept is not None else ():
            self._charge(key, usage, owner)
        if parsed is None:
            self._lines.append((self._end, self.entry_count, 0, line.flags, 0, 0))
        else:
            place = 0
            for entry in parsed.entries:
                place = self._add_entry(entry, owner, data, place)
            self.entry_count += len(parsed.entries)
            for usage in parsed.usages:
                self._charge(name_key(usage.key), usage, owner)
            if parsed.replaces or parsed.rewinds:
                keys = tuple(map(self._key, parsed.replaces))
                self.replacing.append(Replacing(self.line_count, keys, self._key(parsed.rewinds)))
            self._lines.append(
                (
                    self._end,
                    self.entry_count,
                    self._name(parsed.type),
                    line.flags,
                    self._key(parsed.uuid),
                    self._key(parsed.parent),
                )
            )
        self.line_count += 1

    def _add_entry(self, entry: Entry, owner: int, data: bytes, place: int) -> int:
        """Add one entry; returns where in the line the next one's text is looked for."""
        found = find(entry.text, entry.kind, data, place)
        if found is None:
            stored = as_bytes(entry.text[:_STORED_CHARS_MAX])
            form, at, length = TextForm.STORED, len(self.texts), len(stored)
            self.texts += stored
        else:
            form, at, length = found
            place = at + length
        self._entries.append(
            (
                self.line_count,
                owner,
                entry.kind,
                entry.flags,
                entry.time_ms,
                self._name(entry.tool),
                self._key(entry.call),
                self._name(entry.model),
                form,
                at,
                length,
            )
        )
        return place

    def _charge(self, key: int, usage: Usage, owner: int) -> None:
        counted = ChargedUsage.of(usage, self.line_count, owner)
        self.usage[key] = counted.against(self.usage.get(key))

    def cut(self) -> None:
        if self._open:
            self.blocks.append(self._open)
            self._open = bytearray()

    def line_columns(self) -> dict[str, Array]:
        columns = columns_of(("end", "entries", "type", "flags", "uuid", "parent"), "lines", self._lines)
        keys = np.frombuffer(b"".join(self._digests), "<u8").reshape(-1, 2)
        return columns | {"key_a": keys[:, 0], "key_b": keys[:, 1]}

    def entry_columns(self) -> dict[str, Array]:
        return columns_of(tuple(TABLES["entries"]), "entries", self._entries)

    def _name(self, name: str) -> int:
        row = self.names.get(name)
        if row is None:
            row = self.names[name] = len(self.names)
        return row

    def _key(self, name: str) -> int:
        """Most records hang on the one before, so the last keys are worth keeping."""
        key = self._keys.get(name)
        if key is None:
            if len(self._keys) > _KEYS_KEPT:
                self._keys = {"": 0}
            key = self._keys[name] = name_key(name)
        return key


def columns_of(names: Sequence[str], table: str, rows: Iterable[tuple[int, ...]]) -> dict[str, Array]:
    """Rows turned into a table's columns."""
    values = list(zip(*rows, strict=True)) or [()] * len(names)
    return {name: np.array(column, TABLES[table][name]) for name, column in zip(names, values, strict=True)}


@dataclass(slots=True)
class Portion:
    """The part of a parcel that is one source's: so many lines, and how far they go."""

    file: SourceFile
    host: str
    lines: int
    cursor: Cursor
    facts: SessionFacts
    parser: int


@dataclass(slots=True)
class Parcel:
    """Whole new sources, parsed and compressed by another process, for a writer to adopt."""

    portions: list[Portion]
    names: list[str]
    texts: bytes
    frames: list[tuple[int, bytes]]
    lines: dict[str, Array]
    entries: dict[str, Array]
    usage: dict[int, ChargedUsage]
    replacing: list[Replacing]


@dataclass(slots=True)
class ParcelWriter:
    """A `Writer` that knows no store: everything is new to it, and nothing is a duplicate."""

    portions: list[Portion] = field(default_factory=list)
    pack: Pack = field(default_factory=Pack)

    def source(self, host: str, path: str) -> Source | None:
        return None

    def is_current(self, host: str, path: str, seen: Cursor) -> bool:
        return False

    def take(
        self,
        file: SourceFile,
        host: str,
        lines: Sequence[Line],
        cursor: Cursor,
        facts: SessionFacts,
        *,
        parser: int,
        restart: bool = False,
    ) -> TakeResult:
        if not self.portions or self.portions[-1].file is not file:
            self.portions.append(Portion(file, host, 0, cursor, facts, parser))
        portion = self.portions[-1]
        portion.lines += len(lines)
        portion.cursor, portion.facts = cursor, facts
        before = self.pack.entry_count
        self.pack.add(lines, [line.known_by for line in lines], len(self.portions) - 1)
        return TakeResult([False] * len(lines), self.pack.entry_count - before)

    def commit(self) -> None:
        """Nothing to do: the parcel is committed by whoever adopts it."""

    def sessions_with(self, records: Sequence[str]) -> list[list[Session]]:
        raise AssertionError("no session is known here")

    def touch(self, host: str, path: str, cursor: Cursor) -> None:
        raise AssertionError("no source is known here")

    def mark(self, source: Source, provenance: Provenance) -> None:
        raise AssertionError("no source is known here")

    def add_vectors(self, model: VectorModel, keys: Array, vectors: Array) -> None:
        raise AssertionError("nothing is embedded here")

    def add_derived(self, table: DerivedTable, columns: Mapping[str, Column], *, built_to: int) -> None:
        raise AssertionError("nothing is derived here")

    def drop_derived(self, table: DerivedTable) -> None:
        raise AssertionError("nothing is derived here")

    def folded(self, sequence: int) -> None:
        raise AssertionError("no journal is read here")

    def view(self) -> View:
        raise AssertionError("there is no store here")

    def parcel(self) -> Parcel:
        pack = self.pack
        pack.cut()
        return Parcel(
            self.portions,
            list(pack.names),
            bytes(pack.texts),
            [(len(block), compress(block)) for block in pack.blocks],
            pack.line_columns(),
            pack.entry_columns(),
            pack.usage,
            pack.replacing,
        )

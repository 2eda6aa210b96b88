"""Derived tables in the HDF5 file: each a group of its own that says what it is.

Words are packed into a stream of the table's own, so that nothing outside the group belongs to it, and
to drop a table is to unlink its group. Its description and how far it is built are attributes of fixed
size, which HDF5 keeps under a checksum, unlike strings of any length.

Damage here is no damage to the store: a table that cannot be opened is absent, and the next one to
add to it begins anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from recollect.store.contract import Array
from recollect.store.derived import NAME, TEXT, Column, DerivedTable, parts, wanted_columns
from recollect.store.hdf5.forms import TextForm, as_bytes, text_of
from recollect.store.hdf5.frames import Damaged, compress
from recollect.store.hdf5.guard import FAILURES, StoreFile
from recollect.store.hdf5.layout import BLOCK_BYTES, DERIVED, ROWS_PER_CHUNK_LARGE, TABLES
from recollect.store.hdf5.library import h5py
from recollect.store.hdf5.tables import Stream, Table

_NAMES = TABLES["names"]


class DerivedRows:
    """The rows of one table. Added ones can be read at once."""

    def __init__(self, file: StoreFile, description: DerivedTable) -> None:
        path = _path(description)
        self._group: h5py.Group = file.at(path)
        self.description = description
        kinds = dict(description.columns)
        self._rows = Table(file, f"{path}/rows", _stored_columns(description))
        self._texts = Stream(file, f"{path}/texts") if {NAME, TEXT} & set(kinds.values()) else None
        self._names = Table(file, f"{path}/names", _NAMES) if NAME in kinds.values() else None
        self._words: list[str] = []  # of `names`, as far as they were read
        self._built_to = int(self._group.attrs["built_to"])

    @staticmethod
    def create(file: StoreFile, table: DerivedTable) -> DerivedRows:
        for path in (DERIVED, f"{DERIVED}/{table.name}"):
            if not file.has(path):
                file.make_group(path)
        if file.has(_path(table)):
            DerivedRows.drop(file, table)  # what is there does not read
        file.make_group(_path(table))
        group = file.at(_path(table))
        group.attrs["table"] = np.bytes_(table.described())
        group.attrs["built_to"] = np.uint64(0)
        Table.create(group, "rows", _stored_columns(table), ROWS_PER_CHUNK_LARGE)
        if {NAME, TEXT} & {kind for _, kind in table.columns}:
            Stream.create(group, "texts")
        if NAME in {kind for _, kind in table.columns}:
            Table.create(group, "names", _NAMES)
        return DerivedRows(file, table)

    @staticmethod
    def drop(file: StoreFile, table: DerivedTable) -> None:
        file.unlink(_path(table))

    @property
    def texts(self) -> Stream | None:
        return self._texts

    @property
    def table(self) -> DerivedTable:
        """The description, with the present rows and how far they are built."""
        return replace(self.description, rows=self._rows.rows, built_to=self._built_to)

    def read(self, start: int, stop: int, only: Sequence[str] = ()) -> dict[str, Column]:
        wanted = wanted_columns(self.description, only)
        return {name: self._column(name, kind, start, stop) for name, kind in wanted}

    def append(self, columns: Mapping[str, Column], built_to: int) -> None:
        lengths = {len(columns[name]) for name, _ in self.description.columns}
        assert len(lengths) == 1 == len(columns) - len(self.description.columns) + 1, (
            "not this table's columns"
        )
        packed = _Packed(self._texts.end if self._texts is not None else 0)
        stored: dict[str, Array] = {}
        for name, kind in self.description.columns:
            stored |= self._pack(packed, name, kind, columns[name])
        if packed.data:
            assert self._texts is not None
            for at in range(0, len(packed.data), BLOCK_BYTES):
                block = packed.data[at : at + BLOCK_BYTES]
                self._texts.add_frame(len(block), compress(block))
        self._rows.append(stored)
        self._group.attrs.modify("built_to", np.uint64(built_to))
        self._built_to = built_to

    def damage(self) -> str:
        """What is wrong with it, "" for nothing. Reads all of it."""
        try:
            self.read(0, self._rows.rows)
        except (Damaged, *FAILURES) as error:
            return str(error)
        return ""

    def _column(self, name: str, kind: str, start: int, stop: int) -> Column:
        if kind == TEXT:
            assert self._texts is not None
            at, length = (self._rows.read(part, start, stop) for part in parts(name, kind))
            self._texts.check_words(length)
            return [text for run in _runs(at, length) for text in self._texts_of(at[run], length[run])]
        values = self._rows.read(name, start, stop)
        if kind != NAME:
            return values
        words = self._known_words()
        if len(values) and int(values.max()) >= len(words):
            raise Damaged(f"{self._group.name}: {name} has a word that is not there")
        return [words[row] for row in values.tolist()]

    def _pack(self, packed: _Packed, name: str, kind: str, values: Column) -> dict[str, Array]:
        """A column's numbers; its words go into what will be the stream's next blocks."""
        if kind == TEXT:
            places = [packed.put(str(text)) for text in values]
            pairs = np.array(places, np.uint64).reshape(len(places), 2)
            return dict(zip(parts(name, kind), (pairs[:, 0], pairs[:, 1]), strict=True))
        if kind != NAME:
            return {name: np.asarray(values, kind)}
        words = self._known_words()
        rows = {word: row for row, word in enumerate(words)}
        new = [word for word in dict.fromkeys(map(str, values)) if word not in rows]
        assert self._names is not None
        places = [packed.put(word) for word in new]
        self._names.append({"at": [at for at, _ in places], "length": [length for _, length in places]})
        words += new
        rows |= {word: row for row, word in enumerate(words)}
        return {name: np.array([rows[str(word)] for word in values], np.uint32)}

    def _known_words(self) -> list[str]:
        assert self._names is not None
        assert self._texts is not None
        at, length = (self._names.read(column, len(self._words)) for column in _NAMES)
        self._texts.check_words(length)
        self._words += [self._text(*place) for place in zip(at.tolist(), length.tolist(), strict=True)]
        return self._words

    def _texts_of(self, at: Array, length: Array) -> list[str]:
        """Texts that lie one behind the other, read at once."""
        assert self._texts is not None
        first, stops = int(at[0]), np.cumsum(length.astype(np.int64)).tolist()
        data = self._texts.read(first, first + stops[-1])
        places = zip([0, *stops], stops, strict=False)
        if data.isascii():
            told = data.decode("ascii")
            return [told[start:stop] for start, stop in places]
        return [text_of(TextForm.STORED, data[start:stop]) for start, stop in places]

    def _text(self, at: int, length: int) -> str:
        assert self._texts is not None
        return text_of(TextForm.STORED, self._texts.read(at, at + length))


def _runs(at: Array, length: Array) -> list[slice]:
    """Those of some places that lie one behind the other, about as much as a block at a time."""
    apart = (at[1:] != at[:-1] + length[:-1]) | (at[1:] // BLOCK_BYTES != at[:-1] // BLOCK_BYTES)
    starts = [0, *(np.flatnonzero(apart) + 1).tolist()] if len(at) else []
    return [slice(*pair) for pair in zip(starts, [*starts[1:], len(at)], strict=True)] if starts else []


class _Packed:
    """Words on their way into a stream that ends at `start`."""

    def __init__(self, start: int) -> None:
        self.data = bytearray()
        self._start = start

    def put(self, text: str) -> tuple[int, int]:
        at, piece = self._start + len(self.data), as_bytes(text)
        self.data += piece
        return at, len(piece)


def find_derived(file: StoreFile) -> tuple[dict[DerivedTable, DerivedRows], list[str]]:
    """What can be opened, by name and then revision; and what is wrong with the rest."""
    found: dict[DerivedTable, DerivedRows] = {}
    wrong: list[str] = []
    for path in _groups(file, wrong):
        try:
            table = _description(file.at(path))
            if table is not None:
                found[table] = DerivedRows(file, table)
        except (Damaged, *FAILURES) as error:
            wrong.append(f"{path}: {error}")
    return dict(sorted(found.items(), key=lambda item: (item[0].name, item[0].revision))), wrong


def _groups(file: StoreFile, wrong: list[str]) -> Iterator[str]:
    try:
        names = file.names(DERIVED) if file.has(DERIVED) else []
    except (Damaged, *FAILURES) as error:
        wrong.append(f"{DERIVED}: {error}")
        return
    for name in names:
        try:
            revisions = filter(str.isdecimal, file.names(f"{DERIVED}/{name}"))
            yield from [f"{DERIVED}/{name}/{revision}" for revision in revisions]
        except (Damaged, *FAILURES) as error:
            wrong.append(f"{DERIVED}/{name}: {error}")


def _description(group: h5py.Group) -> DerivedTable | None:
    """What a group says it is; None for a table of a kind that only a later version knows."""
    text = group.attrs["table"].decode("ascii")
    try:
        table = DerivedTable.from_description(text)
    except ValueError:
        return None
    return table if group.name == f"/{_path(table)}" else None


def _path(table: DerivedTable) -> str:
    return f"{DERIVED}/{table.name}/{table.revision}"


def _stored_columns(table: DerivedTable) -> dict[str, str]:
    return {part: kind for column in table.columns for part, kind in parts(*column).items()}

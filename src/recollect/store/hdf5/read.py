"""Reading a store's HDF5 file: the `View` over one open file.

Every method costs what it returns. Names are looked up one by one and kept; a session's
entries are found through its chain of extents, never by scanning.
"""

from __future__ import annotations

import contextlib
import enum
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from recollect.light.store_header import Header
from recollect.store.contract import Array, RawSizes, SessionClues, UsageColumns
from recollect.store.derived import REPLACED, Column, DerivedTable, no_rows
from recollect.store.hdf5.derived import DerivedRows, find_derived
from recollect.store.hdf5.forms import TextForm, text_of
from recollect.store.hdf5.frames import Damaged
from recollect.store.hdf5.guard import StoreFile
from recollect.store.hdf5.imported import Imported, is_imported
from recollect.store.hdf5.keys import KeyIndex
from recollect.store.hdf5.layout import STATE_BYTES_MAX, TABLES, WORD_BYTES_MAX, WORDS_FREE_BYTES
from recollect.store.hdf5.tables import Stream, Table
from recollect.store.hdf5.vectors import Vectors, find_vectors
from recollect.store.walks import neighbours_of, turn_of
from recollect.values.errors import DerivedDamaged, NotFound
from recollect.values.ids import line_key, name_key, short_id
from recollect.values.lazy import lazy
from recollect.values.records import (
    Cursor,
    Entry,
    Flag,
    Framing,
    KeptLine,
    Kind,
    LineFlag,
    Provenance,
    Relation,
    Role,
    SessionFacts,
    SourceFile,
    SourceFlag,
    Usage,
)
from recollect.values.stored import Clue, Session, Source, StoredEntry, StoredLine, StoreInfo, VectorModel

if TYPE_CHECKING:
    from recollect.store.hdf5.packed import PackedLines

_ROWS_AT_ONCE = 4096
_Row = TypeVar("_Row")
_Member = TypeVar("_Member", bound=enum.IntEnum)


@dataclass(frozen=True, slots=True)
class RowSession(Session):
    """A session that knows its row."""

    row: int = -1


@dataclass(frozen=True, slots=True)
class RowSource(Source):
    """A source that knows its row."""

    row: int = -1


class Hdf5View:
    """The state in one open HDF5 file, including what its writer has not committed yet."""

    def __init__(self, file: StoreFile, header: Header) -> None:
        self._file = file
        self._header = header
        self._names: dict[int, str] = {0: ""}
        self._name_bytes = 0
        self._ids: dict[int, str] = {}
        self._heads: Array = np.zeros(0, np.uint64)
        self._line_keys: Array = np.zeros(0, np.uint64)
        self._imported_rows: Imported | None = None

    # -- the tables, opened when first needed ----------------------------------------

    @lazy
    def line_stream(self) -> Stream:
        return Stream(self._file, "streams/lines")

    @lazy
    def text_stream(self) -> Stream:
        return Stream(self._file, "streams/texts")

    def table(self, name: str) -> Table:
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = Table(self._file, "tables/" + name, TABLES[name])
        return table

    @lazy
    def _tables(self) -> dict[str, Table]:
        return {}

    # -- the contract ----------------------------------------------------------------

    def info(self) -> StoreInfo:
        rows = {name: self.table(name).rows for name in TABLES}
        return StoreInfo(
            id=self._header.store_id.hex(),
            format=self._header.format,
            generation=self._header.generation,
            epoch=self._header.epoch,
            created_ms=self._header.created_ms,
            folded=self._header.folded,
            sessions=rows["sessions"],
            sources=rows["sources"],
            lines=rows["lines"],
            entries=rows["entries"],
            rows_end=rows["entries"],
            responses=rows["usage"],
            line_bytes=self.line_stream.end,
            subagents=int(np.count_nonzero(self.table("sessions").read("relation") == Relation.SUBAGENT)),
        )

    def sessions(self) -> list[Session]:
        self._check_words("sessions", "id_length", "title_length")
        return list(self._sessions(0, self.table("sessions").rows))

    def find_session(self, prefix: str) -> Session:
        return self.session_at(self._session_row(prefix))

    def session_at(self, row: int) -> RowSession:
        return next(self._sessions(row, row + 1))

    def entries(self, session: Session, *, last: int | None = None) -> Iterator[StoredEntry]:
        assert isinstance(session, RowSession)
        for first, count in self.intervals("extents", "sessions", "extent", session.row, last):
            yield from self.entry_range(first, first + count)

    def entry_range(self, start: int, stop: int) -> Iterator[StoredEntry]:
        stop = min(stop, self.table("entries").rows)
        for at in range(start, stop, _ROWS_AT_ONCE):
            yield from self._entries(at, min(at + _ROWS_AT_ONCE, stop))

    def entries_at(self, rows: Sequence[int]) -> list[StoredEntry]:
        wanted = sorted(set(rows))
        with contextlib.suppress(Damaged):  # whoever reads a damaged block hears of it
            self.line_stream.prefetch([span for row in wanted if (span := self._span_in_lines(row))])
        found = {row: self._entry(row) for row in wanted}
        return [found[row] for row in rows]

    def _span_in_lines(self, row: int) -> tuple[int, int] | None:
        """Which bytes of all lines an entry's text is in; None where it is elsewhere."""
        entries = self.table("entries")
        if entries.one("form", row) in (TextForm.NONE, TextForm.STORED):
            return None
        line = entries.one("line", row)
        start = (self.table("lines").one("end", line - 1) if line else 0) + entries.one("at", row)
        return start, start + entries.one("length", row)

    def entry_ids(self, rows: Sequence[int]) -> list[str]:
        return [self._entry_id(row) for row in rows]

    def _entry_id(self, row: int) -> str:
        line = self.table("entries").one("line", row)
        first = self.table("lines").one("entries", line - 1) if line else 0
        return short_id(self.table("lines").one("key_a", line), row - first)

    def columns_at(self, rows: Sequence[int] | Array, *names: str) -> dict[str, Array]:
        wanted: Array = np.asarray(rows, np.int64)
        table = self.table("entries")
        found = {"row": wanted}
        if "imported" in names:
            lines = table.at("line", wanted) if self.imported.any else wanted
            found["imported"] = self.imported.lines(lines)
        return {name: found[name] if name in found else table.at(name, wanted) for name in names}

    def sessions_in(self, start: int, stop: int) -> list[int]:
        rows = np.arange(start, min(stop, self.info().rows_end))
        found: list[int] = np.unique(self.table("entries").at("session", rows)).tolist()
        return found

    def session_columns(self, session: int, *names: str) -> dict[str, Array]:
        intervals = self.intervals("extents", "sessions", "extent", session)
        spans = [np.arange(first, first + count) for first, count in sorted(intervals)]
        shown: Array = np.concatenate(spans) if spans else np.zeros(0, np.int64)
        # A session shows what it shares with others too; each entry is of the one it was first seen in.
        own = shown[self.table("entries").at("session", shown) == session]
        return self.columns_at(own, *names)

    def neighbours(
        self, row: int, before: int, after: int, *, hidden: int = int(Flag.COPY)
    ) -> list[StoredEntry]:
        return neighbours_of(self, row, before, after, hidden)

    def turn_of(self, row: int) -> list[int]:
        return turn_of(self, row)

    def find_entry(self, prefix: str) -> StoredEntry:
        row, part = self._line_of(prefix), int(prefix.partition(".")[2] or 0)
        first = self.table("lines").one("entries", row - 1) if row else 0
        if first + part >= self.table("lines").one("entries", row):
            raise NotFound(f"line {prefix.partition('.')[0]} has no entry {part}")
        return self._entry(first + part)

    def session_rows(self) -> LazySessions:
        return LazySessions(self)

    def session_clues(self) -> SessionClues:
        table = self.table("sessions")
        relation, ended = table.read("relation"), table.read("ended")
        copied = (relation == Relation.FORK) & (ended == 0)
        columns = [table.read(name) for name in ("agent", "host", "project", "cwd")]
        columns += [table.read("branch") != 0, self.imported.sessions(table.rows), copied]
        found: dict[tuple[Any, ...], int] = {}
        told = zip(*(column.tolist() for column in columns), strict=True)
        at = np.array([found.setdefault(each, len(found)) for each in told], np.int64)
        last = np.zeros(len(found), np.int64)
        np.maximum.at(last, at, ended)
        clues = [
            Clue(self.name(agent), self.name(host), self.name(project), self.name(folder), *told_of)
            for agent, host, project, folder, *told_of in found
        ]
        return SessionClues(clues, last.tolist(), np.arange(table.rows), at)

    def sources(self, session: Session | None = None) -> list[Source]:
        if session is None:
            self._check_words("sources", "path_length", "state_length")
            return list(self._sources(0, self.table("sources").rows))
        assert isinstance(session, RowSession)
        owned = np.flatnonzero(self.table("sources").read("session") == session.row)
        return [self.source_at(row) for row in owned.tolist()]

    def unmarked(self) -> list[Source]:
        marked = self.table("sources").read("flags") & int(SourceFlag.OWN | SourceFlag.IMPORTED)
        return [self.source_at(row) for row in np.flatnonzero(marked == 0).tolist()]

    @property
    def imported(self) -> Imported:
        """What comes from imported sources alone."""
        if self._imported_rows is None:
            sources = self.table("sources")
            flags, spans = sources.read("flags"), None
            if is_imported(flags).any():
                source, first, count = (self.table("spans").read(c) for c in ("source", "first", "count"))
                lines = self.table("lines").rows
                if (source >= len(flags)).any() or (first > lines).any() or (count > lines - first).any():
                    raise Damaged("table /tables/spans: a source or a line is not there")
                spans = source, first, count
            self._imported_rows = Imported(flags, sources.read("session"), spans)
        return self._imported_rows

    def lines(self, source: Source) -> Iterator[StoredLine]:
        assert isinstance(source, RowSource)
        for first, count in self.intervals("spans", "sources", "span", source.row):
            for start in range(first, first + count, _ROWS_AT_ONCE):
                yield from self.line_range(start, min(start + _ROWS_AT_ONCE, first + count))

    def packed_lines(self, source: Source, bytes_max: int) -> PackedLines | None:
        from recollect.store.hdf5.packed import packed_lines

        assert isinstance(source, RowSource)
        return packed_lines(self, source.row, bytes_max)

    def lines_at(self, lines: Sequence[int]) -> list[StoredLine]:
        wanted = sorted(set(lines))
        table = self.table("lines")
        spans = [((table.one("end", row - 1) if row else 0), table.one("end", row)) for row in wanted]
        with contextlib.suppress(Damaged):  # whoever reads a damaged block hears of it
            self.line_stream.prefetch(spans)
        found = {
            row: StoredLine(
                self.line_stream.read(*span),
                flags := table.one("flags", row),
                self.name(table.one("type", row)),
                self._altered_key(row) if flags & LineFlag.ALTERED and span[0] < span[1] else b"",
            )
            for row, span in zip(wanted, spans, strict=True)
        }
        return [found[row] for row in lines]

    def record_lines(self, records: Sequence[str]) -> list[list[tuple[int, int]]]:
        found: list[list[tuple[int, int]]] = [[] for _ in records]
        named = [n for n, each in enumerate(records) if each]
        hits = self._uuids.find(np.array([name_key(records[n]) for n in named], np.uint64))
        if not hits:
            return found
        lines, entries = self.table("lines"), self.table("entries")
        rows = np.array([line for _, line in hits], np.int64)
        firsts = lines.at("entries", rows - 1 + (rows == 0)).astype(np.int64) * (rows > 0)
        has_entry = lines.at("entries", rows).astype(np.int64) > firsts
        sessions = entries.at("session", firsts[has_entry])
        told = zip(np.array(hits)[has_entry].tolist(), sessions.tolist(), strict=True)
        for (n, line), session in told:
            found[named[n]].append((line, session))
        return found

    @lazy
    def _uuids(self) -> KeyIndex:
        return KeyIndex(self, "lines", "uuid")

    def _altered_key(self, row: int) -> bytes:
        """The key that an altered line has in the table: that of the line its source had."""
        table = self.table("lines")
        return b"".join(table.one(half, row).to_bytes(8, "little") for half in ("key_a", "key_b"))

    def line_keys(self, source: Source) -> Iterator[bytes]:
        assert isinstance(source, RowSource)
        table = self.table("lines")
        for first, count in self.intervals("spans", "sources", "span", source.row):
            halves = (table.read(column, first, first + count) for column in ("key_a", "key_b"))
            for key in np.stack(list(halves), axis=1):
                yield key.tobytes()

    def kept_lines(self, source: Source) -> list[KeptLine]:
        lines, usage = self.table("lines"), self.table("usage")
        rows = self.line_rows(source)
        flags, lengths = lines.at("flags", rows), self.line_lengths(rows.tolist())
        gone = (flags & int(LineFlag.ALTERED) != 0) & (lengths == 0)
        counted: dict[int, list[tuple[int, Usage]]] = {}
        for row in np.flatnonzero(np.isin(usage.read("line"), rows[gone])).tolist():
            cell = {name: usage.one(name, row) for name in TABLES["usage"]}
            tokens = {name: cell[name] for name in _TOKEN_COLUMNS}
            told = Usage("", self.name(cell["model"]), cell["time"], **tokens)
            counted.setdefault(cell["line"], []).append((cell["key"], told))
        keys = [key for key, is_gone in zip(self.line_keys(source), gone.tolist(), strict=True) if is_gone]
        found = zip(keys, rows[gone].tolist(), strict=True)
        return [KeptLine(key, tuple(counted.get(row, ()))) for key, row in found]

    def raw_sizes(self) -> RawSizes:
        from recollect.store.hdf5.sizes import raw_sizes

        return raw_sizes(self)

    def line_rows(self, source: Source) -> Array:
        assert isinstance(source, RowSource)
        spans = self.intervals("spans", "sources", "span", source.row)
        return np.concatenate([np.zeros(0, np.int64), *(np.arange(at, at + count) for at, count in spans)])

    def lines_only_of(self, sessions: Sequence[int]) -> Array:
        owners, first, end = self.session_spans()
        named = np.isin(owners, np.asarray(sessions, np.int64))
        held = []
        for chosen in (named, ~named):
            edges = np.zeros(self.table("lines").rows + 1, np.int64)
            np.add.at(edges, first[chosen], 1)
            np.add.at(edges, end[chosen], -1)
            held.append(np.cumsum(edges[:-1]) > 0)
        return np.flatnonzero(held[0] & ~held[1])

    def session_spans(self) -> tuple[Array, Array, Array]:
        """All runs of lines that sources have: whose session's source, the first line and the one behind."""
        lines, owners = self.table("lines").rows, self.table("sources").read("session")
        source, first, count = (self.table("spans").read(c) for c in ("source", "first", "count"))
        if (source >= len(owners)).any() or (first > lines).any() or (count > lines - first).any():
            raise Damaged("table /tables/spans: a source or a line is not there")
        owner, first = owners[source].astype(np.int64), first.astype(np.int64)
        if len(owner) and int(owner.max()) >= self.table("sessions").rows:
            raise Damaged("table /tables/sources: a session is not there")
        return owner, first, first + count.astype(np.int64)

    def line_lengths(self, lines: Sequence[int]) -> Array:
        rows, table = np.asarray(lines, np.int64), self.table("lines")
        starts = np.where(rows > 0, table.at("end", np.maximum(rows - 1, 0)), 0)
        return np.asarray((table.at("end", rows) - starts).astype(np.int64))

    def usage(self) -> UsageColumns:
        return self._usage_columns

    @lazy
    def _usage_columns(self) -> UsageColumns:
        """Kept as long as the view, which is as long as the store stays the same."""
        return self._read_usage()

    def _read_usage(self) -> UsageColumns:
        table = self.table("usage")
        columns = {c: table.read(c) for c in TABLES["usage"] if c != "key"}
        if len(columns["model"]) and int(columns["model"].max()) >= self.table("names").rows:
            raise Damaged("table /tables/usage: a model is no name")
        # Names are few and their rows small: counting them is a hundred times faster than sorting.
        models = np.flatnonzero(np.bincount(columns["model"]))
        place = np.zeros(int(models.max(initial=0)) + 1, np.int64)
        place[models] = np.arange(len(models))
        columns["model"] = place[columns["model"]]
        return UsageColumns(
            sessions=LazySessions(self), models=[self.name(int(m)) for m in models], **columns
        )

    def types(self) -> dict[str, tuple[int, bool]]:
        table = self.table("lines")
        types, flags = table.read("type"), table.read("flags")
        counted, counts = np.unique(types, return_counts=True)
        unknown = set(np.unique(types[flags & LineFlag.UNKNOWN != 0]).tolist())
        return {
            self.name(int(t)): (int(n), int(t) not in unknown)
            for t, n in zip(counted, counts, strict=True)
            if t
        }

    def flag_counts(self) -> dict[LineFlag, int]:
        flags = self.table("lines").read("flags")
        return {flag: int(np.count_nonzero(flags & int(flag))) for flag in LineFlag}

    def locate(self, line: int) -> tuple[Source, int]:
        return self.locate_many([line])[0]

    def locate_many(self, lines: Sequence[int]) -> list[tuple[Source, int]]:
        spans = {c: self.table("spans").read(c) for c in ("source", "first", "count", "before")}
        if np.any(spans["before"] >= np.arange(len(spans["before"]))):
            raise Damaged("table /tables/spans: a chain does not lead back")
        wanted = np.unique(np.asarray(lines, np.uint64))
        starts = np.searchsorted(wanted, spans["first"])
        stops = np.searchsorted(wanted, spans["first"] + spans["count"])
        holder = np.full(len(wanted), -1)
        for row in np.flatnonzero(starts < stops)[::-1].tolist():  # the first span to hold a line wins
            holder[starts[row] : stops[row]] = row
        sources = {row: self.source_at(row) for row in set(spans["source"][holder[holder >= 0]].tolist())}
        ahead: dict[int, int] = {}  # how many lines of its source come before a span
        found: dict[int, tuple[Source, int]] = {}
        for line, row in zip(wanted.tolist(), holder.tolist(), strict=True):
            if row < 0:
                raise NotFound(f"no source holds line {line}")
            at, later = row, []
            while at not in ahead and spans["before"][at] >= 0:
                later.append(at)
                at = int(spans["before"][at])
            ahead.setdefault(at, 0)
            for after in reversed(later):
                ahead[after] = ahead[at] + int(spans["count"][at])
                at = after
            found[line] = sources[int(spans["source"][row])], line - int(spans["first"][row]) + ahead[row] + 1
        return [found[line] for line in lines]

    def vector_models(self) -> list[VectorModel]:
        return [replace(model, rows=held.rows) for model, held in self.vector_streams.items()]

    def vectors(self, model: VectorModel, start: int = 0, stop: int | None = None) -> tuple[Array, Array]:
        held = self.vector_streams.get(model)
        if held is None:
            return np.zeros(0, "<u8"), np.zeros((0, model.dims), "<f2")
        return held.read(start, held.rows if stop is None else stop)

    @lazy
    def vector_streams(self) -> dict[VectorModel, Vectors]:
        return find_vectors(self._file)[0]

    def vector_damage(self) -> Iterator[str]:
        """What is wrong with the vectors."""
        found, wrong = find_vectors(self._file)
        yield from wrong
        for model, held in found.items():
            if damaged := held.damaged_rows():
                yield f"{damaged} of {held.rows} vectors of {model.name} {model.revision}"

    def derived_tables(self) -> list[DerivedTable]:
        return [held.table for held in self.derived_groups.values()]

    def derived(
        self, table: DerivedTable, start: int = 0, stop: int | None = None, *, only: Sequence[str] = ()
    ) -> dict[str, Column]:
        held = self.derived_groups.get(table)
        if held is None:
            return no_rows(table, only)
        try:
            return held.read(start, held.table.rows if stop is None else stop, only)
        except Damaged as error:
            raise DerivedDamaged(table.name, str(error)) from error

    def replaced(self) -> Array:
        try:
            replaced = np.asarray(self.derived(REPLACED)["entry"], np.uint64)
            if not len(replaced) or int(replaced.max()) < self.table("entries").rows:
                return replaced.astype(np.int64)
            raise DerivedDamaged(REPLACED.name, "an entry is not there")
        except DerivedDamaged:
            return np.flatnonzero(self.table("entries").read("flags") & Flag.REPLACED)

    @lazy
    def derived_groups(self) -> dict[DerivedTable, DerivedRows]:
        return find_derived(self._file)[0]

    def derived_damage(self) -> Iterator[str]:
        """What is wrong with the derived tables."""
        found, wrong = find_derived(self._file)
        yield from wrong
        for table, held in found.items():
            if damage := held.damage():
                yield f"{table.name}/{table.revision}: {damage}"

    def salvageable(self, *, moved_to: str) -> Salvage:
        """The same file, read as far as it can be."""
        return Salvage(self._file, self._header, moved_to)

    # -- shared with the writer --------------------------------------------------------

    def name(self, row: int) -> str:
        name = self._names.get(row)
        if name is None:
            name = self._names[row] = self.word(*self._place("names", row, "at", "length"))
            self._name_bytes += len(name)
            if self._name_bytes > WORDS_FREE_BYTES:
                raise Damaged("table /tables/names: its words are longer than words are")
        return name

    def text(self, at: int, length: int) -> str:
        return text_of(TextForm.STORED, self.text_stream.read(at, at + length))

    def word(self, at: int, length: int) -> str:
        """A name, an id, a title or a path: as much of it as anybody would write."""
        if length <= WORD_BYTES_MAX:
            return self.text(at, length)
        return self.text_stream.read(at, at + WORD_BYTES_MAX).decode("utf-8", "ignore")

    def _check_words(self, table: str, *columns: str) -> None:
        """Before all of them are read: rows may say, of a few bytes, that each has all of them."""
        for column in columns:
            self.text_stream.check_words(self.table(table).read(column))

    def intervals(
        self, chain: str, owners: str, link: str, row: int, last: int | None = None
    ) -> list[tuple[int, int]]:
        """The (first, count) pairs an owner's chain leads through, in order; only the last few if asked."""
        table = self.table(chain)
        found: list[tuple[int, int]] = []
        for at in self.chain_rows(chain, self.table(owners).one(link, row)):
            if last is not None and last <= 0:
                break
            first, count = table.one("first", at), table.one("count", at)
            if last is not None:
                first, count = first + max(count - last, 0), min(count, last)
                last -= count
            found.append((first, count))
        return found[::-1]

    def chain_rows(self, chain: str, at: int) -> Iterator[int]:
        """The rows of a chain from its last one back. Each lies before the one that led to it.

        What they tell of together is no more than there is: an owner has nothing twice.
        """
        table, left = self.table(chain), self.table(_CHAINED[chain]).rows
        while at >= 0:
            first, count = table.one("first", at), table.one("count", at)
            if count and first + count > self.table(_CHAINED[chain]).rows:
                raise Damaged(f"table /tables/{chain}: reaches behind the end of {_CHAINED[chain]}")
            left -= count
            before = table.one("before", at)
            if before >= at or left < 0:
                raise Damaged(f"table /tables/{chain}: a chain does not lead back")
            yield at
            at = before

    def line_range(self, start: int, stop: int) -> Iterator[StoredLine]:
        """The lines of some rows, whichever sources they are of."""
        table = self.table("lines")
        ends = table.read("end", max(start - 1, 0), stop).tolist()
        ends = ends if start else [0, *ends]
        flags, types = table.read("flags", start, stop).tolist(), table.read("type", start, stop).tolist()
        for n, flag in enumerate(flags):
            data = self.line_stream.read(ends[n], ends[n + 1])
            key = self._altered_key(start + n) if flag & LineFlag.ALTERED and data else b""
            yield StoredLine(data, flag, self.name(types[n]), key)

    def source_at(self, row: int) -> RowSource:
        return next(self._sources(row, row + 1))

    # -- rows to values ------------------------------------------------------------------

    def _columns(self, name: str, start: int, stop: int) -> dict[str, list[int]]:
        self._check_rows(name, start, stop)
        return {column: self.table(name).read(column, start, stop).tolist() for column in TABLES[name]}

    def _check_rows(self, name: str, start: int, stop: int) -> None:
        if not 0 <= start <= stop <= self.table(name).rows:
            raise Damaged(f"table /tables/{name} has no rows {start} to {stop}")

    def _sessions(self, start: int, stop: int) -> Iterator[RowSession]:
        columns = self._columns("sessions", start, stop)
        for n in range(stop - start):
            cell = {c: values[n] for c, values in columns.items()}
            facts = SessionFacts(
                agent=self.name(cell["agent"]),
                id=self.word(cell["id_at"], cell["id_length"]),
                project=self.name(cell["project"]),
                cwd=self.name(cell["cwd"]),
                branch=self.name(cell["branch"]),
                slug=self.name(cell["slug"]),
                title=self.word(cell["title_at"], cell["title_length"]),
                title_rank=cell["title_rank"],
                model=self.name(cell["model"]),
                version=self.name(cell["version"]),
                started_ms=cell["started"],
                ended_ms=cell["ended"],
                parent=self.name(cell["parent"]),
                relation=_member(Relation, cell["relation"]),
                root=self.name(cell["root"]),
            )
            imported = self.imported.session(start + n)
            yield RowSession(
                facts,
                self.name(cell["host"]),
                cell["entries"],
                imported,
                copied=facts.is_timeless_fork,
                row=start + n,
            )

    def _sources(self, start: int, stop: int) -> Iterator[RowSource]:
        columns = self._columns("sources", start, stop)
        for n in range(stop - start):
            cell = {c: values[n] for c, values in columns.items()}
            session = self._session_id(cell["session"])
            state = self._state(cell["state_at"], cell["state_length"])
            yield RowSource(
                file=SourceFile(
                    agent=self.name(cell["agent"]),
                    path=self.word(cell["path_at"], cell["path_length"]),
                    role=_member(Role, cell["role"]),
                    framing=_member(Framing, cell["framing"]),
                    session=session,
                    provenance=provenance_of(cell["flags"]),
                ),
                host=self.name(cell["host"]),
                cursor=Cursor(
                    offset=cell["offset"],
                    size=cell["size"],
                    mtime_ns=cell["mtime"],
                    ctime_ns=cell["ctime"],
                    inode=cell["inode"],
                    window=cell["window"],
                    terminated=not cell["flags"] & SourceFlag.UNTERMINATED,
                    waiting=bool(cell["flags"] & SourceFlag.WAITING),
                    state=state,
                    thinned=bool(cell["flags"] & SourceFlag.THINNED),
                ),
                session=session,
                lines=cell["lines"],
                parser=cell["parser"],
                superseded=bool(cell["flags"] & SourceFlag.SUPERSEDED),
                row=start + n,
            )

    def _state(self, at: int, length: int) -> dict[str, Any]:
        """What a parser needs to go on."""
        if length > STATE_BYTES_MAX:
            raise Damaged(f"a parser's state of {length} bytes is longer than any is")
        try:
            state = json.loads(self.text(at, length) or "{}")
        except (ValueError, RecursionError) as error:
            raise Damaged(f"a parser's state does not read: {error}") from error
        if not isinstance(state, dict):
            raise Damaged("a parser's state is none")
        return state

    def _session_row(self, prefix: str) -> int:
        """Narrowed by the first eight bytes as numbers; only candidates' ids are read."""
        wanted = prefix.encode("utf-8", "surrogatepass")
        low = int.from_bytes(wanted[:8].ljust(8, b"\0"), "big")
        high = int.from_bytes(wanted[:8].ljust(8, b"\xff"), "big")
        if len(self._heads) != self.table("sessions").rows:
            self._heads = self.table("sessions").read("prefix")
        heads = self._heads
        rows = np.flatnonzero((heads >= np.uint64(low)) & (heads <= np.uint64(high))).tolist()
        if len(wanted) > 8:
            rows = [r for r in rows if self._session_id(r).startswith(prefix)]
        exact = [r for r in rows if len(rows) > 1 and self._session_id(r) == prefix] or rows
        if len(exact) > 1 and len({self._session_id(r) for r in exact}) == 1:
            exact = [r for r in exact if not self.imported.session(r)] or exact
        if len(exact) == 1 and wanted:
            return int(exact[0])
        if not rows:
            raise NotFound(
                f"no session's id starts with {prefix!r}", hint="`recollect sessions` lists them all"
            )
        raise NotFound(
            f"{len(rows)} sessions' ids start with {prefix!r}: "
            + ", ".join(self._session_id(r) for r in rows[:4])
            + (", ..." if len(rows) > 4 else ""),
            hint="give more of the id",
        )

    def _line_of(self, prefix: str) -> int:
        """The line that shows something and whose key begins with these digits."""
        digits = prefix.partition(".")[0]
        if not re.fullmatch(r"[0-9a-f]{1,12}(\.[0-9]{1,9})?", prefix):
            raise NotFound(f"{prefix!r} is no entry's id", hint="`recollect search` prints ids with its hits")
        low = int(digits.ljust(16, "0"), 16)
        high = int(digits.ljust(16, "f"), 16)
        table = self.table("lines")
        if len(self._line_keys) != table.rows:
            self._line_keys = table.read("key_a")
        keys = self._line_keys
        rows = np.flatnonzero((keys >= np.uint64(low)) & (keys <= np.uint64(high)))
        begins = np.where(rows > 0, table.at("entries", np.maximum(rows - 1, 0)), 0)
        rows = rows[table.at("entries", rows) > begins]
        if len(np.unique(keys[rows])) == 1:  # a line that a log repeats is the same thing said twice
            plain = rows[table.at("flags", rows) & int(LineFlag.ALTERED) == 0]
            return int(plain[0] if len(plain) else rows[0])
        if not len(rows):
            raise NotFound(f"no entry's id starts with {digits!r}", hint="search again: ids are in its hits")
        raise NotFound(f"{len(rows)} entries' ids start with {digits!r}", hint="give more of the id")

    def _session_id(self, row: int) -> str:
        known = self._ids.get(row)
        if known is None:
            known = self._ids[row] = self.word(*self._place("sessions", row, "id_at", "id_length"))
        return known

    def _place(self, table: str, row: int, at: str, length: str) -> tuple[int, int]:
        return self.table(table).one(at, row), self.table(table).one(length, row)

    def _entries(self, start: int, stop: int) -> Iterator[StoredEntry]:
        table = self.table("entries")
        columns = {c: table.read(c, start, stop) for c in TABLES["entries"]}
        first, last = int(columns["line"].min()), int(columns["line"].max()) + 1
        if last > self.table("lines").rows:
            raise Damaged("table /tables/entries: a line is not there")
        lines = {c: self.table("lines").read(c, max(first - 1, 0), last) for c in _LINE_COLUMNS}
        if not first:
            lines = {c: np.concatenate([np.zeros(1, v.dtype), v]) for c, v in lines.items()}
        rows = {c: values.tolist() for c, values in columns.items()}
        inside = (columns["line"] - np.uint64(first)).astype(np.int64) + 1
        for n, at in enumerate(inside.tolist()):
            cell = {c: values[n] for c, values in rows.items()}
            before = int(lines["end"][at - 1]), int(lines["entries"][at - 1])
            yield self._stored(start + n, cell, before, int(lines["key_a"][at]), int(lines["type"][at]))

    def _entry(self, row: int) -> StoredEntry:
        """One entry; for a single row a tenth of what `_entries` takes."""
        table, lines = self.table("entries"), self.table("lines")
        cell = {c: table.one(c, row) for c in TABLES["entries"]}
        line = cell["line"]
        before = (lines.one("end", line - 1), lines.one("entries", line - 1)) if line else (0, 0)
        return self._stored(row, cell, before, lines.one("key_a", line), lines.one("type", line))

    def _stored(
        self, row: int, cell: dict[str, int], before: tuple[int, int], key: int, type_: int
    ) -> StoredEntry:
        """A row's cells as a value; `before` is the end and the entries of the line before its own."""
        return StoredEntry(
            id=short_id(key, row - before[1]),
            session=self._session_id(cell["session"]),
            type=self.name(type_),
            entry=Entry(
                kind=_member(Kind, cell["kind"]),
                text=self._entry_text(cell, before[0]),
                flags=cell["flags"],
                time_ms=cell["time"],
                tool=self.name(cell["tool"]),
                call=f"{cell['call']:016x}" if cell["call"] else "",
                model=self.name(cell["model"]),
            ),
            row=row,
            session_row=cell["session"],
            imported=self.imported.line(cell["line"]),
        )

    def _entry_text(self, cell: dict[str, int], line_start: int) -> str:
        if cell["form"] == TextForm.NONE:
            return ""
        if cell["form"] == TextForm.STORED:
            return self.text(cell["at"], cell["length"])
        start = line_start + cell["at"]
        if cell["form"] not in (TextForm.LITERAL, TextForm.SLICE):
            raise Damaged("table /tables/entries: a text is in no form")
        return text_of(cell["form"], self.line_stream.read(start, start + cell["length"]))


class Salvage(Hdf5View):
    """A view of a damaged store that leaves out what cannot be read and says what that was.

    A source whose row or name is unreadable gets another name: its lines are what matters.
    Lines of which no table says any more whose they were come last, as a source of their own.
    """

    def __init__(self, file: StoreFile, header: Header, moved_to: str) -> None:
        super().__init__(file, header)
        self.moved_to = moved_to
        self.lost_lines = 0
        self.lost: list[str] = []
        self._chains: dict[int, list[tuple[int, int]]] = {}

    def sessions(self) -> list[Session]:
        rows = self._rows("sessions")
        return [s for row in range(rows) if (s := self._or(None, self.session_at, row)) is not None]

    def sources(self, session: Session | None = None) -> list[Source]:
        owners = self._or(np.zeros(0, np.uint32), self.table("spans").read, "source")
        rows = sorted({*range(self._rows("sources")), *owners.tolist()})
        found: list[Source] = [self._named_source(row) for row in rows]
        strays = self._strays()
        if strays:
            number = rows[-1] + 1 if rows else 0
            self._chains[number] = strays
            found.append(self._nameless(number))
        return found

    @property
    def imported(self) -> Imported:
        """Nothing: whose a source is its own flags say, and no spans are needed for that."""
        nothing = np.zeros(0, np.int64)
        return Imported(nothing, nothing, None)

    def kept_lines(self, source: Source) -> list[KeptLine]:
        return self._or([], super().kept_lines, source)

    def text(self, at: int, length: int) -> str:
        return self._or("", super().text, at, length)

    def _session_id(self, row: int) -> str:
        return self._or("", super()._session_id, row)

    def lines(self, source: Source) -> Iterator[StoredLine]:
        assert isinstance(source, RowSource)
        number = 0
        for first, count in self._chain(source.row):
            for row in range(first, first + count):
                number += 1
                try:
                    yield self._line(row)
                except Damaged as error:
                    self.lost_lines += 1
                    self._lose(f"{source.file.path}:{number}: {error}")

    def _columns(self, name: str, start: int, stop: int) -> dict[str, list[int]]:
        """What names a row must be readable; what only describes it may be missing."""
        self._check_rows(name, start, stop)
        table, blank = self.table(name), [0] * (stop - start)
        return {
            column: table.read(column, start, stop).tolist()
            if column in _NAMING
            else self._or(blank, lambda c: table.read(c, start, stop).tolist(), column)
            for column in TABLES[name]
        }

    def _line(self, row: int) -> StoredLine:
        """A line whose bytes are what they were; what else was known of it may be lost."""
        table = self.table("lines")
        start = table.one("end", row - 1) if row else 0
        data = self.line_stream.read(start, table.one("end", row))
        flags = self._or(0, table.one, "flags", row)
        if flags & LineFlag.ALTERED:  # the key is that of what was here
            return StoredLine(data, flags, "", self._or(b"", self._altered_key, row) if data else b"")
        digest = line_key(data)
        for column, half in (("key_a", digest[:8]), ("key_b", digest[8:])):
            own = int.from_bytes(half, "little")
            if self._or(own, table.one, column, row) != own:
                raise Damaged("is not what was read from its source")
        return StoredLine(data, flags, "")

    def _named_source(self, row: int) -> RowSource:
        source = self._or(None, self.source_at, row) or self._nameless(row)
        path = source.file.path or f"recovered/source-{row}.jsonl"
        return replace(source, file=replace(source.file, path=path))

    def _nameless(self, row: int) -> RowSource:
        count = sum(count for _, count in self._chain(row))
        return RowSource(SourceFile("", f"recovered/source-{row}.jsonl"), "", Cursor(), "", count, 0, row=row)

    def _chain(self, row: int) -> list[tuple[int, int]]:
        """A source's intervals of lines, by its chain or, failing that, by whose each span says it is."""
        found = self._chains.get(row)
        if found is None:
            found = self._chains[row] = self._or([], self._linked, row) or self._or([], self._owned, row)
        return found

    def _linked(self, row: int) -> list[tuple[int, int]]:
        return self.intervals("spans", "sources", "span", row)

    def _owned(self, row: int) -> list[tuple[int, int]]:
        spans, left = self.table("spans"), self._rows("lines")
        owned = np.flatnonzero(spans.read("source") == row)
        found = list(zip(spans.at("first", owned).tolist(), spans.at("count", owned).tolist(), strict=True))
        if sum(count for _, count in found) > left or any(first + count > left for first, count in found):
            raise Damaged(f"table /tables/spans: more lines than there are, of source {row}")
        return found

    def _strays(self) -> list[tuple[int, int]]:
        """Whole lines that no source has."""
        held = np.zeros(self._rows("lines"), bool)
        for row in range(self._rows("sources")):
            for first, count in self._chain(row):
                held[first : first + count] = True
        flags = self._or(np.zeros(len(held), np.uint8), self.table("lines").read, "flags")
        held |= flags & LineFlag.PENDING != 0  # a half that was replaced by its whole
        return [(row, 1) for row in np.flatnonzero(~held).tolist()]

    def _rows(self, table: str) -> int:
        return self._or(0, lambda: self.table(table).rows)

    def _or(self, instead: _Row, read: Callable[..., _Row], *arguments: object) -> _Row:
        """What can be read, or something instead of it."""
        try:
            return read(*arguments)
        except (Damaged, ValueError) as error:
            self._lose(str(error))
            return instead

    def _lose(self, what: str) -> None:
        if len(self.lost) < _LOST_NAMED and what not in self.lost:
            self.lost.append(what)


def _member(kind: type[_Member], number: int) -> _Member:
    try:
        return kind(number)
    except ValueError as error:
        raise Damaged(str(error)) from error


_CHAINED = {"extents": "entries", "spans": "lines"}  # what the rows of a chain tell of
_LOST_NAMED = 50
_NAMING = {"id_at", "id_length", "path_at", "path_length", "agent", "host", "session", "role", "framing"}
_TOKEN_COLUMNS = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning")
_LINE_COLUMNS = ("end", "entries", "key_a", "type")


class LazySessions:
    """Sessions by row, read when asked for."""

    def __init__(self, view: Hdf5View) -> None:
        self._view = view

    def __len__(self) -> int:
        return self._view.table("sessions").rows

    def __getitem__(self, row: int) -> Session:
        return self._view.session_at(int(row))

    def items(self) -> Iterator[tuple[int, Session]]:
        return enumerate(self._view.sessions())


def provenance_of(flags: int) -> Provenance:
    """Whose a source is, by its flags."""
    if flags & SourceFlag.OWN:
        return Provenance.OWN
    return Provenance.IMPORTED if flags & SourceFlag.IMPORTED else Provenance.UNMARKED


def session_key(agent: str, host: str, id_: str) -> int:
    return name_key(agent, host, id_)


def source_key(host: str, path: str) -> int:
    return name_key("source", host, path)

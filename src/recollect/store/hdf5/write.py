"""Changing a store's HDF5 file: lines in, deduplicated, with their entries and usage.

Rows pile up in plain lists and become columns at `flush`, because appending a row at a
time to HDF5 costs a thousand times more than to a list. Nothing reaches the disk before
the store commits the pages underneath.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from recollect.light.store_header import Header
from recollect.store.contract import Array, Collector, UsageColumns
from recollect.store.derived import REPLACED, Column, DerivedTable, is_new_name
from recollect.store.hdf5.chains import Chain, Shown, runs
from recollect.store.hdf5.derived import DerivedRows
from recollect.store.hdf5.forms import TextForm, as_bytes
from recollect.store.hdf5.frames import Damaged
from recollect.store.hdf5.guard import StoreFile
from recollect.store.hdf5.imported import is_imported
from recollect.store.hdf5.keys import KeyIndex
from recollect.store.hdf5.layout import ROWS_PER_CHUNK, TABLES
from recollect.store.hdf5.pack import Pack, Parcel, ParcelWriter, Replacing, columns_of
from recollect.store.hdf5.read import Hdf5View, RowSource, session_key, source_key
from recollect.store.hdf5.vectors import Vectors
from recollect.store.merge import FACT_NAMES, TOKENS, ChargedUsage, merge_facts
from recollect.values.errors import DerivedDamaged
from recollect.values.ids import name_key
from recollect.values.lazy import lazy
from recollect.values.records import (
    Cursor,
    Flag,
    Framing,
    Line,
    LineFlag,
    Provenance,
    SessionFacts,
    SourceFile,
    SourceFlag,
)
from recollect.values.stored import Session, Source, TakeResult, VectorModel

_PACK_BYTES = 8 << 20  # of lines before they become rows
_MARKS = {Provenance.UNMARKED: 0, Provenance.IMPORTED: SourceFlag.IMPORTED, Provenance.OWN: SourceFlag.OWN}
_PARTIAL = LineFlag.PENDING | LineFlag.CONTINUES


@dataclass(slots=True)
class _SessionRow:
    row: int
    host: str
    facts: SessionFacts
    chain: Chain
    id_place: tuple[int, int]
    title_place: tuple[int, int]


@dataclass(slots=True)
class _SourceRow:
    row: int
    file: SourceFile
    host: str
    session: _SessionRow
    chain: Chain
    path_place: tuple[int, int]
    cursor: Cursor = field(default_factory=Cursor)
    state_place: tuple[int, int] = (0, 0)
    lines: int = 0
    parser: int = 0
    older: int = -1
    superseded: bool = False
    expected: int = 0  # the row behind the last one linked, to keep runs together

    @property
    def imported(self) -> bool:
        return self.file.provenance is Provenance.IMPORTED


class Hdf5Writer(Hdf5View):
    """A view that can also take. `commit` hands the last folded number to the store, which owns the pages."""

    collector: type[Collector] = ParcelWriter

    def __init__(self, file: StoreFile, header: Header, commit: Callable[[int], None]) -> None:
        super().__init__(file, header)
        self._folded = header.folded
        self._commit = commit
        self._name_rows: dict[str, int] | None = None
        self._pack = Pack()  # lines taken since the last seal; its owners are session rows
        self._first_line = self.table("lines").rows  # the row its first line will have
        self._first_entry = self.table("entries").rows
        if self._first_line and (
            self.table("lines").one("end", self._first_line - 1) != self.line_stream.end
            or self.table("lines").one("entries", self._first_line - 1) != self._first_entry
        ):
            raise Damaged("table /tables/lines: its end is not that of the lines and entries")
        self._keys = KeyIndex(self, "lines", "key_a")
        self._packed: dict[bytes, int] = {}  # rows of the pack's lines by key, the first of equal ones
        self._repeats: dict[bytes, list[int]] = {}  # and the others
        self._usage_keys = KeyIndex(self, "usage", "key")
        self._usage: dict[int, ChargedUsage] = {}
        self._by_key: dict[str, dict[int, int]] = {}
        self._source_rows: dict[int, _SourceRow] = {}
        self._superseded: dict[int, _SourceRow] = {}  # by row, as some are in no table yet
        self._session_rows: dict[int, _SessionRow] = {}
        self._own_sessions: set[int] | None = None  # those that a source is of that was not imported
        self._next = {name: self.table(name).rows for name in ("sources", "sessions")}
        self._dirty_sources: dict[int, _SourceRow] = {}
        self._dirty_sessions: dict[int, _SessionRow] = {}

    # -- the contract --------------------------------------------------------------------

    def source(self, host: str, path: str) -> Source | None:
        held = self._find_source(host, path)
        if held is None:
            return None
        return RowSource(
            held.file, held.host, held.cursor, held.session.facts.id, held.lines, held.parser, row=held.row
        )

    def has_source(self, host: str, path: str) -> bool:
        key = source_key(host, path)
        return key in self._source_rows or key in self._last_seen

    def is_current(self, host: str, path: str, seen: Cursor) -> bool:
        held = self._source_rows.get(source_key(host, path))
        if held is not None:
            seen_last = held.cursor
            return (seen_last.size, seen_last.mtime_ns, seen_last.ctime_ns, seen_last.inode) == (
                seen.size,
                seen.mtime_ns,
                seen.ctime_ns,
                seen.inode,
            )
        stored = self._last_seen.get(source_key(host, path))
        return stored == (seen.size, seen.mtime_ns, seen.ctime_ns, seen.inode)

    @lazy
    def _last_seen(self) -> dict[int, tuple[int, ...]]:
        """How each source looked when this writer began; of several versions the newest."""
        columns = [self.table("sources").read(c).tolist() for c in ("key", "size", "mtime", "ctime", "inode")]
        return {key: tuple(rest) for key, *rest in zip(*columns, strict=True)}

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
        file = self._as_marked(file, host)
        session = self._session(host, facts, file.provenance)
        known_as = self._find_source(host, file.path)
        owned = None if known_as is None or known_as.imported else known_as.session.row
        older = known_as if restart else None
        source = self._source(file, host, session, restart)
        if source.cursor.waiting:
            source.chain.drop_last()
            source.lines -= 1
        if not source.lines:
            source.session = session  # before its first whole line, whose a source is was a guess
        if owned is not None and (source.imported or source.session.row != owned):
            self._own_sessions = None  # that session may have no other source of its own
        self._note_own(source)
        entries_before = self._entry_rows
        digests = [line.known_by for line in lines]
        if any(line.kept is not None or line.key for line in lines):
            cursor = replace(cursor, thinned=True)
        known, masked = self._known_rows(source, lines, digests)
        first, at = self._line_rows, 0
        for stored, run in itertools.groupby(known, lambda row: row >= 0):
            rows = list(run)
            if stored:
                self._link(rows, source, session)
            else:
                part = slice(at, at + len(rows))
                self._add_lines(lines[part], digests[part], source, session)
            at += len(rows)
        source.lines += len(lines)
        source.cursor, source.parser = cursor, parser
        self._dirty_sources[source.row] = source
        self._dirty_sessions[session.row] = session
        replacing = [each._replace(line=self._first_line + each.line) for each in self._pack.replacing]
        if older is not None and file.framing == Framing.DOCUMENT:
            self._replace_version(older, source, session)
        elif older is not None and older.cursor.thinned:
            self._stand_in_place(older, source, session)
        if masked and source.older >= 0 and file.framing == Framing.LINES:
            fresh = itertools.count(first)
            rows = [row if row >= 0 else next(fresh) for row in known]
            self._unmask({rows[n]: each for n, each in masked.items()}, source, session)
        if self._pack.byte_count >= _PACK_BYTES or replacing:
            self._seal()
            self._replace_lines(replacing, source, session)
        return TakeResult([row >= 0 for row in known], self._entry_rows - entries_before)

    def sessions_with(self, records: Sequence[str]) -> list[list[Session]]:
        self.flush()
        found: list[set[int]] = [set() for _ in records]
        for n, line in self._uuids.find(np.array([name_key(each) for each in records], np.uint64)):
            found[n].update(self.table("entries").at("session", np.array(self._entries_of(line))).tolist())
        return [[self.session_at(row) for row in sorted(rows)] for rows in found]

    def record_lines(self, records: Sequence[str]) -> list[list[tuple[int, int]]]:
        self.flush()
        return super().record_lines(records)

    def touch(self, host: str, path: str, cursor: Cursor) -> None:
        held = self._find_source(host, path)
        assert held is not None
        held.cursor = cursor
        self._dirty_sources[held.row] = held

    def mark(self, source: Source, provenance: Provenance) -> None:
        assert isinstance(source, RowSource)
        held = self._find_source(source.host, source.file.path)
        while held is not None and held.row != source.row:
            held = self._superseded.get(held.older) or self._load_source(held.older)
        assert held is not None
        held.file = replace(held.file, provenance=provenance)
        self._superseded[held.row] = self._dirty_sources[held.row] = held
        self._own_sessions = None

    def add_vectors(self, model: VectorModel, keys: Array, vectors: Array) -> None:
        assert vectors.shape == (len(keys), model.dims)
        if not len(keys):
            return
        held = self.vector_streams.get(model)
        if held is None:
            held = self.vector_streams[model] = Vectors.create(self._file, model)
        held.append(keys, vectors)

    def add_derived(self, table: DerivedTable, columns: Mapping[str, Column], *, built_to: int) -> None:
        held = self.derived_groups.get(table)
        if held is None:
            assert is_new_name(table, self.derived_groups), "raise the revision of a table that changes"
            held = self.derived_groups[table] = DerivedRows.create(self._file, table)
        try:
            held.append(columns, built_to)
        except Damaged as error:
            raise DerivedDamaged(table.name, str(error)) from error

    def drop_derived(self, table: DerivedTable) -> None:
        if self.derived_groups.pop(table, None) is not None:
            DerivedRows.drop(self._file, table)

    def folded(self, sequence: int) -> None:
        self._folded = max(self._folded, sequence)

    def view(self) -> Hdf5View:
        self.flush()
        return self

    def usage(self) -> UsageColumns:
        return self._read_usage()

    def commit(self) -> None:
        self.flush()
        self._commit(self._folded)

    def close(self) -> None:
        """Stop the compressing threads."""
        self.line_stream.close()
        self.text_stream.close()

    # -- lines and entries -----------------------------------------------------------------

    @property
    def _line_rows(self) -> int:
        return self._first_line + self._pack.line_count

    @property
    def _entry_rows(self) -> int:
        return self._first_entry + self._pack.entry_count

    def _known_rows(
        self, source: _SourceRow, lines: Sequence[Line], digests: Sequence[bytes]
    ) -> tuple[list[int], dict[int, list[int]]]:
        """For each line the row of an equal one that is not of this very source, or -1; and the rows, for
        some, of what they were altered to.

        Half-written lines are on their own: they will be replaced, and have no entries.
        """
        stored, masked = self._stored_rows(lines, digests)
        digests = [
            digest + b"*" if line.flags & LineFlag.ALTERED else digest
            for line, digest in zip(lines, digests, strict=True)
        ]
        again = source.older >= 0 and source.file.framing == Framing.DOCUMENT
        rows = [-1] * len(lines)
        chosen: set[int] = set()
        if stored or not self._packed.keys().isdisjoint(digests):
            for n, digest in enumerate(digests):
                candidates = stored.get(n, [])
                if digest in self._packed and not lines[n].flags & _PARTIAL:
                    candidates = [*candidates, self._packed[digest], *self._repeats.get(digest, ())]
                if again:  # what a version took back is said anew by one that has it again
                    candidates = [row for row in candidates if not self._is_replaced(row)]
                if candidates and lines[n].data:
                    rows[n] = self._choose(source, candidates, chosen)
                    chosen.add(rows[n])
        fresh = self._line_rows
        for line, digest, row in zip(lines, digests, rows, strict=True):
            if row < 0:
                if (
                    not line.flags & _PARTIAL
                    and line.kept is None
                    and self._packed.setdefault(digest, fresh) != fresh
                ):
                    self._repeats.setdefault(digest, []).append(fresh)
                fresh += 1
        return rows, masked

    def _stored_rows(
        self, lines: Sequence[Line], digests: Sequence[bytes]
    ) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        """For each line the rows in the table that are equal to it, and those of what it was altered to."""
        found = self._keys.find(np.frombuffer(b"".join(digests), "<u8")[::2])
        rows = np.array([row for _, row in found], np.int64)
        rests, flags = self._cells("lines", "key_b", rows), self._cells("lines", "flags", rows)
        equal: dict[int, list[int]] = {}
        masked: dict[int, list[int]] = {}
        for (n, row), rest, flag in zip(found, rests, flags, strict=True):
            whole = not lines[n].flags & LineFlag.PENDING and lines[n].flags & _PARTIAL == flag & _PARTIAL
            whole = whole and not (flag & LineFlag.ALTERED and self._is_empty(row))  # of those a key is left
            if whole and rest == int.from_bytes(digests[n][8:], "little"):
                if flag & LineFlag.ALTERED == lines[n].flags & LineFlag.ALTERED:
                    equal.setdefault(n, []).append(row)
                elif flag & LineFlag.ALTERED:
                    masked.setdefault(n, []).append(row)
        return equal, masked

    def _is_empty(self, line: int) -> bool:
        table = self.table("lines")
        return table.one("end", line) == (table.one("end", line - 1) if line else 0)

    def _cells(self, table: str, column: str, rows: Array) -> list[int]:
        """Single cells of a column, at the price of one read a chunk."""
        cells = np.zeros(len(rows), TABLES[table][column])
        for chunk in np.unique(rows // ROWS_PER_CHUNK).tolist():
            inside = rows // ROWS_PER_CHUNK == chunk
            start = chunk * ROWS_PER_CHUNK
            stop = min(start + ROWS_PER_CHUNK, self.table(table).rows)
            cells[inside] = self.table(table).read(column, start, stop)[rows[inside] - start]
        values: list[int] = cells.tolist()
        return values

    def _choose(self, source: _SourceRow, candidates: Sequence[int], taken: set[int]) -> int:
        """Of equal lines, never one of the source's own, the next one behind the last that was chosen.

        So a copied run maps to the run it was copied from, line for line, repetitions too.
        """
        others = [row for row in candidates if row not in taken and not source.chain.holds(row)]
        chosen = next((row for row in others if row >= source.expected), others[0] if others else -1)
        source.expected = chosen + 1 if chosen >= 0 else source.expected
        return chosen

    def _add_lines(
        self, lines: Sequence[Line], digests: Sequence[bytes], source: _SourceRow, session: _SessionRow
    ) -> None:
        first_line, first_entry = self._line_rows, self._entry_rows
        self._pack.add(lines, digests, session.row)
        source.chain.add(first_line, len(lines))
        session.chain.add(first_entry, self._entry_rows - first_entry)

    def _link(self, rows: Sequence[int], source: _SourceRow, session: _SessionRow) -> None:
        """Let the source have lines, and the session show entries, that are stored already."""
        for first, count in runs(rows):
            source.chain.add(first, count)
            start, stop = self._entry_end(first - 1), self._entry_end(first + count - 1)
            for low, length in session.chain.missing(start, stop - start):
                for part in self._not_replaced(low, length):
                    session.chain.add(*part)

    def _entry_end(self, row: int) -> int:
        """How many entries there are up to and including this line's, sealed or not."""
        if row >= self._first_line:
            return self._first_entry + self._pack.entry_end(row - self._first_line)
        return self.table("lines").one("entries", row) if row >= 0 else 0

    def _seal(self) -> None:
        """Move the pack into the tables and start another."""
        if not self._pack.line_count:
            return
        pack, self._pack = self._pack, Pack()
        self._packed.clear()
        self._repeats.clear()
        pack.cut()
        lines, entries = pack.line_columns(), pack.entry_columns()
        self._append(list(pack.names), bytes(pack.texts), lines, entries)
        for block in pack.blocks:
            self.line_stream.add_block(block)
        for key, counted in pack.usage.items():
            self._add_usage(key, counted._replace(line=self._first_line + counted.line))
        self._first_line += pack.line_count
        self._first_entry += pack.entry_count

    def _append(
        self, names: list[str], texts: bytes, lines: dict[str, Array], entries: dict[str, Array]
    ) -> None:
        """Shift a pack's own numbers to where its rows come to stand, and append them."""
        rows = np.array([self.name_row(name) for name in names], np.uint32)
        stored = entries["form"] == TextForm.STORED
        entries["at"][stored] += np.uint64(self.text_stream.append(texts) if texts else 0)
        entries["tool"], entries["model"] = rows[entries["tool"]], rows[entries["model"]]
        entries["line"] += np.uint64(self._first_line)
        lines["type"] = rows[lines["type"]]
        lines["end"] += np.uint64(self.line_stream.end)
        lines["entries"] += np.uint64(self._first_entry)
        self.table("lines").append(lines)
        self.table("entries").append(entries)
        self._keys.added(lines["key_a"])
        self._uuids.added(lines["uuid"])

    # -- what takes the place of something ---------------------------------------------------

    @lazy
    def _replaced(self) -> set[int]:
        return set(self.replaced().tolist())

    def _is_replaced(self, line: int) -> bool:
        return any(row in self._replaced for row in self._entries_of(line))

    def _not_replaced(self, first: int, count: int) -> list[tuple[int, int]]:
        if not self._replaced:
            return [(first, count)]
        return runs(row for row in range(first, first + count) if row not in self._replaced)

    def _entries_of(self, line: int, count: int = 1) -> range:
        return range(self._entry_end(line - 1), self._entry_end(line + count - 1))

    def _changeable(self, rows: Sequence[int], source: _SourceRow) -> list[int]:
        """Those of some entries that a source may replace: an imported one nothing that is own."""
        if not source.imported or not rows:
            return list(rows)
        self.flush()  # whose a line is, the tables say
        return [
            row for row, free in zip(rows, self.columns_at(rows, "imported")["imported"], strict=True) if free
        ]

    def _replace_version(self, older: _SourceRow, source: _SourceRow, session: _SessionRow) -> None:
        """Show a document as it is now, in its order, where the version before was shown.

        One that nothing was read from (cut short while it was saved) replaces nothing.
        """
        new = self._changeable(self._source_entries(source), source)
        while not (old := self._source_entries(older)) and older.older >= 0:
            if older.older >= older.row:
                raise Damaged("table /tables/sources: a version is older than itself")
            older = self._superseded.get(older.older) or self._load_source(older.older)
        old = self._changeable(old, source)
        if not new or not old:
            return
        own = {*old, *new}
        shown = session.chain.all_rows()
        at = next((n for n, row in enumerate(shown) if row in own), len(shown))
        self._mark_replaced(sorted(set(old) - set(new)))
        others = [[row for row in part if row not in own] for part in (shown[:at], shown[at:])]
        session.chain.arrange([*others[0], *(row for row in new if row not in self._replaced), *others[1]])
        self._dirty_sessions[session.row] = session
        if older.session is not session:
            kept = [row for row in older.session.chain.all_rows() if row not in self._replaced]
            older.session.chain.arrange(kept)
            self._dirty_sessions[older.session.row] = older.session

    def _stand_in_place(self, older: _SourceRow, source: _SourceRow, session: _SessionRow) -> None:
        """Show what was evicted and is back before what came since, where that stood."""
        new, old = self._source_entries(source), self._source_entries(older)
        own, shown = set(new), session.chain.all_rows()
        if not own.issuperset(old):
            return  # another file under its name
        at = next((n for n, row in enumerate(shown) if row in own), len(shown))
        others = [[row for row in part if row not in own] for part in (shown[:at], shown[at:])]
        session.chain.arrange([*others[0], *(row for row in new if row not in self._replaced), *others[1]])

    def _unmask(self, masked: Mapping[int, Sequence[int]], source: _SourceRow, session: _SessionRow) -> None:
        """Show lines in the place of what they were altered to in the version before: that was taken back."""
        older = self._superseded.get(source.older) or self._load_source(source.older)
        shown, gone = Shown(session.chain.all_rows()), []
        for line, rows in masked.items():
            own = [row for row in self._entries_of(line) if row in shown]
            before = [n for row in rows if older.chain.holds(row) for n in self._entries_of(row)]
            before = self._changeable([row for row in before if row in shown], source)
            if before and own:
                shown.put_in_place(before, own)
                gone += before
        self._mark_replaced(sorted(gone))
        session.chain.arrange(shown.rows())
        self._dirty_sessions[session.row] = session

    def _source_entries(self, source: _SourceRow) -> list[int]:
        return [
            row for first, count in source.chain.intervals if count for row in self._entries_of(first, count)
        ]

    def _replace_lines(
        self, replacing: Sequence[Replacing], source: _SourceRow, session: _SessionRow
    ) -> None:
        """Let lines take the place of earlier ones that the session shows; all of them are in the tables."""
        wanted = np.array(
            sorted({k for each in replacing for k in (*each.keys, each.rewinds)} - {0}), np.uint64
        )
        earlier: dict[int, list[int]] = {}
        for n, line in self._uuids.find(wanted):
            earlier.setdefault(int(wanted[n]), []).append(line)
        acting = [each for each in replacing if self._acts(each, earlier)]
        if not acting:
            return
        shown, gone = Shown(session.chain.all_rows()), []
        for line, keys, rewinds in acting:
            own = [row for row in self._entries_of(line) if row in shown]
            restated = [row for k in keys for row in self._shown_before(line, earlier.get(k, ()), shown)]
            restated = self._changeable(restated, source)
            if restated and own:
                shown.put_in_place(restated, own)
                gone += restated
            back = self._shown_before(line, earlier.get(rewinds, ()), shown)
            if back and own:
                order = shown.rows()
                taken_back = self._changeable(order[order.index(back[0]) : order.index(own[0])], source)
                shown.drop(taken_back)
                gone += taken_back
        self._mark_replaced(sorted(gone))
        session.chain.arrange(shown.rows())
        self._dirty_sessions[session.row] = session

    @staticmethod
    def _acts(each: Replacing, earlier: dict[int, list[int]]) -> bool:
        """Whether there is anything before a line that it may replace."""
        return any(line < each.line for key in (*each.keys, each.rewinds) for line in earlier.get(key, ()))

    def _shown_before(self, line: int, lines: Sequence[int], shown: Shown) -> list[int]:
        """The entries of lines before one that are shown."""
        return [row for each in lines if each < line for row in self._entries_of(each) if row in shown]

    def _mark_replaced(self, gone: Sequence[int]) -> None:
        rows = [row for row in gone if row not in self._replaced]
        if not rows:
            return
        self._seal()
        flags = np.array(self._cells("entries", "flags", np.array(rows)), np.uint16) | Flag.REPLACED
        self.table("entries").update(np.array(rows), {"flags": flags})
        self._replaced.update(rows)
        try:
            self.add_derived(REPLACED, {"entry": np.array(rows)}, built_to=self._first_entry)
        except DerivedDamaged:
            self.drop_derived(REPLACED)
            self.add_derived(
                REPLACED, {"entry": np.array(sorted(self._replaced))}, built_to=self._first_entry
            )

    # -- whole parcels ---------------------------------------------------------------------

    def adopt(self, parcel: Parcel) -> bool:
        """Take a parcel of new sources as it is; False, and nothing done, if it repeats any stored line.

        Repetition within one of its sources is no obstacle: such lines are the source's own.
        """
        self._seal()
        keys = parcel.lines["key_a"]
        owner = np.repeat(np.arange(len(parcel.portions)), [p.lines for p in parcel.portions])
        if self._keys.find(keys) or _shared_between(keys, owner):
            return False
        sessions: list[_SessionRow] = []
        sources: list[_SourceRow] = []
        first_line, line, entry = self._first_line, self._first_line, self._first_entry
        ends = parcel.lines["entries"]
        for portion in parcel.portions:
            session = self._session(portion.host, portion.facts, portion.file.provenance)
            source = self._source(portion.file, portion.host, session, restart=False)
            assert not source.lines, "only sources new to the store are parcelled"
            self._note_own(source)
            source.chain.add(line, portion.lines)
            line += portion.lines
            entry_end = self._first_entry + int(ends[line - first_line - 1])
            session.chain.add(entry, entry_end - entry)
            entry = entry_end
            source.lines, source.cursor, source.parser = portion.lines, portion.cursor, portion.parser
            self._dirty_sources[source.row] = source
            self._dirty_sessions[session.row] = session
            sessions.append(session)
            sources.append(source)
        rows = [session.row for session in sessions]
        parcel.entries["session"] = np.array(rows, np.uint32)[parcel.entries["session"]]
        self._append(parcel.names, parcel.texts, parcel.lines, parcel.entries)
        for length, frame in parcel.frames:
            self.line_stream.add_frame(length, frame)
        for key, counted in parcel.usage.items():
            line_row, session_row = first_line + counted.line, rows[counted.owner]
            self._add_usage(key, counted._replace(line=line_row, owner=session_row))
        self._first_line, self._first_entry = line, entry
        for number, group in itertools.groupby(parcel.replacing, lambda each: int(owner[each.line])):
            lines = [each._replace(line=first_line + each.line) for each in group]
            self._replace_lines(lines, sources[number], sessions[number])
        return True

    # -- usage -----------------------------------------------------------------------------

    def _add_usage(self, key: int, counted: ChargedUsage) -> None:
        self._usage[key] = counted.against(self._usage.get(key))

    def _flush_usage(self) -> None:
        table = self.table("usage")
        keys = list(self._usage)
        stored = dict(self._usage_keys.find(np.array(keys, np.uint64)))
        for n, row in stored.items():
            counted = self._usage[keys[n]]
            if counted.tokens > tuple(table.one(column, row) for column in TOKENS):
                cells = dict(zip(TOKENS, counted.tokens, strict=True))
                cells |= {
                    "line": counted.line,
                    "model": self.name_row(counted.model),
                    "time": counted.time_ms,
                }
                table.update(np.array([row]), {c: np.array([value]) for c, value in cells.items()})
        new = [(keys[n], self._usage[keys[n]]) for n in range(len(keys)) if n not in stored]
        names = ("key", "line", "session", "model", "time", *TOKENS)
        rows = [(key, c.line, c.owner, self.name_row(c.model), c.time_ms, *c.tokens) for key, c in new]
        table.append(columns_of(names, "usage", rows))
        self._usage_keys.added(np.array([key for key, _ in new], np.uint64))
        self._usage.clear()

    # -- sources and sessions ----------------------------------------------------------------

    def _find_source(self, host: str, path: str) -> _SourceRow | None:
        key = source_key(host, path)
        held = self._source_rows.get(key)
        if held is None:
            row = self._rows_by_key("sources").get(key)
            if row is not None:
                held = self._source_rows[key] = self._load_source(row)
        return held

    def _source(self, file: SourceFile, host: str, session: _SessionRow, restart: bool) -> _SourceRow:
        held = self._find_source(host, file.path)
        if held is not None and not restart:
            held.file = replace(held.file, provenance=file.provenance)
            return held
        place = self.put_text(file.path) if held is None else held.path_place
        made = _SourceRow(self._next["sources"], file, host, session, Chain([], []), place)
        if held is not None:
            made.older, held.superseded = held.row, True
            self._superseded[held.row] = held
            self._dirty_sources[held.row] = held
        self._next["sources"] += 1
        self._source_rows[source_key(host, file.path)] = made
        return made

    def _as_marked(self, file: SourceFile, host: str) -> SourceFile:
        """The file as it is marked, by whoever took it now or before."""
        held = self._find_source(host, file.path)
        if held is None or held.file.provenance <= file.provenance:
            return file
        return replace(file, provenance=held.file.provenance)

    def _has_own(self, session: _SessionRow) -> bool:
        """Whether any source of a session was not imported."""
        if self._own_sessions is None:
            self._flush_sources()
            sources = self.table("sources")
            own = ~is_imported(sources.read("flags"))
            self._own_sessions = set(sources.read("session")[own].tolist())
        return session.row in self._own_sessions

    def _note_own(self, source: _SourceRow) -> None:
        if not source.imported and self._own_sessions is not None:
            self._own_sessions.add(source.session.row)

    def _rows_by_key(self, name: str) -> dict[int, int]:
        """Rows stored when this writer began, by key; of several versions the newest."""
        rows = self._by_key.get(name)
        if rows is None:
            keys = self.table(name).read("key").tolist()
            rows = self._by_key[name] = {key: row for row, key in enumerate(keys)}
        return rows

    def _load_source(self, row: int) -> _SourceRow:
        stored = self.source_at(row)
        cell = {c: self.table("sources").one(c, row) for c in ("path_at", "path_length", "session", "older")}
        chain = self._load_chain("spans", "sources", "span", row)
        return _SourceRow(
            row,
            stored.file,
            stored.host,
            self._load_session(cell["session"]),
            chain,
            (cell["path_at"], cell["path_length"]),
            stored.cursor,
            self._place("sources", row, "state_at", "state_length"),
            stored.lines,
            stored.parser,
            cell["older"],
            stored.superseded,
        )

    def _session(self, host: str, facts: SessionFacts, provenance: Provenance) -> _SessionRow:
        key = session_key(facts.agent, host, facts.id)
        held = self._session_rows.get(key)
        if held is None:
            row = self._rows_by_key("sessions").get(key)
            held = self._load_session(row) if row is not None else None
        if held is None:
            blank = SessionFacts(facts.agent, facts.id)
            place = self.put_text(facts.id)
            held = _SessionRow(self._next["sessions"], host, blank, Chain([], []), place, (0, 0))
            self._next["sessions"] += 1
        self._session_rows[key] = held
        imported, has_own = provenance is Provenance.IMPORTED, self._has_own(held)
        if merge_facts(held.facts, facts, imported=imported, has_own=has_own):
            held.title_place = self.put_text(held.facts.title)
        return held

    def _load_session(self, row: int) -> _SessionRow:
        stored = self.session_at(row)
        key = session_key(stored.facts.agent, stored.host, stored.facts.id)
        held = self._session_rows.get(key)
        if held is None:
            held = self._session_rows[key] = _SessionRow(
                row,
                stored.host,
                stored.facts,
                self._load_chain("extents", "sessions", "extent", row),
                self._place("sessions", row, "id_at", "id_length"),
                self._place("sessions", row, "title_at", "title_length"),
            )
        return held

    def _load_chain(self, chain: str, owners: str, link: str, row: int) -> Chain:
        table = self.table(chain)
        rows = list(self.chain_rows(chain, self.table(owners).one(link, row)))[::-1]
        return Chain([[table.one("first", r), table.one("count", r)] for r in rows], rows)

    # -- flush -------------------------------------------------------------------------------

    def flush(self) -> None:
        """Turn everything taken into rows of the file."""
        self._imported_rows = None
        self._seal()
        self._flush_usage()
        self._flush_sessions()
        self._flush_sources()
        self.line_stream.flush()
        self.text_stream.flush()

    def _flush_sessions(self) -> None:
        rows = sorted(self._dirty_sessions.values(), key=lambda s: s.row)
        self._flush_chains("extents", "session", rows)
        cells = []
        for session in rows:
            facts = session.facts
            cell = {name: self.name_row(getattr(facts, name)) for name in FACT_NAMES}
            cell |= {
                "key": session_key(facts.agent, session.host, facts.id),
                "prefix": int.from_bytes(as_bytes(facts.id)[:8].ljust(8, b"\0"), "big"),
                "id_at": session.id_place[0],
                "id_length": session.id_place[1],
                "agent": self.name_row(facts.agent),
                "host": self.name_row(session.host),
                "title_at": session.title_place[0],
                "title_length": session.title_place[1],
                "title_rank": facts.title_rank,
                "relation": int(facts.relation),
                "started": facts.started_ms,
                "ended": facts.ended_ms,
                "entries": sum(count for _, count in session.chain.intervals),
                "extent": session.chain.rows[-1] if session.chain.rows else -1,
            }
            cells.append(cell)
        self._write_rows("sessions", [s.row for s in rows], cells)
        self._dirty_sessions.clear()

    def _flush_sources(self) -> None:
        rows = sorted(self._dirty_sources.values(), key=lambda s: s.row)
        self._flush_chains("spans", "source", rows)
        cells = []
        for source in rows:
            cursor = source.cursor
            # ASCII, because a title may hold a lone surrogate and this must be readable as any JSON.
            source.state_place = self.put_text(json.dumps(cursor.state, separators=(",", ":")))
            flags: int = 0 if cursor.terminated else SourceFlag.UNTERMINATED
            flags |= SourceFlag.SUPERSEDED if source.superseded else 0
            flags |= SourceFlag.THINNED if cursor.thinned else 0
            flags |= SourceFlag.WAITING if cursor.waiting else 0
            flags |= _MARKS[source.file.provenance]
            cells.append(
                {
                    "key": source_key(source.host, source.file.path),
                    "path_at": source.path_place[0],
                    "path_length": source.path_place[1],
                    "agent": self.name_row(source.file.agent),
                    "host": self.name_row(source.host),
                    "session": source.session.row,
                    "role": int(source.file.role),
                    "framing": int(source.file.framing),
                    "flags": flags,
                    "parser": source.parser,
                    "offset": cursor.offset,
                    "size": cursor.size,
                    "mtime": cursor.mtime_ns,
                    "ctime": cursor.ctime_ns,
                    "inode": cursor.inode,
                    "window": cursor.window,
                    "state_at": source.state_place[0],
                    "state_length": source.state_place[1],
                    "lines": source.lines,
                    "span": source.chain.rows[-1] if source.chain.rows else -1,
                    "older": source.older,
                }
            )
        self._write_rows("sources", [s.row for s in rows], cells)
        self._dirty_sources.clear()

    def _write_rows(self, name: str, rows: list[int], cells: list[dict[str, int]]) -> None:
        """Rows below the table's length are overwritten, the others appended, in order."""
        table = self.table(name)
        columns = TABLES[name]
        old = [n for n, row in enumerate(rows) if row < table.rows]
        if old:
            changed = np.array([rows[n] for n in old])
            table.update(changed, {c: np.array([cells[n][c] for n in old], columns[c]) for c in columns})
        new = cells[len(old) :]
        table.append({c: np.array([cell[c] for cell in new], columns[c]) for c in columns})

    def _flush_chains(
        self, name: str, owner: str, held: Sequence[_SessionRow] | Sequence[_SourceRow]
    ) -> None:
        table = self.table(name)
        new: dict[str, list[int]] = {c: [] for c in TABLES[name]}
        updated: list[tuple[int, int, int]] = []
        for each in held:
            chain = each.chain
            for n in sorted(chain.changed):
                first, count = chain.intervals[n]
                if chain.rows[n] >= 0:
                    updated.append((chain.rows[n], first, count))
                else:
                    chain.rows[n] = table.rows + len(new["first"])
                    before = chain.rows[n - 1] if n else -1
                    for column, value in zip(new, (each.row, first, count, before), strict=True):
                        new[column].append(value)
            chain.changed.clear()
        if updated:
            rows, firsts, counts = (np.array(values) for values in zip(*updated, strict=True))
            table.update(rows, {"first": firsts, "count": counts})
        table.append(new)

    # -- names and texts -----------------------------------------------------------------------

    def name_row(self, name: str) -> int:
        if self._name_rows is None:
            self._name_rows = self._load_names()
        row = self._name_rows.get(name)
        if row is None:
            at, length = self.put_text(name)
            row = self.table("names").append({"at": [at], "length": [length]})
            self._name_rows[name] = row
            self._names[row] = name
        return row

    def _load_names(self) -> dict[str, int]:
        table = self.table("names")
        places = zip(table.read("at").tolist(), table.read("length").tolist(), strict=True)
        return {self.word(at, length): row for row, (at, length) in enumerate(places)}

    def put_text(self, text: str) -> tuple[int, int]:
        data = as_bytes(text)
        return (self.text_stream.append(data), len(data)) if data else (0, 0)


def _shared_between(keys: Array, owner: Array) -> bool:
    """Whether a key occurs with two owners."""
    order = np.argsort(keys, kind="stable")
    same = keys[order][1:] == keys[order][:-1]
    return bool(np.any(same & (owner[order][1:] != owner[order][:-1])))

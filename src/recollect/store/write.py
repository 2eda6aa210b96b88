"""Changing a store's HDF5 file: lines in, deduplicated, with their entries and usage.

Rows pile up in plain lists and become columns at `flush`, because appending a row at a
time to HDF5 costs a thousand times more than to a list. Nothing reaches the disk before
the store commits the pages underneath.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import h5py
import numpy as np
import orjson

from recollect.records import (
    Cursor,
    Entry,
    Line,
    SessionFacts,
    SourceFile,
    Usage,
    line_key,
    name_key,
)
from recollect.store.base import Source, Taken
from recollect.store.forms import TextForm, as_bytes, find
from recollect.store.layout import TABLES
from recollect.store.pager import Header
from recollect.store.read import (
    SOURCE_SUPERSEDED,
    SOURCE_UNTERMINATED,
    SOURCE_WAITING,
    Hdf5View,
    RowSource,
    session_key,
    source_key,
)
from recollect.store.tables import Array

_TOKENS = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning")
_FACT_NAMES = ("project", "cwd", "branch", "slug", "model", "version", "parent", "root")


@dataclass(slots=True)
class _Chain:
    """An owner's intervals of rows, oldest first, and which of them are new or changed."""

    intervals: list[list[int]]  # [first, count]
    rows: list[int]  # the row each has in its table; -1 not written yet
    changed: set[int] = field(default_factory=set)

    def add(self, first: int, count: int) -> None:
        if not count:
            return
        if self.intervals and sum(self.intervals[-1]) == first:
            self.intervals[-1][1] += count
        else:
            self.intervals.append([first, count])
            self.rows.append(-1)
        self.changed.add(len(self.intervals) - 1)

    def drop_last(self) -> None:
        """Take the last row off. An emptied interval stays, with nothing in it."""
        self.intervals[-1][1] -= 1
        self.changed.add(len(self.intervals) - 1)

    def holds(self, row: int) -> bool:
        return any(first <= row < first + count for first, count in self.intervals)

    def missing(self, first: int, count: int) -> list[tuple[int, int]]:
        """Those parts of an interval that the chain does not hold yet."""
        parts = [(first, first + count)]
        for have, length in self.intervals:
            end = have + length
            parts = [
                (low, high)
                for start, stop in parts
                for low, high in ((start, min(stop, have)), (max(start, end), stop))
                if low < high
            ]
        return [(low, high - low) for low, high in parts]


@dataclass(slots=True)
class _SessionRow:
    row: int
    host: str
    facts: SessionFacts
    chain: _Chain
    id_place: tuple[int, int]
    title_place: tuple[int, int]


@dataclass(slots=True)
class _SourceRow:
    row: int
    file: SourceFile
    host: str
    session: _SessionRow
    chain: _Chain
    path_place: tuple[int, int]
    cursor: Cursor = field(default_factory=Cursor)
    state_place: tuple[int, int] = (0, 0)
    lines: int = 0
    parser: int = 0
    older: int = -1
    superseded: bool = False
    expected: int = -1  # the row that would follow the last duplicate, to keep runs together


class Hdf5Writer(Hdf5View):
    """A view that can also take. `commit` hands the last folded number to the store, which owns the pages."""

    def __init__(self, file: h5py.File, header: Header, commit: Callable[[int], None]) -> None:
        super().__init__(file, header)
        self._folded = header.folded
        self._commit = commit
        self._name_rows: dict[str, int] | None = None
        self._new: dict[str, dict[str, list[int]]] = {
            name: {c: [] for c in TABLES[name]} for name in ("lines", "entries")
        }
        self._line_rows = self.table("lines").rows
        self._entry_rows = self.table("entries").rows
        self._keys = KeyIndex(self, "lines", "key_a")
        self._new_keys: dict[bytes, list[int]] = {}
        self._usage_keys = KeyIndex(self, "usage", "key")
        self._usage: dict[int, tuple[Usage, int, int]] = {}
        self._source_keys = KeyIndex(self, "sources", "key")
        self._session_keys = KeyIndex(self, "sessions", "key")
        self._source_rows: dict[int, _SourceRow] = {}
        self._session_rows: dict[int, _SessionRow] = {}
        self._next = {name: self.table(name).rows for name in ("sources", "sessions")}
        self._dirty_sources: dict[int, _SourceRow] = {}
        self._dirty_sessions: dict[int, _SessionRow] = {}
        self._uuid_keys: dict[str, int] = {"": 0}
        self._seen: dict[int, tuple[int, ...]] | None = None

    # -- the contract --------------------------------------------------------------------

    def source(self, host: str, path: str) -> Source | None:
        held = self._find_source(host, path)
        if held is None:
            return None
        return RowSource(
            held.file, held.host, held.cursor, held.session.facts.id, held.lines, held.parser, row=held.row
        )

    def is_current(self, host: str, path: str, seen: Cursor) -> bool:
        if self._seen is None:
            table = self.table("sources")
            columns = [table.read(c).tolist() for c in ("key", "size", "mtime", "ctime", "inode")]
            self._seen = {key: tuple(rest) for key, *rest in zip(*columns, strict=True)}
        stored = self._seen.get(source_key(host, path))
        return stored == (seen.size, seen.mtime_ns, seen.ctime_ns, seen.inode)

    def take(
        self, file: SourceFile, host: str, lines: Sequence[Line], cursor: Cursor, facts: SessionFacts,
        *, parser: int, restart: bool = False,
    ) -> Taken:  # fmt: skip
        session = self._session(host, facts)
        source = self._source(file, host, session, restart)
        if source.cursor.waiting:
            source.chain.drop_last()
            source.lines -= 1
        entries_before = self._entry_rows
        digests = [line_key(line.data) for line in lines]
        known = self._known_rows(source, lines, digests)
        at = 0
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
        return Taken([row >= 0 for row in known], self._entry_rows - entries_before)

    def touch(self, host: str, path: str, cursor: Cursor) -> None:
        held = self._find_source(host, path)
        assert held is not None
        held.cursor = cursor
        self._dirty_sources[held.row] = held

    def folded(self, sequence: int) -> None:
        self._folded = max(self._folded, sequence)

    def view(self) -> Hdf5View:
        self.flush()
        return self

    def commit(self) -> None:
        self.flush()
        self._commit(self._folded)

    def close(self) -> None:
        """Stop the compressing threads."""
        self.line_stream.close()
        self.text_stream.close()

    # -- lines and entries -----------------------------------------------------------------

    def _known_rows(
        self, source: _SourceRow, lines: Sequence[Line], digests: Sequence[bytes]
    ) -> list[int]:
        """For each line the row of an equal one that is not of this very source, or -1."""
        heads = np.array([int.from_bytes(d[:8], "little") for d in digests], np.uint64)
        stored: dict[int, list[int]] = {}
        for n, row in self._keys.find(heads):
            stored.setdefault(n, []).append(row)
        rows = []
        fresh = self._line_rows
        for n, (line, digest) in enumerate(zip(lines, digests, strict=True)):
            candidates = [r for r in stored.get(n, ()) if self._same_line(r, digest)]
            candidates += self._new_keys.get(digest, ())
            row = self._choose(source, candidates) if candidates and line.data else -1
            rows.append(row)
            if row < 0:
                self._new_keys.setdefault(digest, []).append(fresh)
                fresh += 1
        return rows

    def _same_line(self, row: int, digest: bytes) -> bool:
        return self.table("lines").one("key_b", row) == int.from_bytes(digest[8:], "little")

    def _choose(self, source: _SourceRow, candidates: Iterable[int]) -> int:
        """Of equal lines the one that continues a run; never one of the source's own."""
        chosen = -1
        for row in candidates:
            # Rows from _line_rows on are of this very batch.
            if row < self._line_rows and not source.chain.holds(row):
                chosen = row if chosen < 0 or row == source.expected else chosen
        source.expected = chosen + 1 if chosen >= 0 else -1
        return chosen

    def _add_lines(
        self, lines: Sequence[Line], digests: Sequence[bytes], source: _SourceRow, session: _SessionRow
    ) -> None:
        first_line, first_entry = self._line_rows, self._entry_rows
        for line, digest in zip(lines, digests, strict=True):
            self._add_line(line, digest, session)
        source.chain.add(first_line, len(lines))
        session.chain.add(first_entry, self._entry_rows - first_entry)

    def _link(self, rows: Sequence[int], source: _SourceRow, session: _SessionRow) -> None:
        """Let the source have lines, and the session show entries, that are stored already."""
        for first, count in _runs(rows):
            source.chain.add(first, count)
            ends = self._entry_ends(max(first - 1, 0), first + count)
            start = ends[0] if first else 0
            for low, length in session.chain.missing(start, ends[-1] - start):
                session.chain.add(low, length)

    def _add_line(self, line: Line, digest: bytes, session: _SessionRow) -> None:
        row = self._line_rows
        self._line_rows += 1
        end = self.line_stream.append(line.data) + len(line.data)
        parsed = line.parsed
        if parsed is not None:
            place = 0
            for entry in parsed.entries:
                place = self._add_entry(entry, row, session.row, line.data, place)
            if parsed.usage is not None:
                self._add_usage(parsed.usage, row, session.row)
        new = self._new["lines"]
        new["end"].append(end)
        new["key_a"].append(int.from_bytes(digest[:8], "little"))
        new["key_b"].append(int.from_bytes(digest[8:], "little"))
        new["entries"].append(self._entry_rows)
        new["type"].append(self._name_row(parsed.type) if parsed is not None else 0)
        new["flags"].append(line.flags)
        new["uuid"].append(self._uuid_key(parsed.uuid) if parsed is not None else 0)
        new["parent"].append(self._uuid_key(parsed.parent) if parsed is not None else 0)

    def _add_entry(self, entry: Entry, line: int, session: int, data: bytes, place: int) -> int:
        """Add one entry; returns where in the line the next one's text is looked for."""
        found = find(entry.text, entry.kind, data, place)
        if found is None:
            stored = as_bytes(entry.text)
            form, at, length = TextForm.STORED, self.text_stream.append(stored), len(stored)
        else:
            form, at, length = found
            place = at + length
        new = self._new["entries"]
        new["line"].append(line)
        new["session"].append(session)
        new["kind"].append(entry.kind)
        new["flags"].append(entry.flags)
        new["time"].append(entry.time_ms)
        new["tool"].append(self._name_row(entry.tool))
        new["call"].append(name_key(entry.call))
        new["model"].append(self._name_row(entry.model))
        new["form"].append(form)
        new["at"].append(at)
        new["length"].append(length)
        self._entry_rows += 1
        return place

    def _entry_ends(self, start: int, stop: int) -> list[int]:
        """Column `entries` of lines, reaching into rows that are not flushed yet."""
        flushed = self.table("lines").rows
        stored = self.table("lines").read("entries", start, min(stop, flushed)).tolist() if start < flushed else []
        return stored + self._new["lines"]["entries"][max(start - flushed, 0) : max(stop - flushed, 0)]

    # -- usage -----------------------------------------------------------------------------

    def _add_usage(self, usage: Usage, line: int, session: int) -> None:
        key = name_key(usage.key)
        held = self._usage.get(key)
        if held is None or _weight(usage) > _weight(held[0]):
            self._usage[key] = (usage, line, held[2] if held else session)

    def _flush_usage(self) -> None:
        keys = list(self._usage)
        table = self.table("usage")
        stored = dict(self._usage_keys.find(np.array(keys, np.uint64)))
        new: dict[str, list[int]] = {c: [] for c in TABLES["usage"]}
        for n, key in enumerate(keys):
            usage, line, session = self._usage[key]
            tokens = {c: min(getattr(usage, c), 0xFFFFFFFF) for c in _TOKENS}
            row = stored.get(n)
            if row is None:
                cells = {"key": key, "line": line, "session": session, "time": usage.time_ms} | tokens
                cells["model"] = self._name_row(usage.model)
                for column, value in cells.items():
                    new[column].append(value)
            elif _weight(usage) > tuple(table.one(c, row) for c in _WEIGHT):
                table.update(np.array([row]), {c: np.array([v]) for c, v in {"line": line, **tokens}.items()})
        table.append(new)
        self._usage_keys.added(np.array(new["key"], np.uint64))
        self._usage.clear()

    # -- sources and sessions ----------------------------------------------------------------

    def _find_source(self, host: str, path: str) -> _SourceRow | None:
        key = source_key(host, path)
        held = self._source_rows.get(key)
        if held is None:
            rows = [row for _, row in self._source_keys.find(np.array([key], np.uint64))]
            if rows:
                held = self._source_rows[key] = self._load_source(max(rows))
        return held

    def _source(self, file: SourceFile, host: str, session: _SessionRow, restart: bool) -> _SourceRow:
        held = self._find_source(host, file.path)
        if held is not None and not restart:
            return held
        place = self._put_text(file.path) if held is None else held.path_place
        made = _SourceRow(self._next["sources"], file, host, session, _Chain([], []), place)
        if held is not None:
            made.older, held.superseded = held.row, True
            self._dirty_sources[held.row] = held
        self._next["sources"] += 1
        self._source_rows[source_key(host, file.path)] = made
        return made

    def _load_source(self, row: int) -> _SourceRow:
        stored = self.source_at(row)
        places = {c: self.table("sources").one(c, row) for c in ("path_at", "path_length", "session", "older")}
        chain = self._load_chain("spans", "sources", "span", row)
        return _SourceRow(
            row, stored.file, stored.host, self._load_session(places["session"]), chain,
            (places["path_at"], places["path_length"]), stored.cursor,
            self._place("sources", row, "state_at", "state_length"), stored.lines, stored.parser,
            places["older"], stored.superseded,
        )  # fmt: skip

    def _session(self, host: str, facts: SessionFacts) -> _SessionRow:
        key = session_key(facts.agent, host, facts.id)
        held = self._session_rows.get(key)
        if held is None:
            rows = [row for _, row in self._session_keys.find(np.array([key], np.uint64))]
            held = self._load_session(rows[0]) if rows else None
        if held is None:
            blank = SessionFacts(facts.agent, facts.id)
            place = self._put_text(facts.id)
            held = _SessionRow(self._next["sessions"], host, blank, _Chain([], []), place, (0, 0))
            self._next["sessions"] += 1
        self._session_rows[key] = held
        if merge_facts(held.facts, facts):
            held.title_place = self._put_text(held.facts.title)
        return held

    def _load_session(self, row: int) -> _SessionRow:
        stored = self.session_at(row)
        key = session_key(stored.facts.agent, stored.host, stored.facts.id)
        held = self._session_rows.get(key)
        if held is None:
            held = self._session_rows[key] = _SessionRow(
                row, stored.host, stored.facts, self._load_chain("extents", "sessions", "extent", row),
                self._place("sessions", row, "id_at", "id_length"),
                self._place("sessions", row, "title_at", "title_length"),
            )  # fmt: skip
        return held

    def _load_chain(self, chain: str, owners: str, link: str, row: int) -> _Chain:
        table = self.table(chain)
        rows = []
        at = self.table(owners).one(link, row)
        while at >= 0:
            rows.append(at)
            at = table.one("before", at)
        rows.reverse()
        return _Chain([[table.one("first", r), table.one("count", r)] for r in rows], rows)

    # -- flush -------------------------------------------------------------------------------

    def flush(self) -> None:
        """Turn everything taken into rows of the file."""
        self._keys.added(np.array(self._new["lines"]["key_a"], np.uint64))
        self._new_keys.clear()
        for name, columns in self._new.items():
            self.table(name).append(columns)
            self._new[name] = {c: [] for c in columns}
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
            cell = {name: self._name_row(getattr(facts, name)) for name in _FACT_NAMES}
            cell |= {
                "key": session_key(facts.agent, session.host, facts.id),
                "prefix": int.from_bytes(as_bytes(facts.id)[:8].ljust(8, b"\0"), "big"),
                "id_at": session.id_place[0], "id_length": session.id_place[1],
                "agent": self._name_row(facts.agent), "host": self._name_row(session.host),
                "title_at": session.title_place[0], "title_length": session.title_place[1],
                "title_rank": facts.title_rank, "relation": int(facts.relation),
                "started": facts.started_ms, "ended": facts.ended_ms,
                "entries": sum(count for _, count in session.chain.intervals),
                "extent": session.chain.rows[-1] if session.chain.rows else -1,
            }  # fmt: skip
            cells.append(cell)
        self._write_rows("sessions", [s.row for s in rows], cells, self._session_keys)
        self._dirty_sessions.clear()

    def _flush_sources(self) -> None:
        rows = sorted(self._dirty_sources.values(), key=lambda s: s.row)
        self._flush_chains("spans", "source", rows)
        cells = []
        for source in rows:
            cursor = source.cursor
            source.state_place = self._put_text(orjson.dumps(cursor.state).decode())
            flags = 0 if cursor.terminated else SOURCE_UNTERMINATED
            flags |= SOURCE_SUPERSEDED if source.superseded else 0
            flags |= SOURCE_WAITING if cursor.waiting else 0
            cells.append({
                "key": source_key(source.host, source.file.path),
                "path_at": source.path_place[0], "path_length": source.path_place[1],
                "agent": self._name_row(source.file.agent), "host": self._name_row(source.host),
                "session": source.session.row, "role": int(source.file.role),
                "framing": int(source.file.framing), "flags": flags, "parser": source.parser,
                "offset": cursor.offset, "size": cursor.size, "mtime": cursor.mtime_ns,
                "ctime": cursor.ctime_ns, "inode": cursor.inode, "window": cursor.window,
                "state_at": source.state_place[0], "state_length": source.state_place[1],
                "lines": source.lines, "span": source.chain.rows[-1] if source.chain.rows else -1,
                "older": source.older,
            })  # fmt: skip
        self._write_rows("sources", [s.row for s in rows], cells, self._source_keys)
        self._dirty_sources.clear()

    def _write_rows(
        self, name: str, rows: list[int], cells: list[dict[str, int]], keys: KeyIndex
    ) -> None:
        """Rows below the table's length are overwritten, the others appended, in order."""
        table = self.table(name)
        columns = TABLES[name]
        old = [n for n, row in enumerate(rows) if row < table.rows]
        if old:
            changed = np.array([rows[n] for n in old])
            table.update(changed, {c: np.array([cells[n][c] for n in old], columns[c]) for c in columns})
        new = cells[len(old) :]
        table.append({c: np.array([cell[c] for cell in new], columns[c]) for c in columns})
        keys.added(np.array([cell["key"] for cell in new], np.uint64))

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

    def _name_row(self, name: str) -> int:
        if self._name_rows is None:
            self._name_rows = self._load_names()
        row = self._name_rows.get(name)
        if row is None:
            at, length = self._put_text(name)
            row = self.table("names").append({"at": [at], "length": [length]})
            self._name_rows[name] = row
            self._names[row] = name
        return row

    def _load_names(self) -> dict[str, int]:
        table = self.table("names")
        places = zip(table.read("at").tolist(), table.read("length").tolist(), strict=True)
        return {self.text(at, length): row for row, (at, length) in enumerate(places)}

    def _put_text(self, text: str) -> tuple[int, int]:
        data = as_bytes(text)
        return (self.text_stream.append(data), len(data)) if data else (0, 0)

    def _uuid_key(self, uuid: str) -> int:
        """Most records hang on the one before, so the last few keys are worth keeping."""
        key = self._uuid_keys.get(uuid)
        if key is None:
            if len(self._uuid_keys) > 4096:
                self._uuid_keys = {"": 0}
            key = self._uuid_keys[uuid] = name_key(uuid)
        return key


class KeyIndex:
    """Finds rows by a 64-bit key in one read of a column, without sorting or hashing it.

    Eight bytes a row are read once per writer: 12 ms for 1.5 million lines, where a hash
    table in the file would dirty a page per new key.
    """

    def __init__(self, view: Hdf5View, table: str, column: str) -> None:
        self._view, self._table, self._column = view, table, column
        self._parts: list[Array] | None = None

    def find(self, keys: Array) -> list[tuple[int, int]]:
        """(position in keys, row) of every match, rows rising."""
        if not len(keys):
            return []
        if self._parts is None:
            self._parts = [self._view.table(self._table).read(self._column)]
        if len(self._parts) > 64:
            self._parts = [np.concatenate(self._parts)]
        marks = np.zeros(1 << 16, bool)
        marks[keys & np.uint64(0xFFFF)] = True
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        found: list[tuple[int, int]] = []
        base = 0
        for part in self._parts:
            likely = np.flatnonzero(marks[part & np.uint64(0xFFFF)])
            low = np.searchsorted(ordered, part[likely], side="left")
            high = np.searchsorted(ordered, part[likely], side="right")
            for hit in np.flatnonzero(high > low).tolist():
                row = base + int(likely[hit])
                found.extend((int(order[n]), row) for n in range(int(low[hit]), int(high[hit])))
            base += len(part)
        return found

    def added(self, keys: Array) -> None:
        """Rows with these keys were appended to the table."""
        if self._parts is not None and len(keys):
            self._parts.append(keys)


def merge_facts(held: SessionFacts, new: SessionFacts) -> bool:
    """Let newer facts replace older ones, never by an empty one; True when the title changed."""
    for name in _FACT_NAMES:
        if getattr(new, name):
            setattr(held, name, getattr(new, name))
    if new.relation:
        held.relation = new.relation
    held.saw(new.started_ms)
    held.saw(new.ended_ms)
    before = held.title
    held.titled(new.title, new.title_rank)
    return held.title != before


_WEIGHT = ("output", "input", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning")


def _weight(usage: Usage) -> tuple[int, ...]:
    """Of several rows of one response the one with the largest output counts."""
    return tuple(getattr(usage, c) for c in _WEIGHT)


def _runs(rows: Sequence[int]) -> list[tuple[int, int]]:
    """Neighbouring rows, in order, as (first, count)."""
    runs: list[list[int]] = []
    for row in rows:
        if runs and sum(runs[-1]) == row:
            runs[-1][1] += 1
        else:
            runs.append([row, 1])
    return [(first, count) for first, count in runs]

"""A store in plain lists and dicts: what the contract means, with nothing to make it fast.

Random histories are run on this and on every engine, and must read the same.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from recollect.store.contract import Array, UsageColumns
from recollect.store.derived import NAME, TEXT, Column, DerivedTable, is_new_name, no_rows
from recollect.store.hdf5.pack import TOKENS, Counted
from recollect.store.hdf5.write import merge_facts
from recollect.values.errors import NotFound
from recollect.values.ids import line_key, name_key
from recollect.values.records import (
    Cursor,
    Flag,
    Framing,
    Line,
    LineFlag,
    Parsed,
    Relation,
    Segment,
    SessionFacts,
    SourceFile,
)
from recollect.values.stored import Session, Source, StoredEntry, StoredLine, StoreInfo, Taken, VectorModel


@dataclass
class _Line:
    line: Line
    entries: list[int]


@dataclass
class _Session:
    facts: SessionFacts
    host: str
    shows: list[int] = field(default_factory=list)


@dataclass
class _Source:
    file: SourceFile
    host: str
    session: int
    cursor: Cursor = field(default_factory=Cursor)
    lines: list[int] = field(default_factory=list)
    parser: int = 0
    superseded: bool = False
    expected: int = 0


@dataclass
class _State:
    lines: list[_Line] = field(default_factory=list)
    entries: list[StoredEntry] = field(default_factory=list)
    sessions: list[_Session] = field(default_factory=list)
    sources: list[_Source] = field(default_factory=list)
    usage: dict[str, Counted] = field(default_factory=dict)
    vectors: dict[VectorModel, list[tuple[int, Array]]] = field(default_factory=dict)
    replaced: list[int] = field(default_factory=list)
    derived: dict[DerivedTable, tuple[list[tuple[Any, ...]], int]] = field(default_factory=dict)
    folded: int = 0
    generation: int = 1


@dataclass(frozen=True)
class _NumberedSession(Session):
    number: int = -1


@dataclass(frozen=True)
class _NumberedSource(Source):
    number: int = -1


class ReferenceView:
    """Reads one state."""

    def __init__(self, state: _State) -> None:
        self._state = state

    def info(self) -> StoreInfo:
        state = self._state
        return StoreInfo(
            id="",
            format=0,
            generation=state.generation,
            epoch=0,
            created_ms=0,
            folded=state.folded,
            sessions=len(state.sessions),
            sources=len(state.sources),
            lines=len(state.lines),
            entries=len(state.entries),
            responses=len(state.usage),
            line_bytes=sum(len(line.line.data) for line in state.lines),
            subagents=sum(s.facts.relation == Relation.SUBAGENT for s in state.sessions),
        )

    def sessions(self) -> list[Session]:
        return [
            _NumberedSession(copy.copy(s.facts), s.host, len(s.shows), number=n)
            for n, s in enumerate(self._state.sessions)
        ]

    def find_session(self, prefix: str) -> Session:
        found = [s for s in self.sessions() if s.facts.id.startswith(prefix)]
        found = [s for s in found if s.facts.id == prefix] or found
        if len(found) != 1 or not prefix:
            raise NotFound(f"{len(found)} sessions' ids start with {prefix!r}")
        return found[0]

    def entries(self, session: Session, *, last: int | None = None) -> Iterator[StoredEntry]:
        assert isinstance(session, _NumberedSession)
        shows = self._state.sessions[session.number].shows
        start = max(len(shows) - last, 0) if last is not None else 0
        return iter([self._state.entries[n] for n in shows[start:]])

    def entry_range(self, start: int, stop: int) -> Iterator[StoredEntry]:
        return iter(self._state.entries[start:stop])

    def entries_at(self, rows: Sequence[int]) -> list[StoredEntry]:
        return [self._state.entries[row] for row in rows]

    def entry_ids(self, rows: Sequence[int]) -> list[str]:
        return [self._state.entries[row].id for row in rows]

    def entry_columns(self, *names: str) -> dict[str, Array]:
        lines = {row: n for n, held in enumerate(self._state.lines) for row in held.entries}
        cells = [
            {
                "session": each.session_row,
                "kind": int(each.entry.kind),
                "flags": each.entry.flags,
                "time": each.entry.time_ms,
                "line": lines[each.row],
                "call": int(each.entry.call or "0", 16),
            }
            for each in self._state.entries
        ]
        return {name: np.array([cell[name] for cell in cells]) for name in names}

    def find_entry(self, prefix: str) -> StoredEntry:
        found = [e for e in self._state.entries if prefix and e.id.startswith(prefix)]
        found = [e for e in found if e.id == prefix] or [e for e in found if "." in prefix or "." not in e.id]
        if len({e.id for e in found}) != 1:
            raise NotFound(f"{len(found)} entries' ids start with {prefix!r}")
        return found[0]

    def session_rows(self) -> list[Session]:
        return self.sessions()

    def sources(self, session: Session | None = None) -> list[Source]:
        return [
            self._source(n)
            for n, held in enumerate(self._state.sources)
            if session is None or (isinstance(session, _NumberedSession) and held.session == session.number)
        ]

    def lines(self, source: Source) -> Iterator[StoredLine]:
        assert isinstance(source, _NumberedSource)
        yield from self.lines_at(self._state.sources[source.number].lines)

    def lines_at(self, lines: Sequence[int]) -> list[StoredLine]:
        held = [self._state.lines[n].line for n in lines]
        return [StoredLine(each.data, each.flags, each.parsed.type if each.parsed else "") for each in held]

    def usage(self) -> UsageColumns:
        counted = list(self._state.usage.values())
        models = sorted({c.model for c in counted})
        columns = {name: np.array([c.tokens[n] for c in counted]) for n, name in enumerate(TOKENS)}
        return UsageColumns(
            sessions=self.sessions(),
            models=models,
            session=np.array([c.owner for c in counted]),
            model=np.array([models.index(c.model) for c in counted]),
            time=np.array([c.time_ms for c in counted]),
            line=np.array([c.line for c in counted]),
            **columns,
        )

    def types(self) -> dict[str, tuple[int, bool]]:
        found: dict[str, tuple[int, bool]] = {}
        for held in self._state.lines:
            if held.line.parsed is not None and held.line.parsed.type:
                count, known = found.get(held.line.parsed.type, (0, True))
                known = known and not held.line.flags & LineFlag.UNKNOWN
                found[held.line.parsed.type] = (count + 1, known)
        return found

    def locate(self, line: int) -> tuple[Source, int]:
        for n, source in enumerate(self._state.sources):
            if line in source.lines:
                return self._source(n), source.lines.index(line) + 1
        raise NotFound(f"no source holds line {line}")

    def locate_many(self, lines: Sequence[int]) -> list[tuple[Source, int]]:
        return [self.locate(line) for line in lines]

    def _source(self, number: int) -> _NumberedSource:
        held = self._state.sources[number]
        facts = self._state.sessions[held.session].facts
        return _NumberedSource(
            replace(held.file, session=facts.id, parent="", compressed=False),
            held.host,
            held.cursor,
            facts.id,
            len(held.lines),
            held.parser,
            held.superseded,
            number=number,
        )

    def vector_models(self) -> list[VectorModel]:
        return [replace(model, rows=len(rows)) for model, rows in self._state.vectors.items()]

    def vectors(self, model: VectorModel, start: int = 0, stop: int | None = None) -> tuple[Array, Array]:
        rows = self._state.vectors.get(model, [])[start:stop]
        keys = np.array([key for key, _ in rows], np.uint64)
        return keys, np.array([vector for _, vector in rows], np.float16).reshape(len(rows), model.dims)

    def replaced(self) -> Array:
        return np.array(self._state.replaced, np.int64)

    def derived_tables(self) -> list[DerivedTable]:
        found = [
            replace(table, rows=len(rows), built_to=built_to)
            for table, (rows, built_to) in self._state.derived.items()
        ]
        return sorted(found, key=lambda table: (table.name, table.revision))

    def derived(self, table: DerivedTable, start: int = 0, stop: int | None = None) -> dict[str, Column]:
        rows, _ = self._state.derived.get(table, ([], 0))
        found = no_rows(table)
        for n, (name, kind) in enumerate(table.columns):
            cells = [row[n] for row in rows[start:stop]]
            found[name] = cells if kind in (NAME, TEXT) else np.array(cells, kind)
        return found


class ReferenceWriter(ReferenceView):
    """Changes one state."""

    def __init__(self, state: _State, keep: bool, store: ReferenceStore) -> None:
        super().__init__(state)
        self._keep, self._store = keep, store
        for source in state.sources:
            source.expected = 0  # a run that was being followed ends with its writer

    def view(self) -> ReferenceView:
        return self

    def commit(self) -> None:
        if self._keep:
            self._state.generation += 1
            self._store.state = copy.deepcopy(self._state)

    def add_vectors(self, model: VectorModel, keys: Array, vectors: Array) -> None:
        assert vectors.shape == (len(keys), model.dims)
        for key, vector in zip(keys.tolist(), vectors.astype(np.float16), strict=True):
            self._state.vectors.setdefault(model, []).append((key, vector))

    def add_derived(self, table: DerivedTable, columns: Mapping[str, Column], *, built_to: int) -> None:
        assert set(columns) == {name for name, _ in table.columns}
        rows, _ = self._state.derived.get(table, ([], 0))
        known = table in self._state.derived or is_new_name(table, self._state.derived)
        assert known, "raise the revision of a table that changes"
        added = list(zip(*(columns[name] for name, _ in table.columns), strict=True))
        self._state.derived[table] = ([*rows, *added], built_to)

    def drop_derived(self, table: DerivedTable) -> None:
        self._state.derived.pop(table, None)

    def folded(self, sequence: int) -> None:
        self._state.folded = max(self._state.folded, sequence)

    def source(self, host: str, path: str) -> Source | None:
        found = [n for n, s in enumerate(self._state.sources) if (s.host, s.file.path) == (host, path)]
        return self._source(found[-1]) if found else None

    def is_current(self, host: str, path: str, seen: Cursor) -> bool:
        held = self.source(host, path)
        if held is None:
            return False
        names = ("size", "mtime_ns", "ctime_ns", "inode")
        return all(getattr(held.cursor, name) == getattr(seen, name) for name in names)

    def touch(self, host: str, path: str, cursor: Cursor) -> None:
        held = self.source(host, path)
        assert isinstance(held, _NumberedSource)
        self._state.sources[held.number].cursor = cursor

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
    ) -> Taken:
        number, session = self._session(host, facts)
        versions = [s for s in self._state.sources if (s.host, s.file.path) == (host, file.path)]
        source = self._held(file, host, number, restart)
        again = restart and file.framing == Framing.DOCUMENT and bool(versions)
        if source.cursor.waiting:
            source.lines.pop()
        if not source.lines:
            source.session = number
        stored = list(enumerate(self._state.lines))
        own = set(source.lines)
        before = len(self._state.entries)
        known = []
        for line in lines:
            equal = [n for n, held in stored if n not in own and _equal(held.line, line)]
            equal = [n for n in equal if not (again and self._gone(self._state.lines[n].entries))]
            row = next((n for n in equal if n >= source.expected), equal[0] if equal else -1)
            source.expected = row + 1 if row >= 0 else source.expected
            known.append(row >= 0)
            if row < 0:
                row = self._add(line, number, session)
            own.add(row)
            source.lines.append(row)
            shown = [n for n in self._state.lines[row].entries if n not in session.shows]
            session.shows += [n for n in shown if not self._gone([n])]
        if again:
            self._replace_version(versions, source, session)
        for row, old, line in zip(source.lines[len(source.lines) - len(lines) :], known, lines, strict=True):
            if not old and line.parsed is not None:
                self._replace(row, line.parsed, session)
        source.cursor, source.parser = cursor, parser
        return Taken(known, len(self._state.entries) - before)

    def _gone(self, rows: Sequence[int]) -> bool:
        return any(row in self._state.replaced for row in rows)

    def _replace(self, line: int, parsed: Parsed, session: _Session) -> None:
        own = self._state.lines[line].entries
        for uuid in parsed.replaces:
            restated = self._shown_before(line, uuid, session)
            if restated:
                at = session.shows.index(restated[0])
                session.shows = [n for n in session.shows if n not in own]
                session.shows[at:at] = own
                self._drop(restated, session)
        back = self._shown_before(line, parsed.rewinds, session)
        if back:
            start, stop = session.shows.index(back[0]), session.shows.index(own[0])
            self._drop(session.shows[start:stop], session)

    def _shown_before(self, line: int, uuid: str, session: _Session) -> list[int]:
        parsed = [(held.line.parsed, held.entries) for held in self._state.lines[:line]]
        rows = [n for each, entries in parsed if uuid and each and each.uuid == uuid for n in entries]
        return [n for n in rows if n in session.shows]

    def _replace_version(self, versions: Sequence[_Source], source: _Source, session: _Session) -> None:
        new = [n for line in source.lines for n in self._state.lines[line].entries]
        for older in reversed(versions):
            old = [n for line in older.lines for n in self._state.lines[line].entries]
            if not new or not old:
                continue
            at = next((i for i, n in enumerate(session.shows) if n in (*old, *new)), len(session.shows))
            before, behind = (
                [n for n in part if n not in (*old, *new)]
                for part in (session.shows[:at], session.shows[at:])
            )
            gone = [n for n in old if n not in new]
            self._drop(gone, self._state.sessions[older.session])
            session.shows = [*before, *(n for n in new if not self._gone([n])), *behind]
            return

    def _drop(self, rows: Sequence[int], session: _Session) -> None:
        for row in sorted(rows):
            held = self._state.entries[row]
            flagged = replace(held.entry, flags=held.entry.flags | Flag.REPLACED)
            self._state.entries[row] = replace(held, entry=flagged)
        self._state.replaced += [row for row in sorted(rows) if row not in self._state.replaced]
        session.shows = [n for n in session.shows if n not in rows]

    def _add(self, line: Line, number: int, session: _Session) -> int:
        row = len(self._state.lines)
        held = _Line(line, [])
        self._state.lines.append(held)
        if line.parsed is None:
            return row
        short = f"{int.from_bytes(line_key(line.data)[:8], 'little'):016x}"[:12]
        for part, entry in enumerate(line.parsed.entries):
            held.entries.append(len(self._state.entries))
            call = f"{name_key(entry.call):016x}" if entry.call else ""
            self._state.entries.append(
                StoredEntry(
                    short + (f".{part}" if part else ""),
                    session.facts.id,
                    line.parsed.type,
                    replace(entry, call=call),
                    row=len(self._state.entries),
                    session_row=number,
                )
            )
        for usage in line.parsed.usages:
            counted = Counted.of(usage, row, number)
            self._state.usage[usage.key] = counted.against(self._state.usage.get(usage.key))
        return row

    def _session(self, host: str, facts: SessionFacts) -> tuple[int, _Session]:
        keys = [(s.facts.agent, s.host, s.facts.id) for s in self._state.sessions]
        key = (facts.agent, host, facts.id)
        if key not in keys:
            keys.append(key)
            self._state.sessions.append(_Session(SessionFacts(facts.agent, facts.id), host))
        number = keys.index(key)
        merge_facts(self._state.sessions[number].facts, facts)
        return number, self._state.sessions[number]

    def _held(self, file: SourceFile, host: str, session: int, restart: bool) -> _Source:
        found = self.source(host, file.path)
        if isinstance(found, _NumberedSource):
            held = self._state.sources[found.number]
            if not restart:
                return held
            held.superseded = True
        self._state.sources.append(_Source(file, host, session))
        return self._state.sources[-1]


def _equal(held: Line, line: Line) -> bool:
    """Whether a line is stored once for both; a half-written one never is."""
    partial = LineFlag.PENDING | LineFlag.CONTINUES
    same = held.data == line.data and held.flags & partial == line.flags & partial
    return bool(line.data) and same and not line.flags & LineFlag.PENDING


class ReferenceStore:
    """A store that lives as long as the object."""

    def __init__(self) -> None:
        self.state = _State()
        self._journal: list[tuple[int, Segment]] = []

    @contextlib.contextmanager
    def view(self) -> Iterator[ReferenceView]:
        yield ReferenceView(copy.deepcopy(self.state))

    @contextlib.contextmanager
    def writer(self, *, timeout: float = 60.0) -> Iterator[ReferenceWriter]:
        yield ReferenceWriter(copy.deepcopy(self.state), True, self)

    @contextlib.contextmanager
    def rehearsal(self) -> Iterator[ReferenceWriter]:
        yield ReferenceWriter(copy.deepcopy(self.state), False, self)

    def append(self, segment: Segment) -> int:
        number = max([self.state.folded, *(n for n, _ in self._journal)]) + 1
        self._journal.append((number, segment))
        return number

    def pending(self, *, patient: bool = True) -> list[tuple[int, Segment]]:
        return [(n, segment) for n, segment in self._journal if n > self.state.folded]

    def clear_journal(self, through: int) -> bool:
        if any(n > through for n, _ in self._journal):
            return False
        self._journal.clear()
        return True

    def close(self) -> None:
        pass

"""A store in plain dicts: what the contract means, with nothing to make it fast.

Random histories are run on this and on every engine, and must read the same. It is also an
engine of its own: `memory:NAME` is a store that lives as long as the process. Its row numbers
jump between what was taken at different times, so that whoever takes a number for a count is
found out.

What a view reads is never changed: a writer works on its own copy, and `commit` puts that in
place of what was there. Texts and lines are shared by all copies.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from recollect.store.contract import (
    LINES,
    TEXTS,
    Array,
    RawSizes,
    SessionClues,
    UsageColumns,
    Writer,
    carry_vectors,
)
from recollect.store.derived import NAME, TEXT, Column, DerivedTable, carry_derived, is_new_name, no_rows
from recollect.store.leaving import NOTHING, Choice, Leaving
from recollect.store.merge import TOKENS, ChargedUsage, merge_facts
from recollect.store.walks import clues_of
from recollect.values.errors import NotFound, StoreBusy, StoreMissing
from recollect.values.ids import name_key, short_id
from recollect.values.records import (
    HIDDEN,
    Cursor,
    Flag,
    Framing,
    KeptLine,
    Kind,
    Line,
    LineFlag,
    Parsed,
    Provenance,
    Relation,
    Segment,
    SessionFacts,
    SourceFile,
    Usage,
)
from recollect.values.reports import Progress
from recollect.values.stored import (
    Finding,
    Footprint,
    Session,
    Source,
    StoredEntry,
    StoredLine,
    StoreInfo,
    TakeResult,
    VectorModel,
)

STEP = 3  # from the last row to the first of what is taken next; 1 leaves no gaps


@dataclass
class _Line:
    line: Line
    entries: tuple[int, ...]
    evicted_key: bytes = b""


@dataclass
class _Session:
    facts: SessionFacts
    host: str
    shows: dict[int, None] = field(default_factory=dict)  # rows of entries, in order

    def copy(self) -> _Session:
        return replace(self, facts=replace(self.facts), shows=dict(self.shows))


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

    def copy(self) -> _Source:
        return replace(self, lines=list(self.lines))


def _imported(source: _Source) -> bool:
    return source.file.provenance is Provenance.IMPORTED


@dataclass
class _State:
    """Everything by its number; `same` has the numbers of the lines of equal bytes."""

    step: int = STEP
    lines: dict[int, _Line] = field(default_factory=dict)
    same: dict[bytes, tuple[int, ...]] = field(default_factory=dict)
    entries: dict[int, StoredEntry] = field(default_factory=dict)
    sessions: dict[int, _Session] = field(default_factory=dict)
    sources: dict[int, _Source] = field(default_factory=dict)
    usage: dict[int, ChargedUsage] = field(default_factory=dict)
    vectors: dict[VectorModel, list[tuple[int, Array]]] = field(default_factory=dict)
    replaced: list[int] = field(default_factory=list)
    derived: dict[DerivedTable, tuple[list[tuple[Any, ...]], int]] = field(default_factory=dict)
    folded: int = 0
    generation: int = 1
    epoch: int = 0
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    created_ms: int = field(default_factory=lambda: _now_ms())
    written_ms: int = field(default_factory=lambda: _now_ms())

    def copy(self) -> _State:
        """A state that can be changed without this one; what never changes is shared."""
        return replace(
            self,
            lines=dict(self.lines),
            same=dict(self.same),
            entries=dict(self.entries),
            sessions={row: held.copy() for row, held in self.sessions.items()},
            sources={row: held.copy() for row, held in self.sources.items()},
            usage=dict(self.usage),
            vectors={model: list(rows) for model, rows in self.vectors.items()},
            replaced=list(self.replaced),
            derived=dict(self.derived),
        )

    def next_row(self, table: dict[int, Any]) -> int:
        return int(next(reversed(table), -1)) + self.step

    def own_sessions(self) -> set[int]:
        """The sessions that a source is of that was not imported."""
        return {source.session for source in self.sources.values() if not _imported(source)}

    def imported_entries(self) -> set[int]:
        """The entries whose line only imported sources have."""
        own = {row for source in self.sources.values() if not _imported(source) for row in source.lines}
        imported = {row for source in self.sources.values() if _imported(source) for row in source.lines}
        return {entry for row in imported - own for entry in self.lines[row].entries}


@dataclass(frozen=True)
class _NumberedSession(Session):
    number: int = -1


@dataclass(frozen=True)
class _NumberedSource(Source):
    number: int = -1


class ReferenceView:
    """Reads one state. It lost nothing, so it also stands for what can be salvaged."""

    def __init__(self, state: _State, moved_to: str = "") -> None:
        self._state = state
        self.lost_lines = 0
        self.lost: list[str] = []
        self.moved_to = moved_to

    def info(self) -> StoreInfo:
        state = self._state
        return StoreInfo(
            id=state.id,
            format=0,
            generation=state.generation,
            epoch=state.epoch,
            created_ms=state.created_ms,
            folded=state.folded,
            sessions=len(state.sessions),
            sources=len(state.sources),
            lines=len(state.lines),
            entries=len(state.entries),
            rows_end=next(reversed(state.entries), -1) + 1,
            responses=len(state.usage),
            line_bytes=sum(len(held.line.data) for held in state.lines.values()),
            subagents=sum(s.facts.relation == Relation.SUBAGENT for s in state.sessions.values()),
        )

    def sessions(self) -> list[Session]:
        return list(self.session_rows().values())

    def find_session(self, prefix: str) -> Session:
        found = [s for s in self.sessions() if s.facts.id.startswith(prefix)]
        found = [s for s in found if s.facts.id == prefix] or found
        if len({s.facts.id for s in found}) == 1:
            found = [s for s in found if not s.imported] or found
        if len(found) != 1 or not prefix:
            raise NotFound(f"{len(found)} sessions' ids start with {prefix!r}", hint="give more of the id")
        return found[0]

    def entries(self, session: Session, *, last: int | None = None) -> Iterator[StoredEntry]:
        assert isinstance(session, _NumberedSession)
        shows = list(self._state.sessions[session.number].shows)
        start = max(len(shows) - last, 0) if last is not None else 0
        return iter(self.entries_at(shows[start:]))

    def entry_range(self, start: int, stop: int) -> Iterator[StoredEntry]:
        return iter(self.entries_at([row for row in self._state.entries if start <= row < stop]))

    def entries_at(self, rows: Sequence[int]) -> list[StoredEntry]:
        imported = self._state.imported_entries()
        return [replace(self._state.entries[row], imported=row in imported) for row in rows]

    def entry_ids(self, rows: Sequence[int]) -> list[str]:
        return [self._state.entries[row].id for row in rows]

    def columns_at(self, rows: Sequence[int], *names: str) -> dict[str, Array]:
        lines = {row: n for n, held in self._state.lines.items() for row in held.entries}
        imported = self._state.imported_entries() if "imported" in names else set()
        cells = [
            {
                "row": each.row,
                "session": each.session_row,
                "kind": int(each.entry.kind),
                "flags": each.entry.flags,
                "time": each.entry.time_ms,
                "line": lines[each.row],
                "call": int(each.entry.call or "0", 16),
                "imported": each.row in imported,
            }
            for each in (self._state.entries[row] for row in rows)
        ]
        return {name: np.array([cell[name] for cell in cells], _DTYPES.get(name, "i8")) for name in names}

    def sessions_in(self, start: int, stop: int) -> list[int]:
        return sorted({each.session_row for each in self.entry_range(start, stop)})

    def session_columns(self, session: int, *names: str) -> dict[str, Array]:
        return self.columns_at([each.row for each in self._first_seen_in(session)], *names)

    def neighbours(
        self, row: int, before: int, after: int, *, hidden: int = int(Flag.COPY)
    ) -> list[StoredEntry]:
        (point,) = self.entries_at([row])
        if point.entry.flags & Flag.REPLACED:
            return [point]
        session = point.session_row
        near = [e for e in self._first_seen_in(session) if e.row == row or _is_shown(e, hidden)]
        at = next(n for n, each in enumerate(near) if each.row == row)
        return near[max(at - before, 0) : at + after + 1]

    def turn_of(self, row: int) -> list[int]:
        if self.entries_at([row])[0].entry.flags & Flag.REPLACED:
            return [row]
        turn: list[StoredEntry] = []
        for each in self._first_seen_in(self.entries_at([row])[0].session_row):
            if each.entry.is_said and each.row > row:
                break
            turn = [each] if each.entry.is_said else [*turn, each]
        return [each.row for each in turn if each.row == row or _is_shown(each, HIDDEN)]

    def _first_seen_in(self, session: int) -> list[StoredEntry]:
        imported = self._state.imported_entries()
        return [
            replace(each, imported=each.row in imported)
            for each in self._state.entries.values()
            if each.session_row == session and not each.entry.flags & Flag.REPLACED
        ]

    def find_entry(self, prefix: str) -> StoredEntry:
        found = [e for e in self._state.entries.values() if prefix and e.id.startswith(prefix)]
        found = [e for e in found if e.id == prefix] or [e for e in found if "." in prefix or "." not in e.id]
        if len({e.id for e in found}) != 1:
            raise NotFound(f"{len(found)} entries' ids start with {prefix!r}", hint="give more of the id")
        altered = {
            row
            for each in self._state.lines.values()
            if each.line.flags & LineFlag.ALTERED
            for row in each.entries
        }
        return self.entries_at([next((e for e in found if e.row not in altered), found[0]).row])[0]

    def session_rows(self) -> dict[int, Session]:
        state = self._state
        sources = state.sources.values()
        any_imported, own = any(map(_imported, sources)), state.own_sessions()
        return {
            row: _NumberedSession(
                replace(held.facts),
                held.host,
                len(held.shows),
                any_imported and row not in own,
                copied=held.facts.is_timeless_fork,
                number=row,
            )
            for row, held in state.sessions.items()
        }

    def session_clues(self) -> SessionClues:
        return clues_of(self.session_rows().items())

    def sources(self, session: Session | None = None) -> list[Source]:
        return [
            self._source(row)
            for row, held in self._state.sources.items()
            if session is None or (isinstance(session, _NumberedSession) and held.session == session.number)
        ]

    def unmarked(self) -> list[Source]:
        return [each for each in self.sources() if each.file.provenance is Provenance.UNMARKED]

    def lines(self, source: Source) -> Iterator[StoredLine]:
        assert isinstance(source, _NumberedSource)
        yield from self.lines_at(self._state.sources[source.number].lines)

    def lines_at(self, lines: Sequence[int]) -> list[StoredLine]:
        held = [self._state.lines[row].line for row in lines]
        return [
            StoredLine(
                each.data,
                each.flags,
                each.parsed.type if each.parsed else "",
                each.known_by if each.flags & LineFlag.ALTERED and each.data else b"",
            )
            for each in held
        ]

    def record_lines(self, records: Sequence[str]) -> list[list[tuple[int, int]]]:
        found: dict[str, list[tuple[int, int]]] = {each: [] for each in records if each}
        for row, held in sorted(self._state.lines.items()):
            parsed = held.line.parsed
            if parsed is not None and parsed.uuid in found and held.entries:
                found[parsed.uuid].append((row, self.entries_at(held.entries[:1])[0].session_row))
        return [list(found.get(each, ())) for each in records]

    def line_keys(self, source: Source) -> Iterator[bytes]:
        assert isinstance(source, _NumberedSource)
        held = (self._state.lines[row] for row in self._state.sources[source.number].lines)
        return (each.evicted_key or each.line.known_by for each in held)

    def kept_lines(self, source: Source) -> list[KeptLine]:
        assert isinstance(source, _NumberedSource)
        rows = self._state.sources[source.number].lines
        return [
            KeptLine(held.evicted_key, tuple(self._counted_in(row)))
            for row in rows
            if (held := self._state.lines[row]).evicted_key
        ]

    def _counted_in(self, line: int) -> Iterator[tuple[int, Usage]]:
        for key, counted in self._state.usage.items():
            if counted.line == line:
                told = dict(zip(TOKENS, counted.tokens, strict=True))
                yield key, Usage("", counted.model, counted.time_ms, **told)

    def raw_sizes(self) -> RawSizes:
        owners: dict[int, set[int]] = {}
        for source in self._state.sources.values():
            for row in source.lines:
                owners.setdefault(row, set()).add(source.session)
        taken = {row: len(self._state.lines[row].line.data) for row in owners}
        own, lines, shared = Counter[int](), Counter[int](), Counter[tuple[int, ...]]()
        for row, sessions in owners.items():
            if len(sessions) == 1:
                own[min(sessions)] += taken[row]
                lines[min(sessions)] += 1
            else:
                shared[tuple(sorted(sessions))] += taken[row]
        rows = list(self._state.sessions)
        of_each = [_column(each[row] for row in rows) for each in (own, lines)]
        return RawSizes(sum(taken.values()), _column(rows), of_each[0], of_each[1], list(shared.items()))

    def line_rows(self, source: Source) -> Array:
        assert isinstance(source, _NumberedSource)
        return np.array(self._state.sources[source.number].lines, np.int64)

    def lines_only_of(self, sessions: Sequence[int]) -> Array:
        held: tuple[set[int], set[int]] = set(), set()
        for source in self._state.sources.values():
            held[source.session in sessions].update(source.lines)
        return np.array(sorted(held[True] - held[False]), np.int64)

    def line_lengths(self, lines: Sequence[int]) -> Array:
        return np.array([len(self._state.lines[row].line.data) for row in lines], np.int64)

    def usage(self) -> UsageColumns:
        counted = list(self._state.usage.values())
        models = sorted({c.model for c in counted})
        columns = {name: _column(c.tokens[n] for c in counted) for n, name in enumerate(TOKENS)}
        return UsageColumns(
            sessions=self.session_rows(),
            models=models,
            session=_column(c.owner for c in counted),
            model=_column(models.index(c.model) for c in counted),
            time=_column(c.time_ms for c in counted),
            line=_column(c.line for c in counted),
            **columns,
        )

    def types(self) -> dict[str, tuple[int, bool]]:
        found: dict[str, tuple[int, bool]] = {}
        for held in self._state.lines.values():
            if held.line.parsed is not None and held.line.parsed.type:
                count, known = found.get(held.line.parsed.type, (0, True))
                known = known and not held.line.flags & LineFlag.UNKNOWN
                found[held.line.parsed.type] = (count + 1, known)
        return found

    def flag_counts(self) -> dict[LineFlag, int]:
        flags = (held.line.flags for held in self._state.lines.values())
        return dict(Counter(flag for each in flags for flag in LineFlag if each & flag))

    def locate(self, line: int) -> tuple[Source, int]:
        for row, source in self._state.sources.items():
            if line in source.lines:
                return self._source(row), source.lines.index(line) + 1
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

    def derived(
        self, table: DerivedTable, start: int = 0, stop: int | None = None, *, only: Sequence[str] = ()
    ) -> dict[str, Column]:
        rows, _ = self._state.derived.get(table, ([], 0))
        found = no_rows(table, only)
        for n, (name, kind) in enumerate(table.columns):
            cells = [row[n] for row in rows[start:stop]]
            if name in found:
                found[name] = cells if kind in (NAME, TEXT) else np.array(cells, kind)
        return found


class ReferenceWriter(ReferenceView):
    """Changes one state."""

    def __init__(self, state: _State, held: _Held | None) -> None:
        super().__init__(state.copy())
        self._held_by = held  # None for a rehearsal
        self._next_line = self._next_entry = 0
        for source in self._state.sources.values():
            source.expected = 0  # a run that was being followed ends with its writer

    def view(self) -> ReferenceView:
        return self

    def commit(self) -> None:
        if self._held_by is not None:
            self._state.generation += 1
            self._state.written_ms = _now_ms()
            self._held_by.state = self._state
            self._state = self._state.copy()

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
        found = [row for row, s in self._state.sources.items() if (s.host, s.file.path) == (host, path)]
        return self._source(found[-1]) if found else None

    def is_current(self, host: str, path: str, seen: Cursor) -> bool:
        held = self.source(host, path)
        if held is None:
            return False
        names = ("size", "mtime_ns", "ctime_ns", "inode")
        return all(getattr(held.cursor, name) == getattr(seen, name) for name in names)

    def sessions_with(self, records: Sequence[str]) -> list[list[Session]]:
        found: dict[str, set[int]] = {each: set() for each in records}
        for held in self._state.lines.values():
            if held.line.parsed is not None and held.line.parsed.uuid in found:
                rows = {each.session_row for each in self.entries_at(held.entries)}
                found[held.line.parsed.uuid].update(rows)
        everything = {each.number: each for each in self.sessions() if isinstance(each, _NumberedSession)}
        return [[everything[row] for row in sorted(found[each])] for each in records]

    def touch(self, host: str, path: str, cursor: Cursor) -> None:
        held = self.source(host, path)
        assert isinstance(held, _NumberedSource)
        self._state.sources[held.number].cursor = cursor

    def mark(self, source: Source, provenance: Provenance) -> None:
        assert isinstance(source, _NumberedSource)
        held = self._state.sources[source.number]
        held.file = replace(held.file, provenance=provenance)

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
        known_as = self.source(host, file.path)
        if known_as is not None:
            file = replace(file, provenance=max(file.provenance, known_as.file.provenance))
        number, session = self._session(host, facts, imported=file.provenance is Provenance.IMPORTED)
        versions = [s for s in self._state.sources.values() if (s.host, s.file.path) == (host, file.path)]
        source = self._held(file, host, number, restart)
        again = restart and file.framing == Framing.DOCUMENT and bool(versions)
        restart_of = next((each for each in reversed(versions) if each is not source), None)
        if source.cursor.waiting:
            source.lines.pop()
        if not source.lines:
            source.session = number
        stored = self._stored_before(lines)
        self._next_line = self._state.next_row(self._state.lines)
        self._next_entry = self._state.next_row(self._state.entries)
        own = set(source.lines)
        before = len(self._state.entries)
        known = []
        for line in lines:
            equal = [row for row in stored.get(_mark(line), ()) if row not in own and self._equal(row, line)]
            equal = [row for row in equal if not (again and self._gone(self._state.lines[row].entries))]
            row = next((n for n in equal if n >= source.expected), equal[0] if equal else -1)
            source.expected = row + 1 if row >= 0 else source.expected
            known.append(row >= 0)
            if row < 0:
                row = self._add(line, number, session)
            own.add(row)
            source.lines.append(row)
            fresh = [n for n in self._state.lines[row].entries if not self._gone([n])]
            session.shows.update(dict.fromkeys(fresh))
        if again:
            self._replace_version(versions, source, session)
        elif restart and versions and versions[-1].cursor.thinned:
            self._stand_in_place(versions[-1], source, session)
        if restart_of is not None and file.framing == Framing.LINES:
            self._unmask(restart_of, source, session)
        if any(line.kept is not None or line.key for line in lines):
            cursor = replace(cursor, thinned=True)
        for row, old, line in zip(source.lines[len(source.lines) - len(lines) :], known, lines, strict=True):
            if not old and line.parsed is not None:
                self._replace(row, line.parsed, source, session)
        source.cursor, source.parser = cursor, parser
        return TakeResult(known, len(self._state.entries) - before)

    def _gone(self, rows: Sequence[int]) -> bool:
        return any(row in self._state.replaced for row in rows)

    def _changeable(self, rows: Sequence[int], source: _Source) -> list[int]:
        """Those of some entries that a source may replace: an imported one nothing that is own."""
        imported = self._state.imported_entries() if _imported(source) else rows
        return [row for row in rows if row in imported]

    def _replace(self, line: int, parsed: Parsed, source: _Source, session: _Session) -> None:
        own = self._state.lines[line].entries
        for uuid in parsed.replaces:
            restated = self._changeable(self._shown_before(line, uuid, session), source)
            if restated:
                order = list(session.shows)
                at = order.index(restated[0])
                before, behind = ([n for n in part if n not in own] for part in (order[:at], order[at:]))
                session.shows = dict.fromkeys([*before, *own, *behind])
                self._drop(restated, session)
        back = self._shown_before(line, parsed.rewinds, session)
        if back:
            order = list(session.shows)
            taken_back = order[order.index(back[0]) : order.index(own[0])]
            self._drop(self._changeable(taken_back, source), session)

    def _shown_before(self, line: int, uuid: str, session: _Session) -> list[int]:
        earlier = [held for row, held in self._state.lines.items() if row < line and uuid]
        rows = [n for each in earlier if (p := each.line.parsed) and p.uuid == uuid for n in each.entries]
        return [n for n in rows if n in session.shows]

    def _replace_version(self, versions: Sequence[_Source], source: _Source, session: _Session) -> None:
        new = [n for line in source.lines for n in self._state.lines[line].entries]
        new = self._changeable(new, source)
        for older in reversed(versions):
            old = [n for line in older.lines for n in self._state.lines[line].entries]
            if not old:
                continue
            old = self._changeable(old, source)
            if not new or not old:
                return
            order, own = list(session.shows), {*old, *new}
            at = next((i for i, n in enumerate(order) if n in own), len(order))
            before, behind = ([n for n in part if n not in own] for part in (order[:at], order[at:]))
            self._drop([n for n in old if n not in new], self._state.sessions[older.session])
            session.shows = dict.fromkeys([*before, *(n for n in new if not self._gone([n])), *behind])
            return

    def _stand_in_place(self, older: _Source, source: _Source, session: _Session) -> None:
        old, new = (
            [n for line in each.lines for n in self._state.lines[line].entries] for each in (older, source)
        )
        if set(new).issuperset(old):
            order = list(session.shows)
            at = next((i for i, n in enumerate(order) if n in new), len(order))
            before, behind = ([n for n in part if n not in new] for part in (order[:at], order[at:]))
            session.shows = dict.fromkeys([*before, *(n for n in new if not self._gone([n])), *behind])

    def _unmask(self, older: _Source, source: _Source, session: _Session) -> None:
        """Show lines in the place of what they were altered to in the version before."""
        altered = {
            held.line.known_by: row
            for row in older.lines
            if (held := self._state.lines[row]).line.flags & LineFlag.ALTERED and held.line.data
        }
        for row in source.lines:
            line = self._state.lines[row].line
            before = altered.get(line.known_by) if not line.flags & LineFlag.ALTERED else None
            if before is None:
                continue
            own = [n for n in self._state.lines[row].entries if n in session.shows]
            gone = [n for n in self._state.lines[before].entries if n in session.shows]
            gone = self._changeable(gone, source)
            if own and gone:
                order = [n for n in session.shows if n not in own]
                at = order.index(gone[0])
                session.shows = dict.fromkeys([*order[:at], *own, *order[at:]])
                self._drop(gone, session)

    def _drop(self, rows: Sequence[int], session: _Session) -> None:
        for row in rows:
            held = self._state.entries[row]
            flagged = replace(held.entry, flags=held.entry.flags | Flag.REPLACED)
            self._state.entries[row] = replace(held, entry=flagged)
        self._state.replaced += [row for row in sorted(rows) if row not in self._state.replaced]
        session.shows = {n: None for n in session.shows if n not in rows}

    def _stored_before(self, lines: Sequence[Line]) -> dict[bytes, tuple[int, ...]]:
        """The rows of lines that are the same, before any of these is added."""
        return {_mark(line): self._state.same.get(_mark(line), ()) for line in lines}

    def _equal(self, row: int, line: Line) -> bool:
        """Whether a line is stored once for both; a half-written one never is."""
        partial = LineFlag.PENDING | LineFlag.CONTINUES
        held = self._state.lines[row].line
        same = bool(held.data) and held.flags & partial == line.flags & partial
        return bool(line.data) and same and not line.flags & LineFlag.PENDING

    def _add(self, line: Line, number: int, session: _Session) -> int:
        state = self._state
        row = self._next_line
        parsed = line.parsed.entries if line.parsed is not None else ()
        rows = tuple(range(self._next_entry, self._next_entry + len(parsed)))
        self._next_line += 1
        self._next_entry += len(parsed)
        state.lines[row] = _Line(line, rows, line.kept.key if line.kept is not None else b"")
        state.same[_mark(line)] = (*state.same.get(_mark(line), ()), row)
        for usage_key, counted in line.kept.usages if line.kept is not None else ():
            self._charge(usage_key, counted, row, number)
        if line.parsed is None:
            return row
        key = int.from_bytes(line.known_by[:8], "little")
        for part, (at, entry) in enumerate(zip(rows, parsed, strict=True)):
            call = f"{name_key(entry.call):016x}" if entry.call else ""
            state.entries[at] = StoredEntry(
                short_id(key, part),
                session.facts.id,
                line.parsed.type,
                replace(entry, call=call),
                row=at,
                session_row=number,
            )
        for usage in line.parsed.usages:
            self._charge(name_key(usage.key), usage, row, number)
        return row

    def _charge(self, key: int, usage: Usage, line: int, session: int) -> None:
        counted = ChargedUsage.of(usage, line, session)
        self._state.usage[key] = counted.against(self._state.usage.get(key))

    def _session(self, host: str, facts: SessionFacts, *, imported: bool) -> tuple[int, _Session]:
        wanted = (facts.agent, host, facts.id)
        known = {(s.facts.agent, s.host, s.facts.id): row for row, s in self._state.sessions.items()}
        if wanted not in known:
            known[wanted] = self._state.next_row(self._state.sessions)
            self._state.sessions[known[wanted]] = _Session(SessionFacts(facts.agent, facts.id), host)
        session = self._state.sessions[known[wanted]]
        has_own = known[wanted] in self._state.own_sessions()
        merge_facts(session.facts, facts, imported=imported, has_own=has_own)
        return known[wanted], session

    def _held(self, file: SourceFile, host: str, session: int, restart: bool) -> _Source:
        found = self.source(host, file.path)
        if isinstance(found, _NumberedSource):
            held = self._state.sources[found.number]
            if not restart:
                held.file = replace(held.file, provenance=file.provenance)
                return held
            held.superseded = True
        made = _Source(file, host, session)
        self._state.sources[self._state.next_row(self._state.sources)] = made
        return made


_DTYPES = {"call": "u8", "imported": "bool"}


def _is_shown(stored: StoredEntry, hidden: int) -> bool:
    return stored.entry.kind != Kind.EVENT and not stored.entry.flags & hidden


@dataclass
class _Held:
    """What all handles on one store share."""

    state: _State
    journal: list[tuple[int, Segment]] = field(default_factory=list)
    writing: threading.Lock = field(default_factory=threading.Lock)
    appending: threading.Lock = field(default_factory=threading.Lock)


class ReferenceStore:
    """A handle on a store in this process; without a name, on a new one that only this handle knows."""

    def __init__(self, name: str = "", held: _Held | None = None, *, step: int = STEP) -> None:
        self._name = name
        self._held = held or _Held(_State(step=step))

    @property
    def name(self) -> str:
        return f"memory:{self._name}"

    @contextlib.contextmanager
    def view(self) -> Iterator[ReferenceView]:
        yield ReferenceView(self._held.state)

    @contextlib.contextmanager
    def writer(self, *, timeout: float = 60.0) -> Iterator[ReferenceWriter]:
        with self._writing(timeout):
            yield ReferenceWriter(self._held.state, self._held)

    @contextlib.contextmanager
    def rehearsal(self) -> Iterator[ReferenceWriter]:
        yield ReferenceWriter(self._held.state, None)

    @contextlib.contextmanager
    def _writing(self, timeout: float) -> Iterator[None]:
        if not self._held.writing.acquire(timeout=timeout):
            raise StoreBusy(self.name, timeout)
        try:
            yield
        finally:
            self._held.writing.release()

    def append(self, segment: Segment) -> int:
        with self._held.appending:
            number = max([self._held.state.folded, *(n for n, _ in self._held.journal)]) + 1
            self._held.journal.append((number, segment))
            return number

    def has_journal(self) -> bool:
        return bool(self._held.journal)

    def journal_bytes(self) -> int:
        return sum(len(segment.data) for _, segment in self._held.journal)

    def pending(self, *, patient: bool = True) -> Iterator[tuple[int, Segment]]:
        return iter([(n, segment) for n, segment in self._held.journal if n > self._held.state.folded])

    def kept_aside(self) -> list[str]:
        return []  # there are no bytes here that could rot

    def acknowledge(self) -> list[str]:
        return []

    def clear_journal(self, through: int) -> bool:
        if any(n > through for n, _ in self._held.journal):
            return False
        self._held.journal.clear()
        return True

    def footprint(self) -> Footprint:
        with self.view() as view:
            waiting = sum(len(segment.data) for _, segment in self._held.journal)
            return Footprint(view.info().line_bytes + waiting, self._held.state.written_ms)

    def check(self) -> list[Finding]:
        """Each reference must lead somewhere; bytes do not rot here."""
        state = self._held.state
        lost = {row for source in state.sources.values() for row in source.lines} - state.lines.keys()
        lost |= {row for session in state.sessions.values() for row in session.shows} - state.entries.keys()
        return [Finding("error", f"row {row} is not there") for row in sorted(lost)]

    @contextlib.contextmanager
    def replacement(self) -> Iterator[tuple[ReferenceView, ReferenceStore]]:
        with self._writing(60.0):
            old = self._held.state
            new = ReferenceStore(self._name, _Held(_emptied(old)))
            yield ReferenceView(old), new
            self._held.state = new._held.state

    @contextlib.contextmanager
    def salvage(self) -> Iterator[tuple[ReferenceView, ReferenceStore]]:
        aside = f"{self._name}.damaged-{secrets.token_hex(4)}"
        with self.replacement() as (_, new):
            _NAMED[aside] = _Held(self._held.state)
            yield ReferenceView(self._held.state, f"memory:{aside}"), new

    def compact(
        self,
        leave: Choice | None = None,
        then: Callable[[Writer], None] | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Drop lines that no source has, and all but one vector of a key, derived tables by their rule.

        And what is left out, with all that nothing else has.
        """
        with self._writing(60.0):
            old = self._held.state
            leaving = leave(ReferenceView(old)) if leave is not None else NOTHING
            kept = _Held(replace(old.copy(), vectors={}, derived={}, epoch=old.epoch + 1))
            told = _leave(kept.state, leaving)
            for row in kept.state.lines.keys() - _held_lines(kept.state):
                _forget_line(kept.state, row)
            writer = ReferenceWriter(kept.state, kept)
            carry_vectors(ReferenceView(old), writer, leaving.vectors)
            carry_derived(ReferenceView(old), writer, told)
            if then is not None:
                then(writer)
            writer.commit()
            self._held.state = kept.state

    def contents(self) -> Iterator[tuple[str, bytes]]:
        """What it holds, as text."""
        state = self._held.state
        yield LINES, b"\n".join(held.line.data for held in state.lines.values())
        told = [*(each.entry.text for each in state.entries.values()), *map(repr, state.sessions.values())]
        yield TEXTS, "\n".join([*told, *map(repr, state.sources.values())]).encode("utf-8", "replace")
        yield "derived", repr(state.derived).encode("utf-8", "replace")
        yield "journal", b"\n".join(segment.data for _, segment in self._held.journal)

    def copy_to(self, target: str) -> bool:
        return False

    def close(self) -> None:
        pass


class ReferenceEngine:
    """Stores by name, for as long as the process lives."""

    def open(self, url: str, *, create: bool = False) -> ReferenceStore:
        name = url.partition(":")[2]
        if name not in _NAMED:
            if not create:
                raise StoreMissing(url)
            _NAMED[name] = _Held(_State())
        return ReferenceStore(name, _NAMED[name])

    def exists(self, url: str) -> bool:
        return url.partition(":")[2] in _NAMED

    def forget(self, url: str) -> None:
        """Let go of a store, and of those a repair moved aside."""
        name = url.partition(":")[2]
        for each in [each for each in _NAMED if each == name or each.startswith(f"{name}.damaged-")]:
            del _NAMED[each]


_NAMED: dict[str, _Held] = {}

ENGINE = ReferenceEngine()


def _emptied(old: _State) -> _State:
    """What a rewritten store begins with: the same store, nothing in it, a new epoch."""
    return _State(
        step=old.step,
        id=old.id,
        created_ms=old.created_ms,
        folded=old.folded,
        epoch=old.epoch + 1,
        generation=old.generation,
    )


def _held_lines(state: _State) -> set[int]:
    return {row for source in state.sources.values() for row in source.lines}


def _leave(state: _State, leaving: Leaving) -> list[tuple[str, str, str]]:
    """Take what goes out of a state; the sessions, by name, that lost something other than by eviction."""
    names = {row: (s.facts.agent, s.host, s.facts.id) for row, s in state.sessions.items()}
    gone = _whole_lines(state, leaving.lines)
    evicted = _whole_lines(state, leaving.evicted) - gone
    told = {*leaving.sessions, *leaving.facts}
    for row, source in list(state.sources.items()):
        had = list(source.lines)
        source.lines = [line for line in had if line not in gone]
        if source.cursor.waiting and had[-1] in gone:
            source.cursor = replace(source.cursor, waiting=False, terminated=True)
        if len(source.lines) < len(had) or evicted & set(had):
            source.cursor = replace(source.cursor, thinned=True)
        told |= {source.session} if len(source.lines) < len(had) else set()
        if source.session in leaving.sessions or (had and not source.lines):
            del state.sources[row]
            told.add(source.session)
    for line in gone | (state.lines.keys() - _held_lines(state)):
        if line in state.lines:
            _forget_line(state, line)
    for line in evicted & state.lines.keys():
        _forget_bytes(state, line)
    for row in leaving.sessions:
        del state.sessions[row]
    emptied = told - {source.session for source in state.sources.values()}
    for row in emptied & state.sessions.keys():
        if not state.sessions[row].shows:
            del state.sessions[row]
    _find_owners(state)
    for row, facts in leaving.facts.items():
        if row in state.sessions:
            state.sessions[row].facts = replace(facts)
    for told_of, parser_state in leaving.states:
        assert isinstance(told_of, _NumberedSource)
        if told_of.number in state.sources:
            source = state.sources[told_of.number]
            source.cursor = replace(source.cursor, state=parser_state)
    return [names[row] for row in told]


def _whole_lines(state: _State, rows: Iterable[int]) -> set[int]:
    """These rows with the other pieces of their lines."""
    chosen, line = set(map(int, rows)), []
    found: set[int] = set()
    for row, held in state.lines.items():
        line.append(row)
        if not held.line.flags & LineFlag.CONTINUES:
            found |= set(line) if chosen & set(line) else set()
            line = []
    return found | (set(line) if chosen & set(line) else set())


def _mark(line: Line) -> bytes:
    """What lines of which one stands for the other have in common."""
    return line.known_by + (b"*" if line.flags & LineFlag.ALTERED else b"")


def _forget_line(state: _State, row: int) -> None:
    mark, gone = _mark(state.lines[row].line), state.lines.pop(row).entries
    state.same[mark] = tuple(other for other in state.same.get(mark, ()) if other != row)
    _forget_entries(state, gone)
    state.usage = {key: counted for key, counted in state.usage.items() if counted.line != row}


def _forget_bytes(state: _State, row: int) -> None:
    held = state.lines[row]
    mark, flags = _mark(held.line), held.line.flags | LineFlag.ALTERED
    state.same[mark] = tuple(other for other in state.same.get(mark, ()) if other != row)
    parsed = replace(held.line.parsed, entries=(), usages=()) if held.line.parsed is not None else None
    state.lines[row] = _Line(Line(b"", flags, parsed), (), held.evicted_key or held.line.known_by)
    _forget_entries(state, held.entries)


def _forget_entries(state: _State, gone: Iterable[int]) -> None:
    for row in gone:
        state.entries.pop(row)
        for session in state.sessions.values():
            session.shows.pop(row, None)
    state.replaced = [row for row in state.replaced if row in state.entries]


def _find_owners(state: _State) -> None:
    """Give what was first seen in a session that is gone to the first that shows it, or has it."""
    has: dict[int, int] = {}
    for source in state.sources.values():
        for line in source.lines:
            has[line] = min(source.session, has.get(line, source.session))
    for line, held in state.lines.items():
        for row in held.entries:
            if state.entries[row].session_row not in state.sessions:
                shown = [number for number, each in state.sessions.items() if row in each.shows]
                owner = shown[0] if shown else has[line]
                id_ = state.sessions[owner].facts.id
                state.entries[row] = replace(state.entries[row], session=id_, session_row=owner)
    for key, counted in state.usage.items():
        if counted.owner not in state.sessions:
            state.usage[key] = counted._replace(owner=has[counted.line])


def _column(values: Iterable[int]) -> Array:
    return np.array(list(values), np.int64)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000

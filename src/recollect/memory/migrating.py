"""Taking in a memory that another program keeps in SQLite: the verb of the facade.

A row is known by its table and key, and what was made of it by a sum: a second run adds nothing, a row that
changed takes its note's place, and what was deleted or edited here stays so.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from recollect.agents.fields import dict_of, text_of
from recollect.agents.memory.records import NOTE, SESSION, delete_record, line_of, session_id
from recollect.insight.noted import decoded
from recollect.memory.note_lines import session_line
from recollect.search.saved_sessions import own_sessions
from recollect.values.errors import SourceError, UsageError
from recollect.values.graph import NewEntity, NewRelation
from recollect.values.migration import MIGRATED, MigrationOptions, NewSession
from recollect.values.notes import NewNote, checked_text, milliseconds

if TYPE_CHECKING:
    from recollect.intake.migrate.read import Migration
    from recollect.memory import Memory
    from recollect.store.contract import View
    from recollect.values.migration import Made, MigrationReport, TableReport
    from recollect.values.reports import Progress

BATCH_ROWS = 20_000
BATCH_BYTES = 24 << 20  # of texts and vectors that wait to be saved together
SUM = "sum"
_VECTOR = "vector"


class Migrating:
    """The part of a `Memory` that takes in the memories of others."""

    def migrate(
        self,
        path: str | os.PathLike[str],
        *,
        name: str = "",
        project: str = "",
        author: str = "",
        embedder: str = "",
        dims: int = 0,
        skip_deleted: bool = False,
        half: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> MigrationReport:
        """Take in an SQLite memory of another program, which is only read; SourceError for an unknown one.

        `name` is what its sessions are called by, and what it is known by in a second run; `project` and
        `author` are of rows that name none. Of vectors the first `dims` numbers are taken, `half`: rounded
        to half precision. What was saved when it is stopped stays, and the next run goes on. A dry run
        reports the same and changes nothing.
        """
        from recollect.intake.databases import DatabaseChanged, open_database
        from recollect.intake.migrate.read import Migration

        memory, database = cast("Memory", self), os.fspath(path)
        options = MigrationOptions(name, project, author, embedder, dims, skip_deleted, half)
        try:
            with open_database(database, plain_reads=True) as opened:
                migration = Migration(database, opened, options)
                taking = _Taking(memory, migration, dry_run=dry_run)
                told, total = progress or (lambda what, done, total: None), migration.total
                done = 0
                for batch in _batches(migration.rows()):
                    opened.check()
                    taking.take(batch)
                    done += len(batch)
                    told(database, min(done, total), total)
                opened.check()
        except DatabaseChanged as error:
            raise SourceError(
                f"{database}: it was written to while it was read",
                hint="run it again: what was taken is not taken twice",
            ) from error
        return migration.report


class _Taking:
    """Saves batches of rows, each as far as it is new."""

    def __init__(self, memory: Memory, migration: Migration, *, dry_run: bool) -> None:
        self._memory, self._report, self._dry_run = memory, migration.report, dry_run
        self._dims = memory.vector_dims()

    def take(self, batch: Iterable[Made]) -> None:
        """Save what is new or changed of some rows, with one write for each session."""
        rows = [(made, *self._summed(made)) for made in batch]
        with self._memory._notes_view() as view:
            before = dict(_sums(view, [_name(what) for _, what, _ in rows]))
        wanted = [
            (made, what)
            for made, what, sum_ in rows
            if _count(self._report.tables[made.table], before.get(_name(what)), sum_, made)
        ]
        said = [made for made, _ in wanted if made.graph is not None and not made.is_deleted]
        if self._dry_run:
            self._count_said(said)
            return
        lines: dict[str, list[bytes]] = {}
        for made, what in wanted:
            if isinstance(what, NewSession):
                lines.setdefault(what.id, []).append(_session_line(what))
            elif made.is_deleted:
                time_ms = milliseconds(what.time, 0)
                lines.setdefault(what.session, []).append(line_of(delete_record(what.id, time_ms)))
        self._memory.save_batch(what for _, what in wanted if isinstance(what, NewNote))
        self._memory._append_lines(lines)
        self._say(said)

    def _say(self, rows: list[Made]) -> None:
        """Tell the graph of entities and relations: together, or one by one where one of them is refused."""
        try:
            self._add(rows)
        except UsageError:
            for made in rows:
                try:
                    self._add([made])
                except UsageError as error:
                    self._report.put_aside(f"{made.table}: not in the graph: {error}")

    def _add(self, rows: list[Made]) -> None:
        entities = [each.graph for each in rows if isinstance(each.graph, NewEntity)]
        relations = [each.graph for each in rows if isinstance(each.graph, NewRelation)]
        if entities or relations:
            self._memory.graph.add_batch(entities, relations)
        self._count_said(rows)

    def _count_said(self, rows: list[Made]) -> None:
        for each in rows:
            self._report.tables[each.table].graph += 1

    def _summed(self, made: Made) -> tuple[NewNote | NewSession, str]:
        """What a row becomes, with a vector only where this memory can search with it; and its sum."""
        from recollect.agents.memory.vectors import float32_bytes
        from recollect.intake.migrate.make import sum_of

        what = made.what
        if isinstance(what, NewSession):
            sum_ = sum_of(what)
            return replace(what, metadata=_with_sum(what.metadata, sum_)), sum_
        vector = b"" if what.vector is None else float32_bytes(what.vector)
        sum_ = sum_of(what, vector)
        if vector and len(vector) // 4 != (self._dims or len(vector) // 4):
            self._report.put_aside(
                f"{made.table}.{_VECTOR}: not of {self._dims} numbers, kept as an artifact"
            )
            what = replace(what, vector=None, artifacts={**(what.artifacts or {}), _VECTOR: vector})
        elif vector:
            self._dims = len(vector) // 4
        return replace(what, metadata=_with_sum(what.metadata, sum_)), sum_


def _session_line(what: NewSession) -> bytes:
    """What is said of a session, as if it had been said then."""
    started_ms, ended_ms = milliseconds(what.started, 0), milliseconds(what.ended, 0)
    return session_line(
        {
            "time_ms": ended_ms or started_ms,
            "title": checked_text(what.title),
            "summary": checked_text(what.summary),
            "channel": what.channel,
            "project": what.project,
            "started_ms": started_ms,
            "ended_ms": ended_ms,
            "metadata": what.metadata,
        }
    )


def _count(told: TableReport, was: str | None, sum_: str, made: Made) -> bool:
    """Count what becomes of a row; whether it is to be saved."""
    if was is None:
        told.added += 0 if made.is_deleted else 1
        told.deleted += made.is_deleted
        return True
    if made.is_deleted:
        told.deleted += was != ""
        told.unchanged += was == ""
        return was != ""
    if was == "":
        told.gone += 1
        return False
    told.unchanged += was == sum_
    told.updated += was != sum_
    return was != sum_


def _sums(view: View, names: list[tuple[str, str]]) -> Iterator[tuple[tuple[str, str], str]]:
    sessions = own_sessions(view)
    places = []
    for name, lines in zip(names, view.record_lines([id_ for _, id_ in names]), strict=True):
        mine = [line for line, row in lines if sessions.get(row) == name[0]]
        if mine:
            places.append((name, mine[-1]))
    stored = view.lines_at([line for _, line in places])
    for (name, _), line in zip(places, stored, strict=True):
        record = decoded(line.data)
        told = dict_of(record.get("metadata")) if record.get("type") in (NOTE, SESSION) else {}
        yield name, text_of(dict_of(told.get(MIGRATED)).get(SUM))


def _name(what: NewNote | NewSession) -> tuple[str, str]:
    """The session and the id of the record that a row becomes."""
    return (what.id, session_id(what.id)) if isinstance(what, NewSession) else (what.session, what.id)


def _with_sum(metadata: Mapping[str, Any] | None, sum_: str) -> dict[str, Any]:
    told = dict(metadata or {})
    return {**told, MIGRATED: {**told[MIGRATED], SUM: sum_}}


def _batches(rows: Iterator[Made]) -> Iterator[list[Made]]:
    """Rows in batches of some thousands, fewer where they are long."""
    batch: list[Made] = []
    size = 0
    for made in rows:
        batch.append(made)
        size += _bytes_of(made)
        if len(batch) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    yield batch


def _bytes_of(made: Made) -> int:
    what = made.what
    if isinstance(what, NewSession):
        return len(what.summary)
    vector = 0 if what.vector is None else 4 * len(what.vector)
    return len(what.text) + vector + sum(len(bytes(each)) for each in (what.artifacts or {}).values())

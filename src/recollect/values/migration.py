"""What a migration does with another program's memory, and what it says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from recollect.values.graph import NewEntity, NewRelation
from recollect.values.notes import NewNote

MIGRATED: Final = "migrated"  # where the metadata of a note says what it was made of
PART_OF: Final = "part of"  # how it is said that a table belongs to an index
REFUSED_SHOWN: Final = 100  # rows that a report names; the others are counted


@dataclass(frozen=True, slots=True)
class MigrationOptions:
    """How a database is taken. `name` is what its sessions are called by, and its identity where it is given.

    `dims`: of longer vectors only so many numbers are taken. `half`: vectors are rounded to half precision.
    """

    name: str = ""
    project: str = ""
    author: str = ""
    embedder: str = ""
    dims: int = 0
    skip_deleted: bool = False
    half: bool = False


@dataclass(frozen=True, slots=True)
class NewSession:
    """What is said of a session, to be handed to `Memory.add_session`."""

    id: str
    title: str = ""
    summary: str = ""
    channel: str = ""
    project: str = ""
    started: float | None = None
    ended: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Made:
    """What one row becomes. `aside` names the columns whose value did not fit its place, and why."""

    table: str
    key: str
    what: NewNote | NewSession
    is_deleted: bool = False
    graph: NewEntity | NewRelation | None = None  # what it says of the graph
    filled: tuple[str, ...] = ()
    aside: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A row that could not be taken."""

    table: str
    key: str
    reason: str


@dataclass(slots=True)
class FieldReport:
    """A column: where its values go, how many rows have one, and how many did not fit that place.

    What does not fit stays in the note's metadata, or beside the note as an artifact.
    """

    to: str
    filled: int = 0
    aside: int = 0


@dataclass(slots=True)
class TableReport:
    """What became of the rows of a table. `left` says why none was looked at; "" where all were."""

    rows: int = 0
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0  # in the database; kept as taken back
    gone: int = 0  # deleted or erased here since they were taken
    skipped: int = 0  # deleted ones that were not wanted
    refused: int = 0
    vectors: int = 0  # of the rows that were taken
    graph: int = 0  # that the graph has been told of
    left: str = ""
    fields: dict[str, FieldReport] = field(default_factory=dict)


@dataclass(slots=True)
class MigrationReport:
    """What a migration found and did, table by table."""

    schema: str
    name: str
    tables: dict[str, TableReport] = field(default_factory=dict)
    refused: list[RefusedRow] = field(default_factory=list)  # the first of them
    aside: dict[str, int] = field(default_factory=dict)  # reasons why values did not fit, counted

    def refuse(self, row: RefusedRow) -> None:
        self.tables[row.table].refused += 1
        if len(self.refused) < REFUSED_SHOWN:
            self.refused.append(row)

    def put_aside(self, reason: str) -> None:
        self.aside[reason] = self.aside.get(reason, 0) + 1

    def total(self, what: str) -> int:
        return sum(getattr(each, what) for each in self.tables.values())

"""A database as what its rows become, table by table; and what of it was not looked at, with the reason."""

from __future__ import annotations

import os
from collections.abc import Iterator

from recollect.intake.databases import OpenDatabase
from recollect.intake.migrate.chroma import Chroma
from recollect.intake.migrate.chunks import Chunks
from recollect.intake.migrate.claude_mem import ClaudeMem
from recollect.intake.migrate.contract import Rule, Schema
from recollect.intake.migrate.make import Maker
from recollect.intake.migrate.memory_service import MemoryService
from recollect.intake.migrate.mempalace import Drawers, Palace
from recollect.intake.migrate.tables import Tables, Unread
from recollect.values.errors import SourceError, UsageError
from recollect.values.migration import (
    PART_OF,
    FieldReport,
    Made,
    MigrationOptions,
    MigrationReport,
    RefusedRow,
    TableReport,
)
from recollect.values.notes import NAME_CHARS_MAX, NewNote

SCHEMAS: tuple[Schema, ...] = (Chunks(), ClaudeMem(), Drawers(), Palace(), Chroma(), MemoryService())

_NAME_CHARS = NAME_CHARS_MAX // 4


class Migration:
    """One database, recognised."""

    def __init__(self, path: str, opened: OpenDatabase, options: MigrationOptions) -> None:
        self._tables = Tables(opened)
        self._options = options
        self._schema = _recognised(path, self._tables)
        name = options.name or os.path.splitext(os.path.basename(path))[0]
        if not name or len(name) > _NAME_CHARS or not name.isprintable():
            raise UsageError("the file's name is no name for sessions", hint="give it one: --as NAME")
        # What is named is known by its name; else by where it lies, as many files are called alike.
        identity = f"name:{name}" if options.name else f"path:{os.path.realpath(path)}"
        self._maker = Maker(self._schema.name, name, identity, options)
        self._rules = [rule for rule in self._schema.rules if self._tables.has(rule.table, *rule.key)]
        self.report = MigrationReport(self._schema.name, name, self._reported())

    @property
    def total(self) -> int:
        """How many rows there are to look at."""
        return sum(self._tables.count(rule.table) for rule in self._rules)

    def rows(self) -> Iterator[Made]:
        """What each row becomes; those that become nothing are told in the report."""
        for rule in self._rules:
            told = self.report.tables[rule.table]
            met: dict[str, int] = {}
            for number, row in enumerate(self._schema.rows(self._tables, rule), 1):
                told.rows = number
                if isinstance(row, Unread):
                    self.report.refuse(RefusedRow(rule.table, row.row, row.reason))
                    continue
                made = self._maker.made(rule, row, met)
                if isinstance(made, RefusedRow):
                    self.report.refuse(made)
                elif made.is_deleted and self._options.skip_deleted:
                    told.skipped += 1
                else:
                    self._count(made)
                    yield made

    def _count(self, made: Made) -> None:
        told, fields = self.report.tables[made.table], self.report.tables[made.table].fields
        told.vectors += isinstance(made.what, NewNote) and made.what.vector is not None
        for column in made.filled:
            fields[column].filled += 1
        for column, reason in made.aside:
            if column in fields:
                fields[column].aside += 1
            self.report.put_aside(f"{made.table}.{column}: {reason}")

    def _reported(self) -> dict[str, TableReport]:
        by_table = {rule.table: rule for rule in self._rules}
        indexes = [name for name, table in self._tables.found.items() if table.odd]
        found = {}
        for name, table in self._tables.found.items():
            if name in by_table:
                found[name] = TableReport(fields=_fields(by_table[name], self._tables, name))
                continue
            of = next((each for each in indexes if name.startswith(f"{each}_")), "")
            left = self._schema.indexes.get(name) or table.odd or (f"{PART_OF} {of}" if of else "not known")
            found[name] = TableReport(rows=self._tables.count(name), left=left)
        return found


def _recognised(path: str, tables: Tables) -> Schema:
    for schema in SCHEMAS:
        if schema.recognise(tables):
            return schema
    named = ", ".join(sorted(tables.found)[:12]) or "none"
    known = ", ".join(each.name for each in SCHEMAS)
    raise SourceError(
        f"{path}: no memory that is known; its tables: {named}", hint=f"known are {known}: docs/migrate.md"
    )


def _fields(rule: Rule, tables: Tables, name: str) -> dict[str, FieldReport]:
    places, table = rule.places(), tables.found[name]
    told = {column: FieldReport(places.get(column, "metadata")) for column in table.columns}
    return told | {column: FieldReport("made of others") for column in table.generated}

"""The tables of a database that anyone may have made, read row by row.

Only plain tables are read: a view or a virtual table runs what its maker wrote. A row that is too large is
one that was not read, and the next one is.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from recollect.intake.databases import OpenDatabase

CELL_BYTES_MAX: Final = 64 << 20
TABLES_MAX: Final = 10_000

_ROW_IDS: Final = ("rowid", "_rowid_", "oid")
_GENERATED: Final = (2, 3)  # what `table_xinfo` calls columns that are made of others


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its columns, those that are made of others, and what kind it is, "" for a plain one."""

    name: str
    columns: tuple[str, ...]
    generated: tuple[str, ...]
    odd: str


@dataclass(frozen=True, slots=True)
class Unread:
    """A row that could not be read."""

    row: str
    reason: str


class Tables:
    """What a database has, by name."""

    def __init__(self, opened: OpenDatabase) -> None:
        self._connection = opened.connection
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, CELL_BYTES_MAX)
        self.found: Mapping[str, Table] = {each.name: each for each in self._read()}

    def has(self, table: str, *columns: str) -> bool:
        """Whether there is a plain table with these columns."""
        found = self.found.get(table)
        return found is not None and not found.odd and set(columns) <= set(found.columns)

    def count(self, table: str) -> int:
        """How many rows a plain table has."""
        if not self.has(table):
            return 0
        (count,) = self._connection.execute(f"SELECT count(*) FROM {_quoted(table)}").fetchone()
        return int(count)

    def rows(self, table: str) -> Iterator[dict[str, Any] | Unread]:
        """The rows of a plain table in order, with the columns that are its own."""
        if not self.has(table):
            return
        found = self.found[table]
        number = next((each for each in _ROW_IDS if each not in map(str.lower, found.columns)), "")
        columns = ", ".join(_quoted(each) for each in found.columns)
        if not number or not self._is_numbered(table, number):
            for row in self._connection.execute(f"SELECT {columns} FROM {_quoted(table)}"):
                yield dict(zip(found.columns, tuple(row), strict=True))
            return
        yield from self._numbered(table, found.columns, columns, number)

    def asked(self, question: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a question of ours, which names plain tables only."""
        for row in self._connection.execute(question, values):
            yield tuple(row)

    def _numbered(
        self, table: str, names: Sequence[str], columns: str, number: str
    ) -> Iterator[dict[str, Any] | Unread]:
        start = f"SELECT {number}, {columns} FROM {_quoted(table)}"
        behind = ""
        while True:
            with contextlib.suppress(sqlite3.DataError):  # a cell beyond the limit, in one of the next rows
                for row in self._connection.execute(f"{start}{behind} ORDER BY {number}"):
                    told = tuple(row)
                    yield dict(zip(names, told[1:], strict=True))
                    behind = f" WHERE {number} > {int(told[0])}"
                return
            while True:
                question = f"SELECT min({number}) FROM {_quoted(table)}{behind}"
                at = int(self._connection.execute(question).fetchone()[0])
                behind = f" WHERE {number} > {at}"
                try:
                    row = self._connection.execute(f"{start} WHERE {number} = {at}").fetchone()
                except sqlite3.DataError as error:
                    yield Unread(f"row {at}", str(error))
                    break
                yield dict(zip(names, tuple(row)[1:], strict=True))

    def _is_numbered(self, table: str, number: str) -> bool:
        with contextlib.suppress(sqlite3.OperationalError):
            self._connection.execute(f"SELECT {number} FROM {_quoted(table)} LIMIT 0")
            return True
        return False

    def _read(self) -> Iterator[Table]:
        question = "SELECT name, type, sql FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
        for name, kind, sql in self._connection.execute(question).fetchmany(TABLES_MAX):
            if type(name) is not str or name.startswith("sqlite_"):
                continue
            if kind == "view" or type(sql) is not str:
                yield Table(name, (), (), "a view")
            elif sql.lstrip().upper().startswith("CREATE VIRTUAL"):
                yield Table(name, (), (), "an index of its own kind")
            else:
                info = self._connection.execute(f"PRAGMA table_xinfo({_quoted(name)})").fetchall()
                plain = tuple(str(each["name"]) for each in info if not each["hidden"])
                made = tuple(str(each["name"]) for each in info if each["hidden"] in _GENERATED)
                yield Table(name, plain, made, "")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

"""Derived tables: what can be worked out from entries, kept as columns so that it is worked out once.

Whoever needs one describes it with a `DerivedTable`, writes a function that makes its rows of a range
of entries, and calls `catch_up`; no engine, no rewrite and no check knows it by name. The description is
stored with the table, so a program that has never heard of it still carries or drops it as it should.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.values.errors import DerivedDamaged
from recollect.values.ids import name_key

if TYPE_CHECKING:
    from recollect.store.contract import View, Writer

NUMBERS = ("<u1", "<u2", "<u4", "<u8", "<i8", "<f4", "<f8")
NAME = "name"  # one of few words, stored once each
TEXT = "text"  # any text

Column = np.ndarray[Any, Any] | Sequence[str]  # an array of a number's type; strings for names and texts
Maker = Callable[["View", int, int], Mapping[str, Column]]
Makers = Callable[["View", int, int], Sequence[Mapping[str, Column]]]

_WORD = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_ENTRIES_AT_ONCE = 1 << 13
_ROWS_AT_ONCE = 1 << 14


class Rewrite(enum.StrEnum):
    """What becomes of a table when the store is written anew and row numbers lose their meaning."""

    DROP = "drop"  # it holds row numbers: gone, and made again by whoever asks for it
    CARRY = "carry"  # it speaks of ids and texts: carried as it is, but built up to nothing


@dataclass(frozen=True, slots=True)
class DerivedTable:
    """What a table is: its columns in order, each of a number's type, NAME or TEXT.

    Tables that differ in revision have nothing to do with each other: raise it when the same entries
    would give other rows, or the columns change. `sessions` are the columns that say which session a row is
    of: its agent, host and id, or one with `name_key` of the three. `rows` and `built_to` are what a view
    has: its rows are made of all entries before row `built_to`.
    """

    name: str
    revision: int
    columns: tuple[tuple[str, str], ...]
    rewrite: Rewrite = Rewrite.DROP
    sessions: tuple[str, ...] = field(default=(), compare=False)
    rows: int = field(default=0, compare=False)
    built_to: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        names = [name for name, _ in self.columns]
        stored = [part for column in self.columns for part in parts(*column)]
        if not (self.columns and self.revision > 0 and len(set(stored)) == len(stored)):
            raise ValueError(f"derived table {self.name!r} cannot be made so")
        if len(self.sessions) not in (0, 1, 3) or not set(self.sessions) <= set(names):
            raise ValueError(f"derived table {self.name!r}: no columns that name a session")
        if not all(isinstance(name, str) and _WORD.fullmatch(name) for name in (self.name, *names)):
            raise ValueError(f"derived table {self.name!r}: a name is not plain lower-case letters")

    def described(self) -> str:
        """The description as it is stored; `from_description` reads it back."""
        told = {"name": self.name, "revision": self.revision, "columns": dict(self.columns)}
        named = {"sessions": list(self.sessions)} if self.sessions else {}
        return json.dumps(told | {"rewrite": str(self.rewrite)} | named)

    @classmethod
    def from_description(cls, text: str) -> DerivedTable:
        """Raises ValueError for what this version could not have written."""
        told = json.loads(text)
        try:
            columns = tuple(told["columns"].items())
            named = tuple(told.get("sessions", ()))
            return cls(told["name"], told["revision"], columns, Rewrite(told["rewrite"]), named)
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"no derived table is described by {text[:200]!r}") from error


def parts(column: str, kind: str) -> dict[str, str]:
    """The columns of numbers that one column is stored as, with their types."""
    if kind == TEXT:
        return {f"{column}_at": "<u8", f"{column}_length": "<u4"}
    if kind == NAME:
        return {column: "<u4"}
    if kind not in NUMBERS:
        raise ValueError(f"column {column!r}: there is no type {kind!r}")
    return {column: kind}


# Not worked out again but noted as it happens, because a whole column of flags is dear to look through.
REPLACED = DerivedTable("replaced", 1, (("entry", "<u8"),))


def no_rows(table: DerivedTable, only: Sequence[str] = ()) -> dict[str, Column]:
    """What reads of a table that is absent."""
    wanted = wanted_columns(table, only)
    return {name: [] if kind in (NAME, TEXT) else np.zeros(0, kind) for name, kind in wanted}


def wanted_columns(table: DerivedTable, only: Sequence[str]) -> list[tuple[str, str]]:
    """The columns that are asked for: all of them where none is named."""
    kinds = dict(table.columns)
    return [(name, kinds[name]) for name in only or kinds]


def is_new_name(table: DerivedTable, others: Iterable[DerivedTable]) -> bool:
    """Whether none of the others has this name and revision."""
    return (table.name, table.revision) not in {(other.name, other.revision) for other in others}


def stored_table(view: View, table: DerivedTable) -> DerivedTable:
    """The table with the rows it has in a view, and how far it is built; none and 0 where it is absent."""
    found = (each for each in view.derived_tables() if each == table)
    return next(found, replace(table, rows=0, built_to=0))


def unbuilt(view: View, tables: Sequence[DerivedTable]) -> int:
    """How many rows of entries a view has that tables which belong together are not made of yet."""
    return view.info().rows_end - min(stored_table(view, table).built_to for table in tables)


def catch_up(writer: Writer, table: DerivedTable, make: Maker) -> int:
    """Build a table up to the last entry, committing as it goes; returns how many rows came new.

    `make(view, start, stop)` gives the rows that the entries from row `start` to `stop` make.
    """
    rows = stored_table(writer.view(), table).rows
    while advance(writer, (table,), lambda view, start, stop: (make(view, start, stop),)):
        pass
    return stored_table(writer.view(), table).rows - rows


def advance(writer: Writer, tables: Sequence[DerivedTable], make: Makers) -> bool:
    """Build tables that belong together a step further, all in one commit; False where nothing was left.

    `make(view, start, stop)` gives the columns of each. Where they are not built equally far, as one of them
    was lost, all begin anew; those that are carried keep the rows they have.
    """
    if len({stored_table(writer.view(), table).built_to for table in tables}) > 1:
        for table in tables:
            if table.rewrite == Rewrite.DROP:
                writer.drop_derived(table)
    ahead = ranges_left(writer.view(), tables)
    if not ahead:
        return False
    start, stop = ahead[0]
    for table, columns in zip(tables, make(writer.view(), start, stop), strict=True):
        writer.add_derived(table, columns, built_to=stop)
    writer.commit()
    return True


def ranges_left(view: View, tables: Sequence[DerivedTable]) -> list[tuple[int, int]]:
    """The rows of entries that tables are not made of yet, in the steps in which they will be."""
    start, end = min(stored_table(view, table).built_to for table in tables), view.info().rows_end
    return [(at, min(at + _ENTRIES_AT_ONCE, end)) for at in range(start, end, _ENTRIES_AT_ONCE)]


def current_rows(writer: Writer, table: DerivedTable, make: Maker) -> dict[str, Column]:
    """All rows of a table, brought up to date first.

    One that does not read is made anew, unless it is to be carried: a rewrite saves what reads of that.
    """
    try:
        catch_up(writer, table, make)
        return writer.view().derived(table)
    except DerivedDamaged:
        if table.rewrite == Rewrite.CARRY:
            raise
        writer.drop_derived(table)
        catch_up(writer, table, make)
        return writer.view().derived(table)


SessionName = tuple[str, str, str]  # agent, host and id


def carry_derived(old: View, writer: Writer, without: Collection[SessionName] = ()) -> None:
    """Copy what reads of each table that is to be carried, `without` the rows of some sessions.

    Of several revisions only the last. They are built up to nothing then: their makers look at everything
    again, and add what is missing. With rows left out, a table that does not say whose they are goes.
    """
    newest = {table.name: table for table in old.derived_tables()}
    for table in newest.values():
        if table.rewrite != Rewrite.CARRY or (without and not table.sessions):
            continue
        for start in range(0, table.rows, _ROWS_AT_ONCE):
            try:
                columns = old.derived(table, start, start + _ROWS_AT_ONCE)
            except DerivedDamaged:
                continue  # these rows do not read; the others are worth keeping
            writer.add_derived(table, _other_rows(table, columns, without), built_to=0)
        writer.commit()


def rows_of(
    table: DerivedTable, columns: Mapping[str, Column], sessions: Collection[SessionName]
) -> list[int]:
    """Which rows of a table are of some sessions; none where it does not say whose they are."""
    if not table.sessions:
        return []
    if len(table.sessions) == 1:
        wanted: Any = {name_key(*each) for each in sessions}
        named: Any = np.asarray(columns[table.sessions[0]]).tolist()
    else:
        wanted = set(sessions)
        named = zip(*(map(str, columns[name]) for name in table.sessions), strict=True)
    return [n for n, name in enumerate(named) if name in wanted]


def _other_rows(
    table: DerivedTable, columns: Mapping[str, Column], without: Collection[SessionName]
) -> Mapping[str, Column]:
    """The rows of a table that are of none of some sessions."""
    if not without:
        return columns
    gone = set(rows_of(table, columns, without))
    kept = [n for n in range(len(columns[table.sessions[0]])) if n not in gone]
    kinds = dict(table.columns)
    return {
        name: [column[n] for n in kept] if kinds[name] in (NAME, TEXT) else np.asarray(column)[kept]
        for name, column in columns.items()
    }

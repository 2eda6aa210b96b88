"""The tables of mentions: every thing once, and a number for each entry that mentions it.

A thing's number is its row in the first two tables, in the order in which things were first mentioned. It is
found again by a key, so that catching up reads neither names nor mentions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from recollect.insight.entities.extract import mentions_of
from recollect.insight.entities.mention import TYPES
from recollect.store.contract import Array, View, Writer
from recollect.store.derived import TEXT, Column, DerivedTable, advance
from recollect.values.errors import DerivedDamaged
from recollect.values.records import Entry, Flag, Kind
from recollect.values.stored import StoredEntry

# Raised together: a change of any rule of `extract` and of its word lists makes other rows.
_RULES = 1
THINGS = DerivedTable("entities", _RULES, (("key", "<u8"), ("type", "<u1")))  # a type is its place in TYPES
NAMES = DerivedTable("entity-names", _RULES, (("name", TEXT),))
MENTIONS = DerivedTable("mentions", _RULES, (("entry", "<u8"), ("entity", "<u4"), ("day", "<u2")))
TABLES = (THINGS, NAMES, MENTIONS)

_DAY_MS = 86_400_000
_DAY_MAX = 0xFFFF
_NEVER_READ = int(Flag.COPY | Flag.INJECTED)  # what was replaced is left out when it is asked for


def catch_up_a_step(writer: Writer) -> bool:
    """Look at the next entries that nobody looked at; False where there are none."""
    try:
        return advance(writer, TABLES, _columns)
    except DerivedDamaged:
        for table in TABLES:
            writer.drop_derived(table)
        return advance(writer, TABLES, _columns)


def key_of(type_: str, name: str) -> int:
    """What a thing is found by."""
    told = f"{type_}\0{name}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(told, digest_size=8).digest(), "little")


def _columns(view: View, start: int, stop: int) -> Sequence[Mapping[str, Column]]:
    numbers = _Numbers(np.asarray(view.derived(THINGS)["key"], np.uint64))
    calls = _Calls(view, start)
    roots: dict[int, str] = {}
    entries: list[int] = []
    entities: list[int] = []
    days: list[int] = []
    sessions = view.session_rows()
    for stored in view.entry_range(start, stop):
        if stored.entry.flags & _NEVER_READ:
            continue
        call = calls.of(stored)
        root = roots.get(stored.session_row)
        if root is None:
            root = roots[stored.session_row] = sessions[stored.session_row].facts.cwd
        mentioned = mentions_of(stored.entry, call, root)
        entities += [numbers.of(each.type, each.name) for each in mentioned]
        entries += [stored.row] * len(mentioned)
        days += [_day(stored.entry.time_ms)] * len(mentioned)
    return (
        {"key": np.array(numbers.keys, np.uint64), "type": np.array(numbers.types, np.uint8)},
        {"name": numbers.names},
        {
            "entry": np.array(entries, np.uint64),
            "entity": np.array(entities, np.uint32),
            "day": np.array(days, np.uint16),
        },
    )


def _day(time_ms: int) -> int:
    return min(max(time_ms, 0) // _DAY_MS, _DAY_MAX)


class _Numbers:
    """The numbers of things: of those that are stored, and of new ones as they come."""

    def __init__(self, stored: Array) -> None:
        self._order = np.argsort(stored, kind="stable")
        self._sorted = stored[self._order]
        self._known: dict[tuple[str, str], int] = {}
        self.keys: list[int] = []
        self.types: list[int] = []
        self.names: list[str] = []

    def of(self, type_: str, name: str) -> int:
        number = self._known.get((type_, name))
        if number is None:
            number = self._known[type_, name] = self._find(type_, name)
        return number

    def _find(self, type_: str, name: str) -> int:
        key = key_of(type_, name)
        at = int(np.searchsorted(self._sorted, np.uint64(key)))
        if at < len(self._sorted) and int(self._sorted[at]) == key:
            return int(self._order[at])
        self.keys.append(key)
        self.types.append(TYPES.index(type_))
        self.names.append(name)
        return len(self._sorted) + len(self.keys) - 1


class _Calls:
    """The calls that results answer: those of the rows being read, earlier ones when asked for."""

    def __init__(self, view: View, start: int) -> None:
        self._view, self._start = view, start
        self._seen: dict[tuple[int, str], Entry] = {}
        self._earlier: dict[int, dict[str, int]] = {}  # by session, where each of its calls is

    def of(self, stored: StoredEntry) -> Entry | None:
        """The call of a result; None for anything else."""
        entry, key = stored.entry, (stored.session_row, stored.entry.call)
        if not entry.call:
            return None
        if entry.kind == Kind.CALL:
            self._seen[key] = entry
        if entry.kind != Kind.RESULT:
            return None
        if key not in self._seen:
            row = self._rows(stored.session_row).get(entry.call)
            if row is None:
                return None
            (self._seen[key],) = (each.entry for each in self._view.entries_at([row]))
        return self._seen[key]

    def _rows(self, session: int) -> dict[str, int]:
        if session not in self._earlier:
            columns = self._view.session_columns(session, "row", "kind", "call")
            calls = (columns["kind"] == Kind.CALL) & (columns["row"] < self._start) & (columns["call"] != 0)
            pairs = zip(columns["call"][calls].tolist(), columns["row"][calls].tolist(), strict=True)
            self._earlier[session] = {f"{call:016x}": row for call, row in pairs}
        return self._earlier[session]

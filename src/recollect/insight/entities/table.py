"""The tables of mentions: every thing once, and a number for each entry that mentions it.

A thing's number is its row in the first two tables, in the order in which things were first mentioned. It is
found again by a key, so that catching up reads neither names nor mentions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from recollect.insight.entities.mention import Mention
from recollect.insight.spared import spared
from recollect.search.mentions import THINGS, TYPES, key_of
from recollect.store.contract import Array, View
from recollect.store.derived import Column
from recollect.values.records import Entry, Flag, Kind
from recollect.values.stored import StoredEntry

_DAY_MS = 86_400_000
_DAY_MAX = 0xFFFF
_NEVER_READ = int(Flag.COPY | Flag.INJECTED)  # what was replaced is left out when it is asked for


class Read(NamedTuple):
    """What some entries mention: each thing once, and for each mention its place among them."""

    things: list[tuple[str, str]]  # type and name
    entries: Array
    places: Array
    days: Array


def read(view: View, start: int, stop: int) -> Read:
    """Look at the entries of some rows."""
    from recollect.insight.entities.extract import mentions_of  # heavy, and not needed where nothing is new

    calls = _Calls(view, start)
    roots: dict[int, str] = {}
    known: dict[object, list[Mention]] = {}  # a quarter of all entries repeats one, most of them short
    things: dict[tuple[str, str], int] = {}
    entries: list[int] = []
    places: list[int] = []
    days: list[int] = []
    sessions = view.session_rows()
    for stored in view.entry_range(start, stop):
        if stored.entry.flags & _NEVER_READ:
            continue
        call = calls.of(stored)
        root = roots.get(stored.session_row)
        if root is None:
            root = roots[stored.session_row] = sessions[stored.session_row].facts.cwd
        entry = stored.entry
        key = entry.kind, entry.flags, entry.tool, entry.text, call and (call.tool, call.text), root
        mentioned = known.get(key)
        if mentioned is None:
            looked = partial(mentions_of, entry, call, root)
            mentioned = known[key] = spared(f"entry {stored.id}", looked, list[Mention])
        places += [things.setdefault(each[:2], len(things)) for each in mentioned]
        entries += [stored.row] * len(mentioned)
        days += [_day(entry.time_ms)] * len(mentioned)
    made = np.array(entries, np.uint64), np.array(places, np.uint32), np.array(days, np.uint16)
    return Read(list(things), *made)


def rows(view: View, made: Read) -> Sequence[Mapping[str, Column]]:
    """What was read, as rows of the tables: things that are not there yet get the next numbers."""
    known = np.asarray(view.derived(THINGS, only=("key",))["key"], np.uint64)
    keys = np.array([key_of(*thing) for thing in made.things], np.uint64)
    order = np.argsort(known, kind="stable")
    at = np.minimum(np.searchsorted(known[order], keys), max(len(known) - 1, 0))
    is_new = known[order[at]] != keys if len(known) else np.ones(len(keys), bool)
    numbers = np.empty(len(keys), np.uint32)
    if len(known):
        numbers[~is_new] = order[at[~is_new]]
    numbers[is_new] = np.arange(len(known), len(known) + int(is_new.sum()))
    new = [made.things[place] for place in np.flatnonzero(is_new)]
    return (
        {"key": keys[is_new], "type": np.array([TYPES.index(type_) for type_, _ in new], np.uint8)},
        {"name": [name for _, name in new]},
        {"entry": made.entries, "entity": numbers[made.places], "day": made.days},
    )


def _day(time_ms: int) -> int:
    return min(max(time_ms, 0) // _DAY_MS, _DAY_MAX)


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

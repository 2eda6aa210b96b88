"""What is known of sessions whose lines were evicted: what went and when, and what it had mentioned.

Both tables are carried by every rewrite and speak of no row. They count while what went is not back: a
session that was restored, or whose file was written anew and taken whole, has all of its entries again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recollect.store.derived import NAME, TEXT, DerivedTable, Rewrite, no_rows
from recollect.values.errors import DerivedDamaged
from recollect.values.ids import name_key
from recollect.values.retention import EvictedSession, SessionName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.store.contract import Array, View
    from recollect.store.derived import Column

EVICTIONS = DerivedTable(
    "evictions",
    1,
    (
        ("agent", NAME),
        ("host", NAME),
        ("session", TEXT),
        ("time", "<i8"),
        ("lines", "<u4"),
        ("entries", "<u4"),
        ("bytes", "<u8"),
        ("loss", "<u1"),
    ),
    Rewrite.CARRY,
    ("agent", "host", "session"),
)
EVICTED_MENTIONS = DerivedTable(
    "evicted-mentions",
    1,
    (("session", "<u8"), ("type", "<u1"), ("name", TEXT), ("day", "<u2"), ("mentions", "<u4")),
    Rewrite.CARRY,
    ("session",),
)


class EvictedMentions(NamedTuple):
    """Mentions in entries that went, counted by session (its row), thing and day; `type` as in `THINGS`."""

    session: Array
    type: Array
    name: Sequence[str]
    day: Array
    mentions: Array


class Evicted:
    """The evicted sessions of a view; a store without any pays for looking whether there is a table."""

    def __init__(self, view: View) -> None:
        self._view = view
        self.sessions: dict[SessionName, EvictedSession] = {}
        columns = _read(view, EVICTIONS)
        rows = [
            EvictedSession(SessionName(agent, host, id_), time_ms, lines, entries, size, bool(loss))
            for agent, host, id_, time_ms, lines, entries, size, loss in zip(
                *(_plain(columns[name]) for name, _ in EVICTIONS.columns), strict=True
            )
        ]
        if rows:
            thinned = {
                SessionName(each.file.agent, each.host, each.session)
                for each in view.sources()
                if each.thinned and not each.superseded
            }
            for each in rows:
                if each.name in thinned:
                    self.sessions[each.name] = _joined(self.sessions.get(each.name), each)

    def entries_of(self, name: SessionName) -> int:
        """How many entries of a session went."""
        found = self.sessions.get(name)
        return 0 if found is None else found.entries

    def mentions(self) -> EvictedMentions | None:
        """What the entries that went mentioned; None for nothing."""
        if not self.sessions:
            return None
        keys = {name_key(*name): name for name in self.sessions}
        rows = {
            name_key(*name): row
            for row, session in self._view.session_rows().items()
            if (name := SessionName(session.facts.agent, session.host, session.facts.id)) in self.sessions
        }
        columns = _read(self._view, EVICTED_MENTIONS)
        owners = [rows.get(key, -1) if key in keys else -1 for key in _plain(columns["session"])]
        chosen = [n for n, owner in enumerate(owners) if owner >= 0]
        if not chosen:
            return None
        numbers = (np.asarray(columns[name])[chosen] for name in ("type", "day", "mentions"))
        type_, day, mentions = numbers
        names = [str(columns["name"][n]) for n in chosen]
        return EvictedMentions(np.array(owners, np.int64)[chosen], type_, names, day, mentions)


def without(view: View, table: DerivedTable, name: SessionName) -> dict[str, Column]:
    """The rows of one of the two tables that are of other sessions."""
    columns = _read(view, table)
    if table == EVICTIONS:
        named = zip(*(_plain(columns[part]) for part in ("agent", "host", "session")), strict=True)
        kept = [n for n, other in enumerate(named) if tuple(other) != tuple(name)]
    else:
        kept = np.flatnonzero(np.asarray(columns["session"]) != np.uint64(name_key(*name))).tolist()
    return {
        part: np.asarray(column)[kept] if isinstance(column, np.ndarray) else [column[n] for n in kept]
        for part, column in columns.items()
    }


def _joined(before: EvictedSession | None, row: EvictedSession) -> EvictedSession:
    """A session that went on and was evicted again, as one."""
    if before is None:
        return row
    return EvictedSession(
        row.name,
        max(before.time_ms, row.time_ms),
        before.lines + row.lines,
        before.entries + row.entries,
        before.bytes + row.bytes,
        before.loss or row.loss,
    )


def _read(view: View, table: DerivedTable) -> dict[str, Column]:
    try:
        return view.derived(table)
    except DerivedDamaged:
        return no_rows(table)


def _plain(column: Column) -> list[Any]:
    return column.tolist() if isinstance(column, np.ndarray) else [str(each) for each in column]

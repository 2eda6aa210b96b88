"""The turns of sessions, from columns alone: what a person said, and all that came of it.

Sessions grow side by side, so the rows of a turn need not be next to each other. What stands
before the first prompt is a turn too, one without a prompt.
"""

from __future__ import annotations

import numpy as np

from recollect.insight.surroundings import HIDDEN
from recollect.store.contract import Array, View
from recollect.values.records import Flag, Kind

Key = tuple[int, int]  # a session's row, the number of the turn in it

_SILENT = (Kind.EVENT, Kind.IMAGE, Kind.CONTEXT, Kind.UNKNOWN)


class Turns:
    """Every turn of a view, looked up when asked for."""

    def __init__(self, view: View) -> None:
        columns = view.entry_columns("session", "kind", "flags", "time", "call")
        self._session, self._kind, self._call = columns["session"], columns["kind"], columns["call"]
        self._flags, self._time = columns["flags"], columns["time"]
        self._shown = ~np.isin(self._kind, _SILENT) & (self._flags & HIDDEN == 0)
        self._known: dict[int, tuple[Array, Array]] = {}

    def of(self, row: int) -> Key:
        """The turn that an entry is part of."""
        session = int(self._session[row])
        rows, starts = self._course(session)
        at = int(np.searchsorted(rows, row))
        return session, int(np.searchsorted(starts, at, "right"))

    def rows(self, key: Key) -> list[int]:
        """What a turn shows, in order; nothing for one that is not there."""
        rows, starts = self._course(key[0])
        if not 0 <= key[1] <= len(starts):
            return []
        start = int(starts[key[1] - 1]) if key[1] else 0
        stop = int(starts[key[1]]) if key[1] < len(starts) else len(rows)
        return [int(row) for row in rows[start:stop]]

    def with_halves(self, wanted: set[int], rows: list[int]) -> set[int]:
        """Some rows of a turn, and the other half of each call among them."""
        calls = {int(self._call[row]) for row in wanted} - {0}
        return wanted | {row for row in rows if int(self._call[row]) in calls} if calls else wanted

    def said(self, row: int) -> bool:
        """Whether a person said it."""
        return bool(self._kind[row] == Kind.PROMPT and not self._flags[row] & Flag.META)

    def is_answer(self, row: int) -> bool:
        return bool(self._kind[row] == Kind.ANSWER)

    def time_ms(self, key: Key) -> int:
        """When a turn began, as far as any of its entries says."""
        times = (int(self._time[row]) for row in self.rows(key))
        return next((time for time in times if time), 0)

    def _course(self, session: int) -> tuple[Array, Array]:
        known = self._known.get(session)
        if known is None:
            rows = np.flatnonzero(self._shown & (self._session == session))
            said = (self._kind[rows] == Kind.PROMPT) & (self._flags[rows] & Flag.META == 0)
            known = self._known[session] = rows, np.flatnonzero(said)
        return known

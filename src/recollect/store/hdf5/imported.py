"""Which lines and sessions come from imported sources alone, by what the sources' flags and spans say.

A line is stored once, however many sources have it, so it is imported only where no other source has it
too. Kept as runs of rows: a store without imported sources pays for reading one small column.
"""

from __future__ import annotations

import numpy as np

from recollect.store.contract import Array
from recollect.values.records import SourceFlag


class Imported:
    """The imported lines as runs of rows, and the sessions that a source of another kind is of."""

    def __init__(self, flags: Array, sessions: Array, spans: tuple[Array, Array, Array] | None) -> None:
        """Columns of `sources`; of `spans` source, first and count, None where no source is imported."""
        self._own_sessions = set(np.unique(sessions[~is_imported(flags)]).tolist())
        self._starts = self._stops = np.zeros(0, np.int64)
        self.any = spans is not None
        if spans is not None:
            source, first, count = (column.astype(np.int64) for column in spans)
            self._starts, self._stops = _only(is_imported(flags)[source], first, first + count)

    def session(self, row: int) -> bool:
        return self.any and row not in self._own_sessions

    def sessions(self, count: int) -> Array:
        """For each of the first so many sessions whether it is imported."""
        imported = np.full(count, self.any)
        imported[[row for row in self._own_sessions if row < count]] = False
        return imported

    def line(self, row: int) -> bool:
        return self.any and bool(self.lines(np.array([row]))[0])

    def lines(self, rows: Array) -> Array:
        """For each of these lines whether it is imported."""
        if not len(self._starts):
            return np.zeros(len(rows), bool)
        wanted = rows.astype(np.int64)
        at = np.searchsorted(self._starts, wanted, "right") - 1
        return (at >= 0) & (wanted < self._stops[at])


def is_imported(flags: Array) -> Array:
    """For each source's flags whether it was imported."""
    return np.asarray(flags & int(SourceFlag.IMPORTED) != 0)


def _only(imported: Array, first: Array, stop: Array) -> tuple[Array, Array]:
    """The runs of rows that imported spans have and no others."""
    borders = np.unique(np.concatenate([first, stop]))
    held = []
    for chosen in (imported, ~imported):
        edges = np.zeros(len(borders), np.int64)
        np.add.at(edges, np.searchsorted(borders, first[chosen]), 1)
        np.add.at(edges, np.searchsorted(borders, stop[chosen]), -1)
        held.append(np.cumsum(edges) > 0)
    runs = np.flatnonzero(held[0] & ~held[1])  # the last border ends all spans, so a next one is there
    return borders[runs], borders[runs + 1]

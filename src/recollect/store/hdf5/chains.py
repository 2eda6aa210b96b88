"""Which rows an owner has, in order: a session's entries, a source's lines, as intervals."""

from __future__ import annotations

import bisect


class Chain:
    """An owner's intervals of rows, oldest first, and which of them are new or changed.

    No row is in two intervals, so the intervals sorted by their first row answer what the chain holds.
    """

    __slots__ = ("_sorted", "changed", "intervals", "rows")

    def __init__(self, intervals: list[list[int]], rows: list[int]) -> None:
        self.intervals = intervals  # [first, count]
        self.rows = rows  # the row each has in its table; -1 not written yet
        self.changed: set[int] = set()
        self._sorted = sorted((first, n) for n, (first, _) in enumerate(intervals))

    def add(self, first: int, count: int) -> None:
        if not count:
            return
        if self.intervals and sum(self.intervals[-1]) == first:
            self.intervals[-1][1] += count
        else:
            bisect.insort(self._sorted, (first, len(self.intervals)))
            self.intervals.append([first, count])
            self.rows.append(-1)
        self.changed.add(len(self.intervals) - 1)

    def drop_last(self) -> None:
        """Take the last row off. An emptied interval stays, with nothing in it."""
        self.intervals[-1][1] -= 1
        self.changed.add(len(self.intervals) - 1)

    def holds(self, row: int) -> bool:
        return not self.missing(row, 1)

    def missing(self, first: int, count: int) -> list[tuple[int, int]]:
        """Those parts of an interval that the chain does not hold yet."""
        parts: list[tuple[int, int]] = []
        stop = first + count
        at = bisect.bisect_right(self._sorted, (first, len(self.intervals)))
        while at and not self.intervals[self._sorted[at - 1][1]][1]:
            at -= 1  # an emptied interval hides none that begins before it
        for position in range(max(at - 1, 0), len(self._sorted)):
            have, n = self._sorted[position]
            if have >= stop:
                break
            if have > first:
                parts.append((first, have - first))
            first = max(first, have + self.intervals[n][1])
        return [*parts, (first, stop - first)] if first < stop else parts

"""Which rows an owner has, in order: a session's entries, a source's lines, as intervals."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence


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

    def all_rows(self) -> list[int]:
        return [row for first, count in self.intervals for row in range(first, first + count)]

    def arrange(self, rows: Iterable[int]) -> None:
        """Hold these rows, in this order, and no others. Intervals too many stay, with nothing in them."""
        wanted = [list(run) for run in runs(rows)]
        wanted += [[0, 0] for _ in range(len(self.intervals) - len(wanted))]
        self.rows += [-1] * (len(wanted) - len(self.intervals))
        held = [*self.intervals, *([[0, 0]] * (len(wanted) - len(self.intervals)))]
        self.changed |= {n for n, run in enumerate(wanted) if run != held[n] or self.rows[n] < 0}
        self.intervals = wanted
        self._sorted = sorted((first, n) for n, (first, _) in enumerate(wanted))

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


class Shown:
    """The rows a session shows, in order, while some take the place of others.

    Replacing costs what is replaced, not what is shown: a log may state every record of a long session again.
    """

    def __init__(self, rows: Iterable[int]) -> None:
        self._rows = list(rows)
        self._held = set(self._rows)
        self._instead: dict[int, Sequence[int]] = {}  # what stands where a row stood
        self._moved: set[int] = set()  # rows that stand where another one stood

    def __contains__(self, row: int) -> bool:
        return row in self._held

    def drop(self, rows: Iterable[int]) -> None:
        self._held.difference_update(rows)

    def put_in_place(self, gone: Sequence[int], rows: Sequence[int]) -> None:
        """Let rows that are shown stand where the first of others stood, which are shown no more."""
        self.drop(gone)
        self._instead[gone[0]] = rows
        self._moved.update(rows)

    def rows(self) -> list[int]:
        found = []
        for row in self._rows:
            ahead = [] if row in self._moved else [row]
            while ahead:
                at = ahead.pop()
                if at in self._held:
                    found.append(at)
                ahead += reversed(self._instead.get(at, ()))
        return found


def runs(rows: Iterable[int]) -> list[tuple[int, int]]:
    """Neighbouring rows, in order, as (first, count)."""
    found: list[list[int]] = []
    for row in rows:
        if found and sum(found[-1]) == row:
            found[-1][1] += 1
        else:
            found.append([row, 1])
    return [(first, count) for first, count in found]

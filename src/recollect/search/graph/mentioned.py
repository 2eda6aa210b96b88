"""What the entries of the logs mention together, as relations: worked out once from the tables of mentions.

Things of one name are one, whatever their types. Two are related where at least two entries mention both; how
close they are is how many of the entries of either mention both (the cosine of the two sets). The closest few
of a thing are its relations: a thing that is everywhere stands beside everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recollect.search.mentions import TYPES, Mentions
from recollect.search.projects import worked_out
from recollect.values.graph import BESIDE, DERIVED, GraphEntity, GraphRelation
from recollect.values.lazy import lazy

if TYPE_CHECKING:
    from recollect.store.contract import Array, View

SHARED_LEAST = 2  # entries: once is chance
CLOSEST = 24  # of a thing: its relations
EVIDENCE_LISTED = 3
DAY_MS = 86_400_000


class Close(NamedTuple):
    """A thing beside another: its number, how many entries mention both, and how close that makes them."""

    number: int
    shared: int
    weight: float


class Mentioned:
    """Everything that is mentioned, each name a number; up to a day, counted from 1970, if there is one."""

    def __init__(self, view: View, until_day: int | None = None) -> None:
        self._view, self._until_day = view, until_day

    def number(self, key: str) -> int:
        """The number of what is called so, in any case; -1 for nothing that an entry mentions."""
        number = self._numbers.get(key, -1)
        return number if number >= 0 and self.mentions(number) else -1

    def key(self, number: int) -> str:
        return self._keys[number]

    def mentions(self, number: int) -> int:
        """How many entries mention it."""
        return int(self._starts[number + 1] - self._starts[number])

    def most(self, count: int) -> list[int]:
        """The most mentioned, the most first."""
        counts = np.diff(self._starts)
        order = np.argsort(-counts, kind="stable")[: min(count, int((counts > 0).sum()))]
        return [int(each) for each in order]

    def rows(self, number: int) -> Array:
        """The rows of the entries that mention it, in order."""
        return self._entries[self._order[self._starts[number] : self._starts[number + 1]]]

    def close_to(self, number: int) -> list[Close]:
        """The closest, those first."""
        found = self._close.get(number)
        if found is None:
            found = self._close[number] = self._closest(number)
        return found

    def entity(self, number: int) -> GraphEntity:
        """A thing with the type that it is mentioned as most."""
        mentions = worked_out(self._view, Mentions)
        things = np.flatnonzero(self._groups == number)
        best = int(things[np.argmax(mentions.counts[things])])
        type_ = TYPES[int(mentions.types[best])]
        return GraphEntity(mentions.name(best), type_, origin=DERIVED, mentions=self.mentions(number))

    def relation(self, number: int, close: Close, name: str, other: str) -> GraphRelation:
        """That two things stand beside each other, with the latest entries that show it."""
        both = np.intersect1d(self.rows(number), self.rows(close.number), assume_unique=True)
        times = self._view.columns_at(both[[0, -1]].tolist(), "time")["time"] if len(both) else [0]
        latest = self._view.entry_ids(both[::-1][:EVIDENCE_LISTED].tolist())
        return GraphRelation(
            name,
            BESIDE,
            other,
            round(close.weight, 4),
            from_ms=int(times[0]),
            evidence=tuple(latest),
            origin=DERIVED,
            times=close.shared,
            time_ms=int(times[-1]),
        )

    def _closest(self, number: int) -> list[Close]:
        rows = self.rows(number)
        starts, stops = (np.searchsorted(self._entries, rows, side) for side in ("left", "right"))
        counts = np.bincount(self._named[_ranges(starts, stops)], minlength=len(self._keys))
        counts[number] = 0
        near = np.flatnonzero(counts >= SHARED_LEAST)
        sizes = np.diff(self._starts)
        weights = counts[near] / np.sqrt(float(len(rows)) * sizes[near])
        best = np.lexsort((near, -np.round(weights, 6)))[:CLOSEST]
        return [Close(int(near[n]), int(counts[near[n]]), float(weights[n])) for n in best]

    # -- the tables ------------------------------------------------------------------------------

    @lazy
    def _close(self) -> dict[int, list[Close]]:
        return {}

    @lazy
    def _numbers(self) -> dict[str, int]:
        names = worked_out(self._view, Mentions).folded_names()
        return {name: number for number, name in enumerate(dict.fromkeys(names))}

    @lazy
    def _keys(self) -> list[str]:
        return list(self._numbers)

    @lazy
    def _groups(self) -> Array:
        """For each thing of the tables its number here."""
        names = worked_out(self._view, Mentions).folded_names()
        return np.array([self._numbers[name] for name in names], np.int64)

    @lazy
    def _pairs(self) -> tuple[Array, Array]:
        """The rows of entries, rising, and what each mentions, once."""
        mentions = worked_out(self._view, Mentions)
        first = int(
            np.searchsorted(mentions.entries.astype(np.int64), 0)
        )  # of what was evicted nothing is left
        rows, things = mentions.entries[first:].astype(np.int64), mentions.things[first:]
        if self._until_day is not None:
            days = mentions.days[first:]
            then = (days > 0) & (days <= self._until_day)
            rows, things = rows[then], things[then]
        width = max(len(self._keys), 1)
        told = np.unique(rows * width + self._groups[things])
        return told // width, told % width

    @lazy
    def _entries(self) -> Array:
        return self._pairs[0]

    @lazy
    def _named(self) -> Array:
        return self._pairs[1]

    @lazy
    def _order(self) -> Array:
        return np.argsort(self._named, kind="stable")

    @lazy
    def _starts(self) -> Array:
        """Where in `_order` the mentions of each begin, and at last where they end."""
        starts: Array = np.searchsorted(self._named[self._order], np.arange(len(self._keys) + 1))
        return starts


def _ranges(starts: Array, stops: Array) -> Array:
    """The numbers of several ranges, one after the other."""
    lengths = stops - starts
    before = np.repeat(np.cumsum(lengths) - lengths, lengths)
    found: Array = np.repeat(starts, lengths) + np.arange(int(lengths.sum())) - before
    return found

"""How much is spoken of things lately, against their own past: rising, fading, new, returned, unusual.

Pure, from three arrays. A thing's mentions in a window of days are compared with its share of all that was
mentioned in the days before, so that in a busy week not everything rises and in a quiet one not all fades.
A day is unusual against the days on which the thing was mentioned at all, by their median and how far they
lie from it: a few wild days among them change neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from recollect.store.contract import Array

WINDOWS_BEFORE = 4  # lengths of the window, before it, that it is compared with
MENTIONS_LEAST = 5  # in the window, or expected there: of less nothing is said
DAYS_LEAST = 3  # with mentions, before the window: what was spoken of on one day does not fade
TIMES_LEAST = 1.5  # as often as usual, or as seldom
CLEAR = 3.0  # deviations between what was counted and what is usual, were mentions to come by chance
UNUSUAL = 3.5  # deviations from the median, the customary bound for this score
UNUSUAL_DAYS = 8  # with mentions, before the window: of less nobody knows what is usual
UNUSUAL_TIMES = 2.0  # the median: of many even days a little more would be far from it
_CELLS = 1 << 22  # counts of things by day that are held at a time

STATES = ("", "new", "returned", "rising", "fading")
_NEW, _RETURNED, _RISING, _FADING = range(1, len(STATES))


@dataclass(frozen=True, slots=True)
class Window:
    """The days that are looked at: `days` of them, up to and including `last`."""

    last: int
    days: int

    @property
    def first(self) -> int:
        return self.last - self.days + 1

    @property
    def before(self) -> int:
        """The first of the days that it is compared with."""
        return max(self.first - WINDOWS_BEFORE * self.days, 1)


@dataclass(frozen=True, slots=True)
class Moves:
    """For each thing: its mentions in the window, what was expected, how far apart they are, its state."""

    now: Array
    usual: Array
    score: Array
    state: Array


@dataclass(frozen=True, slots=True)
class Unusual:
    """Days on which things were mentioned unusually often: of each such thing the one farthest out."""

    thing: Array
    day: Array
    count: Array
    median: Array
    score: Array


def moves(things: Array, days: Array, total: int, window: Window) -> Moves:
    """How the things with numbers below `total` move, from the thing and the day of each mention."""
    now, before, earlier = (
        np.bincount(things[inside], minlength=total)
        for inside in (
            (days >= window.first) & (days <= window.last),
            (days >= window.before) & (days < window.first),
            (days > 0) & (days < window.before),
        )
    )
    usual = before * (now.sum() / max(int(before.sum()), 1))
    score = 2 * (np.sqrt(now + 3 / 8) - np.sqrt(usual + 3 / 8))  # as if by chance: of deviation 1
    state: Array = np.zeros(total, np.uint8)
    enough = now >= MENTIONS_LEAST
    if before.any() or earlier.any():
        state[enough & (before == 0)] = _RETURNED
        state[enough & (before == 0) & (earlier == 0)] = _NEW
    state[enough & (before > 0) & (score >= CLEAR) & (now >= TIMES_LEAST * usual)] = _RISING
    fading = np.flatnonzero((usual >= MENTIONS_LEAST) & (score <= -CLEAR) & (now * TIMES_LEAST <= usual))
    kept = [
        numbers[(counts > 0).sum(1) >= DAYS_LEAST]
        for numbers, counts, _ in _by_day(things, days, fading, window.before, window.first - 1)
    ]
    state[np.concatenate(kept) if kept else []] = _FADING
    return Moves(now, usual, score, state)


def unusual(things: Array, days: Array, total: int, window: Window) -> Unusual:
    """Days of the window on which things were mentioned unusually often."""
    inside = (days >= window.first) & (days <= window.last)
    known = (days > 0) & (days < window.first)
    enough = (np.bincount(things[inside], minlength=total) >= MENTIONS_LEAST) & (
        np.bincount(things[known], minlength=total) >= UNUSUAL_DAYS
    )
    found: list[tuple[Array, ...]] = []
    for numbers, counts, listed in _by_day(things, days, np.flatnonzero(enough), 1, window.last):
        past, lately = counts[:, listed < window.first], counts[:, listed >= window.first]
        median, deviation, active = _usual(past)
        most = lately.max(1)
        score = (most - median) / deviation
        odd = (
            (active >= UNUSUAL_DAYS)
            & (score >= UNUSUAL)
            & (most >= MENTIONS_LEAST)
            & (most >= UNUSUAL_TIMES * median)
        )
        day = listed[listed >= window.first][lately.argmax(1)]
        found.append((numbers[odd], day[odd], most[odd], median[odd], score[odd]))
    if not found:
        return Unusual(*(np.zeros(0, np.int64) for _ in range(3)), *(np.zeros(0) for _ in range(2)))
    return Unusual(*map(np.concatenate, zip(*found, strict=True)))


def _usual(counts: Array) -> tuple[Array, Array, Array]:
    """Of each row of counts the median of those above 0, how far they usually lie from it, and their number.

    Never nearer than chance alone would have it.
    """
    active = (counts > 0).sum(1)
    median = _medians(np.where(counts > 0, counts, np.inf), active)
    away = np.where(counts > 0, np.abs(counts - median[:, None]), np.inf)
    spread = 1.4826 * _medians(away, active)
    return median, np.maximum(np.maximum(spread, np.sqrt(median)), 1.0), active


def _medians(values: Array, lengths: Array) -> Array:
    """The median of the first so many of each row, once sorted; 0 for none."""
    if not values.shape[1]:
        return np.zeros(len(values))
    values = np.sort(values, axis=1)
    rows, last = np.arange(len(values)), np.maximum(lengths - 1, 0)
    middle: Array = (values[rows, last // 2] + values[rows, (last + 1) // 2]) / 2
    return np.where(lengths > 0, middle, 0.0)


def _by_day(
    things: Array, days: Array, wanted: Array, first: int, last: int
) -> Iterator[tuple[Array, Array, Array]]:
    """Some of the wanted things at a time, with their mentions by day, and the days there are."""
    if not len(wanted):
        return
    place: Array = np.full(int(wanted.max()) + 1, -1, np.int64)
    place[wanted] = np.arange(len(wanted))
    inside = np.flatnonzero((days >= first) & (days <= last) & (things < len(place)))
    inside = inside[place[things[inside]] >= 0]
    at, days = place[things[inside]], days[inside]
    listed = np.flatnonzero(np.bincount(days, minlength=1))
    if not len(listed):
        return
    on = np.searchsorted(listed, days)
    step = max(_CELLS // len(listed), 1)
    for start in range(0, len(wanted), step):
        numbers = wanted[start : start + step]
        mine = (at >= start) & (at < start + len(numbers))
        cells = (at[mine] - start) * len(listed) + on[mine]
        counts = np.bincount(cells, minlength=len(numbers) * len(listed))
        yield numbers, counts.reshape(len(numbers), len(listed)), listed

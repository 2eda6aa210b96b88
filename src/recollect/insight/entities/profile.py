"""Asking the tables of mentions: which things there are, how they move, and what is known of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from shlex import quote
from typing import NamedTuple

import numpy as np

from recollect.insight.digest.kept import Digests
from recollect.insight.entities.links import Links
from recollect.insight.entities.meaning import VectorsOf, meaning
from recollect.insight.entities.momentum import STATES, WINDOWS_BEFORE, Window, moves, unusual
from recollect.insight.threads import thread_of
from recollect.search.mentions import TYPES, Mentions
from recollect.search.projects import by_name, worked_out
from recollect.search.thread_rows import thread_rows
from recollect.store.contract import Array, View
from recollect.values.entities import Entity, EntityList, EntityProfile, Meaning, Momentum, Move, Neighbour
from recollect.values.errors import NotFound
from recollect.values.history import Thread
from recollect.values.lazy import lazy
from recollect.values.stored import Session

SESSIONS_LISTED = ENTRIES_LISTED = 8
THREADS_LISTED = 5
NEIGHBOURS_LISTED = 12
NAMESAKES_LISTED = 5
EVOLUTION_LISTED = 5
EVOLUTION_LEAST = 10  # mentions in a third: of less nothing is said
EVOLUTION_SHARE = 10  # one of so many of its mentions, to be beside it
EVOLUTION_DAYS = 7  # between the first third and the last
SHARED_LEAST = 2  # of entries: once is chance
BARS_A_WINDOW = 2  # of a curve

_STATES = {"trending": ("new", "returned", "rising"), "fading": ("fading",), "unusual": ("unusual",)}
KINDS_OF_MOVES = tuple(_STATES)


class _Moving(NamedTuple):
    """A `Move` of the thing of a number."""

    number: int
    state: str
    mentions: int
    usual: float
    score: float
    day: int = 0


class Entities:
    """The things that a view's entries mention, of projects whose name has a part if asked."""

    def __init__(self, view: View, project: str = "", vectors_of: VectorsOf | None = None) -> None:
        self._view, self._named, self._vectors_of = view, by_name(view), vectors_of
        self._mentions = worked_out(view, Mentions)
        self._entries, self._things = self._mentions.entries, self._mentions.things
        self._days = self._mentions.days
        if project:
            chosen = self._in_project(project)
            self._entries, self._things = self._entries[chosen], self._things[chosen]
            self._days = self._days[chosen]

    def listed(self, *, type_: str = "", limit: int = 0) -> EntityList:
        """The most mentioned things, of a type if asked."""
        counts = self._counts
        if type_:
            counts = np.where(self._mentions.types == TYPES.index(type_), counts, 0)
        order = np.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
        numbers = order[: limit or None].tolist()
        found = tuple(self._entity(number, places) for number, places in self._places(numbers).items())
        return EntityList(found, len(order), self._mentions.unread)

    def momentum(self, kind: str, *, type_: str = "", days: int = 7, until: int, limit: int = 0) -> Momentum:
        """The things that are trending, fading or unusual in the last days that anything was mentioned on.

        `until`: days after this one do not count.
        """
        known = self._days[(self._days > 0) & (self._days <= until)]
        if not len(known):
            return Momentum((), 0, 0, 0, 0, self._mentions.unread)
        window = Window(int(known.max()), days)
        found = self._unusual(window) if kind == "unusual" else self._moves(window, _STATES[kind])
        if type_:
            found = [each for each in found if self._type(each.number) == type_]
        found.sort(key=lambda each: (-abs(each.score), each.number))
        shown = found[: limit or None]
        places = self._places(list(dict.fromkeys(each.number for each in shown)))
        listed = tuple(
            Move(
                self._entity(each.number, places[each.number]),
                each.state,
                each.mentions,
                each.usual,
                each.score,
                each.day,
                self._steps(places[each.number], window),
            )
            for each in shown
        )
        before = int(known.min()) if kind == "unusual" else max(window.before, int(known.min()))
        return Momentum(listed, len(found), before, window.first, window.last, self._mentions.unread)

    def profile(self, name: str, type_: str = "") -> EntityProfile:
        """What is known of a thing; of several of that name the most mentioned. NotFound for none."""
        counts = self._counts
        same = [each for each in self._mentions.numbers(name, type_) if counts[each]]
        if not same:
            raise NotFound(f"nothing called {name!r} is mentioned", hint=self._hint(name))
        number = max(same, key=lambda each: (int(counts[each]), -each))
        mine = np.flatnonzero(self._things == number)
        rows, own_days = self._entries[mine], self._days[mine]
        owners = self._view.columns_at(rows.tolist(), "session")["session"]
        sessions = Counter(owners.tolist())
        last_days: dict[int, int] = {}
        for owner, day in zip(owners.tolist(), own_days.tolist(), strict=True):
            last_days[owner] = max(last_days.get(owner, 0), day)
        latest = sorted(sessions, key=lambda row: (last_days[row], row), reverse=True)
        stored = self._view.session_rows()
        links = Links(self._view, self._mentions, worked_out(self._view, Digests))
        days, by_day = np.unique(own_days, return_counts=True)
        then, now, meant = self._evolution(number, rows, own_days)
        return EntityProfile(
            self._entity(number, mine),
            tuple(zip(days.tolist(), by_day.tolist(), strict=True)),
            tuple(self._projects(rows).items()),
            tuple((stored[row], sessions[row]) for row in latest[:SESSIONS_LISTED]),
            len(sessions),
            *self._threads({row: sessions[row] for row in latest}),
            self._neighbours(number, rows, NEIGHBOURS_LISTED),
            then,
            now,
            meant,
            links.of(number, rows, latest),
            links.decisions(self._mentions.name(number), rows, latest),
            tuple(self._view.entry_ids(rows[::-1][:ENTRIES_LISTED].tolist())),
            self._namesakes(number, same, counts),
            self._mentions.unread,
        )

    def _threads(self, sessions: Mapping[int, int]) -> tuple[tuple[tuple[Thread, int], ...], int]:
        """The pieces of work that mention it most, and how many there are; `sessions`: the latest first."""
        rows = self._named.worked_out(thread_rows)
        counts: Counter[int] = Counter()
        for row, mentions in sessions.items():
            if row in rows:
                counts[rows[row]] += mentions
        best = dict(counts.most_common(THREADS_LISTED))
        stored, groups = self._named.session_rows(), {first: dict[int, Session]() for first in best}
        for row, first in rows.items():
            if first in groups:
                groups[first][row] = stored[row]
        told = [(thread_of(group), best[first]) for first, group in groups.items()]
        return tuple((thread, mentions) for thread, mentions in told if thread is not None), len(counts)

    def _namesakes(self, number: int, same: list[int], counts: Array) -> tuple[tuple[str, str], ...]:
        others = sorted((each for each in same if each != number), key=lambda each: -int(counts[each]))
        return tuple((self._type(each), self._mentions.name(each)) for each in others[:NAMESAKES_LISTED])

    @lazy
    def _counts(self) -> Array:
        if self._things is self._mentions.things:
            return self._mentions.counts
        return np.bincount(self._things, minlength=len(self._mentions.keys))

    def _places(self, numbers: Sequence[int]) -> dict[int, Array]:
        """Where some things are mentioned, found for all of them at once."""
        wanted = np.zeros(len(self._mentions.keys), bool)
        wanted[list(numbers)] = True
        found = np.flatnonzero(wanted[self._things])
        found = found[np.argsort(self._things[found], kind="stable")]
        starts, stops = (np.searchsorted(self._things[found], numbers, side) for side in ("left", "right"))
        spans = zip(numbers, starts.tolist(), stops.tolist(), strict=True)
        return {number: found[start:stop] for number, start, stop in spans}

    def _entity(self, number: int, mine: Array) -> Entity:
        days, type_ = self._days[mine], self._type(number)
        mentions, days = len(days), days[days > 0]
        first, last = (int(days.min()), int(days.max())) if len(days) else (0, 0)
        projects = self._projects(self._entries[mine]) if type_ in ("file", "folder") else {}
        named = tuple(name for name in projects if name)
        return Entity(type_, self._mentions.name(number), mentions, first, last, named)

    def _projects(self, rows: Array) -> dict[str, int]:
        """The projects that entries are of, with how many, the most first."""
        owners, counts = np.unique(
            self._view.columns_at(rows.tolist(), "session")["session"], return_counts=True
        )
        found: Counter[str] = Counter()
        for owner, count in zip(owners.tolist(), counts.tolist(), strict=True):
            found[self._project_names[owner]] += count
        return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))

    @lazy
    def _project_names(self) -> dict[int, str]:
        return self._named.project_names()

    def _type(self, number: int) -> str:
        return TYPES[int(self._mentions.types[number])]

    def _evolution(
        self, number: int, rows: Array, days: Array
    ) -> tuple[tuple[Neighbour, ...], tuple[Neighbour, ...], Meaning | None]:
        """What it stood beside in the first and in the last third of its mentions, as far as that differs.

        And what was meant in the two, where somebody knows vectors.
        """
        known = np.argsort(days, kind="stable")[(days == 0).sum() :]
        third = len(known) // 3
        if third < EVOLUTION_LEAST or int(days[known[-third]]) - int(days[known[third - 1]]) < EVOLUTION_DAYS:
            return (), (), None
        thirds = (known[:third], known[-third:])
        least = max(SHARED_LEAST, third // EVOLUTION_SHARE)
        sides = [self._neighbours(number, rows[part], 2 * EVOLUTION_LISTED, least) for part in thirds]
        names = [{(each.type, each.name) for each in side} for side in sides]
        then, now = (
            tuple(each for each in side if (each.type, each.name) not in other)[:EVOLUTION_LISTED]
            for side, other in zip(sides, reversed(names), strict=True)
        )
        if self._vectors_of is None:
            return then, now, None
        first, last = (rows[part] for part in thirds)
        return then, now, meaning(self._view, self._mentions.name(number), first, last, self._vectors_of)

    def _neighbours(
        self, number: int, rows: Array, count: int, least: int = SHARED_LEAST
    ) -> tuple[Neighbour, ...]:
        """What the same entries mention: the more of the mentions of both are shared, the closer."""
        inside = np.zeros(self._view.info().rows_end, bool)
        inside[rows] = True
        total = len(self._mentions.keys)
        shared = np.bincount(self._things[inside[self._entries]], minlength=total)
        shared[number] = 0
        close = np.flatnonzero(shared >= least)
        order = np.argsort(-shared[close] / np.sqrt(self._counts[close]), kind="stable")
        best = close[order[:count]].tolist()
        return tuple(
            Neighbour(self._type(each), self._mentions.name(each), int(shared[each])) for each in best
        )

    def _in_project(self, part: str) -> Array:
        wanted = self._named.rows_called(lambda called: called.is_of_project(part))
        is_first = np.append(True, self._entries[1:] != self._entries[:-1])[: len(self._entries)]
        owners = self._view.columns_at(self._entries[is_first].tolist(), "session")["session"]
        found: Array = np.isin(owners, wanted)[np.cumsum(is_first) - 1]
        return found

    # -- momentum --------------------------------------------------------------------------------

    def _moves(self, window: Window, states: tuple[str, ...]) -> list[_Moving]:
        found = moves(self._things, self._days, len(self._mentions.keys), window)
        wanted = np.flatnonzero(np.isin(found.state, [STATES.index(state) for state in states]))
        columns = (found.state, found.now, found.usual, found.score)
        told = zip(wanted.tolist(), *(column[wanted].tolist() for column in columns), strict=True)
        return [_Moving(number, STATES[state], *rest) for number, state, *rest in told]

    def _unusual(self, window: Window) -> list[_Moving]:
        found = unusual(self._things, self._days, len(self._mentions.keys), window)
        columns = (found.thing, found.count, found.median, found.score, found.day)
        told = zip(*(column.tolist() for column in columns), strict=True)
        return [_Moving(number, "unusual", *rest) for number, *rest in told]

    def _steps(self, mine: Array, window: Window) -> tuple[int, ...]:
        """The mentions of a thing from the days before up to the window's end, a few steps a window."""
        days = self._days[mine].astype(np.int64)
        steps = (WINDOWS_BEFORE + 1) * BARS_A_WINDOW
        back = (window.last - days) * BARS_A_WINDOW // window.days
        back = back[(days > 0) & (back >= 0) & (back < steps)]
        return tuple(np.bincount(steps - 1 - back, minlength=steps).tolist())

    # -- names -----------------------------------------------------------------------------------

    def _hint(self, name: str) -> str:
        close = self._mentions.containing(name)
        if close:
            return f"recollect entity {quote(close)}"
        return "recollect index" if self._mentions.unread else "recollect entities"

"""Asking the tables of mentions: which things there are, and what is known of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from shlex import quote

import numpy as np

from recollect.insight.entities.mention import TYPES
from recollect.insight.entities.table import MENTIONS, NAMES, TABLES, THINGS, key_of
from recollect.store.contract import Array, View
from recollect.store.derived import unbuilt
from recollect.values.entities import Entity, EntityList, EntityProfile, Neighbour
from recollect.values.errors import NotFound

SESSIONS_LISTED = ENTRIES_LISTED = 8
NEIGHBOURS_LISTED = 12
SHARED_LEAST = 2  # of entries: once is chance


class Entities:
    """The things that a view's entries mention; what was replaced since does not count."""

    def __init__(self, view: View) -> None:
        self._view = view
        things, mentions = view.derived(THINGS), view.derived(MENTIONS)
        self._keys, self._types = np.asarray(things["key"]), np.asarray(things["type"])
        shown = ~np.isin(np.asarray(mentions["entry"]), view.replaced())
        self._entries = np.asarray(mentions["entry"])[shown]
        self._things = np.asarray(mentions["entity"])[shown]
        self._days = np.asarray(mentions["day"])[shown]

    def listed(self, *, type_: str = "", project: str = "", limit: int = 0) -> EntityList:
        """The most mentioned things, of a type and in projects whose name has a part if asked."""
        things = self._things[self._in_project(project)] if project else self._things
        counts = np.bincount(things, minlength=len(self._keys))
        if type_:
            counts[self._types != TYPES.index(type_)] = 0
        order = np.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
        numbers = order[: limit or None].tolist()
        found = tuple(self._entity(number, int(counts[number])) for number in numbers)
        return EntityList(found, len(order), unbuilt(self._view, TABLES))

    def profile(self, name: str, type_: str = "") -> EntityProfile:
        """What is known of a thing; of several of that name the most mentioned. NotFound for none."""
        same = self._named(name, type_)
        number = max(same, key=lambda each: (int((self._things == each).sum()), -each))
        mine = self._things == number
        rows = np.unique(self._entries[mine])
        columns = self._view.columns_at(rows.tolist(), "session")
        sessions = Counter(columns["session"].tolist())
        stored = self._view.session_rows()
        projects: Counter[str] = Counter()
        for row, count in sessions.items():
            projects[stored[row].facts.project] += count
        latest = sorted(sessions, key=lambda row: (stored[row].facts.ended_ms, row), reverse=True)
        days, counts = np.unique(self._days[mine], return_counts=True)
        return EntityProfile(
            self._entity(number, int(mine.sum())),
            tuple(zip(days.tolist(), counts.tolist(), strict=True)),
            tuple(sorted(projects.items(), key=lambda each: (-each[1], each[0]))),
            tuple((stored[row], sessions[row]) for row in latest[:SESSIONS_LISTED]),
            len(sessions),
            self._neighbours(number, rows),
            tuple(self._view.entry_ids(rows[::-1][:ENTRIES_LISTED].tolist())),
            tuple(TYPES[int(self._types[each])] for each in same if each != number),
            unbuilt(self._view, TABLES),
        )

    def entries_of(self, name: str, type_: str = "") -> list[int]:
        """The rows of all entries that mention something of this name."""
        rows: Array = np.unique(self._entries[np.isin(self._things, self._named(name, type_))])
        return [int(row) for row in rows]

    def _entity(self, number: int, mentions: int) -> Entity:
        days = self._days[self._things == number]
        days = days[days > 0]
        (name,) = self._view.derived(NAMES, number, number + 1)["name"]
        first, last = (int(days.min()), int(days.max())) if len(days) else (0, 0)
        return Entity(TYPES[int(self._types[number])], str(name), mentions, first, last)

    def _neighbours(self, number: int, rows: Array) -> tuple[Neighbour, ...]:
        """What the same entries mention: the more of the mentions of both are shared, the closer."""
        shared = np.bincount(self._things[np.isin(self._entries, rows)], minlength=len(self._keys))
        shared[number] = 0
        close = np.flatnonzero(shared >= SHARED_LEAST)
        totals = np.bincount(self._things, minlength=len(self._keys))[close]
        order = np.argsort(-shared[close] / np.sqrt(totals), kind="stable")[:NEIGHBOURS_LISTED]
        found = (self._entity(each, 0) for each in close[order].tolist())
        counts = shared[close[order]].tolist()
        return tuple(
            Neighbour(each.type, each.name, count) for each, count in zip(found, counts, strict=True)
        )

    def _in_project(self, part: str) -> Array:
        stored = self._view.session_rows()
        wanted = [row for row, each in stored.items() if part.lower() in each.facts.project.lower()]
        rows, places = np.unique(self._entries, return_inverse=True)
        session = self._view.columns_at(rows.tolist(), "session")["session"]
        found: Array = np.isin(session, wanted)[places]
        return found

    # -- names -----------------------------------------------------------------------------------

    def _named(self, name: str, type_: str) -> list[int]:
        """The numbers of all things that a name may mean: exactly, else by case or by the end of a path."""
        types = (type_,) if type_ else TYPES
        exact = np.array([key_of(each, name) for each in types], np.uint64)
        found = np.flatnonzero(np.isin(self._keys, exact)).tolist()
        if found := found or self._like(name, types):
            return [int(each) for each in found]
        raise NotFound(f"nothing called {name!r} is mentioned", hint=self._hint(name))

    def _like(self, name: str, types: Iterable[str]) -> list[int]:
        wanted = name.casefold()
        places = {TYPES.index(each) for each in types}
        names = [str(each).casefold() for each in self._view.derived(NAMES)["name"]]
        allowed = [(number, each) for number, each in enumerate(names) if int(self._types[number]) in places]
        same = [number for number, each in allowed if each == wanted]
        return same or [number for number, each in allowed if each.endswith("/" + wanted)]

    def _hint(self, name: str) -> str:
        wanted = name.casefold()
        names = (str(each) for each in self._view.derived(NAMES)["name"])
        close = sorted((each for each in names if wanted in each.casefold()), key=len)
        if close:
            return f"recollect entity {quote(close[0])}"
        return "recollect index" if unbuilt(self._view, TABLES) else "recollect entities"

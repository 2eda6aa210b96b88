"""One repository, one project: a view whose sessions are of the projects that people know.

Nothing of it is written into sessions: names are put on as they are read, and everything above sees no
others. What projects are called follows from all sessions (`recollect.search.project_names`), so it is kept
beside the indexes for as long as the store stays as it is; without that it is worked out again.

Much else follows from all sessions, or from a whole table. Whoever needs it has it `worked_out`, once for as
long as this process sees the same state of the store (`NamedViews`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from recollect.light.sources import is_conversation
from recollect.search.copies import knowing_copies
from recollect.search.state_file import StateFile
from recollect.values.ids import name_key
from recollect.values.lazy import lazy
from recollect.values.stored import Called, Clue

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.search.project_names import ProjectNames
    from recollect.store.contract import SessionClues, SessionRows, UsageColumns, View
    from recollect.values.projects import Decision, Project
    from recollect.values.stored import Session

Made = TypeVar("Made")

FORMAT = 3  # of what is kept, and of the rules by which projects are told apart


class NamedView:
    """A view whose sessions are named by their projects. Everything else is the view's own."""

    def __init__(
        self, view: View, cache: Path | None = None, before: Mapping[Callable[..., Any], Any] | None = None
    ) -> None:
        """`cache`: where the indexes of stores are, for a view that is as its store's generation is.

        `before`: what was worked on in the state before.
        """
        self.base = view
        self._view, self.cache = knowing_copies(view), cache
        self._made: dict[Callable[[View], Any], Any] = {}
        self._before = dict(before or {})
        self._worked_on: dict[Callable[..., Any], Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)

    @lazy
    def names(self) -> ProjectNames:
        from recollect.search.project_names import ProjectNames

        return ProjectNames(self._clues, self._decisions())

    def projects(self) -> list[Project]:
        """All of them, the most recently active first; what a fork shares with others counts there alone."""
        from recollect.search.project_names import counted

        return self.names.projects(counted(self._view))

    def sessions(self) -> list[Session]:
        return list(self.every.values())

    def find_session(self, prefix: str) -> Session:
        return self._named(self._view.find_session(prefix))

    def session_rows(self) -> SessionRows:
        return _NamedRows(self, self._view.session_rows())

    def usage(self) -> UsageColumns:
        return replace(self._view.usage(), sessions=self.session_rows())

    @lazy
    def every(self) -> dict[int, Session]:
        """All sessions by row."""
        return {row: self._named(session) for row, session in self._view.session_rows().items()}

    def session_at(self, row: int) -> Session:
        """One session, without reading the others."""
        return self.every[row] if "every" in self.__dict__ else self._named(self._view.session_rows()[row])

    def worked_out(self, make: Callable[[View], Made]) -> Made:
        """What `make` makes of this view, made when it is first asked for."""
        if make not in self._made:
            self._made[make] = make(cast("View", self))
        made: Made = self._made[make]
        return made

    def worked_on(self, make: Callable[[View, Made | None], Made]) -> Made:
        """The same for what goes on from what `make` made in an earlier state, where there was any."""
        if make not in self._worked_on:
            self._worked_on[make] = make(cast("View", self), self._before.pop(make, None))
        made: Made = self._worked_on[make]
        return made

    @property
    def going_on(self) -> dict[Callable[..., Any], Any]:
        """What the next state goes on from."""
        return self._before | self._worked_on

    def rows_called(self, is_wanted: Callable[[Called], bool]) -> list[int]:
        """The rows of the sessions whose project is called so, in order, from columns alone."""
        told = self._clues
        chosen = [n for n, clue in enumerate(told.clues) if is_wanted(self._called(clue))]
        rows: list[int] = told.rows[np.isin(told.at, chosen)].tolist()
        return rows

    def project_names(self) -> dict[int, str]:
        """What the project of each session is called, by the session's row, from columns alone."""
        told = self._clues
        names = [self._called(clue).name for clue in told.clues]
        return {row: names[at] for row, at in zip(told.rows.tolist(), told.at.tolist(), strict=True)}

    def _named(self, session: Session) -> Session:
        called = self._called(session.clue)
        if called == (session.facts.project, (), ()):
            return session
        facts = replace(session.facts, project=called.name)
        return replace(session, facts=facts, aliases=called.aliases, labels=called.labels)

    def _decisions(self) -> list[Decision]:
        if all(is_conversation(clue.agent) for clue in self._clues.clues):
            return []
        from recollect.intake.notes import decisions

        return decisions(self._view, self._clues)

    @lazy
    def _clues(self) -> SessionClues:
        return self._view.session_clues()

    def _called(self, clue: Clue) -> Called:
        """What the project of the sessions that say this is called."""
        called = self._known.get(clue)
        if called is None:
            called = self._known[clue] = self._kept.get(clue) or self.names.called(clue)
        return called

    @lazy
    def _known(self) -> dict[Clue, Called]:
        return {}

    @lazy
    def _kept(self) -> _Kept:
        if self.cache is None:
            return _Kept({})
        file = StateFile(self._view, self.cache, "projects", FORMAT)
        told = file.read()
        if not told:
            file.write(told := _told({clue: self.names.called(clue) for clue in self._clues.clues}))
        return _Kept(told)


def named(view: View, cache: Path | None = None) -> View:
    """The same view, its sessions named as people know their projects."""
    return view if isinstance(view, NamedView) else cast("View", NamedView(view, cache))


def by_name(view: View) -> NamedView:
    """The same view, to be asked about projects."""
    return cast("NamedView", named(view))


def worked_out(view: View, make: Callable[[View], Made]) -> Made:
    """What `make` makes of a view, once for each state of the store that stays for a while."""
    return by_name(view).worked_out(make)


class NamedViews:
    """The views of one store, named; the last one is kept, with all that was worked out of it.

    A store has another view once its state is another one, so what is kept is never behind.
    """

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._last: NamedView | None = None

    def of(self, view: View) -> NamedView:
        last = self._last
        if last is None or last.base is not view:
            before = last.going_on if last is not None else None
            last = self._last = NamedView(view, self._cache, before)
        return last


class _NamedRows:
    """Sessions by row, named when they are asked for."""

    def __init__(self, view: NamedView, rows: SessionRows) -> None:
        self._view, self._rows = view, rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, row: int, /) -> Session:
        return self._view.session_at(row)

    def items(self) -> Iterator[tuple[int, Session]]:
        return iter(self._view.every.items())


class _Kept:
    """What projects are called, as it was kept."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self._called, self._places = told.get("called", []), told.get("clues", {})

    def get(self, clue: Clue) -> Called | None:
        with contextlib.suppress(LookupError, TypeError, ValueError):
            name, aliases, labels = self._called[self._places[_key(clue)]]
            return Called(name, tuple(aliases), tuple(labels))
        return None


def _told(called: Mapping[Clue, Called]) -> dict[str, Any]:
    places = {each: n for n, each in enumerate(dict.fromkeys(called.values()))}
    return {"called": list(places), "clues": {_key(clue): places[each] for clue, each in called.items()}}


def _key(clue: Clue) -> str:
    return f"{name_key(*map(str, clue)):x}"

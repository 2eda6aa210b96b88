"""One repository, one project: a view whose sessions are of the projects that people know.

Nothing of it is written into sessions: names are put on as they are read, and everything above sees no
others. What projects are called follows from all sessions (`recollect.search.project_names`), so it is kept
beside the indexes for as long as the store stays as it is; without that it is worked out again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from recollect.light.sources import is_conversation
from recollect.search.copies import ChangedRows, knowing_copies
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

FORMAT = 2  # of what is kept, and of the rules by which projects are told apart


class NamedView:
    """A view whose sessions are named by their projects. Everything else is the view's own."""

    def __init__(self, view: View, cache: Path | None = None) -> None:
        """`cache`: where the indexes of stores are, for a view that is as its store's generation is."""
        self._view, self.cache = knowing_copies(view), cache

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
        return list(map(self._named, self._view.sessions()))

    def find_session(self, prefix: str) -> Session:
        return self._named(self._view.find_session(prefix))

    def session_rows(self) -> SessionRows:
        return ChangedRows(self._view.session_rows(), self._named)

    def usage(self) -> UsageColumns:
        columns = self._view.usage()
        return replace(columns, sessions=ChangedRows(columns.sessions, self._named))

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

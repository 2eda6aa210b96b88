"""What there is to know of all that was said and done: the verbs that ask what is derived from it.

What a verb needs is imported by it: an agent asks one question per process.
"""

from __future__ import annotations

import datetime
import os
from typing import TYPE_CHECKING

from recollect.config import Config
from recollect.values.errors import NotFound, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager

    from recollect.search.indexes import Indexes
    from recollect.store.contract import View
    from recollect.values.days import Activity, DangerMet, Period
    from recollect.values.digests import Digest, DigestsFound, Heading
    from recollect.values.entities import EntityList, EntityProfile, Momentum
    from recollect.values.history import (
        Command,
        CommitBlame,
        Fix,
        Thread,
        ThreadStory,
        ThreadTree,
        Touch,
        Why,
    )
    from recollect.values.lessons import Lesson
    from recollect.values.stored import Session

DAYS_MAX = 3_660  # of a window that is compared with what came before


class Known:
    """The part of a `Memory` that tells what happened, and changes nothing."""

    config: Config

    if TYPE_CHECKING:

        def view(self) -> AbstractContextManager[View]: ...
        @property
        def indexes(self) -> Indexes: ...
        def _fold_if_free(self) -> int: ...

    def threads(self, project: str = "", *, label: str = "") -> list[Thread]:
        """Conversations with everything that continued them, the latest first."""
        from recollect.insight.threads import listed
        from recollect.search.joining import joined_sessions
        from recollect.search.projects import by_name

        with self.view() as view:
            known = by_name(view)
            found = listed(known.every, known.worked_out(joined_sessions), project, label)
            return [thread for thread, _ in found]

    def thread_trees(self, project: str = "", *, label: str = "", limit: int = 0) -> list[ThreadTree]:
        """Threads with all their sessions and what ties them, the latest first; all with a limit of 0."""
        from recollect.insight.thread_story import Threads
        from recollect.search.projects import worked_out

        with self.view() as view:
            return worked_out(view, Threads).trees(project, label, limit)

    def thread(self, prefix: str) -> ThreadStory:
        """The piece of work that a session is part of, over all its sessions."""
        from recollect.insight.thread_story import Threads
        from recollect.search.projects import worked_out

        with self.view() as view:
            return worked_out(view, Threads).story(prefix, self.config.prices)

    def entities(self, type_: str = "", *, project: str = "", limit: int = 0) -> EntityList:
        """The things that conversations speak of, the most mentioned first; `index` looks for them.

        Of one type, or in projects whose name has a part, if asked; all of them with a limit of 0.
        """
        from recollect.insight.entities.profile import Entities
        from recollect.search.mentions import TYPES

        if type_ and type_ not in TYPES:
            raise UsageError(f"there are no things of type {type_!r}", hint=f"types: {', '.join(TYPES)}")
        with self.view() as view:
            return Entities(view, project).listed(type_=type_, limit=limit)

    def momentum(
        self,
        kind: str = "trending",
        *,
        type_: str = "",
        project: str = "",
        days: int = 7,
        until: datetime.date | None = None,
        limit: int = 0,
    ) -> Momentum:
        """The things that are trending, fading or unusual lately, those that stand out most first.

        Lately: in the last `days`, of which the last is the newest one on which anything is mentioned, up to
        `until` or today. Compared with their share of four times as many days before; a day that is unusual,
        with all days before on which the thing was mentioned.
        """
        from recollect.insight.entities.profile import KINDS_OF_MOVES, Entities

        if kind not in KINDS_OF_MOVES:
            raise UsageError(f"nothing is {kind!r}", hint=f"one of {', '.join(KINDS_OF_MOVES)}")
        if not 0 < days <= DAYS_MAX:
            raise UsageError(f"a window is of 1 to {DAYS_MAX:,} days")
        day = until or datetime.datetime.now(datetime.UTC).date()
        end = (day - datetime.date(1970, 1, 1)).days
        with self.view() as view:
            return Entities(view, project).momentum(kind, type_=type_, days=days, until=end, limit=limit)

    def entity(self, name: str, type_: str = "", *, project: str = "") -> EntityProfile:
        """What is known of a thing that conversations speak of; of several of that name the most mentioned.

        The end of a path is enough, and case does not matter; `project` counts only what is said in projects
        whose name has this part. NotFound for what nothing mentions.
        """
        from recollect.insight.entities.profile import Entities

        if not name.strip():
            raise UsageError("a thing has a name", hint="`recollect entities` lists them")
        with self.view() as view:
            return Entities(view, project, lambda rows: self.indexes.vectors_of(rows)).profile(name, type_)

    def _project_here(self, view: View, folder: str = "") -> str:
        from recollect.light.project import is_in_git, project_of
        from recollect.search.projects import by_name

        folder = folder or os.getcwd()
        names, in_git = by_name(view).names, is_in_git(folder)
        return names.name_at(project_of(folder), folder, self.config.host, in_git=in_git)

    def blame(self, path: str, limit: int = 20, *, words: str = "") -> list[Touch]:
        """Every session that read or changed a file, the most recent first, with what was asked of it.

        With `words`, those that brought these words into it, each with the change that did.
        """
        from recollect.insight.blame import blame

        self._fold_if_free()
        with self.indexes.asking(meaning=False) as search:
            return blame(search, path, limit, words)

    def blame_commit(self, commit: str, *, folder: str = "") -> CommitBlame:
        """The sessions that made a commit, told by the repository of `folder`, by default the current one."""
        from recollect.insight.blame_commit import blame_commit
        from recollect.insight.repository import Repository

        with self.view() as view:
            return blame_commit(view, commit, Repository(folder or os.getcwd(), os.environ))

    def why(self, path: str | os.PathLike[str], number: int) -> Why:
        """Why the line of this number is in a file of this machine: what brought it, and who asked for it."""
        from recollect.insight.repository import Repository
        from recollect.insight.why import why
        from recollect.memory.machine import line_at

        folder = os.path.dirname(os.path.abspath(path))
        with self.view() as view:
            line = line_at(path, number, self._project_here(view, folder))
        self._fold_if_free()
        with self.indexes.asking(meaning=False) as search:
            return why(search, line, Repository(folder, os.environ))

    def how(self, query: str, limit: int = 10) -> list[Command]:
        """Commands that were run for something, and whether they worked."""
        from recollect.insight.how import how

        self._fold_if_free()
        with self.indexes.asking(meaning=True) as search:
            return how(search, query, limit)

    def fix(self, error: str, limit: int = 5) -> list[Fix]:
        """Where an error appeared, and what ended it."""
        from recollect.insight.fix import fix

        self._fold_if_free()
        with self.indexes.asking(meaning=False) as search:
            return fix(search, error, limit)

    def digest(self, prefix: str) -> tuple[Session, Digest]:
        """What happened in a session, each statement with the id of its entry."""
        from recollect.insight.digest.kept import Digests
        from recollect.search.projects import worked_out

        with self.view() as view:
            session = find_session(view, prefix)
            return session, worked_out(view, Digests).of(session)

    def digests(self, sessions: Iterable[Session] | None = None) -> list[tuple[Session, Digest]]:
        """What happened in these sessions, or in all: as it is kept, made now for what went on since."""
        from recollect.insight.digest.kept import Digests
        from recollect.search.projects import worked_out

        with self.view() as view:
            known = worked_out(view, Digests)
            return [(each, known.of(each)) for each in (view.sessions() if sessions is None else sessions)]

    def today(self, day: datetime.date | None = None, *, project: str = "") -> Period:
        """What was done on a day of the person's time zone, by default today, project by project."""
        return self._period(day or datetime.date.today(), 1, project)

    def week(self, day: datetime.date | None = None, *, project: str = "") -> Period:
        """What was done in the seven days that end on a day, by default today, project by project."""
        return self._period(day or datetime.date.today(), 7, project)

    def activity(self, *, project: str = "", days: int = 7) -> Activity:
        """The last year day by day, in the person's time zone, and its last `days` with work; 0 for all."""
        from recollect.insight.activity import activity

        with self.view() as view:
            return activity(view, datetime.date.today(), project, days)

    def dangers(self, limit: int = 20, *, project: str = "") -> list[DangerMet]:
        """Dangerous operations and what came of them, the latest first; all of them with a limit of 0."""
        from recollect.insight.activity import dangers

        with self.view() as view:
            return dangers(view, project, limit)

    def lessons(self, limit: int = 15, *, project: str = "", least: int = 3) -> list[Lesson]:
        """What keeps going wrong in at least so many conversations, and a line to write down; 0 for all."""
        from recollect.insight.lessons import lessons

        self._fold_if_free()
        with self.indexes.asking(meaning=False) as search:
            return lessons(search, project, least, limit, self.config.prices)

    def _period(self, last: datetime.date, days: int, project: str) -> Period:
        from recollect.insight.period import period

        first = last - datetime.timedelta(days=days - 1)
        with self.view() as view:
            return period(view, first, last, project, self.config.prices)

    def search_digests(
        self, query: str = "", *, limit: int = 20, now: datetime.datetime | None = None
    ) -> DigestsFound:
        """Conversations whose digest has a query's words, best first; without words the newest.

        Of the query language it takes words, phrases, times and what filters sessions.
        """
        from dataclasses import replace

        from recollect.insight.digest.kept import Digests
        from recollect.insight.digest.lookup import lookup
        from recollect.search.projects import worked_out
        from recollect.search.query import read
        from recollect.search.session_filters import Sessions

        meant = read(query, now or datetime.datetime.now())
        with self.view() as view:
            found = lookup(worked_out(view, Sessions), worked_out(view, Digests), meant.node, limit)
        return replace(found, notes=meant.notes)

    def headings(self, sessions: Iterable[Session]) -> dict[str, Heading]:
        """What sessions were about and how they ended, by id, where a digest is kept of all that was said."""
        from recollect.search.digest_rows import DigestRows
        from recollect.search.projects import worked_out

        with self.view() as view:
            known = worked_out(view, DigestRows)
            told = ((each.facts.id, known.heading(each)) for each in sessions)
            return {id_: heading for id_, heading in told if heading is not None}


def find_session(view: View, prefix: str) -> Session:
    """The session whose id starts so; of a slip it is said what was probably meant."""
    try:
        return view.find_session(prefix)
    except NotFound as error:
        from recollect.values.close import did_you_mean, near_ids

        ids = [session.facts.id for session in view.sessions()]
        asked = (
            did_you_mean(near_ids(prefix, ids)) if not any(each.startswith(prefix) for each in ids) else ""
        )
        if not asked:
            raise
        raise NotFound(str(error), hint=f"{asked} {error.hint}") from error

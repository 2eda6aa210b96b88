"""What a project's last conversations were: the part of a store that the catalog is made from.

Reads the last sessions only, and of those less the older they are: its price follows what was said
lately and not how much there is. Left out is whatever nobody said here: subagents, copies, what a
harness or Recollect itself put in, and what was imported: such a log can claim to be of any project.
Results of tools are looked at for whether they failed, and never read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recollect.insight.threads import threads
from recollect.insight.turns import Course, Turns
from recollect.light.sources import MEMORY, is_conversation
from recollect.search.ties import kept_ties
from recollect.store.contract import View
from recollect.values.history import Thread
from recollect.values.records import UNSAID, Flag, Kind, Relation
from recollect.values.stored import Session, StoredEntry
from recollect.values.text import moment

SESSIONS_ASKED = 60  # whose prompts are read
SESSIONS_READ = 20  # whose answers are read too
SESSIONS_WORKED = 10  # whose calls are read too
PROMPTS_READ, ANSWERS_READ, CALLS_READ = 30, 12, 100  # of such a session, the last

UNANSWERED, FAILED, STOPPED = "unanswered", "failed", "stopped"  # how a conversation can end badly


@dataclass(frozen=True, slots=True)
class Talk:
    """A thread, and what was read of its conversations, oldest first.

    `last` is the last thing said, in the newest of them; `ended` says how, where that was not with an
    answer. `all_calls`: none of that one's calls is missing.
    """

    thread: Thread
    prompts: tuple[StoredEntry, ...]
    answers: tuple[StoredEntry, ...]
    calls: tuple[StoredEntry, ...]
    last: StoredEntry
    ended: str
    all_calls: bool


@dataclass(frozen=True, slots=True)
class ProjectPast:
    """A project in numbers, its last threads, newest first, and the titles of all other sessions."""

    project: str
    sessions: tuple[Session, ...]
    subagents: int
    talks: tuple[Talk, ...]
    titles_elsewhere: tuple[str, ...]

    @property
    def agents(self) -> list[str]:
        return sorted({session.facts.agent for session in self.sessions})

    @property
    def entries(self) -> int:
        return sum(session.entries for session in self.sessions)

    @property
    def days(self) -> list[str]:
        """Every day on which a session began or ended, in order."""
        times = {t for each in self.sessions for t in (each.facts.started_ms, each.facts.ended_ms)}
        return sorted({day for t in times if (day := moment(t, "%Y-%m-%d"))})


def project_past(view: View, project: str, *, imported: bool = False) -> ProjectPast:
    """The recent past of the project of exactly this name; one that nobody knows has no sessions.

    `imported`: what imported logs say counts too.
    """
    talks = [
        each
        for row, each in view.session_rows().items()
        if is_conversation(each.facts.agent)
        and (imported or not each.imported)
        and not (each.facts.project == project and _is_notes(view, row, each))
    ]
    own = [each for each in talks if project and each.facts.project == project]
    own = [each for each in own if not each.copied]
    main = tuple(each for each in own if each.facts.relation != Relation.SUBAGENT)
    found = [
        t
        for t in threads(talks, project, ties=kept_ties(view))
        if any(s.facts.project == project for s in t.sessions)
    ]
    return ProjectPast(
        project,
        main,
        len(own) - len(main),
        tuple(_talks(view, found, imported=imported)) if own else (),
        tuple(each.facts.headline for each in talks if each.facts.project != project),
    )


def _is_notes(view: View, row: int, session: Session) -> bool:
    """Whether a session is notes and nothing else: nobody spoke in it."""
    if session.facts.agent != MEMORY:
        return False
    return not np.isin(view.session_columns(row, "kind")["kind"], (Kind.PROMPT, Kind.ANSWER)).any()


# -- reading ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Part:
    """Where what was said in one session is, and how the session ended."""

    prompts: list[int]
    answers: list[int]  # those that end a turn
    calls: list[int]
    last: list[int]
    ended: str
    all_calls: bool

    @property
    def rows(self) -> list[int]:
        return [*self.prompts, *self.answers, *self.calls, *self.last]


def _talks(view: View, found: Sequence[Thread], *, imported: bool) -> list[Talk]:
    rows = {_key(session): row for row, session in view.session_rows().items()}
    chosen: list[tuple[Thread, list[int]]] = []
    left = SESSIONS_ASKED
    for thread in found:
        active = sorted(thread.sessions, key=lambda each: (each.facts.ended_ms, each.facts.id))
        own = [rows[_key(session)] for session in active[-left:]] if left > 0 else []
        left -= len(own)
        chosen += [(thread, own)] if own else []
    parts = _parts(view, [row for _, own in chosen for row in reversed(own)], imported=imported)
    wanted = [row for part in parts.values() for row in part.rows]
    stored = dict(zip(wanted, view.entries_at(wanted), strict=True))
    talks = [_talk(thread, [parts[row] for row in own if row in parts], stored) for thread, own in chosen]
    return [talk for talk in talks if talk is not None]


def _key(session: Session) -> tuple[str, str, str]:
    return session.facts.agent, session.host, session.facts.id


def _talk(thread: Thread, parts: Sequence[_Part], stored: dict[int, StoredEntry]) -> Talk | None:
    """None for a thread in which nobody said anything."""
    spoken = [part for part in parts if part.last]
    if not spoken or not (thread.title or any(part.prompts for part in spoken)):
        return None
    newest = spoken[-1]
    return Talk(
        thread,
        tuple(stored[row] for part in spoken for row in part.prompts),
        tuple(stored[row] for part in spoken for row in part.answers),
        tuple(stored[row] for part in parts for row in part.calls),
        stored[newest.last[0]],
        newest.ended,
        newest.all_calls,
    )


def _parts(view: View, sessions: Sequence[int], *, imported: bool) -> dict[int, _Part]:
    """What to read of each of these sessions, the newest first."""
    turns = Turns(view, hidden=UNSAID | Flag.SIDECHAIN, silent=(), imported=imported)
    return {row: _part(turns[row], place) for place, row in enumerate(sessions)}


def _part(course: Course, place: int) -> _Part:
    """`place`: how many sessions are newer; of old ones less is read."""
    calls, last = course.all(Kind.CALL), course.all(Kind.PROMPT, Kind.ANSWER)[-1:]
    return _Part(
        course.prompts()[-PROMPTS_READ:],
        course.closing_answers()[-ANSWERS_READ:] if place < SESSIONS_READ else [],
        calls[-CALLS_READ:] if place < SESSIONS_WORKED else [],
        last,
        _ending(course, last[0]) if last else "",
        place < SESSIONS_WORKED and len(calls) <= CALLS_READ,
    )


def _ending(course: Course, last: int) -> str:
    """How a session ended, from the last thing said in it on; "" where that is an answer."""
    after = course.rows_after(last)
    if any(course.has_failed(row) for row in (last, *after[-2:])):
        return FAILED
    if course.only(after, Kind.CALL):
        return STOPPED
    return UNANSWERED if course.only([last], Kind.PROMPT) else ""

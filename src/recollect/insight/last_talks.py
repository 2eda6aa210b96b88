"""What a project's last conversations were: the part of a store that the catalog is made from.

Reads columns of all entries, but the texts of the last sessions only, and of those less the older they
are: its price follows what was said lately and not how much there is. Left out is whatever nobody said
here: subagents, copies, what a harness or Recollect itself put in. The surprise: results of tools are
looked at for whether they failed, and never read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recollect.agents.saved import is_conversation
from recollect.insight.threads import threads
from recollect.store.contract import Array, View
from recollect.values.history import Thread
from recollect.values.records import Flag, Kind, Relation
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
class Recent:
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


def recent(view: View, project: str) -> Recent:
    """The recent past of the project of exactly this name; one that nobody knows has no sessions."""
    everything = view.sessions()
    talks = [each for each in everything if is_conversation(each.facts.agent)]
    own = [each for each in talks if project and each.facts.project == project]
    main = tuple(each for each in own if each.facts.relation != Relation.SUBAGENT)
    found = [t for t in threads(talks, project) if any(s.facts.project == project for s in t.sessions)]
    return Recent(
        project,
        main,
        len(own) - len(main),
        tuple(_talks(view, everything, found)) if own else (),
        tuple(each.facts.title for each in talks if each.facts.project != project),
    )


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


def _talks(view: View, everything: Sequence[Session], found: Sequence[Thread]) -> list[Talk]:
    rows = {_key(session): row for row, session in enumerate(everything)}
    chosen: list[tuple[Thread, list[int]]] = []
    left = SESSIONS_ASKED
    for thread in found:
        active = sorted(thread.sessions, key=lambda each: (each.facts.ended_ms, each.facts.id))
        own = [rows[_key(session)] for session in active[-left:]] if left > 0 else []
        left -= len(own)
        chosen += [(thread, own)] if own else []
    parts = _parts(view, [row for _, own in chosen for row in reversed(own)])
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


def _parts(view: View, sessions: Sequence[int]) -> dict[int, _Part]:
    """What to read of each of these sessions, the newest first; those without entries are left out."""
    columns = view.entry_columns("session", "kind", "flags")
    fitting = np.isin(columns["session"], np.array(sessions, np.int64)) & (columns["flags"] & _NOT_SAID == 0)
    rows = np.flatnonzero(fitting)
    rows = rows[np.argsort(columns["session"][rows], kind="stable")]
    owners = columns["session"][rows]
    cuts = np.flatnonzero(owners[1:] != owners[:-1]) + 1
    places = {row: place for place, row in enumerate(sessions)}
    return {
        row: _part(own, columns["kind"][own], columns["flags"][own], places[row])
        for own in np.split(rows, cuts)
        if len(own) and (row := int(columns["session"][own[0]])) in places
    }


def _part(rows: Array, kinds: Array, flags: Array, place: int) -> _Part:
    """`place`: how many sessions are newer; of old ones less is read."""
    said = np.flatnonzero((kinds == Kind.PROMPT) | (kinds == Kind.ANSWER))
    prompt = kinds[said] == Kind.PROMPT
    final = ~prompt & np.append(prompt, True)[1:]
    calls = rows[kinds == Kind.CALL]
    return _Part(
        rows[said[prompt]][-PROMPTS_READ:].tolist(),
        rows[said[final]][-ANSWERS_READ:].tolist() if place < SESSIONS_READ else [],
        calls[-CALLS_READ:].tolist() if place < SESSIONS_WORKED else [],
        rows[said[-1:]].tolist(),
        _ending(said, kinds, flags),
        place < SESSIONS_WORKED and len(calls) <= CALLS_READ,
    )


def _ending(said: Array, kinds: Array, flags: Array) -> str:
    """How a session ended; "" where an answer is the last thing in it."""
    if not len(said):
        return ""
    last = int(said[-1])
    after = kinds[last + 1 :]
    if flags[last] & Flag.ERROR or (len(after) and np.any(flags[last + 1 :][-2:] & Flag.ERROR)):
        return FAILED
    if np.any(after == Kind.CALL):
        return STOPPED
    return UNANSWERED if kinds[last] == Kind.PROMPT else ""


_NOT_SAID = int(Flag.SIDECHAIN | Flag.META | Flag.COPY | Flag.INJECTED | Flag.REPLACED)

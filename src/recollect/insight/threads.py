"""Threads: sessions that continue one another, shown as the one piece of work they are.

A session resumed, forked, continued after a compaction or begun out of another's plan goes on with
the same work; what a subagent did belongs to whoever started it. `search/joining` says which sessions
those are. Nothing of a thread is stored, so one that was two yesterday may be one today, once the log
that ties them is in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from recollect.light.sources import is_conversation
from recollect.search.joining import Joined, joined
from recollect.search.ties import NO_TIES, Ties
from recollect.values.history import Thread, activity
from recollect.values.records import Relation
from recollect.values.stored import Session

_NEVER_MS = 1 << 62


def threads(
    sessions: Iterable[Session], project: str = "", label: str = "", *, ties: Ties = NO_TIES
) -> list[Thread]:
    """The threads that these sessions form, the most recently active first.

    A copy that we wrote and nobody went on in is no part of any, but ties what it is a copy of to its forks.

    With `project` or `label`, those with a session whose project has it in a name or a label, in any case.
    """
    everything = dict(enumerate(sessions))
    return [each for each, _ in listed(everything, joined(everything, ties), project, label)]


def listed(
    sessions: Mapping[int, Session], made: Joined, project: str = "", label: str = ""
) -> list[tuple[Thread, dict[int, Session]]]:
    """Threads with all their sessions by number, subagents too, the most recently active first."""
    groups: dict[int, dict[int, Session]] = {}
    for number, first in made.threads.items():
        if is_conversation(sessions[number].facts.agent) and not sessions[number].copied:
            groups.setdefault(first, {})[number] = sessions[number]
    fitting = [group for group in groups.values() if _fits(group.values(), project, label)]
    found = [(_thread(list(group.values())), group) for group in fitting]
    return sorted(found, key=lambda each: (-each[0].ended_ms, each[0].id))


def thread_of(group: Mapping[int, Session]) -> Thread | None:
    """The thread that these sessions form, by number; None where no conversation is among them."""
    found = listed(group, Joined(dict.fromkeys(group, 0), []))
    return found[0][0] if found else None


def _fits(group: Iterable[Session], project: str, label: str) -> bool:
    return any(each.is_of_project(project) and (not label or each.is_labelled(label)) for each in group)


def _thread(group: list[Session]) -> Thread:
    main = [each for each in group if each.facts.relation != Relation.SUBAGENT] or group
    known = [each.facts for each in sorted(main, key=activity, reverse=True)]
    ordered = sorted(main, key=beginning)
    return Thread(
        id=ordered[0].facts.id,
        project=next((facts.project for facts in known if facts.project), ""),
        branch=next((facts.branch for facts in known if facts.branch), ""),
        agents=tuple(sorted({each.facts.agent for each in group})),
        sessions=tuple(ordered),
        subagents=len(group) - len(main),
        started_ms=min((each.facts.started_ms for each in group if each.facts.started_ms), default=0),
        ended_ms=max(each.facts.ended_ms for each in group),
        entries=sum(each.entries for each in group),
    )


def beginning(session: Session) -> tuple[int, str]:
    """What sessions are put in order of time by."""
    return session.facts.started_ms or _NEVER_MS, session.facts.id

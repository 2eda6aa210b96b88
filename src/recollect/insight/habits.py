"""Habits that cost time or money: what conversations do again and again, each as a lesson with a line.

Told over sessions, what forks repeat once. A line quotes what logs hold by `quoted` alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from recollect.agents.registry import agent_of, all_signs
from recollect.insight.digest.kept import Digests
from recollect.insight.period import is_subagent
from recollect.insight.usage import summarise
from recollect.search.query import AllOf, Is, Phrase
from recollect.search.run import Search
from recollect.store.contract import View
from recollect.values.digests import Digest, Thrash
from recollect.values.lessons import Lesson
from recollect.values.stored import Session
from recollect.values.text import dollars, many, one_line

STORM, THRASH, UNREAD, COST = "retry storm", "tool thrash", "edit before read", "cost"
STORM_RETRIES = 10
PERCENTILE = 90
COSTED_MIN = 20  # sessions with a known cost, below which a percentile says nothing
UNREAD_MAX = 5_000
ENTRIES = 5
QUOTE_CHARS = 100

Prices = Mapping[str, Mapping[str, float]]


def storms(digests: Digests, sessions: Iterable[Session]) -> Iterator[Lesson]:
    """By project: conversations that ran again, many times, what had failed."""
    found: dict[str, dict[str, tuple[Session, Digest]]] = {}
    for session, digest in digests.telling("retries", sessions):
        if digest.retries >= STORM_RETRIES:
            found.setdefault(session.facts.project, {}).setdefault(digest.title, (session, digest))
    for works in sorted(found.values(), key=lambda each: -len(each)):
        met = list(works.values())
        again = sum(digest.retries for _, digest in met)
        sessions_of = tuple(session for session, _ in met)
        entries = [digest.errors[0].entry for _, digest in met if digest.errors]
        yield Lesson(
            kind=STORM,
            text=f"what had failed was run again {again} times in {many(len(met), 'session')}",
            times=again,
            sessions=sessions_of,
            entries=tuple(entries[:ENTRIES]),
            line="When a command has failed twice, read all of its output and say what is wrong before you "
            f"run it again: {many(len(met), 'session')} ran what had failed {again} times.",
            files=files_of_agents(sessions_of),
        )


def thrash(digests: Digests, sessions: Iterable[Session]) -> Iterator[Lesson]:
    """By kind: conversations that did the same over and over, without getting further."""
    found: dict[str, dict[tuple[str, str], tuple[Session, list[Thrash]]]] = {}
    for session, digest in digests.telling("thrash", sessions):
        work = session.facts.project, digest.title
        for kind in dict.fromkeys(each.kind for each in digest.thrash):
            same = [each for each in digest.thrash if each.kind == kind]
            found.setdefault(kind, {}).setdefault(work, (session, same))
    for kind, works in sorted(found.items(), key=lambda each: -len(each[1])):
        every = [each for _, same in works.values() for each in same]
        sessions_of = tuple(session for session, _ in works.values())
        times, often = sum(each.times for each in every), many(len(sessions_of), "session")
        what, advice = _THRASHED[kind]
        yield Lesson(
            kind=THRASH,
            text=f"{what} {times} times in {often}, as {quoted(every[0].text)}",
            times=times,
            sessions=sessions_of,
            entries=tuple(each.entry for each in every[:ENTRIES]),
            line=f"{advice}: {often} did so {times} times and got no further.",
            files=files_of_agents(sessions_of),
        )


def unread(search: Search, wanted: set[str], every: Mapping[int, Session]) -> Iterator[Lesson]:
    """Changes that were refused because the file had not been read."""
    rows: list[int] = []
    for sign in all_signs().unread:
        rows += search.rows(AllOf((Is("is", "error"), Phrase(sign))), UNREAD_MAX).tolist()
    rows = sorted(set(rows), reverse=True)
    owners = search.view.columns_at(rows, "session")["session"].tolist() if rows else []
    told = ((row, every[owner]) for row, owner in zip(rows, owners, strict=True))
    met = [(row, session) for row, session in told if session.facts.id in wanted]
    sessions = tuple({session.facts.id: session for _, session in met}.values())
    if sessions:
        yield Lesson(
            kind=UNREAD,
            text=f"{many(len(met), 'change')} refused: the file had not been read, or was changed since",
            times=len(met),
            sessions=sessions,
            entries=tuple(search.view.entry_ids([row for row, _ in met[:ENTRIES]])),
            line=f"Read a file right before you change it: {many(len(met), 'change')} in "
            f"{many(len(sessions), 'session')} were refused because that had not been done.",
            files=files_of_agents(sessions),
        )


def costs(
    view: View, every: Mapping[int, Session], latest: Sequence[Session], prices: Prices
) -> Iterator[Lesson]:
    """The dearest tenth of the conversations, where it is dear indeed: half of all that was paid."""
    usage = summarise(replace(view.usage(), sessions=dict(every)), "session", prices)
    known = {each.facts.id: each for each in latest if not is_subagent(each)}
    costs = {
        row.group: row.cost_microdollars for row in usage.rows if row.group in known and row.cost_microdollars
    }
    if len(costs) < COSTED_MIN:
        return
    border = float(np.percentile(list(costs.values()), PERCENTILE))
    dear = sorted((name for name, cost in costs.items() if cost > border), key=lambda name: -costs[name])
    paid, total = sum(costs[name] for name in dear), sum(costs.values())
    if 2 * paid >= total:
        sessions = tuple(known[name] for name in dear)
        share = f"{100 * paid // total} % of all cost"
        yield Lesson(
            kind=COST,
            text=f"{len(dear)} of {many(len(costs), 'session')} cost over {dollars(int(border))}: {share}",
            times=len(dear),
            sessions=sessions,
            entries=(),
            line=f"Begin a new conversation for a new task: one in ten, dearer than {dollars(int(border))}, "
            f"made {share}.",
            files=files_of_agents(sessions),
        )


def files_of_agents(sessions: Iterable[Session]) -> tuple[str, ...]:
    """Where the agents of these sessions look for what a project wants them to know."""
    named = (agent_of(name).instructions for name in dict.fromkeys(each.facts.agent for each in sessions))
    return tuple(filter(None, dict.fromkeys(named)))


def quoted(text: str) -> str:
    """Text of a log as part of a sentence: on one line, short, and unable to leave its quotation marks."""
    return one_line(text.replace("`", "'").replace('"', "'"), QUOTE_CHARS)


_THRASHED = {
    "looked again": (
        "what a look had shown was looked at again",
        "Do not read again what a file has shown and nothing changed since",
    ),
    "same answer": (
        "the same was asked again, with the same answer,",
        "Do not repeat a call whose answer is known and cannot have changed",
    ),
    "same failure": (
        "the same work ended with the same error",
        "When a command ends with the same error twice, look for another way before you run it again",
    ),
    "found nothing": (
        "one search after the other found nothing",
        "When two searches in a row find nothing, look where the thing should be before you try other words",
    ),
}

"""A year day by day, what was done on its last days, and what was dangerous.

Days are those of the person's time zone; one with work is one of which `period` tells some. A conversation of
one day is known by its session alone; of one that went on for days, or that shows what another said first,
the times of its own entries are read.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date, timedelta

import numpy as np

from recollect.insight.digest.kept import Digests
from recollect.insight.period import counts_as_work, is_subagent, midnight_ms
from recollect.search.projects import worked_out
from recollect.store.contract import Array, View
from recollect.values.days import Activity, DangerMet, Day
from recollect.values.digests import Danger
from recollect.values.errors import NotFound
from recollect.values.records import Relation
from recollect.values.stored import Session

WEEKS = 53
WORKS = 3  # conversations that are named on a day

Counted = list[tuple[Session, int]]


def activity(view: View, last: date, project: str, count: int) -> Activity:
    """The weeks up to a day, the first from its Monday on, and a chronicle of the last days with work."""
    first = last - timedelta(days=last.weekday() + 7 * (WEEKS - 1))
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    borders = np.array([midnight_ms(day) for day in (*days, last + timedelta(days=1))])
    by_day: dict[int, Counted] = {}
    digests = worked_out(view, Digests)
    late = {
        row: session
        for row, session in view.session_rows().items()
        if counts_as_work(session, project) and session.facts.ended_ms >= borders[0]
    }
    for session, at, entries in _places(view, digests.with_work(late), borders):
        by_day.setdefault(at, []).append((session, entries))
    worked = sorted(at for at in by_day if 0 <= at < len(days))
    told = (_day(digests, days[at], by_day[at]) for at in reversed(worked))
    return Activity(
        first=first.isoformat(),
        last=last.isoformat(),
        days=tuple((days[at].isoformat(), sum(entries for _, entries in by_day[at])) for at in worked),
        chronicle=tuple(itertools.islice(told, count or None)),
    )


def _places(view: View, rows: Mapping[int, Session], borders: Array) -> Iterator[tuple[Session, int, int]]:
    """Sessions by row as they have entries on days: the session, a day's number, and how many."""
    spans = [(session.facts.started_ms, session.facts.ended_ms) for session in rows.values()]
    known = np.searchsorted(borders, np.array(spans, np.int64).reshape(-1, 2), "right") - 1
    for (row, session), (begun, ended) in zip(rows.items(), known.tolist(), strict=True):
        if begun == ended and session.facts.relation not in (Relation.FORK, Relation.CONTINUATION):
            yield session, begun, session.entries
            continue
        moments = view.session_columns(row, "time")["time"]
        found, counts = np.unique(np.searchsorted(borders, moments, "right") - 1, return_counts=True)
        yield from ((session, *each) for each in zip(found.tolist(), counts.tolist(), strict=True))


def _day(digests: Digests, day: date, counted: Counted) -> Day:
    projects: Counter[str] = Counter()
    for session, entries in counted:
        projects[session.facts.project] += entries
    led = [each for each in counted if not is_subagent(each[0])]
    most = sorted(led or counted, key=lambda each: (-each[1], each[0].facts.id))
    known = ((session, digests.of(session)) for session, _ in most)
    titled: dict[str, Session] = {}
    for session, digest in known:
        titled.setdefault(digest.title, session)
        if len(titled) == WORKS:
            break
    return Day(
        day=day.isoformat(),
        entries=sum(entries for _, entries in counted),
        sessions=len(led),
        projects=tuple(name for name, _ in projects.most_common() if name),
        works=tuple((session, title) for title, session in titled.items()),
    )


def dangers(view: View, project: str, limit: int) -> list[DangerMet]:
    """Dangerous operations, the latest first; the same one of a conversation and its forks once."""
    sessions = [each for each in view.sessions() if counts_as_work(each, project)]
    found: dict[tuple[str, ...], tuple[Session, str, Danger]] = {}
    told = worked_out(view, Digests).telling(
        "dangers", sorted(sessions, key=lambda each: -each.facts.ended_ms)
    )
    for session, digest in told:
        for danger in reversed(digest.dangers):
            once = (session.facts.project, digest.title, danger.kind, danger.command, danger.came_of_it)
            found.setdefault(once, (session, digest.title, danger))
    shown = itertools.islice(found.values(), limit or None)
    met = [_met(view, session, title, danger) for session, title, danger in shown]
    return sorted(met, key=lambda each: -each.time_ms)


def _met(view: View, session: Session, title: str, danger: Danger) -> DangerMet:
    try:
        time_ms = view.find_entry(danger.entry).entry.time_ms
    except NotFound:  # the digest outlives its entries
        time_ms = session.facts.ended_ms
    from recollect.redact import redact  # heavy, and only dangers hold a command

    masked = Danger(danger.kind, redact(danger.command).text, danger.came_of_it, danger.entry)
    return DangerMet(session, title, masked, time_ms or session.facts.ended_ms)

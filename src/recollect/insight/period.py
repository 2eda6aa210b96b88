"""What was done in a span of days, from the digests of the conversations that have entries in it.

A conversation over midnight counts for both days, each time by its entries of that day: what a digest tells
is told on the day of the entry that shows it. Time is counted once however many agents worked side by side.
One in which nobody asked anything and nothing was called counts for none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime, time, timedelta

import numpy as np

from recollect.insight.digest.kept import Digests, is_work
from recollect.insight.usage import summarise
from recollect.light.sources import is_conversation
from recollect.search.projects import worked_out
from recollect.store.contract import Array, View
from recollect.values.days import Period, ProjectWork, Work
from recollect.values.digests import IDLE_MS, Checks, Commit, Digest, Statement
from recollect.values.records import Relation
from recollect.values.stored import Session
from recollect.values.text import moment
from recollect.values.titles import telling
from recollect.values.usage import UsageFilter

Prices = Mapping[str, Mapping[str, float]]


def midnight_ms(day: date) -> int:
    """When a day begins for the person."""
    return int(datetime.combine(day, time.min).astimezone().timestamp() * 1000)


def period(view: View, first: date, last: date, project: str, prices: Prices) -> Period:
    """What was done from one day to another, the last one included; for projects whose name has a part."""
    since, until = midnight_ms(first), midnight_ms(last + timedelta(days=1))
    every = dict(view.session_rows().items())
    sessions = {row: session for row, session in every.items() if counts_as_work(session, project)}
    found = _Found(view, since, until)
    for row, session in sessions.items():
        if session.facts.started_ms < until and session.facts.ended_ms >= since:
            found.take(row, session)
    columns = replace(view.usage(), sessions=every)
    usage = summarise(columns, "project", prices, UsageFilter(since, until, project))
    costs = {row.group: (row.cost_microdollars, row.unpriced_responses) for row in usage.rows}
    made = [found.project(name, *costs.get(name, (None, 0))) for name in found.names()]
    return Period(
        first=first.isoformat(),
        last=last.isoformat(),
        projects=tuple(sorted(made, key=lambda each: (-each.active_ms, each.project))),
        active_ms=found.active_ms(),
        cost_microdollars=usage.total.cost_microdollars,
        unpriced=usage.total.unpriced_responses,
        last_day="" if made else found.last_day(sessions),
    )


def counts_as_work(session: Session, project: str) -> bool:
    """Whether a session is a conversation, not a copy of ours, for a project whose name has a part."""
    return not session.copied and is_conversation(session.facts.agent) and session.is_of_project(project)


class _Found:
    """The conversations of some days, project by project."""

    def __init__(self, view: View, since: int, until: int) -> None:
        self._view, self._since, self._until = view, since, until
        self._digests = worked_out(view, Digests)
        self._times: dict[str, list[Array]] = {}
        self._works: dict[str, list[tuple[Work, Digest, Callable[[str], bool]]]] = {}
        self._subagents: dict[str, int] = {}

    def take(self, row: int, session: Session) -> None:
        """Note what a conversation did in these days, if it did anything."""
        columns = self._view.session_columns(row, "row", "time")
        moments = columns["time"]
        inside = (moments >= self._since) & (moments < self._until) & (moments > 0)
        within = moments[inside]
        if not len(within):
            return
        digest = self._digests.of(session)
        if not is_work(digest):
            return
        project = session.facts.project
        self._times.setdefault(project, []).append(within)
        known = moments[moments > 0]
        is_all = len(within) == len(known)
        ids = set[str]() if is_all else set(self._view.entry_ids(columns["row"][inside].tolist()))

        def is_told(entry: str) -> bool:
            return is_all or entry in ids

        work = Work(
            session=session,
            title=digest.title,
            outcome=digest.ending.outcome,
            goes_on=bool(known.max() >= self._until),
            active_ms=time_worked(within),
            files=sum(is_told(each.entry) for each in digest.files),
            tests=digest.tests if is_all or not digest.tests.runs else self._tests(session, ids),
            commits=tuple(each for each in digest.commits if is_told(each.entry)),
        )
        self._works.setdefault(project, []).append((work, digest, is_told))
        self._subagents[project] = self._subagents.get(project, 0) + is_subagent(session)

    def _tests(self, session: Session, ids: set[str]) -> Checks:
        """The runs of tests of a part of a session; its digest counts those of all days."""
        from recollect.insight.digest.session import tests_of  # what reads a log is heavy to import
        from recollect.insight.digest.steps import exchanges

        steps = [step for each in exchanges(self._view.entries(session)) for step in each.steps]
        return tests_of(step for step in steps if step.results and step.results[-1].id in ids)

    def names(self) -> list[str]:
        return list(self._works)

    def last_day(self, sessions: Mapping[int, Session]) -> str:
        """The last day before these on which something was done, "" for none."""
        last = 0
        before = [each for each in sessions.items() if 0 < each[1].facts.started_ms < self._since]
        for row, session in sorted(before, key=lambda each: -each[1].facts.ended_ms):
            if session.facts.ended_ms <= last:
                break  # the others ended before
            if is_work(self._digests.of(session)):
                moments = self._view.session_columns(row, "time")["time"]
                last = max(last, int(moments[moments < self._since].max(initial=0)))
        return moment(last, "%Y-%m-%d") if last else ""

    def active_ms(self, project: str | None = None) -> int:
        """How long it was worked, on one project or on all of them."""
        known = (spans for name, spans in self._times.items() if project in (None, name))
        every = [moments for spans in known for moments in spans]
        return time_worked(np.concatenate(every)) if every else 0

    def project(self, name: str, cost_microdollars: int | None, unpriced: int) -> ProjectWork:
        """What was done for a project; what a fork repeats is told once."""
        told = self._works[name]
        led = [each for each in told if not is_subagent(each[0].session)] or told
        decided = (each for _, digest, is_told in led for each in digest.decisions if is_told(each.entry))
        left = (each for work, digest, _ in led for each in digest.open if not work.goes_on)
        opened = (each for _, digest, is_told in told for each in digest.pull_requests if is_told(each.entry))
        return ProjectWork(
            project=name,
            works=tuple(_once([work for work, _, _ in led])),
            subagents=self._subagents[name],
            active_ms=self.active_ms(name),
            cost_microdollars=cost_microdollars,
            unpriced=unpriced,
            test_runs=sum(work.tests.runs for work, _, _ in told),
            commits=tuple(_commits(work for work, _, _ in told)),
            pull_requests=tuple(_different(opened)),
            decided=tuple(_telling(decided)),
            open=tuple(_telling(left)),
        )


def time_worked(moments: Array) -> int:
    """The sum of the short pauses, as digests count it, in ms."""
    pauses = np.diff(np.sort(moments[moments > 0]))
    return int(pauses[pauses <= IDLE_MS].sum())


def is_subagent(session: Session) -> bool:
    """Whether another session started it."""
    return session.facts.relation == Relation.SUBAGENT


def _once(works: list[Work]) -> list[Work]:
    """Of works with the same title and beginning, as forks have, the last; those with most work first."""
    begun = {(work.title, work.session.facts.started_ms): work for work in sorted(works, key=_ended)}
    return sorted(begun.values(), key=lambda each: (-each.active_ms, each.session.facts.id))


def _ended(work: Work) -> int:
    return work.session.facts.ended_ms


def _commits(works: Iterable[Work]) -> Iterable[Commit]:
    made = [commit for work in sorted(works, key=_ended) for commit in work.commits]
    return {each.hash[:7] or each.subject or each.entry: each for each in made}.values()


def _telling(statements: Iterable[Statement]) -> Iterable[Statement]:
    """Those that say something without what stood before them: not "yes, do both"."""
    return _different(each for each in statements if telling(each.text))


def _different(statements: Iterable[Statement]) -> Iterable[Statement]:
    return {each.text: each for each in statements}.values()

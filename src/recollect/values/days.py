"""What was done in a span of days, project by project; on which days of a year; what was dangerous."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.values.digests import Checks, Commit, Danger, Outcome, Statement
from recollect.values.stored import Session


@dataclass(frozen=True, slots=True)
class Work:
    """A conversation of these days. `goes_on`: it went on after them, so that how it ended is later news."""

    session: Session
    title: str
    outcome: Outcome
    goes_on: bool
    active_ms: int
    files: int
    tests: Checks
    commits: tuple[Commit, ...]


@dataclass(frozen=True, slots=True)
class ProjectWork:
    """What was done for one project. `subagents` are counted; their time, cost and commits are in the sums.

    `cost_microdollars` leaves out `unpriced` responses, and is None where no price is known at all.
    """

    project: str
    works: tuple[Work, ...]
    subagents: int
    active_ms: int
    cost_microdollars: int | None
    unpriced: int
    test_runs: int
    commits: tuple[Commit, ...]
    pull_requests: tuple[Statement, ...]
    decided: tuple[Statement, ...]
    open: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Period:
    """What was done from one day to another, both told as YYYY-MM-DD, the project with most work first.

    `last_day`: where nothing was done, the last day before these on which something was, "" for none.
    """

    first: str
    last: str
    projects: tuple[ProjectWork, ...]
    active_ms: int
    cost_microdollars: int | None
    unpriced: int
    last_day: str = ""


@dataclass(frozen=True, slots=True)
class Day:
    """One day with work: how much, in how many conversations, for which projects, those with most first.

    `works` are the conversations with most entries of that day, each with its title.
    """

    day: str
    entries: int
    sessions: int
    projects: tuple[str, ...]
    works: tuple[tuple[Session, str], ...]


@dataclass(frozen=True, slots=True)
class Activity:
    """A year: for each day with work, from the first, how many entries there were; and its last days."""

    first: str
    last: str
    days: tuple[tuple[str, int], ...]
    chronicle: tuple[Day, ...]  # the latest first


@dataclass(frozen=True, slots=True)
class DangerMet:
    """A dangerous operation, where and when it was met; secrets in its command are masked."""

    session: Session
    title: str
    danger: Danger
    time_ms: int

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
    """One day of a year: how many entries there were, in how many conversations, for which projects."""

    day: str
    entries: int
    sessions: int
    projects: tuple[str, ...] = ()
    titles: tuple[tuple[str, str], ...] = ()  # of the conversations with most entries: id and title


@dataclass(frozen=True, slots=True)
class Activity:
    """The days of a year up to `last`, those without work left out, the latest first."""

    first: str
    last: str
    days: tuple[Day, ...]


@dataclass(frozen=True, slots=True)
class DangerMet:
    """A dangerous operation, where and when it was met; secrets in its command are masked."""

    session: Session
    title: str
    danger: Danger
    time_ms: int

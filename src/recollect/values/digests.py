"""What is kept of a session for good: statements, each with the id of the entry it was read in."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.values.stored import Session

IDLE_MS = 600_000  # a longer pause is no work


class Outcome(enum.StrEnum):
    """How a session ended, judged by what was last asked for."""

    SUCCESS = "success"
    FAILED = "failed"
    ABANDONED = "abandoned"
    UNKNOWN = "unknown"


# What an exchange can be; the order is that of the bits in which a store keeps them.
PATTERNS = (
    "code writing",
    "error recovery",
    "architecture decision",
    "dangerous operation",
    "deep research",
    "deployment",
    "testing",
    "debugging",
    "refactoring",
    "planning",
    "review",
)


@dataclass(frozen=True, slots=True)
class Statement:
    """Something that is so, and the entry that shows it."""

    text: str
    entry: str


@dataclass(frozen=True, slots=True)
class Ending:
    """How a session ended, why that is said, and the entry that shows it; "" for one that shows nothing."""

    outcome: Outcome
    why: str
    entry: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """What a session was about, and how it ended: its digest in one line."""

    title: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Changed:
    """A file that was changed, and by how much as far as the calls say; `entry` is the last change."""

    path: str
    added: int
    removed: int
    entry: str


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit that was made; `hash` is "" where its output does not say it."""

    hash: str
    subject: str
    entry: str


@dataclass(frozen=True, slots=True)
class Checks:
    """Runs of tests: how many, and how the last one ended: passed, failed or unknown; "" for none."""

    runs: int = 0
    last: str = ""
    entry: str = ""


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error, how often it was met, and the entry of the run that then worked; "" for none."""

    text: str
    times: int
    entry: str
    solved: str = ""


@dataclass(frozen=True, slots=True)
class Danger:
    """A dangerous operation and what came of it: done, failed, refused or unknown."""

    kind: str
    command: str
    came_of_it: str
    entry: str


@dataclass(frozen=True, slots=True)
class Thrash:
    """What was done over and over and led nowhere: how often, the entries where it begins and ends.

    `kind`: looked again, same answer, same failure or found nothing.
    """

    kind: str
    text: str
    times: int
    entry: str
    last: str


@dataclass(frozen=True, slots=True)
class Pattern:
    """What an exchange was, and the entry that shows it."""

    name: str
    entry: str


@dataclass(frozen=True, slots=True)
class Digest:
    """What happened in one session."""

    title: str
    asked: tuple[Statement, ...]
    ending: Ending
    report: Statement | None = None  # how the last answer begins
    files: tuple[Changed, ...] = ()
    commands: tuple[Statement, ...] = ()
    tests: Checks = Checks()
    commits: tuple[Commit, ...] = ()
    pull_requests: tuple[Statement, ...] = ()
    plans: tuple[Statement, ...] = ()  # that it began with or proposed, by their headings
    decisions: tuple[Statement, ...] = ()
    errors: tuple[Trouble, ...] = ()
    open: tuple[Statement, ...] = ()
    dangers: tuple[Danger, ...] = ()
    thrash: tuple[Thrash, ...] = ()
    branches: tuple[Statement, ...] = ()  # that were switched to, committed on or pushed
    pictures: tuple[Statement, ...] = ()  # the last ones, with what they came with
    patterns: tuple[tuple[str, int], ...] = ()
    tools: tuple[tuple[str, int], ...] = ()
    active_ms: int = 0
    idle_ms: int = 0
    retries: int = 0
    interventions: int = 0
    screenshots: int = 0


@dataclass(frozen=True, slots=True)
class DigestHit:
    """A session that was found by its digest; the score is 0 where no words were asked for."""

    session: Session
    digest: Digest
    score: float


@dataclass(frozen=True, slots=True)
class DigestsFound:
    """Hits, best first, of `total`; `undigested` conversations have no digest yet; `terms`: looked for."""

    hits: tuple[DigestHit, ...]
    total: int
    undigested: int
    terms: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

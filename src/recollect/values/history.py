"""What was done before: pieces of work, what touched a file, which commands ran, what ended an error."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from recollect.values.hits import Hit
from recollect.values.stored import Session, StoredEntry


class How(enum.StrEnum):
    """What makes one piece of work of two sessions."""

    SUBAGENT = "subagent"  # one started the other
    FORK = "fork"  # one has what was said in the other
    CONTINUATION = "continuation"  # one says that it goes on from the other
    SLUG = "slug"  # the agent's own name for the work
    PLAN = "plan"  # one begins with the plan that the other made
    HANDOVER = "handover"  # one is told to read the other
    REQUEST = "request"  # the same was asked for
    ISSUE = "issue"  # both are about one issue or pull request
    DOCUMENT = "document"  # both worked on one plan or specification
    BRANCH = "branch"  # both worked on a branch of their own
    FOLLOW_UP = "follow-up"  # the same files and words, soon after


@dataclass(frozen=True, slots=True)
class Thread:
    """One piece of work. `id` is that of its first session: `thread:ID` in a query finds all of it.

    `sessions` are the conversations, in time order; those of `subagents` are only counted, unless
    theirs are all there is. Title, project and branch are those known last, from own logs where there are.
    """

    id: str
    title: str
    project: str
    branch: str
    agents: tuple[str, ...]
    sessions: tuple[Session, ...]
    subagents: int
    started_ms: int
    ended_ms: int
    entries: int

    @property
    def imported(self) -> bool:
        """Whether any of its sessions is; such a one may claim to continue whatever it likes."""
        return any(session.imported for session in self.sessions)


@dataclass(frozen=True, slots=True)
class Change:
    """What a call made of a part of a file; of all of it if `is_whole`: what was there is not said then."""

    path: str
    old: str
    new: str
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class Touch:
    """What one session did to a file.

    `last` is the last change, the one that brought the words that were asked for, or else the last look.
    `prompt` was asked before it; `edits` are what it made of the file.
    """

    session: Session
    last: StoredEntry
    prompt: StoredEntry | None
    changes: int
    looks: int
    edits: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """A command, how often it worked, and where it was run last, or told where nobody ran it.

    `text` is the variant that worked most often, without where it ran and what became of its output;
    `told` counts the answers it stands in, `variants` the ways it was written.
    """

    text: str
    score: float
    last: StoredEntry
    session: Session
    worked: int = 0
    failed: int = 0
    unknown: int = 0
    told: int = 0
    variants: int = 1


@dataclass(frozen=True, slots=True)
class Fix:
    """An error in one session and what was done after its last appearance there.

    `exact`: it is this error, word for word, and not only one like it. `ended_by` is what then worked
    where it had failed, a command or a tool with its file, "" where none is known. `quote` is what
    `answer` says of it, or how it begins; `is_told`: that is what was wrong, or what ended it.
    """

    hit: Hit
    times: int
    exact: bool
    steps: list[StoredEntry] = field(default_factory=list)
    ended_by: str = ""
    answer: StoredEntry | None = None
    quote: str = ""
    is_told: bool = False

    @property
    def is_cured(self) -> bool:
        """Whether what failed worked later, or somebody said what ended it."""
        return bool(self.ended_by) or self.is_told

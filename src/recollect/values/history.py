"""What was done before: pieces of work, what touched a file, which commands ran, what ended an error."""

from __future__ import annotations

from dataclasses import dataclass, field

from recollect.values.digests import Commit, Statement
from recollect.values.hits import Hit
from recollect.values.stored import Session, StoredEntry


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
class GitCommit:
    """A commit as its repository has it; `files` are the first ones that it changes."""

    hash: str
    subject: str
    time_ms: int
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CommitMade:
    """A session that made a commit: what its output says of it, what was asked before, what was decided.

    `by_subject`: the hash is another one, as after a rebase or an amend, and only the subject is the same.
    """

    session: Session
    commit: Commit
    title: str
    prompt: StoredEntry | None
    decisions: tuple[Statement, ...]
    time_ms: int
    by_subject: bool = False


@dataclass(frozen=True, slots=True)
class CommitBlame:
    """Which sessions made a commit, the earliest first; `known` is the commit where a repository has it."""

    asked: str
    known: GitCommit | None
    made: tuple[CommitMade, ...]


@dataclass(frozen=True, slots=True)
class Why:
    """Why a line is in a file: the change that brought it, what asked for that, and the reason given.

    `found_by` says how it was found: `edit`, a change of this file that brought the line; `text`, one that
    brought it into another file; `commit`, the commit that git says it is of; "" where nothing is known.
    `others` counts the other changes that brought the same line.
    """

    path: str
    number: int
    text: str
    found_by: str = ""
    touch: Touch | None = None
    reason: Statement | None = None
    others: int = 0
    commit: CommitBlame | None = None


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

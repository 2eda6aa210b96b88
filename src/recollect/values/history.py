"""What was done before: pieces of work, what touched a file, which commands ran, what ended an error."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from recollect.values.digests import Changed, Commit, Digest, Outcome, Statement
from recollect.values.hits import Hit
from recollect.values.stored import Session, StoredEntry
from recollect.values.usage import UsageRow

JOINED = 0.5  # the confidence from which on a tie makes one thread of two


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
    COMPACTION = "compaction"  # a session with itself: its context was summed up
    REWIND = "rewind"  # a session with itself: what was said was taken back, and said otherwise


@dataclass(frozen=True, slots=True)
class Link:
    """What ties two sessions, by id, how sure that is and why; below `JOINED` they are not one thread for it.

    `entry` is the call that started a subagent, the compaction, or what was taken back; `answer` what the
    subagent gave back, or the summary; `tokens` those before the model when its context was summed up.
    `kept` and `dropped` are prompts and changed files from before a compaction: those that its summary
    names, and those that it does not; neither where it cannot be read.
    """

    earlier: str
    later: str
    how: How
    confidence: float
    why: str
    entry: str = ""
    answer: str = ""
    tokens: int = 0
    kept: tuple[Statement, ...] = ()
    dropped: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class Thread:
    """One piece of work. `id` is that of its first session: `thread:ID` in a query finds all of it.

    `sessions` are the conversations, in time order; those of `subagents` are only counted, unless
    theirs are all there is. Title, project and branch are those known last, from own logs where there are.
    """

    id: str
    project: str
    branch: str
    agents: tuple[str, ...]
    sessions: tuple[Session, ...]
    subagents: int
    started_ms: int
    ended_ms: int
    entries: int

    @property
    def title(self) -> str:
        """What it is called; worked out when asked for, as of many threads few are shown."""
        latest = sorted(self.sessions, key=activity, reverse=True)
        return next((each.facts.headline for each in latest if each.facts.headline), "")

    @property
    def imported(self) -> bool:
        """Whether any of its sessions is; such a one may claim to continue whatever it likes."""
        return any(session.imported for session in self.sessions)


def activity(session: Session) -> tuple[bool, int, int, str]:
    """By what it is told which of several sessions says last what is so."""
    facts = session.facts
    return not session.imported, facts.ended_ms, facts.started_ms, facts.id


@dataclass(frozen=True, slots=True)
class ThreadTree:
    """A thread with all its sessions, subagents too, in time order, and what ties them to each other.

    `links` may lead to a session of another thread, where that is likely and not enough to join them.
    """

    thread: Thread
    sessions: tuple[Session, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class ThreadStory:
    """A piece of work over all its sessions: `parts` are its conversations with what happened in each.

    `plans` are those that were proposed or begun with; `active_ms`: what a fork repeats counts once.
    """

    tree: ThreadTree
    parts: tuple[tuple[Session, Digest], ...]
    plans: tuple[Statement, ...]
    usage: UsageRow
    active_ms: int

    @property
    def title(self) -> str:
        """What the last session is about of which something can be said."""
        told = [made.title for _, made in reversed(self.parts) if made.ending.outcome != Outcome.UNKNOWN]
        return next(filter(None, told), self.tree.thread.title) or self.parts[-1][1].title

    @property
    def _own(self) -> list[tuple[Session, Digest]]:
        """The parts without forks, which repeat what they were forked from: of those the longest."""
        begun: dict[object, tuple[Session, Digest]] = {}
        for each in sorted(self.parts, key=lambda part: part[0].entries):
            begun[each[0].facts.started_ms or each[0].facts.id] = each
        return [each for each in self.parts if each in begun.values()]

    @property
    def files(self) -> list[Changed]:
        """The changed files, the most changed first, lines of all sessions added up."""
        found: dict[str, Changed] = {}
        whole = _whole_paths(each.path for _, digest in self._own for each in digest.files)
        for _, digest in self._own:
            for each in digest.files:
                path = whole.get(each.path, each.path)
                known = found.get(path, Changed(path, 0, 0, ""))
                added, removed = known.added + each.added, known.removed + each.removed
                found[path] = Changed(path, added, removed, each.entry)
        return sorted(found.values(), key=lambda each: (-each.added - each.removed, each.path))

    @property
    def folders(self) -> list[str]:
        """The folders of the changed files, in order."""
        return sorted({each.path.rpartition("/")[0] or "." for each in self.files})

    @property
    def branches(self) -> list[str]:
        """The branches that its sessions were last on, switched to, committed on or pushed, in order."""
        last = {session.facts.branch for session, _ in self.parts}
        return sorted({*last, *(each.text for _, made in self.parts for each in made.branches)} - {""})

    @property
    def commits(self) -> list[Commit]:
        """Its commits, each once, in order."""
        return list(
            {each.hash or each.entry: each for _, made in self.parts for each in made.commits}.values()
        )

    @property
    def patterns(self) -> list[tuple[str, int]]:
        """Its character: what its exchanges were, the most frequent first."""
        counts = Counter[str]()
        for _, digest in self._own:
            counts.update(dict(digest.patterns))
        return counts.most_common()

    @property
    def pictures(self) -> list[Statement]:
        """The last pictures of each session, with what they came with."""
        return [each for _, digest in self._own for each in digest.pictures]

    @property
    def screenshots(self) -> int:
        return sum(digest.screenshots for _, digest in self._own)


def _whole_paths(paths: Iterable[str]) -> dict[str, str]:
    """Paths as a shell further down or beside named them, with those of the same files where one fits."""
    every = sorted(set(paths))
    whole: dict[str, set[str]] = {}
    for path in every:
        parts = path.split("/")
        if parts[0] != "..":
            for n in range(len(parts) - 1):
                whole.setdefault("/".join(parts[n:]), set()).add(path)
    found: dict[str, str] = {}
    for path in every:
        end = path.lstrip("./") if path.startswith("../") else path
        fitting = whole.get(end, set()) - {path}
        if len(fitting) == 1:
            found[path] = fitting.pop()
    return found


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
    `others` counts the other changes that brought the same line. `git_fails`: git was asked in vain, as it
    is not there, or reads no repository in the file's folder.
    """

    path: str
    number: int
    text: str
    found_by: str = ""
    touch: Touch | None = None
    reason: Statement | None = None
    others: int = 0
    commit: CommitBlame | None = None
    git_fails: bool = False


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

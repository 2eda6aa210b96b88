"""Things that conversations speak of, as they are listed and described."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.values.digests import Statement
from recollect.values.history import Thread
from recollect.values.stored import Session

# What things there are, and what people call each. Stores have them by their place here: new ones come last.
ENTITY_TYPES = {
    "file": "file", "folder": "folder", "function": "function", "class": "class", "module": "module",
    "library": "library", "framework": "framework", "language": "language", "command": "command",
    "tool": "tool", "api_endpoint": "API endpoint", "service": "service", "database": "database or table",
    "env_var": "environment variable", "config_key": "config key", "error": "error", "person": "person",
    "repository": "repository", "branch": "branch", "commit": "commit", "issue": "issue or pull request",
    "url": "address",
}  # fmt: skip


MEANT_OTHERWISE = 0.05  # less alike than usual: what was meant has changed


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing, and how often entries mention it. Days are counted from 1970-01-01, in UTC; 0 is unknown.

    `projects`: of a file or folder, those that speak of one of this name, the most first. Each may have one.
    """

    type: str
    name: str
    mentions: int
    first_day: int
    last_day: int
    projects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EntityList:
    """The most mentioned of `total` things that fit. `unread`: entries that nobody looked at yet."""

    entities: tuple[Entity, ...]
    total: int
    unread: int


@dataclass(frozen=True, slots=True)
class Move:
    """How a thing is spoken of lately: `state` is new, returned, rising, fading or unusual.

    `mentions` are those of the window and `usual` what was to be expected there; of an unusual day, those of
    `day`, and the median of the days on which it was mentioned before. `score`: how many deviations apart
    the two are. `curve`: mentions in steps of equal length, from the days before on to the window's end.
    """

    entity: Entity
    state: str
    mentions: int
    usual: float
    score: float
    day: int
    curve: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Momentum:
    """The first of `total` things that move in the days from `first_day` to `last_day`.

    They are compared with those from `before_day` on, unusual ones with all before. 0: there are none.
    """

    moves: tuple[Move, ...]
    total: int
    before_day: int
    first_day: int
    last_day: int
    unread: int


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A thing that the same entries mention: `shared` of them."""

    type: str
    name: str
    shared: int


@dataclass(frozen=True, slots=True)
class Link:
    """That a thing is defined-in, fails-with or is fixed-by another: how often, and what entry shows it."""

    kind: str
    type: str
    name: str
    times: int
    entry: str


@dataclass(frozen=True, slots=True)
class Meaning:
    """What was said of a thing at first and lately, each by the entry nearest to the centre of its period.

    `likeness` of the two centres is the cosine between them; `usual` is what it would be if time made no
    difference.
    """

    then: Statement
    now: Statement
    likeness: float
    usual: float

    @property
    def has_changed(self) -> bool:
        return self.usual - self.likeness >= MEANT_OTHERWISE


@dataclass(frozen=True, slots=True)
class EntityProfile:
    """What is known of a thing.

    `days`: (day, mentions) in order. `projects`: (project, mentions), the most first. `sessions`: the latest
    of `session_count`, the last one first, each with its mentions. `threads`: those of `thread_count` with
    most mentions, each with how many. `entries`: the ids of the latest entries,
    the last one first. `then`, `now`: neighbours of the first third of its mentions and of the last, where
    they differ; `meaning`: what was said of it in these two, None where that is too little. `namesakes`:
    type and name of others that the name may mean.
    """

    entity: Entity
    days: tuple[tuple[int, int], ...]
    projects: tuple[tuple[str, int], ...]
    sessions: tuple[tuple[Session, int], ...]
    session_count: int
    threads: tuple[tuple[Thread, int], ...]
    thread_count: int
    neighbours: tuple[Neighbour, ...]
    then: tuple[Neighbour, ...]
    now: tuple[Neighbour, ...]
    meaning: Meaning | None
    links: tuple[Link, ...]
    decisions: tuple[Statement, ...]
    entries: tuple[str, ...]
    namesakes: tuple[tuple[str, str], ...]
    unread: int

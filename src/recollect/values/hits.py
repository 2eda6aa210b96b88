"""What a search gives: hits, why each is one, and how much of the store was looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from recollect.values.stored import Session, StoredEntry
from recollect.values.text import tokens


@dataclass(frozen=True, slots=True)
class Snippet:
    """Parts in order; `True` marks a match. `cut`: there is text before, behind."""

    parts: tuple[tuple[str, bool], ...]
    cut: tuple[bool, bool] = (False, False)

    @property
    def text(self) -> str:
        return "".join(part for part, _ in self.parts)


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry that was found, and why; `folded` others say the same, `similar` has the best of their ids."""

    stored: StoredEntry
    session: Session
    score: float
    snippet: Snippet
    parts: dict[str, float] = field(default_factory=dict)
    similar: tuple[str, ...] = ()
    folded: int = 0

    @property
    def id(self) -> str:
        return self.stored.id

    @property
    def tokens(self) -> int:
        """About what reading the entry whole costs a model."""
        return tokens(self.stored.entry.text)


@dataclass(frozen=True, slots=True)
class SessionHits:
    """Hits of one session, best first; what the turn of the best one began with, and what it came to.

    `conclusion` is what the `answer` that closed the turn says of what was asked for; neither is there where
    the best hit is that answer.
    """

    session: Session
    hits: list[Hit]
    prompt: StoredEntry | None = None
    answer: StoredEntry | None = None
    conclusion: str = ""


@dataclass(frozen=True, slots=True)
class Fresh:
    """How much of the store a search could see. `waiting`: appends that are in no table yet.

    `stopped` says what kept the last indexing or embedding from going on, where something did; `is_busy`:
    that is another process, which does it or lets us later.
    """

    entries: int
    text: int
    vectors: int
    waiting: int = 0
    stopped: str = ""
    is_busy: bool = False

    @property
    def unindexed(self) -> int:
        return self.entries - self.text


@dataclass(frozen=True, slots=True)
class Results:
    """Hits, best first. `total` counts all that matched, -1 where nobody can say; `notes`: what limits it.

    `sessions` has the same hits by session, that of the best one first, where that was asked for.
    """

    hits: list[Hit]
    total: int
    fresh: Fresh
    notes: tuple[str, ...] = ()
    explain: dict[str, Any] = field(default_factory=dict)
    sessions: list[SessionHits] = field(default_factory=list)

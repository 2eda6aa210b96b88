"""Texts that a model reads of the past: a wall of excerpts, an entry among others, a project's catalog."""

from __future__ import annotations

from dataclasses import dataclass, field

from recollect.values.hits import Fresh
from recollect.values.stored import Session, StoredEntry


@dataclass(frozen=True, slots=True)
class Recall:
    """A wall of excerpts: `hits` were found, in `blocks`, of which `shown` are in the text."""

    text: str
    hits: int
    blocks: int
    shown: int
    tokens: int
    fresh: Fresh
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence, the entry it is of, and the session of that."""

    stored: StoredEntry
    session: Session
    text: str


@dataclass(frozen=True, slots=True)
class Brief:
    """The sentences that say most about a question, best first; `hits` were found."""

    sentences: tuple[Said, ...]
    hits: int
    fresh: Fresh
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """An entry as it was said. `next_offset` is where its text goes on, 0 when this was all of it."""

    text: str
    id: str
    tokens: int
    next_offset: int = 0


@dataclass(frozen=True, slots=True)
class Catalog:
    """`text` is what is shown to the model, fenced, or "" where nothing is known or nothing fits.

    `sections` has its lines by section; `trimmed` names those that lost some to the budget.
    """

    text: str
    project: str
    tokens: int
    as_of_ms: int
    trimmed: tuple[str, ...] = ()
    sections: dict[str, tuple[str, ...]] = field(default_factory=dict)

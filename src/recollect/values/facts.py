"""Facts: what a project's conversations settled, each with the entries that show it.

Most are found by rules. A model is asked only where a person says so, and what it says is told to be its.
"""

from __future__ import annotations

import enum
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from recollect.light.sources import MEMORY
from recollect.values.stored import Session, StoredEntry

TAGS: Final = ("decision", "preference", "gotcha", "config", "architecture", "project")
FACTS: Final = "facts"  # the channel of what a model extracted, and how its sessions begin
TOLD: Final = "told-by-a-model"  # what stands in the place of a tool where such a fact is shown
PERSON: Final = "person"  # the author of what was said or edited by hand
FACT_CHARS_MAX: Final = 400


class Origin(enum.StrEnum):
    """Who says that something is so."""

    RULE = "rule"
    NOTE = "note"
    MODEL = "model"


def is_of_facts(session: Session) -> bool:
    """Whether a session is where facts are kept: nobody said anything in it."""
    name = session.facts.id
    return session.facts.agent == MEMORY and (name == FACTS or name.startswith(f"{FACTS}/"))


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that is so, and the ids of the entries that show it; `id` and `session` of a saved one."""

    tag: str
    text: str
    project: str
    entries: tuple[str, ...]
    time_ms: int
    origin: Origin
    id: str = ""
    session: str = ""
    by: str = ""  # which model, or who saved the note
    imported: bool = False


@dataclass(frozen=True, slots=True)
class FoundFact:
    """A fact as a model tells it, its citations checked."""

    tag: str
    text: str
    entries: tuple[str, ...]
    supersedes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a session that is shown to a model at once: `upto` entries of it are then read."""

    session: Session
    entries: tuple[StoredEntry, ...]
    shown: str  # as the model sees it
    upto: int
    last: str  # the id of the last entry that counts as read


@dataclass(frozen=True, slots=True)
class ExtractionPlan:
    """What an extraction would read. `dollars` is None where no price of the model is known."""

    chunks: tuple[Chunk, ...]
    agent: str
    model: str
    tokens: int
    dollars: float | None
    left: int = 0  # sessions beyond the limit

    @property
    def sessions(self) -> int:
        return len({(each.session.facts.agent, each.session.facts.id) for each in self.chunks})


@dataclass(slots=True)
class Extracted:
    """What an extraction did. `stopped` says why it ended before all was read; "" where it was."""

    chunks: int = 0
    facts: list[Fact] = field(default_factory=list)
    repeated: int = 0  # told again of what is known
    superseded: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    dollars: float = 0.0
    unpriced: int = 0  # answers whose client tells no price
    stopped: str = ""

"""What an assembly is: which entries of the past were chosen, why, and what they take of the budget.

Plain values between the passes. `Piece.cuts` counts in characters of the entry's own text; only
what a tool gave back, pasted prompts and summaries are ever cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from recollect.values.hits import Fresh
from recollect.values.stored import Session

Window = tuple[int, int]

TOPIC, PHRASE, NAME, FILE = "topic", "phrase", "name", "file"


@dataclass(frozen=True, slots=True)
class Ask:
    """One thing to look for: words that go together, a quotation, an identifier, a file."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Facet:
    """A part of the description that wants its own share; the first one is the description as a whole."""

    text: str
    asks: tuple[Ask, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to look for. `window` is the time it speaks of, `latest` whether it wants what holds today."""

    description: str
    facets: tuple[Facet, ...]
    projects: tuple[str, ...] = ()
    window: Window | None = None
    latest: bool = False


@dataclass(frozen=True, slots=True)
class Strategy:
    """One search: how it looked, for what, for which facet, how much it found and how much of that is in."""

    name: str
    asked: str
    facet: int
    found: int
    kept: int = 0


@dataclass(frozen=True, slots=True)
class Share:
    """What a facet may take of the budget, what it took, and in how many pieces."""

    text: str
    budget_tokens: int
    tokens: int
    pieces: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Entries of one turn, in order. `hits` are those that were found, `why` the strategies that did.

    `facet` is the one it says most about. `cuts` has the part that is kept of entries that are cut.
    """

    session: Session
    session_row: int
    time_ms: int
    rows: tuple[int, ...]
    ids: tuple[str, ...]
    hits: tuple[str, ...]
    tokens: int
    score: float
    facet: int
    why: tuple[str, ...]
    cuts: tuple[tuple[int, Window], ...] = ()


@dataclass(frozen=True, slots=True)
class Assembly:
    """What was chosen, in the order it is told; `tokens` is what all of it takes, separators included."""

    description: str
    budget_tokens: int
    plan: Plan
    strategies: tuple[Strategy, ...]
    shares: tuple[Share, ...]
    pieces: tuple[Piece, ...]
    tokens: int
    candidates: int
    fresh: Fresh
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[int, ...]:
        """Every entry, in order."""
        return tuple(row for piece in self.pieces for row in piece.rows)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(id_ for piece in self.pieces for id_ in piece.ids)

    @property
    def sessions(self) -> tuple[Session, ...]:
        """The sessions it is taken from, in order."""
        return tuple({piece.session_row: piece.session for piece in self.pieces}.values())

    def runs(self) -> Iterator[tuple[Piece, ...]]:
        """Pieces of one session that follow one another: what stands under one separator."""
        run: tuple[Piece, ...] = ()
        for piece in self.pieces:
            if run and run[0].session_row != piece.session_row:
                yield run
                run = ()
            run += (piece,)
        if run:
            yield run

"""A thread that a person assembled and saved, and an edit of one."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.values.assembly import Piece, Window


@dataclass(frozen=True, slots=True)
class SavedPiece:
    """Entries of one turn, by id; what of them is cut; what they took when they were saved."""

    number: int
    ids: tuple[str, ...]
    tokens: int
    score: float
    cuts: tuple[tuple[str, Window], ...] = ()
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class SavedThread:
    """A thread as it is after its last edit; its pieces in the order they are told."""

    id: str
    name: str
    description: str
    project: str
    budget_tokens: int
    pieces: tuple[SavedPiece, ...]
    created_ms: int
    edited_ms: int

    @property
    def tokens(self) -> int:
        """What its pieces take, without the lines between them."""
        return sum(piece.tokens for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Edit:
    """One change. `piece` is a piece's number, `to` a place among those there are, from 1."""

    op: str
    piece: int = 0
    to: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True)
class OpenedPiece:
    """A piece with what the store has of it: None, and `gone` entries, where that is nothing.

    Of those that are gone some were `erased`. `says` is how it begins.
    """

    saved: SavedPiece
    piece: Piece | None
    gone: int
    says: str
    erased: int = 0

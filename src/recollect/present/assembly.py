"""What was assembled, saved or delivered, as JSON objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.values.assembly import Assembly
    from recollect.values.fidelity import Delivered
    from recollect.values.saved import OpenedPiece, SavedThread


def assembly_object(made: Assembly) -> dict[str, Any]:
    """What was asked, how it was looked for, how the budget is split, what was chosen."""
    return {
        "description": made.description,
        "budget_tokens": made.budget_tokens,
        "tokens": made.tokens,
        "facets": [
            {
                "text": each.text,
                "budget_tokens": each.budget_tokens,
                "tokens": each.tokens,
                "pieces": each.pieces,
            }
            for each in made.shares
        ],
        "strategies": [
            {
                "name": each.name,
                "asked": each.asked,
                "facet": each.facet,
                "found": each.found,
                "kept": each.kept,
            }
            for each in made.strategies
        ],
        "pieces": [
            {
                "session": piece.session.facts.id,
                "project": piece.session.facts.project,
                "time_ms": piece.time_ms or None,
                "entries": list(piece.ids),
                "hits": list(piece.hits),
                "tokens": piece.tokens,
                "score": round(piece.score, 4),
                "facet": piece.facet,
                "why": list(piece.why),
            }
            for piece in made.pieces
        ],
        "candidates": made.candidates,
        "notes": list(made.notes),
    }


def delivered_object(done: Delivered) -> dict[str, Any]:
    """A session that was written, and what became of each part of it."""
    return {
        "agent": done.agent,
        "session_id": done.session_id,
        "path": str(done.path) if done.path else None,
        "command": done.command,
        "bytes": done.bytes,
        "fidelity": done.fidelity.object(),
        "masked": None if done.masked is None else dict(sorted(done.masked.items())),
    }


def saved_object(thread: SavedThread, short: str) -> dict[str, Any]:
    """A thread as the list has it."""
    return {
        "id": thread.id,
        "short": short,
        "name": thread.name,
        "description": thread.description,
        "project": thread.project,
        "budget_tokens": thread.budget_tokens,
        "tokens": thread.tokens,
        "pieces": len(thread.pieces),
        "created_ms": thread.created_ms,
        "edited_ms": thread.edited_ms,
    }


def piece_object(each: OpenedPiece) -> dict[str, Any]:
    piece = each.piece
    return {
        "number": each.saved.number,
        "pinned": each.saved.pinned,
        "entries": list(each.saved.ids),
        "gone": each.gone,
        "erased": each.erased,
        "session": piece.session.facts.id if piece else None,
        "time_ms": piece.time_ms if piece else None,
        "tokens": piece.tokens if piece else 0,
        "begins": each.says,
    }

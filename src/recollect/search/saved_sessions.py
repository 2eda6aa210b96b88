"""The sessions that code and people keep something in, told from those that agents logged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.light.sources import MEMORY

if TYPE_CHECKING:
    from recollect.store.contract import View


def own_sessions(view: View) -> dict[int, str]:
    """What sessions with notes, or with the graph, are called, by row: this person's own."""
    clues = view.session_clues()
    mine = {at for at, clue in enumerate(clues.clues) if clue.agent == MEMORY and not clue.imported}
    rows = view.session_rows()
    told = zip(clues.rows.tolist(), clues.at.tolist(), strict=True)
    return {row: rows[row].facts.id for row, at in told if at in mine}

"""Neighbours, turns and clues to projects: for engines that have no better way.

Sessions grow side by side, so an entry's neighbours are not the rows beside it. What belongs together
is told from columns alone; only what is shown is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from recollect.store.contract import SessionClues
from recollect.values.records import HIDDEN, UNSAID, Kind

if TYPE_CHECKING:
    from recollect.store.contract import Array, View
    from recollect.values.stored import Clue, Session, StoredEntry


def is_said(columns: Mapping[str, Array]) -> Array:
    """Which entries a person said, by their columns `kind` and `flags`."""
    said: Array = (columns["kind"] == Kind.PROMPT) & (columns["flags"] & UNSAID == 0)
    return said


def is_shown(columns: Mapping[str, Array], hidden: int = HIDDEN) -> Array:
    """Which entries are part of the conversation: no bookkeeping, and nothing with a flag of `hidden`."""
    shown: Array = (columns["kind"] != Kind.EVENT) & (columns["flags"] & hidden == 0)
    return shown


def neighbours_of(view: View, row: int, before: int, after: int, hidden: int) -> list[StoredEntry]:
    """What `View.neighbours` promises."""
    columns = _session_of(view, row)
    if row not in columns["row"]:
        return view.entries_at([row])  # it was replaced
    rows = columns["row"][is_shown(columns, hidden) | (columns["row"] == row)]
    at = int(np.searchsorted(rows, row))
    return view.entries_at(rows[max(at - before, 0) : at + after + 1].tolist())


def turn_of(view: View, row: int) -> list[int]:
    """What `View.turn_of` promises."""
    columns = _session_of(view, row)
    if row not in columns["row"]:
        return [row]  # it was replaced
    starts = np.flatnonzero(is_said(columns))
    turn = int(np.searchsorted(columns["row"][starts], row, "right"))
    start = int(starts[turn - 1]) if turn else 0
    stop = int(starts[turn]) if turn < len(starts) else None
    told = is_shown(columns) | (columns["row"] == row)
    rows: list[int] = columns["row"][start:stop][told[start:stop]].tolist()
    return rows


def clues_of(sessions: Iterable[tuple[int, Session]]) -> SessionClues:
    """What `View.session_clues` promises, of sessions with their rows."""
    ended_ms: dict[Clue, int] = {}
    rows: list[int] = []
    at: list[int] = []
    places: dict[Clue, int] = {}
    for row, session in sessions:
        clue = session.clue
        ended_ms[clue] = max(ended_ms.get(clue, 0), session.facts.ended_ms)
        rows.append(row)
        at.append(places.setdefault(clue, len(places)))
    return SessionClues(
        list(places), list(ended_ms.values()), np.array(rows, np.int64), np.array(at, np.int64)
    )


def _session_of(view: View, row: int) -> dict[str, Array]:
    session = int(view.columns_at([row], "session")["session"][0])
    return view.session_columns(session, "row", "kind", "flags")

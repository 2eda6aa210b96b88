"""The sessions that code and people keep something in, told from those that agents logged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from recollect.light.sources import MEMORY

if TYPE_CHECKING:
    from recollect.store.contract import View


class OwnSessions(Mapping[int, str]):
    """The ids of the sessions that notes are in, by row: this person's own, each read when asked for."""

    def __init__(self, view: View) -> None:
        clues = view.session_clues()
        mine = {at for at, clue in enumerate(clues.clues) if clue.agent == MEMORY and not clue.imported}
        told = zip(clues.rows.tolist(), clues.at.tolist(), strict=True)
        self._ids: dict[int, str | None] = {row: None for row, at in told if at in mine}
        self._sessions = view.session_rows()

    def __getitem__(self, row: int) -> str:
        if (known := self._ids[row]) is None:
            known = self._ids[row] = self._sessions[row].facts.id
        return known

    def __contains__(self, row: object) -> bool:
        return row in self._ids

    def __iter__(self) -> Iterator[int]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)


def own_sessions(view: View) -> OwnSessions:
    """Those of a view, worked out once for a state of the store."""
    from recollect.search.projects import worked_out  # needs NumPy, which help and mistakes do not

    return worked_out(view, OwnSessions)

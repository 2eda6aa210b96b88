"""Notes read out of a view: which sessions have them, and all that their lines say."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from recollect.agents.memory.records import NOTE, note_of
from recollect.light.sources import MEMORY
from recollect.search.projects import worked_out
from recollect.values.records import HIDDEN

if TYPE_CHECKING:
    from recollect.store.contract import View
    from recollect.values.notes import Note

_AT_ONCE = 4096


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
    return worked_out(view, OwnSessions)


def read_notes(view: View, session: str, entries: Iterable[Any]) -> Iterator[Note]:
    """The notes that entries of a session are, with all that their lines say."""
    shown = (each for each in entries if each.type.startswith(f"{NOTE}/") and not each.entry.flags & HIDDEN)
    while part := list(itertools.islice(shown, _AT_ONCE)):
        lines = view.columns_at([each.row for each in part], "line")["line"].tolist()
        for line in view.lines_at(lines):
            note = note_of(decoded(line.data), session, line.data)
            if note is not None:
                yield note


def decoded(line: bytes) -> dict[str, Any]:
    """The record of a line; {} for one that is none."""
    from recollect.agents.decode import BadLine, decode

    try:
        record = decode(line)[0]
    except BadLine:
        return {}
    return record if isinstance(record, dict) else {}

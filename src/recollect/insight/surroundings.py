"""What an entry stands in: its neighbours, and the turn of a conversation that it is part of.

Sessions grow side by side, so an entry's neighbours are not the rows beside it. What belongs together is
told from columns alone; only what is shown is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recollect.store.contract import Array, View
from recollect.values.records import Flag, Kind
from recollect.values.stored import Session, StoredEntry

HIDDEN = int(Flag.COPY | Flag.INJECTED | Flag.REPLACED)  # what a model has no use for, or has already

NEAR_ENTRIES = 3  # hits this close in a session are one block
OUTCOME_ENTRIES = 60  # what a turn came to belongs to a hit if it is said within so many
MORE_HITS = 0.2  # of its score, what another hit adds to a block


def around(
    view: View, point: StoredEntry, before: int, after: int, *, hidden: int = int(Flag.COPY | Flag.REPLACED)
) -> list[StoredEntry]:
    """An entry between those that come before and after it in its session, bookkeeping left out."""
    columns = view.entry_columns("session", "kind", "flags")
    shown = (columns["kind"] != Kind.EVENT) & (columns["flags"] & hidden == 0)
    shown[point.row] = True
    own = np.flatnonzero(shown & (columns["session"] == point.session_row))
    at = int(np.searchsorted(own, point.row))
    return view.entries_at(own[max(at - before, 0) : at + after + 1].tolist())


@dataclass(frozen=True, slots=True)
class Found:
    """An entry that was found, and how well it fits."""

    stored: StoredEntry
    session: Session
    score: float


@dataclass(slots=True, eq=False)
class Block:
    """Hits that belong together, best first; `rows` they stand in, and the `prompts` that led to them."""

    session: Session
    session_row: int
    hits: list[Found]
    rows: set[int]
    prompts: set[int]

    @property
    def score(self) -> float:
        best, *others = (hit.score for hit in self.hits)
        return best + MORE_HITS * sum(others)

    @property
    def best(self) -> StoredEntry:
        return self.hits[0].stored


class Courses:
    """The courses of sessions, made when asked for."""

    def __init__(self, view: View) -> None:
        self._columns = view.entry_columns("session", "kind", "flags", "call")
        kinds, flags = self._columns["kind"], self._columns["flags"]
        self._shown = (kinds != Kind.EVENT) & (kinds != Kind.IMAGE) & (flags & HIDDEN == 0)
        self._known: dict[int, Course] = {}

    def __getitem__(self, session_row: int) -> Course:
        known = self._known.get(session_row)
        if known is None:
            rows = np.flatnonzero(self._shown & (self._columns["session"] == session_row))
            kinds, flags, calls = (self._columns[name][rows] for name in ("kind", "flags", "call"))
            said = (kinds == Kind.PROMPT) & (flags & Flag.META == 0)
            known = self._known[session_row] = Course(rows, kinds, calls, said)
        return known


class Course:
    """What one session shows, in order, without its texts."""

    def __init__(self, rows: Array, kinds: Array, calls: Array, said: Array) -> None:
        self._rows, self._kinds, self._calls = rows, kinds, calls
        self._prompts = np.flatnonzero(said)

    def between(self, row: int, other: int) -> int:
        """How many entries lie between two, the earlier one first."""
        return self._at(other) - self._at(row) - 1

    def about(self, row: int) -> tuple[set[int], set[int]]:
        """What led to an entry; and the entry with the other half of its call and what was answered."""
        at = self._at(row)
        turn = int(np.searchsorted(self._prompts, at, "right"))
        start = int(self._prompts[turn - 1]) if turn else 0
        stop = int(self._prompts[turn]) if turn < len(self._prompts) else len(self._rows)
        places = {at}
        if self._calls[at]:
            places |= set((start + np.flatnonzero(self._calls[start:stop] == self._calls[at])).tolist())
        answers = at + 1 + np.flatnonzero(self._kinds[at + 1 : stop] == Kind.ANSWER)
        if len(answers):
            # What a turn came to is said last; of a step long before, what was made of it is said next.
            near = at == start or answers[-1] - at <= OUTCOME_ENTRIES
            places.add(int(answers[-1 if near else 0]))
        prompts = {start} - places if turn else set()
        return self._rows_of(prompts), self._rows_of(places)

    def meet(self, block: Block, rows: set[int], row: int) -> bool:
        """Whether an entry and what it stands in belong to a block of this session."""
        near = any(abs(self._at(hit.stored.row) - self._at(row)) <= NEAR_ENTRIES for hit in block.hits)
        return near or not block.rows.isdisjoint(rows)

    def _at(self, row: int) -> int:
        return int(np.searchsorted(self._rows, row))

    def _rows_of(self, places: set[int]) -> set[int]:
        return {int(self._rows[place]) for place in places}


def blocks_of(courses: Courses, hits: Sequence[Found]) -> list[Block]:
    """Each hit in its surroundings, those that overlap or nearly do as one; the best first."""
    blocks: list[Block] = []
    for hit in hits:
        row, session_row = hit.stored.row, hit.stored.session_row
        course = courses[session_row]
        prompts, rows = course.about(row)
        same = (block for block in blocks if block.session_row == session_row)
        block = next((block for block in same if course.meet(block, rows, row)), None)
        if block is None:
            blocks.append(Block(hit.session, session_row, [hit], rows, prompts))
        else:
            block.hits.append(hit)
            block.rows |= rows
            block.prompts |= prompts
    return sorted(blocks, key=lambda block: (-round(block.score, 6), -block.best.row))

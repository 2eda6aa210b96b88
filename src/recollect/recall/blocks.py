"""Hits in what they stand in: what led to each, the other half of its call, what it came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recollect.insight.turns import Course, Turns
from recollect.values.stored import Session, StoredEntry

NEAR_ENTRIES = 1  # hits this close in a session are one block
OUTCOME_ENTRIES = 60  # what a turn came to belongs to a hit if it is said within so many
MORE_HITS = 0.1  # of its score, what another hit adds to a block


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


def blocks_of(turns: Turns, hits: Sequence[Found]) -> list[Block]:
    """Each hit in what it stands in, those that overlap or nearly do as one; the best first."""
    blocks: list[Block] = []
    for hit in hits:
        row, session_row = hit.stored.row, hit.stored.session_row
        course = turns[session_row]
        prompts, rows = _about(course, row)
        same = (block for block in blocks if block.session_row == session_row)
        block = next((block for block in same if _meets(course, block, rows, row)), None)
        if block is None:
            blocks.append(Block(hit.session, session_row, [hit], rows, prompts))
        else:
            block.hits.append(hit)
            block.rows |= rows
            block.prompts |= prompts
    return sorted(blocks, key=lambda block: (-round(block.score, 6), -block.best.row))


def _about(course: Course, row: int) -> tuple[set[int], set[int]]:
    """What led to an entry; and the entry with the other half of its call and what was answered."""
    turn = course.turn_at(row)
    rows = course.with_halves({row}, turn)
    if answers := course.answers_after(row):
        # What a turn came to is said last; of a step long before, what was made of it is said next.
        begins = course.rows_of(turn)[0] == row
        near = begins or course.distance(row, answers[-1]) <= OUTCOME_ENTRIES
        rows.add(answers[-1 if near else 0])
    prompt = course.prompt_of(row)
    return ({prompt} if prompt is not None else set()) - rows, rows


def _meets(course: Course, block: Block, rows: set[int], row: int) -> bool:
    """Whether an entry and what it stands in belong to a block of this session."""
    near = any(course.distance(hit.stored.row, row) <= NEAR_ENTRIES for hit in block.hits)
    return near or not block.rows.isdisjoint(rows)

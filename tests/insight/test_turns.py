"""The walker says of any session what a reader with all of it before them would say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recollect.insight.turns import Course
from recollect.values.records import Flag, Kind

KINDS = (Kind.PROMPT, Kind.ANSWER, Kind.CALL, Kind.RESULT, Kind.THOUGHT, Kind.SUMMARY)


@dataclass(frozen=True)
class Cell:
    row: int
    kind: int
    flags: int
    time: int
    call: int

    @property
    def is_said(self) -> bool:
        return self.kind == Kind.PROMPT and not self.flags & Flag.META


@st.composite
def sessions(draw: Any) -> list[Cell]:
    """Entries of one session; between their rows are those of others."""
    steps = draw(st.lists(st.integers(1, 4), min_size=1, max_size=30))
    return [
        Cell(
            int(row),
            draw(st.sampled_from(KINDS)),
            draw(st.sampled_from([0, 0, 0, Flag.META, Flag.ERROR])),
            draw(st.sampled_from([0, 5, 9])),
            draw(st.sampled_from([0, 0, 1, 2])),
        )
        for row in np.cumsum(steps)
    ]


def course(cells: list[Cell]) -> Course:
    names = ("row", "kind", "flags", "time", "call")
    return Course({name: np.array([getattr(cell, name) for cell in cells]) for name in names})


def turns_of(cells: list[Cell]) -> list[list[Cell]]:
    """Turn 0 has what comes before anyone said anything."""
    turns: list[list[Cell]] = [[]]
    for cell in cells:
        if cell.is_said:
            turns.append([])
        turns[-1].append(cell)
    return turns


@given(sessions())
def test_turns_are_what_a_person_said_and_all_that_came_of_it(cells: list[Cell]) -> None:
    walked, turns = course(cells), turns_of(cells)
    for number, turn in enumerate(turns):
        assert walked.rows_of(number) == [cell.row for cell in turn]
        assert walked.time_ms(number) == next((cell.time for cell in turn if cell.time), 0)
        for cell in turn:
            assert walked.turn_at(cell.row) == number
            assert walked.prompt_of(cell.row) == (turn[0].row if number else None)
    assert walked.rows_of(-1) == walked.rows_of(len(turns)) == []
    assert walked.prompts() == [cell.row for cell in cells if cell.is_said]


@given(sessions())
def test_answers_close_the_turn_they_are_the_last_of(cells: list[Cell]) -> None:
    walked, closing = course(cells), []
    for turn in turns_of(cells):
        answers = [cell.row for cell in turn if cell.kind == Kind.ANSWER]
        closing += answers[-1:]
        for cell in turn:
            assert walked.answers_after(cell.row) == [row for row in answers if row > cell.row]
    assert walked.closing_answers() == closing


@given(sessions())
def test_calls_and_results_find_each_other(cells: list[Cell]) -> None:
    walked = course(cells)
    for cell in cells:
        same = [each for each in cells if cell.call and each.call == cell.call]
        results = [each.row for each in same if each.kind == Kind.RESULT]
        calls = [each.row for each in same if each.kind == Kind.CALL and each.row < cell.row]
        assert walked.result_of(cell.row) == (results[0] if results else None)
        assert walked.call_of(cell.row) == (calls[-1] if calls else None)
        assert walked.has_failed(cell.row) == bool(cell.flags & Flag.ERROR)


@given(sessions(), st.data())
def test_the_other_half_of_a_call_joins_within_its_turn(cells: list[Cell], data: Any) -> None:
    walked = course(cells)
    for number, turn in enumerate(turns_of(cells)):
        wanted = set(data.draw(st.sets(st.sampled_from(turn))) if turn else ())
        calls = {cell.call for cell in wanted} - {0}
        halves = {cell.row for cell in turn if cell.call in calls}
        assert walked.with_halves({cell.row for cell in wanted}, number) == {c.row for c in wanted} | halves


@given(sessions(), st.integers(0, 9))
def test_places_are_counted_in_entries_of_the_session_not_in_rows(cells: list[Cell], count: int) -> None:
    walked, rows = course(cells), [cell.row for cell in cells]
    for at, cell in enumerate(cells):
        assert walked.rows_after(cell.row) == rows[at + 1 :]
        assert walked.rows_after(cell.row, count) == rows[at + 1 :][:count]
        assert walked.distance(rows[0], cell.row) == walked.distance(cell.row, rows[0]) == at
    calls = [cell.row for cell in cells if cell.kind in (Kind.CALL, Kind.RESULT)]
    assert walked.all(Kind.CALL, Kind.RESULT) == walked.only(rows, Kind.CALL, Kind.RESULT) == calls

"""Errors of a turn, and what led from each of them to the run that worked.

What cures an error is told by `insight/cure`. What never worked again is told with the next steps alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from recollect.insight.cure import Run, Work, runs_again, work_of
from recollect.recall.assemble.files import is_change
from recollect.values.records import Flag, Kind
from recollect.values.text import tokens

if TYPE_CHECKING:
    from recollect.values.stored import StoredEntry

FIX_ENTRIES = 16  # from an error to what ended it
STEPS_AFTER = 3  # that are told of an error nothing ended
ROW_TOKENS, ROW_AROUND = 300, 12  # of one entry: what is longer will be cut

Pairs = dict[int, tuple[int, ...]]  # each row with the other half of its call


def pairs_of(entries: Sequence[StoredEntry]) -> Pairs:
    """Each entry with the other half of its call."""
    calls: dict[str, list[int]] = {}
    for each in entries:
        if each.entry.call:
            calls.setdefault(each.entry.call, []).append(each.row)
    return {each.row: tuple(calls.get(each.entry.call) or (each.row,)) for each in entries}


def fixes(entries: Sequence[StoredEntry], pairs: Pairs) -> Iterator[tuple[int, ...]]:
    """The rows of each error of a turn, with what was said and changed until the same thing worked."""
    runs = _runs(entries)
    done = -1
    for at, each in enumerate(entries):
        if each.row > done and each.entry.kind == Kind.RESULT and each.entry.flags & Flag.ERROR:
            steps, done = _until_it_worked(each, entries[at + 1 : at + 1 + FIX_ENTRIES], runs)
            yield tuple(sorted({row for step in (each.row, *steps) for row in pairs[step]}))


def size_of(rows: Sequence[int], entries: Sequence[StoredEntry]) -> int:
    """About what some rows take."""
    wanted = set(rows)
    texts = [each.entry.text for each in entries if each.row in wanted]
    return sum(min(tokens(text), ROW_TOKENS) + ROW_AROUND for text in texts)


def _runs(entries: Sequence[StoredEntry]) -> dict[int, Run]:
    """By its result's row, each call that came to an end, in order."""
    calls = {each.entry.call: each for each in reversed(entries) if each.entry.kind == Kind.CALL}
    results = [each for each in entries if each.entry.kind == Kind.RESULT and each.entry.call in calls]
    return {
        each.row: Run(calls[each.entry.call], each.row, bool(each.entry.flags & Flag.ERROR))
        for each in results
    }


def _until_it_worked(
    error: StoredEntry, later: Sequence[StoredEntry], runs: dict[int, Run]
) -> tuple[list[int], int]:
    """What followed an error, and the row of the last run of the same thing."""
    tried = work_of(runs[error.row].call.entry) if error.row in runs else Work()
    again = runs_again(tried, (runs[each.row] for each in later if each.row in runs))
    results = [run.result_row for run in again.runs]
    steps = [
        each.row
        for each in later
        if each.row in results or is_change(each.entry) or each.entry.kind == Kind.ANSWER
    ]
    if again.is_cured:
        return [row for row in steps if row <= results[-1]], results[-1]
    told = len(steps) <= STEPS_AFTER
    return steps[:STEPS_AFTER], results[-1] if results and told else error.row

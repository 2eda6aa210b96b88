"""Errors, and what led from each of them to the run that worked.

A run works where one failed if it does the same: the same program with the same first argument, the
same tool on the same file. What never worked again is told with the next steps alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from recollect.agents.registry import all_tools
from recollect.insight.history import command_of
from recollect.recall.assemble.files import is_change
from recollect.search.text.fields import files_of
from recollect.values.records import Entry, Flag, Kind
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
    by_row = {each.row: each.entry for each in entries}
    done = -1
    for at, each in enumerate(entries):
        if at > done and each.entry.kind == Kind.RESULT and each.entry.flags & Flag.ERROR:
            steps, done = _until_it_worked(entries, at, by_row, pairs)
            yield tuple(sorted({row for step in (each.row, *steps) for row in pairs[step]}))


def size_of(rows: Sequence[int], entries: Sequence[StoredEntry]) -> int:
    """About what some rows take."""
    wanted = set(rows)
    texts = [each.entry.text for each in entries if each.row in wanted]
    return sum(min(tokens(text), ROW_TOKENS) + ROW_AROUND for text in texts)


def _until_it_worked(
    entries: Sequence[StoredEntry], at: int, by_row: dict[int, Entry], pairs: Pairs
) -> tuple[list[int], int]:
    """What followed an error, and the place of the last run of the same thing."""
    tried = _work([by_row[row] for row in pairs[entries[at].row]])
    steps: list[int] = []
    done = at
    for place, later in enumerate(entries[at + 1 : at + 1 + FIX_ENTRIES], at + 1):
        entry = later.entry
        same = entry.kind == Kind.RESULT and bool(tried)
        again = same and _work([by_row[row] for row in pairs[later.row]]) == tried
        if again or is_change(entry) or entry.kind == Kind.ANSWER:
            steps.append(later.row)
        if again:
            done = place
            if not entry.flags & Flag.ERROR:
                return steps, done
    return steps[:STEPS_AFTER], done if len(steps) <= STEPS_AFTER else at


def _work(pair: list[Entry]) -> tuple[str, ...]:
    """What a call tries to do."""
    call = next((entry for entry in pair if entry.kind == Kind.CALL), None)
    if call is None:
        return ()
    if call.tool.lower() not in all_tools().run:
        return call.tool, *files_of(call)[:1]
    parts = [part.split() for part in re.split(r"&&|;|\n", command_of(call))]
    words: list[str] = next((each for each in reversed(parts) if each and each[0] != "cd"), [])
    return tuple(word for word in words if "=" not in word)[:2]

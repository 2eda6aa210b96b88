"""The index of exchanges: what a person asked and what it came to, as one document for each turn.

A question's words are seldom all in one entry: some are in the prompt, the others in the answer. An exchange
is found by all of them, and stands for its closing answer, which is where it is said. It is an index of its
own because a word's rarity and a text's length count among exchanges, not among calls and results.

A turn goes on until the next prompt; whenever it has, its document is made anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import tantivy

from recollect.search.text.documents import Batch, document_of
from recollect.search.text.fields import body_of, identifiers
from recollect.search.text.index import TextIndex
from recollect.store.contract import View
from recollect.store.walks import is_said, is_shown
from recollect.values.records import Kind

PROMPT_CHARS = 8_000  # of a prompt: what is pasted behind says less of what was wanted
ANSWER_CHARS = 20_000
ROWS_AT_ONCE = 20_000  # whose turns are looked for together

_Turn = tuple[int, int]  # the rows of a prompt and of the last answer to it


class ExchangeIndex(TextIndex):
    """One store's exchanges. The `row` of a document is its closing answer; `turn` tells the prompt."""

    NAME = "exchanges"
    FORMAT = 2

    def made_of(self, rows: Sequence[int]) -> tantivy.Query:
        either = (super().made_of(rows), self._any_of("turn", [row + 1 for row in rows]))
        return tantivy.Query.boolean_query([(tantivy.Occur.Should, each) for each in either])

    def _batches(self, view: View, start: int, stop: int) -> Iterator[Batch]:
        for first in range(start, stop, ROWS_AT_ONCE):
            last = min(first + ROWS_AT_ONCE, stop)
            turns = list(_turns(view, first, last))
            yield Batch(last, list(_documents(view, turns)), tuple(prompt + 1 for prompt, _ in turns))


def _turns(view: View, first: int, last: int) -> Iterator[_Turn]:
    """The turns with an answer that some rows are of, as far as the last of these rows."""
    for session in view.sessions_in(first, last):
        columns = view.session_columns(session, "row", "kind", "flags")
        known = is_shown(columns) & (columns["row"] < last)
        columns = {name: values[known] for name, values in columns.items()}
        rows, starts = columns["row"], np.flatnonzero(is_said(columns))
        stops = np.append(starts, len(rows))[1:]
        answers = np.flatnonzero(columns["kind"] == Kind.ANSWER)
        closing = np.searchsorted(answers, stops) - 1  # the last answer before each end
        for start, stop, at in zip(starts.tolist(), stops.tolist(), closing.tolist(), strict=True):
            if at >= 0 and answers[at] > start and rows[stop - 1] >= first:
                yield int(rows[start]), int(rows[answers[at]])


def _documents(view: View, turns: list[_Turn]) -> Iterator[tantivy.Document]:
    stored = {each.row: each for each in view.entries_at(sorted({row for turn in turns for row in turn}))}
    bodies = [
        f"{body_of(stored[prompt].entry)[:PROMPT_CHARS]}\n{body_of(stored[answer].entry)[:ANSWER_CHARS]}"
        for prompt, answer in turns
    ]
    for (prompt, answer), body, names in zip(turns, bodies, identifiers(bodies), strict=True):
        yield document_of(stored[answer], prompt + 1, body, names)

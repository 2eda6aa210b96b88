"""The index of exchanges: what a person asked and what it came to, as one document for each turn.

A question's words are seldom all in one entry: some are in the prompt, the others in the answer. An exchange
is found by all of them, and stands for its closing answer, which is where it is said. A turn goes on until the
next prompt; whenever it has, its document is replaced.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import tantivy

from recollect.search.text.fields import body_of, cjk_terms, identifiers
from recollect.search.text.index import Batch, TextIndex, schema_builder
from recollect.store.contract import Array, View
from recollect.store.walks import is_said, is_shown
from recollect.values.records import Kind

PROMPT_CHARS = 8_000  # of a prompt: what is pasted behind says less of what was wanted
ANSWER_CHARS = 20_000
ROWS_AT_ONCE = 20_000  # whose turns are looked for together

_Turn = tuple[int, int]  # the rows of a prompt and of the last answer to it


@dataclass(frozen=True, slots=True)
class Exchanges:
    """What was found, best first: the closing answers, the prompts they came of, how well both fit."""

    answers: Array
    prompts: Array
    scores: Array


class ExchangeIndex(TextIndex):
    """One store's index of exchanges. `row` of a document is its closing answer, `prompt` how its turn began."""

    NAME = "exchanges"
    FORMAT = 1

    def exchanges(self, query: tantivy.Query, limit: int) -> Exchanges:
        """The best exchanges."""
        found = self.search(query, limit)
        return Exchanges(found.rows, found.gists, found.scores)

    def _batches(self, view: View, start: int, stop: int) -> Iterator[Batch]:
        for first in range(start, stop, ROWS_AT_ONCE):
            last = min(first + ROWS_AT_ONCE, stop)
            turns = list(_turns(view, first, last))
            began = [prompt for prompt, _ in turns]
            instead_of = tantivy.Query.term_set_query(self.schema, "prompt", began) if began else None
            yield Batch(last, list(_documents(view, turns)), instead_of)

    def _schema(self) -> tantivy.Schema:
        return schema_builder().add_unsigned_field("prompt", indexed=True).build()


def _turns(view: View, first: int, last: int) -> Iterator[_Turn]:
    """The turns with an answer that some rows are of, as far as they go now."""
    sessions = np.unique(view.columns_at(range(first, last), "session")["session"])
    for session in sessions.tolist():
        columns = view.session_columns(session, "row", "kind", "flags")
        columns = {name: values[is_shown(columns)] for name, values in columns.items()}
        rows, starts = columns["row"], np.flatnonzero(is_said(columns))
        stops = np.append(starts, len(rows))[1:]
        answers = np.flatnonzero(columns["kind"] == Kind.ANSWER)
        closing = np.searchsorted(answers, stops) - 1  # the last answer before each end
        for start, stop, at in zip(starts.tolist(), stops.tolist(), closing.tolist(), strict=True):
            if at >= 0 and answers[at] > start and rows[stop - 1] >= first and rows[start] < last:
                yield int(rows[start]), int(rows[answers[at]])


def _documents(view: View, turns: list[_Turn]) -> Iterator[tantivy.Document]:
    stored = {each.row: each for each in view.entries_at(sorted({row for turn in turns for row in turn}))}
    bodies = [
        f"{body_of(stored[prompt].entry)[:PROMPT_CHARS]}\n{body_of(stored[answer].entry)[:ANSWER_CHARS]}"
        for prompt, answer in turns
    ]
    for (prompt, answer), body, names in zip(turns, bodies, identifiers(bodies), strict=True):
        document, said = tantivy.Document(), stored[answer]
        document.add_unsigned("row", answer)
        document.add_unsigned("prompt", prompt)
        document.add_unsigned("gist", prompt)
        document.add_unsigned("session", said.session_row)
        document.add_unsigned("kind", int(said.entry.kind))
        document.add_integer("time", said.entry.time_ms)
        document.add_unsigned("chars", len(body))
        texts = {"body": body, "whole": names.whole, "parts": names.parts, "cjk": cjk_terms(body)}
        for field, text in texts.items():
            if text:
                document.add_text(field, text)
        yield document

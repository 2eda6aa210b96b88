"""Hits by session: what was asked where the best of them stands, and what it came to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from recollect.search.sentences import is_narration, quote, sentences
from recollect.search.snippet import Highlighter
from recollect.store.contract import View
from recollect.store.walks import is_said, is_shown
from recollect.values.hits import Hit, SessionHits
from recollect.values.records import Kind
from recollect.values.stored import StoredEntry

Weight = Callable[[str], float]  # of a word: how rare it is
Ends = tuple[int, int]  # the rows of a turn's prompt and of its last answer, -1 for none


def turn_ends(view: View, session: int, row: int) -> Ends:
    """What the turn of an entry began with and what it closed with; -1 where that is the entry itself."""
    columns = view.session_columns(session, "row", "kind", "flags")
    rows = columns["row"]
    starts, answers = rows[is_said(columns)], rows[(columns["kind"] == Kind.ANSWER) & is_shown(columns)]
    turn = int(np.searchsorted(starts, row, "right"))
    first = int(starts[turn - 1]) if turn else -1
    behind = int(np.searchsorted(answers, starts[turn])) if turn < len(starts) else len(answers)
    last = int(answers[behind - 1]) if behind else -1
    return first if first != row else -1, last if first < last != row else -1


def by_session(
    hits: Sequence[Hit],
    ends: Mapping[int, Ends],
    stored: Mapping[int, StoredEntry],
    highlighter: Highlighter,
    weight: Weight,
) -> list[SessionHits]:
    """The hits of each session, that of the best hit first; `ends` are those of its best hit's turn."""
    found: dict[int, list[Hit]] = {}
    for hit in hits:
        found.setdefault(hit.stored.session_row, []).append(hit)
    made = []
    for session, (prompt, last) in ends.items():
        answer = stored.get(last)
        said = _conclusion(answer.entry.text, highlighter, weight) if answer else ""
        made.append(SessionHits(found[session][0].session, found[session], stored.get(prompt), answer, said))
    return made


def _conclusion(answer: str, highlighter: Highlighter, weight: Weight) -> str:
    """The sentences of an answer that hold most of what was asked for, else the first that tell something."""
    said = [each for each in sentences(answer) if not is_narration(each.text)]
    if not said:
        return ""
    worth = [sum(map(weight, highlighter.words_in(each.text))) for each in said]
    return quote(said, worth.index(max(worth)))

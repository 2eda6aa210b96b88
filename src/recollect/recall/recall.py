"""What the memory holds about a question, as one text for a model: found, set in context, cut to a budget.

`recall` searches, puts around each hit what it stands in (what was asked, the call with its result, what was
answered), and builds a wall of the best of these blocks until the budget is full.
`reading` shows one entry with its neighbours, or page by page all of a long one. Both come fenced.

What is left out was less relevant, not older. A budget is never exceeded; one too small for any block
gets a line that says so, or nothing at all.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING

from recollect.insight.turns import Turns
from recollect.recall.blocks import blocks_of
from recollect.recall.excerpt import below, excerpt, has_text, session_line
from recollect.recall.fence import fenced
from recollect.recall.fitting import fit
from recollect.recall.found import found
from recollect.recall.wall import Facts, Wall
from recollect.search.snippet import highlighter, readable
from recollect.store.contract import View
from recollect.values.errors import NotFound, UsageError
from recollect.values.recalled import Reading, Recall
from recollect.values.records import HIDDEN
from recollect.values.stored import StoredEntry
from recollect.values.text import many, tokens

if TYPE_CHECKING:
    from recollect.search.run import Search
    from recollect.values.hits import Fresh

READING_TOKENS_MIN = 400
NEIGHBOURS_MAX = 50  # on each side
NEIGHBOUR_CHARS = 700
POINT_SHARE = 0.6  # of a reading's budget, for the entry itself


def recall(
    search: Search,
    terms: Sequence[str],
    question: str,
    *,
    budget_tokens: int,
    project: str = "",
    strict_project: str = "",
    now: datetime.datetime | None = None,
    spread: bool = False,
) -> Recall:
    """The best there is about a question, within a budget.

    What is of `project` counts more; with `strict_project` nothing else counts at all. `spread`: what the
    graph relates to things that are asked about counts too.
    """
    hits, fresh, notes = found(search, terms, question, budget_tokens, project, strict_project, now, spread)
    if not hits:
        return _unfenced("Nothing in the memory fits this.", 0, 0, budget_tokens, fresh, notes)
    turns = Turns(search.view)
    blocks = blocks_of(turns, hits)
    wall = Wall(search.view, turns, blocks, highlighter([*question.split(), *terms], search.text.analyze))
    text = wall.built(budget_tokens, Facts(len(hits), fresh, notes))
    if not wall.shown:
        said = f"{many(len(hits), 'hit')}, and no room for one in {many(budget_tokens, 'token')}."
        return _unfenced(said, len(hits), len(blocks), budget_tokens, fresh, notes)
    return Recall(text, len(hits), len(blocks), len(wall.shown), tokens(text), fresh, notes)


def reading(
    view: View, id_: str, *, before: int, after: int, whole: bool, budget_tokens: int, offset: int = 0
) -> Reading:
    """An entry with some of what came before and after it; `whole`, its text alone, from `offset` on."""
    if budget_tokens < READING_TOKENS_MIN:
        raise UsageError(f"a reading takes at least {READING_TOKENS_MIN} tokens, not {budget_tokens}")
    try:
        point = view.find_entry(id_)
    except NotFound as error:
        raise _told_apart(view, id_, error) from None
    session = view.session_rows()[point.session_row]
    point, head = below(session, point), session_line(session)
    if whole or offset:
        return _page(point, head, offset, budget_tokens)
    before, after = (min(max(count, 0), NEIGHBOURS_MAX) for count in (before, after))
    share = POINT_SHARE if before + after else 1.0
    first = _page(point, head, 0, max(int(budget_tokens * share), READING_TOKENS_MIN))
    near = view.neighbours(point.row, before * 2, after * 2, hidden=HIDDEN)  # some have no text
    near = [below(session, each) for each in near]
    at = next(n for n, each in enumerate(near) if each.row == point.row)
    earlier = [each for each in near[:at] if has_text(each)][::-1][:before]
    later = [each for each in near[at + 1 :] if has_text(each)][:after]
    return _surrounded(point, first, head, earlier, later, budget_tokens)


def _told_apart(view: View, id_: str, error: NotFound) -> NotFound:
    """The same error, unless the id is a session's, which every hit shows too."""
    try:
        session = view.find_session(id_)
    except NotFound:
        return error
    return NotFound(
        f"{id_!r} is a session, not an entry", hint=f"search for words and session:{session.facts.id[:8]}"
    )


def _unfenced(
    said: str, hits: int, blocks: int, budget_tokens: int, fresh: Fresh, notes: tuple[str, ...]
) -> Recall:
    """A line of our own, with nothing recalled in it."""
    text = said if tokens(said) <= budget_tokens else ""
    return Recall(text, hits, blocks, 0, tokens(text), fresh, notes)


# -- reading -----------------------------------------------------------------------------------


def _page(point: StoredEntry, head: str, offset: int, budget_tokens: int) -> Reading:
    """As much of an entry's text, from `offset` on, as fits."""
    length = len(readable(point.entry))
    if not 0 <= offset <= length:
        raise UsageError(f"offset {offset} is outside of the text, which has {length:,} characters")

    def page(chars: int) -> Reading:
        stop = offset + chars
        left = f"\n# {length - stop:,} characters follow, from offset {stop}" if stop < length else ""
        text = fenced(f"{head}\n{excerpt(point, (offset, stop))}{left}", kind="reading")
        return Reading(text, point.id, tokens(text), stop if left else 0)

    return fit(page, min(length - offset, budget_tokens * 4), budget_tokens, lambda made: made.tokens)


def _surrounded(
    point: StoredEntry,
    first: Reading,
    head: str,
    earlier: list[StoredEntry],
    later: list[StoredEntry],
    budget_tokens: int,
) -> Reading:
    """An entry between neighbours: the nearest, as many as fit."""
    stop = first.next_offset or len(readable(point.entry))
    cut = [excerpt(point, (0, stop))]
    left = f"# the entry goes on: read it whole from offset {stop}" if first.next_offset else ""
    best = first
    for n in range(max(len(earlier), len(later))):
        for side, at in ((later, len(cut)), (earlier, 0)):
            if n >= len(side):
                continue
            longer = [*cut]
            longer.insert(at, excerpt(side[n], (0, NEIGHBOUR_CHARS)))
            text = fenced("\n".join(filter(None, (head, *longer, left))), kind="reading")
            if tokens(text) > budget_tokens:
                return best
            cut, best = longer, Reading(text, point.id, tokens(text), first.next_offset)
    return best

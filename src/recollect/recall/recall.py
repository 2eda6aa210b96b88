"""What the memory holds about a question, as one text for a model: found, set in context, cut to a budget.

`recall` searches, puts around each hit what it stands in (what was asked, the call with its result, what was
answered), takes the best of these blocks until the budget is full, and shows them session by session.
`reading` shows one entry with its neighbours, or page by page all of a long one. Both come fenced.

What is left out was less relevant, not older. A budget is never exceeded; one too small for any block
gets a line that says so, or nothing at all.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.insight.turns import Turns
from recollect.recall.blocks import Block, Found, blocks_of
from recollect.recall.excerpt import below, excerpt, has_text, session_line, window_around
from recollect.recall.fence import fenced
from recollect.recall.fitting import fit, relevant_hits
from recollect.search.query import QUERY_CHARS_MAX, Is
from recollect.search.snippet import Highlighter, readable
from recollect.search.stop_words import STOP_WORDS
from recollect.store.contract import View
from recollect.values.errors import NotFound, UsageError
from recollect.values.recalled import Reading, Recall
from recollect.values.records import HIDDEN, Kind
from recollect.values.stored import Session, StoredEntry
from recollect.values.text import many, one_line, tokens

if TYPE_CHECKING:
    from recollect.search.run import Search
    from recollect.values.hits import Fresh, Results

HITS_MIN, HITS_MAX = 10, 32  # of one search: to read one may take a millisecond
HIT_TOKENS = 320  # of the budget, for each hit of a search
HIT_CHARS = 1_200  # of the text of a hit
BESIDE_CHARS = 400  # of what stands beside it
LEAN_CHARS = 300  # of a hit alone, in what room is left
SHARE_MIN = 0.15  # of the best hit's score: what is further behind would only fill
SIZE_TOKENS = 600.0  # a block of this size must be twice as good as a tiny one
GAP_TOKENS = 10  # what the line between two entries takes
LEFT_OUT_NAMED = 5

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
) -> Recall:
    """The best there is about a question, within a budget.

    What is of `project` counts more; with `strict_project` nothing else counts at all.
    """
    results = _searched(search, terms, question, budget_tokens, project, strict_project, now)
    fresh, notes = results[0].fresh, tuple(dict.fromkeys(note for each in results for note in each.notes))
    hits = _fused(results)
    if not hits:
        return _unfenced("Nothing in the memory fits this.", 0, 0, budget_tokens, fresh, notes)
    turns = Turns(search.view)
    blocks = blocks_of(turns, hits)
    wall = _Wall(search.view, turns, blocks, _highlighter(search, f"{question} {' '.join(terms)}"))
    text = wall.built(budget_tokens, _Facts(len(hits), fresh, notes))
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


# -- what was found ----------------------------------------------------------------------------


def _searched(
    search: Search,
    terms: Sequence[str],
    question: str,
    budget_tokens: int,
    project: str,
    strict_project: str,
    now: datetime.datetime | None,
) -> list[Results]:
    """By what is asked, by the terms as they are written, and by both: each finds what the others miss."""
    from recollect.search.run import Request

    said, named = question.strip(), " ".join(terms).strip()
    if not said and not named:
        raise UsageError("nothing to recall", hint="give a question, terms, or both")
    limit = min(max(budget_tokens // HIT_TOKENS, HITS_MIN), HITS_MAX)
    only = Is("project", strict_project) if strict_project else None
    both = f"{said} {named}".strip()[:QUERY_CHARS_MAX]
    asked = [
        Request(both, limit=limit, plain=True, project_boost=project, collapse=False, now=now, only=only)
    ]
    if said and named:
        fewer = replace(asked[0], limit=limit // 2)
        asked.append(replace(fewer, query=said[:QUERY_CHARS_MAX]))
        asked.append(replace(fewer, query=named[:QUERY_CHARS_MAX], mode="text"))
    return [search.run(each) for each in asked]


def _fused(results: Sequence[Results]) -> list[Found]:
    """What the searches found together, best first: scores are of one scale, so they are added."""
    found: dict[int, Found] = {}
    for each in results:
        for hit in relevant_hits(each):
            if _may_be_shown(hit.stored):
                known = found.get(hit.stored.row)
                score = hit.score / len(results) + (known.score if known else 0.0)
                found[hit.stored.row] = Found(hit.stored, hit.session, score)
    best = sorted(found.values(), key=lambda each: (-round(each.score, 6), -each.stored.row))
    # Each search folds what says the same, but not into what another one found.
    once = {each.stored.entry.text: each for each in reversed(best)}
    return [
        each
        for each in best
        if each.score >= best[0].score * SHARE_MIN and once[each.stored.entry.text] is each
    ]


def _may_be_shown(stored: StoredEntry) -> bool:
    return stored.entry.kind != Kind.EVENT and not stored.entry.flags & HIDDEN and has_text(stored)


# -- the wall ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the last lines of a wall say beside what is in it."""

    hits: int
    fresh: Fresh
    notes: tuple[str, ...]


class _Wall:
    """Blocks that were chosen, each with the excerpts it added."""

    def __init__(self, view: View, turns: Turns, blocks: Sequence[Block], highlighter: Highlighter) -> None:
        self._turns, self._blocks, self._highlighter = turns, blocks, highlighter
        rows = sorted({row for block in blocks for row in (*block.rows, *block.prompts)})
        sessions = {block.session_row: block.session for block in blocks}
        found = (each for each in view.entries_at(rows) if has_text(each))
        self._stored = {each.row: below(sessions[each.session_row], each) for each in found}
        self._hits = {hit.stored.row for block in blocks for hit in block.hits}
        self._made: dict[tuple[int, int], str] = {}
        self.shown: list[tuple[Block, dict[int, str]]] = []

    def built(self, budget_tokens: int, facts: _Facts) -> str:
        """The text with the best that fits; `shown` says what that was."""
        widest = self._footer(facts, len(self._blocks), budget_tokens, self._blocks)
        room = budget_tokens - tokens(fenced(widest, kind="recall"))
        for block in sorted(self._blocks, key=lambda each: (-self._worth(each), -each.best.row)):
            room -= self._added(block, room)
        while tokens(text := self._text(facts)) > budget_tokens and self.shown:
            self.shown.pop()
        return text

    def _worth(self, block: Block) -> float:
        return block.score / (1 + self._price(block, self._full(block)) / SIZE_TOKENS)

    def _added(self, block: Block, room: int) -> int:
        """Take a block if there is room for it, or for its best hit alone; returns what it takes."""
        for parts in (self._full(block), self._lean(block)):
            price = self._price(block, parts)
            if parts and price <= room:
                self.shown.append((block, parts))
                return price
        return 0

    def _full(self, block: Block) -> dict[int, str]:
        rows = (block.rows | block.prompts) & self._stored.keys()
        return {row: self._excerpt(row, HIT_CHARS if row in self._hits else BESIDE_CHARS) for row in rows}

    def _lean(self, block: Block) -> dict[int, str]:
        row = block.best.row
        return {row: self._excerpt(row, LEAN_CHARS)}

    def _excerpt(self, row: int, chars: int) -> str:
        if (row, chars) not in self._made:
            stored = self._stored[row]
            # What stands beside a hit is there for what it says first: a prompt, an outcome.
            highlighter = self._highlighter if row in self._hits else _NOWHERE
            self._made[row, chars] = excerpt(stored, window_around(stored.entry, chars, highlighter))
        return self._made[row, chars]

    def _price(self, block: Block, parts: dict[int, str]) -> int:
        """What a block takes beside what is there: an upper bound."""
        there = self._rows_shown(block.session_row)
        head = 0 if there else tokens(session_line(block.session)) + 2
        return head + sum(tokens(part) + 1 + GAP_TOKENS for row, part in parts.items() if row not in there)

    def _rows_shown(self, session_row: int) -> dict[int, str]:
        """What is shown of a session; of what two blocks have, the first one's."""
        rows: dict[int, str] = {}
        for block, parts in self.shown:
            if block.session_row == session_row:
                rows = {**parts, **rows}
        return rows

    def _text(self, facts: _Facts) -> str:
        best_first = sorted(self.shown, key=lambda each: (-each[0].score, -each[0].best.row))
        sessions = {block.session_row: block.session for block, _ in best_first}
        body = "\n".join(self._session(row, session) for row, session in sessions.items())
        chosen = [block for block, _ in self.shown]
        left = [block for block in self._blocks if block not in chosen]
        footer = self._footer(facts, len(chosen), tokens(body), left)
        return fenced(f"{body}\n{footer}", kind="recall")

    def _session(self, session_row: int, session: Session) -> str:
        return "\n".join((session_line(session), *self._lines(session_row)))

    def _lines(self, session_row: int) -> Iterator[str]:
        last = -1
        for row, part in sorted(self._rows_shown(session_row).items()):
            if last >= 0 and (between := self._turns[session_row].distance(last, row) - 1):
                yield f"[... {many(between, 'entry', 'entries')}]"
            yield part
            last = row

    def _footer(self, facts: _Facts, shown: int, spent: int, left: Sequence[Block]) -> str:
        found = f"{many(facts.hits, 'hit')} in {many(len(self._blocks), 'block')}, {shown} shown"
        fresh = facts.fresh
        seen = f"{fresh.text:,} of {many(fresh.entries, 'entry', 'entries')} searched"
        seen += f", {many(fresh.waiting, 'append')} not yet" if fresh.waiting else ""
        ids = ", ".join(block.best.id for block in left[:LEFT_OUT_NAMED])
        more = f"\n# left out for want of room: {len(left)}, the best {ids}" if left else ""
        notes = "".join(f"\n# {one_line(note, 160)}" for note in facts.notes)
        return f"# {found}, about {spent} tokens; {seen}{more}{notes}"


def _highlighter(search: Search, text: str) -> Highlighter:
    """Finds what of a question says something."""
    said = text.split()
    telling = [word for word in said if word.lower().strip("?.,!") not in STOP_WORDS]
    return Highlighter(telling or said, lambda word: search.text.analyze("body", word))


_NOWHERE = Highlighter((), lambda word: [])


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

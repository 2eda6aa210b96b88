"""Blocks as one text within a budget: the best of them widest, and all of the budget spent.

Blocks are taken best first. Each shows its best hit in a window, with a line of what was asked, the other
half of a call and what the turn came to. One that has no room whole is shown by its best hit alone, in what
room there is; when all are shown and there is room left, all of them are shown wider.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from recollect.insight.turns import Turns
from recollect.recall.blocks import Block
from recollect.recall.excerpt import below, excerpt, has_text, session_line, window_around
from recollect.recall.fence import fenced
from recollect.search.digest_rows import DigestRows
from recollect.search.snippet import Highlighter
from recollect.store.contract import View
from recollect.values.records import Kind
from recollect.values.text import many, one_line, tokens

if TYPE_CHECKING:
    from recollect.values.hits import Fresh

BEST_CHARS = (2_400, 1_200, 1_200)  # of the best hits of the first blocks
HIT_CHARS = 800  # of those of the others
CLOSING_CHARS = 400  # of what a turn came to
BESIDE_CHARS = 200  # of the other half of a call
PROMPT_CHARS = 100
LEAN_CHARS = 250  # the least of a hit alone
WIDER = (2, 4, 8)
GAP_TOKENS = 10  # what the line between two entries takes
LEFT_OUT_NAMED = 5

_Shown = list[tuple[Block, dict[int, str]]]  # blocks, with the excerpts by row that each added


@dataclass(frozen=True, slots=True)
class Facts:
    """What the last lines of a wall say beside what is in it."""

    hits: int
    fresh: Fresh
    notes: tuple[str, ...]


class Wall:
    """Builds the text of some blocks; `shown` says which are in it."""

    def __init__(self, view: View, turns: Turns, blocks: Sequence[Block], highlighter: Highlighter) -> None:
        self._turns, self._blocks, self._highlighter = turns, blocks, highlighter
        rows = sorted({row for block in blocks for row in (*block.rows, *block.prompts)})
        sessions = {block.session_row: block.session for block in blocks}
        found = (each for each in view.entries_at(rows) if has_text(each))
        self._stored = {each.row: below(sessions[each.session_row], each) for each in found}
        digests = DigestRows(view)
        self._heads = {row: session_line(each, digests.bad_end(each)) for row, each in sessions.items()}
        self._hits = {hit.stored.row for block in blocks for hit in block.hits}
        self._made: dict[tuple[int, int], str] = {}
        self.shown: _Shown = []

    def built(self, budget_tokens: int, facts: Facts) -> str:
        """The text with the best that fits."""
        widest = self._footer(facts, len(self._blocks), budget_tokens, self._blocks)
        room = budget_tokens - tokens(fenced(widest, kind="recall"))
        text, self.shown = self._fitting(room, budget_tokens, facts)
        # Prices are upper bounds: what they were too high is room for more.
        spare = budget_tokens - tokens(text)
        for more in (spare, spare * 2 // 3, spare // 3) if self.shown else ():
            fuller, shown = self._fitting(room + more, budget_tokens, facts)
            if tokens(fuller) > tokens(text):
                text, self.shown = fuller, shown
        return text

    def _fitting(self, room: int, budget_tokens: int, facts: Facts) -> tuple[str, _Shown]:
        """What is shown when prices may come to `room`, less what is too much after all."""
        shown = self._filled(room, 1)
        for scale in WIDER if len(shown) == len(self._blocks) else ():
            wider = self._filled(room, scale)
            if len(wider) < len(shown):
                break
            shown = wider
        while tokens(text := self._text(shown, facts)) > budget_tokens and shown:
            shown.pop()
        return text, shown

    def _filled(self, room: int, scale: int) -> _Shown:
        """As many blocks as there is room for; wider than they need to be, only whole ones."""
        shown: _Shown = []
        for n, block in enumerate(self._blocks):
            chars = scale * (BEST_CHARS[n] if n < len(BEST_CHARS) else HIT_CHARS)
            forms = self._forms(block, chars, scale)
            for parts in forms if scale == 1 else islice(forms, 1):
                price = self._price(block, parts, shown)
                if parts and price <= room:
                    shown.append((block, parts))
                    room -= price
                    break
        return shown

    def _forms(self, block: Block, chars: int, scale: int) -> Iterator[dict[int, str]]:
        """A block whole, then its best hit alone, less and less of it."""
        rows = (block.rows | block.prompts) & self._stored.keys()
        yield {
            row: self._excerpt(row, chars if row == block.best.row else self._chars(row, block, scale))
            for row in rows
        }
        while chars > LEAN_CHARS:
            chars = max(chars * 4 // 5, LEAN_CHARS)
            yield {block.best.row: self._excerpt(block.best.row, chars)}

    def _chars(self, row: int, block: Block, scale: int) -> int:
        """How much is shown of what stands beside the best hit of a block."""
        if row in self._hits:
            return scale * HIT_CHARS // 2
        if row in block.prompts:
            return scale * PROMPT_CHARS
        answers = self._stored[row].entry.kind == Kind.ANSWER
        return scale * (CLOSING_CHARS if answers else BESIDE_CHARS)

    def _excerpt(self, row: int, chars: int) -> str:
        if (row, chars) not in self._made:
            stored = self._stored[row]
            # A prompt or half of a call that was not found is there for what it says first.
            found = row in self._hits or stored.entry.kind == Kind.ANSWER
            window = window_around(stored.entry, chars, self._highlighter if found else _NOWHERE)
            self._made[row, chars] = excerpt(stored, window)
        return self._made[row, chars]

    def _price(self, block: Block, parts: dict[int, str], shown: _Shown) -> int:
        """What a block takes beside what is shown: an upper bound."""
        there = _rows_shown(shown, block.session_row)
        head = 0 if there else tokens(self._heads[block.session_row]) + 2
        return head + sum(tokens(part) + 1 + GAP_TOKENS for row, part in parts.items() if row not in there)

    # -- the text --------------------------------------------------------------------------------

    def _text(self, shown: _Shown, facts: Facts) -> str:
        sessions = dict.fromkeys(block.session_row for block, _ in shown)
        body = "\n".join(
            "\n".join((self._heads[row], *self._lines(row, _rows_shown(shown, row)))) for row in sessions
        )
        chosen = [block for block, _ in shown]
        left = [block for block in self._blocks if block not in chosen]
        footer = self._footer(facts, len(chosen), tokens(body), left)
        return fenced(f"{body}\n{footer}", kind="recall")

    def _lines(self, session_row: int, parts: dict[int, str]) -> Iterator[str]:
        last = -1
        for row, part in sorted(parts.items()):
            if last >= 0 and (between := self._turns[session_row].distance(last, row) - 1):
                yield f"[... {many(between, 'entry', 'entries')}]"
            yield part
            last = row

    def _footer(self, facts: Facts, shown: int, spent: int, left: Sequence[Block]) -> str:
        found = f"{many(facts.hits, 'hit')} in {many(len(self._blocks), 'block')}, {shown} shown"
        fresh = facts.fresh
        seen = f"{fresh.text:,} of {many(fresh.entries, 'entry', 'entries')} searched"
        seen += f", {many(fresh.waiting, 'append')} not yet" if fresh.waiting else ""
        ids = ", ".join(block.best.id for block in left[:LEFT_OUT_NAMED])
        more = f"\n# left out for want of room: {len(left)}, the best {ids}" if left else ""
        notes = "".join(f"\n# {one_line(note, 160)}" for note in facts.notes)
        return f"# {found}, about {spent} tokens; {seen}{more}{notes}"


def _rows_shown(shown: _Shown, session_row: int) -> dict[int, str]:
    """What is shown of a session; of what two blocks have, the first one's."""
    rows: dict[int, str] = {}
    for block, parts in shown:
        if block.session_row == session_row:
            rows = {**parts, **rows}
    return rows


_NOWHERE = Highlighter((), lambda word: [])

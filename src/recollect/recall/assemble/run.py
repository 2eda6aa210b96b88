"""Out of many conversations the parts that a new one needs, within a budget: found, chosen, told in order.

    plan      the description in facets: phrases, names, files, projects, times        assemble/plan.py
    gather    many searches, one list of hits                                          assemble/gather.py
    expand    each hit to an exchange that stands alone                                assemble/expand.py
    select    the budget divided over facets and threads                               assemble/select.py
    compose   one conversation, each run under a line that says where it is from       assemble/compose.py

No model takes part. The same store and the same words give the same assembly. A budget need not be
filled; what has little to do with the description stays out though there is room.
"""

from __future__ import annotations

import datetime
from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.insight.turns import Key
from recollect.recall.assemble.compose import compose, separator
from recollect.recall.assemble.expand import Exchange, Expanded, expand
from recollect.recall.assemble.gather import Gathered, gather
from recollect.recall.assemble.plan import plan, telling
from recollect.recall.assemble.select import Costs, Selection, select
from recollect.recall.assemble.weigh import ENTRY_TOKENS, Scale
from recollect.search.snippet import Highlighter
from recollect.search.text.fields import body_of, gist_of
from recollect.values.assembly import Assembly, Piece, Plan, Share, Strategy, Window
from recollect.values.errors import UsageError
from recollect.values.records import Entry, Kind
from recollect.values.text import tokens

if TYPE_CHECKING:
    from recollect.search.run import Search

__all__ = ["BUDGET_TOKENS_MIN", "Assembly", "Piece", "Plan", "Share", "Strategy", "assemble", "compose"]

BUDGET_TOKENS_MIN = 200
REPEATED_CHARS = 24  # "Updated." may be said often


def assemble(
    search: Search, description: str, *, budget_tokens: int, now: datetime.datetime | None = None
) -> Assembly:
    """The entries that a description is about, as many as a budget has room for."""
    if budget_tokens < BUDGET_TOKENS_MIN:
        raise UsageError(f"an assembly takes at least {BUDGET_TOKENS_MIN} tokens, not {budget_tokens}")
    moment = now or datetime.datetime.now()
    asked = plan(search, description, moment)
    gathered = gather(search, asked, budget_tokens, moment)
    expanded = expand(search, gathered.hits, budget_tokens)
    weighed = _Weighed(search, asked, expanded, gathered, budget_tokens)
    chosen = select(expanded.exchanges, weighed.costs, budget_tokens, len(asked.facets))
    pieces = tuple(weighed.piece(key, chosen) for key in chosen.ordered(weighed.costs))
    assert chosen.tokens <= budget_tokens
    return Assembly(
        asked.description,
        budget_tokens,
        asked,
        _strategies(gathered, pieces),
        _shares(asked, chosen),
        pieces,
        chosen.tokens,
        len(expanded.exchanges),
        gathered.fresh,
        gathered.notes,
    )


class _Weighed:
    """What was expanded, with what everything takes."""

    def __init__(
        self, search: Search, asked: Plan, expanded: Expanded, gathered: Gathered, budget_tokens: int
    ) -> None:
        self._search, self._expanded, self._gathered = search, expanded, gathered
        self._by_key = {each.key: each for each in expanded.exchanges}
        scale = Scale(budget_tokens, _highlighter(search, asked.description))
        rows = {row for each in expanded.exchanges for row in _rows_of(each)}
        entries = {row: expanded.stored[row].entry for row in sorted(rows)}
        self._windows = {row: window for row, entry in entries.items() if (window := scale.window(entry))}
        times = {(session, turn): expanded.turns[session].time_ms(turn) for session, turn in self._by_key}
        self.costs = Costs(
            rows={row: scale.tokens(entry, self._windows.get(row)) for row, entry in entries.items()},
            separators=self._separators(times),
            times=times,
            threads=gathered.threads,
            same={row: name for row, entry in entries.items() if (name := _says(entry)) is not None},
        )

    def piece(self, key: Key, chosen: Selection) -> Piece:
        """What was chosen of one exchange."""
        exchange, rows = self._by_key[key], sorted(chosen.rows[key])
        cuts: list[tuple[int, Window]] = [(row, self._windows[row]) for row in rows if row in self._windows]
        names = [self._gathered.strategies[n].name for hit in exchange.hits for n in hit.why]
        stored = self._expanded.stored
        return Piece(
            session=self._search.sessions[key[0]],
            session_row=key[0],
            time_ms=self.costs.times[key],
            rows=tuple(rows),
            ids=tuple(stored[row].id for row in rows),
            hits=tuple(hit.stored.id for hit in exchange.hits if hit.row in rows),
            tokens=sum(self.costs.rows[row] for row in rows),
            score=round(exchange.best, 6),
            facet=chosen.facets[key],
            why=tuple(dict.fromkeys(names)) or ("beside",),
            cuts=tuple(cuts),
        )

    def _separators(self, times: dict[Key, int]) -> dict[int, int]:
        """What the line over a session's turns takes at most: some turns have no date."""
        most: dict[int, int] = {}
        for (session, _), time_ms in times.items():
            line = separator(self._search.sessions[session], time_ms)
            most[session] = max(most.get(session, 0), ENTRY_TOKENS + tokens(line))
        return most


def _rows_of(exchange: Exchange) -> set[int]:
    return {*exchange.core, *(row for extra in exchange.extras for row in extra.rows)}


def _says(entry: Entry) -> Hashable | None:
    """What two entries share that say the same; what a tool gave back may differ in its numbers."""
    if len(entry.text) < REPEATED_CHARS:
        return None
    return gist_of(body_of(entry)) if entry.kind == Kind.RESULT else (entry.kind, entry.text)


def _highlighter(search: Search, text: str) -> Highlighter:
    return Highlighter(telling(text), lambda word: search.text.analyze("body", word))


def _strategies(gathered: Gathered, pieces: tuple[Piece, ...]) -> tuple[Strategy, ...]:
    """The strategies, each with how much of what it found is in."""
    told = {row for piece in pieces for row in piece.rows}
    counts = [0] * len(gathered.strategies)
    for hit in gathered.hits:
        for number in set(hit.why) if hit.row in told else ():
            counts[number] += 1
    return tuple(replace(each, kept=counts[n]) for n, each in enumerate(gathered.strategies))


def _shares(asked: Plan, chosen: Selection) -> tuple[Share, ...]:
    pieces = list(chosen.facets.values())
    return tuple(
        Share(facet.text, chosen.shares[n], chosen.spent[n], pieces.count(n))
        for n, facet in enumerate(asked.facets)
    )

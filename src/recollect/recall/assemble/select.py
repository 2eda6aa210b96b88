"""The fourth pass: which exchanges are told, and how much of each, within a budget.

Best worth for its tokens first, again and again. Worth falls once a facet has had its share, and the more
a thread has had already; what says the same as something chosen is worth nothing. What only adds to
exchanges leaves a reserve to cores, so that there is room for what was asked and what came of it.

Pure numbers, no I/O. One place adds rows, and it adds none that do not fit, separators included: so
the budget is never overrun.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from recollect.insight.turns import Key
from recollect.recall.assemble.expand import FIXED, Exchange

RESERVE = 0.3  # of the budget, kept for cores while there are any
WHOLE = 0.5  # of an exchange's worth, by how it fits the whole description; the rest by its best facet
SPENT = 0.35  # of its worth, for a facet that has had its share
THREAD_SHARE = 2.0  # of the budget: a thread that has had so much is worth half as much
SIZE_TOKENS = 600  # what has this size must be twice as good as something tiny
CORE = -1


@dataclass(frozen=True, slots=True)
class Costs:
    """What everything takes: each row, and the separator of each session; and in which order it is told.

    `same` names what rows say: of rows with one name only one is worth anything.
    """

    rows: Mapping[int, int]
    separators: Mapping[int, int]
    times: Mapping[Key, int]
    threads: Mapping[int, int]
    same: Mapping[int, Hashable]


@dataclass(slots=True)
class Selection:
    """What was chosen: the rows of each exchange, and what facets have had."""

    rows: dict[Key, set[int]]
    tokens: int
    shares: list[int]
    spent: list[int]
    facets: dict[Key, int] = field(default_factory=dict)

    def ordered(self, costs: Costs) -> list[Key]:
        """The turns in the order they are told: by time."""
        return sorted(self.rows, key=lambda key: (costs.times[key], *key))


def select(exchanges: Sequence[Exchange], costs: Costs, budget_tokens: int, facets: int) -> Selection:
    """The best that fits."""
    return _Selecting(exchanges, costs, budget_tokens, facets).run()


class _Selecting:
    def __init__(self, exchanges: Sequence[Exchange], costs: Costs, budget_tokens: int, facets: int) -> None:
        self._exchanges, self._costs, self._budget = exchanges, costs, budget_tokens
        share = budget_tokens // max(facets - 1, 1)
        self._made = Selection({}, 0, [budget_tokens] + [share] * (facets - 1), [0] * facets)
        self._order: list[tuple[int, int, int]] = []
        self._threads: dict[int, int] = {}
        self._said: set[Hashable] = set()
        self._extras_room = int(budget_tokens * (1 - RESERVE))
        self._waiting: list[tuple[int, int]] = []

    def run(self) -> Selection:
        self._pass([(n, m) for n, each in enumerate(self._exchanges) for m in range(CORE, len(each.extras))])
        self._extras_room, waiting = self._budget, self._waiting
        self._waiting = []
        self._pass(waiting)
        return self._made

    def _pass(self, items: Sequence[tuple[int, int]]) -> None:
        """Take what is worth most for its tokens until nothing fits; a worth only ever falls."""
        heap = [(-density, item) for item in items if (density := self._density(item)) > 0]
        heapq.heapify(heap)
        while heap:
            item = heapq.heappop(heap)[1]
            density = self._density(item)
            if density > 0 and heap and density < -heap[0][0]:
                heapq.heappush(heap, (-density, item))
            elif density > 0 and not self._add_if_it_fits(item) and item[1] != CORE:
                self._waiting.append(item)

    def _density(self, item: tuple[int, int]) -> float:
        rows = self._new_rows(item)
        if not rows:
            return 0.0
        return round(self._worth(item) / (self._cost(item, rows) + SIZE_TOKENS), 9)

    def _new_rows(self, item: tuple[int, int]) -> list[int]:
        """The rows that an item brings: an extra brings its core too."""
        exchange = self._exchanges[item[0]]
        there = self._made.rows.get(exchange.key, set())
        extra = exchange.extras[item[1]].rows if item[1] != CORE else ()
        return [row for row in dict.fromkeys((*exchange.core, *extra)) if row not in there]

    def _worth(self, item: tuple[int, int]) -> float:
        exchange, n = self._exchanges[item[0]], item[1]
        there = exchange.key in self._made.rows
        parts = [] if there else [(exchange.core, exchange.core_worth)]
        if n != CORE:
            parts.append((exchange.extras[n].rows, exchange.extras[n].worth))
        worth = sum(self._new(rows) * self._heard(scores) for rows, scores in parts)
        thread = self._costs.threads[exchange.key[0]]
        return worth / (1 + self._threads.get(thread, 0) / max(self._budget * THREAD_SHARE, 1))

    def _new(self, rows: Sequence[int]) -> float:
        """The share of some rows, by their size, that says something new."""
        total = sum(self._costs.rows[row] for row in rows)
        fresh = sum(self._costs.rows[row] for row in rows if self._costs.same.get(row) not in self._said)
        return fresh / total if total else 0.0

    def _heard(self, scores: Sequence[float]) -> float:
        """What scores are worth: the whole as much as the best part, of parts with less than their share."""
        whole, *parts = scores
        damped = [
            score * (1.0 if self._made.spent[n] < self._made.shares[n] else SPENT)
            for n, score in enumerate(parts, 1)
        ]
        return WHOLE * whole + (1 - WHOLE) * max(damped) if damped else whole

    def _cost(self, item: tuple[int, int], rows: Sequence[int]) -> int:
        key = self._exchanges[item[0]].key
        separators = 0 if key in self._made.rows else self._separators(key)
        return sum(self._costs.rows[row] for row in rows) + separators

    def _separators(self, key: Key) -> int:
        """What separators a new turn brings: its own, and that of a run of turns that it breaks up."""
        place = (self._costs.times[key], *key)
        at = bisect_left(self._order, place)
        before = self._order[at - 1][1] if at else None
        after = self._order[at][1] if at < len(self._order) else None
        if key[0] in (before, after):
            return 0
        again = self._costs.separators[before] if before is not None and before == after else 0
        return self._costs.separators[key[0]] + again

    def _add_if_it_fits(self, item: tuple[int, int]) -> bool:
        """Add an item if it fits."""
        rows = self._new_rows(item)
        cost = self._cost(item, rows)
        if self._made.tokens + cost > self._room(item):
            return False
        self._add(item, rows, cost)
        return True

    def _room(self, item: tuple[int, int]) -> int:
        """How full an item may make it; only what adds detail leaves the reserve to others."""
        detail = item[1] != CORE and self._exchanges[item[0]].extras[item[1]].role != FIXED
        return self._extras_room if detail else self._budget

    def _add(self, item: tuple[int, int], rows: Sequence[int], cost: int) -> None:
        exchange, made = self._exchanges[item[0]], self._made
        if exchange.key not in made.rows:
            place = (self._costs.times[exchange.key], *exchange.key)
            self._order.insert(bisect_left(self._order, place), place)
            made.rows[exchange.key] = set()
            made.facets[exchange.key] = _facet(exchange.scores)
        made.rows[exchange.key] |= set(rows)
        made.tokens += cost
        made.spent[made.facets[exchange.key]] += cost
        thread = self._costs.threads[exchange.key[0]]
        self._threads[thread] = self._threads.get(thread, 0) + cost
        self._said |= {self._costs.same[row] for row in rows if row in self._costs.same}


def _facet(scores: Sequence[float]) -> int:
    """The facet that an exchange says most about; a part before the whole, which has everything."""
    return max(range(len(scores)), key=lambda n: (round(scores[n], 6), n))

"""Candidates for an answer: the best by words, the nearest by meaning, and what stands beside them.

Each candidate comes with what both sides say of it, so that `fuse` can rank them all in one go. Both
sides are asked at the same time, in two threads: neither tantivy nor faiss holds the interpreter.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.search import rank as fuse
from recollect.search.query import AllOf, Node, Word
from recollect.search.text.index import Found, TextIndex
from recollect.search.text.match import Matcher, Query
from recollect.search.weights import CANDIDATES, PROMPTS_OF
from recollect.store.contract import Array

if TYPE_CHECKING:
    from recollect.search.vectors.given import GivenVectors
    from recollect.search.vectors.index import VectorIndex

MASKED_BELOW = 0.3  # the share of entries that pass a filter: of more, the nearest are looked through
FILTERS_KEPT = 16


@dataclass(frozen=True, slots=True)
class Meaning:
    """What to be near to, among which vectors, found how."""

    vectors: VectorIndex | GivenVectors
    vector: Array
    strategy: str


@dataclass(frozen=True, slots=True)
class Side:
    """An index that is asked by words, and what makes queries for it."""

    index: TextIndex
    matcher: Matcher


class Passing:
    """Which entries pass a filter, remembered while the index stays the same."""

    def __init__(self, text: TextIndex, rows: int) -> None:
        self._text, self._rows = text, rows
        self._known: OrderedDict[Node, tuple[float, Array | None]] = OrderedDict()

    def of(self, node: Node, filters: Query) -> tuple[float, Array | None]:
        """The share of entries that pass; and of each whether it does, unless most do."""
        key = _without_words(node)
        if key not in self._known:
            share = self._text.count(filters) / max(self._text.rows, 1)
            mask = self._text.mask(filters, self._rows) if share < MASKED_BELOW else None
            self._known[key] = share, mask
            if len(self._known) > FILTERS_KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key]


class Gathering:
    """The candidates of one query, asked `by_words`, by `meaning`, or both."""

    def __init__(
        self,
        entries: Side,
        exchanges: Side | None,
        passing: Passing,
        node: Node,
        *,
        by_words: bool,
        meaning: Meaning | None,
    ) -> None:
        self._text, self._matcher = entries.index, entries.matcher
        self._asked, self._passing = exchanges, passing
        self._node, self._by_words, self._meaning = node, by_words, meaning
        self._found: list[Found] = []
        self._exchanges: list[Found] = []
        self._exact: Array = np.zeros(0, np.int64)
        self._complete: Array = np.zeros(0, np.int64)
        self.explain: dict[str, Any] = {}

    def run(self, count: int = CANDIDATES) -> None:
        """Ask both sides, then for what each says of the other's; `count`: of the nearest."""
        near = np.zeros(0, np.int64)
        if self._by_words and self._meaning is not None:
            # All of these may read the store's sessions, which one thread at a time can do.
            for matcher in (self._matcher, *([self._asked.matcher] if self._asked else [])):
                matcher.ranked(self._node)
                matcher.filters(self._node)
            asked = _beside().submit(self._words)
            near = self._nearest(self._meaning, count)
            self._ask_exchanges()
            asked.result()
        elif self._by_words:
            self._words()
            self._ask_exchanges()
        elif self._meaning is not None:
            near = self._nearest(self._meaning, count)
        wanted = [self._exact, self._complete]
        if self._meaning is not None:
            best = self._found[0].rows if self._found else near[:0]
            wanted += [near, fuse.neighbours(best), fuse.neighbours(near)]
            self.explain |= {"vectors": len(near), **self._meaning.vectors.explain()}
        self._add(np.concatenate(wanted))
        self._add_exchanges()

    def include(self, rows: Sequence[int]) -> None:
        """Take entries among the candidates that neither side found, as far as they pass the filters."""
        if rows:
            self._add(np.array(rows, np.int64))

    def found(self) -> Found:
        """Every candidate, in the order they were found."""
        return Found.joined(self._found)

    def candidates(self) -> fuse.Candidates:
        """The same as `fuse` wants them."""
        found = self.found()
        dense: Array = np.full(len(found), np.nan, np.float32)
        if self._meaning is not None:
            dense = self._meaning.vectors.scores(self._meaning.vector, found.rows)
        return fuse.Candidates(
            found.rows,
            found.sessions,
            found.kinds,
            found.times,
            found.scores,
            dense,
            found.chars,
            np.isin(found.rows, self._exact),
            np.isin(found.rows, self._complete),
            found.turns,
            self._exchanged(found.rows),
        )

    def alike(self, candidates: fuse.Candidates, own: Array) -> Array:
        """How near in meaning each candidate is to the one that closes the best exchange.

        Where an `own` log has one, imported ones are not compared: they could claim to be the latest.
        """
        counts = own & (candidates.exchange > 0)
        counts = counts if counts.any() else candidates.exchange > 0
        if self._meaning is None or not counts.any():
            return np.zeros(len(candidates.rows))
        best = int(candidates.rows[np.argmax(np.where(counts, candidates.exchange, 0.0))])
        vectors = self._meaning.vectors
        near = np.nan_to_num(vectors.scores(vectors.vector(best), candidates.rows))
        return np.where(counts, near, 0.0)

    def rest(self, count: int, known: Array) -> Found:
        """What comes behind the candidates, by one side alone: no page of an answer may change another."""
        if count <= 0:
            return Found.none()
        found = self._further(count + len(known))
        return found.taken(np.flatnonzero(~np.isin(found.rows, known))[:count])

    def _words(self) -> None:
        found = self._text.search(self._matcher.ranked(self._node), CANDIDATES)
        self._found.append(found)
        self.explain["text"] = len(found)
        quoting = self._matcher.exact(self._node)
        if quoting is not None:
            self._exact = self._text.search(quoting, CANDIDATES).rows
        complete = self._matcher.complete(self._node)
        if complete is not None:
            self._complete = self._text.search(complete, CANDIDATES).rows

    def _ask_exchanges(self) -> None:
        if self._asked is not None:
            query = self._asked.matcher.ranked(self._node)
            self._exchanges.append(self._asked.index.search(query, CANDIDATES))

    def _add(self, rows: Array) -> None:
        """Entries that one side, or neither, has found: what stands beside a hit may be what was meant."""
        known = [each.rows for each in self._found]
        fresh = np.setdiff1d(rows, np.concatenate(known) if known else []).tolist()
        if fresh:
            self._found.append(self._text.search(self._matcher.scored_rows(self._node, fresh), len(fresh)))

    def _add_exchanges(self) -> None:
        """The closing answers of the exchanges found and of those that candidates are part of, with the
        prompts of the best."""
        if self._asked is None or not self._by_words:
            return
        known = Found.joined(self._exchanges).turns
        turns = np.setdiff1d(self.found().turns, np.append(known, 0)).tolist()
        if turns:
            query = self._asked.matcher.scored_turns(self._node, turns)
            self._exchanges.append(self._asked.index.search(query, len(turns)))
        exchanges = Found.joined(self._exchanges)
        best = np.lexsort((-exchanges.rows, -exchanges.scores))[:PROMPTS_OF]
        prompts = exchanges.turns[best] - 1
        if self._matcher.filters(self._node) is not None:  # an exchange may pass by what its prompt says
            self._add(np.append(exchanges.rows, prompts))
            return
        found = np.concatenate([each.rows for each in self._found])
        closing = exchanges.taken(np.flatnonzero(~np.isin(exchanges.rows, found)))
        # What their own words score is not asked: those of their exchange count, which hold them.
        self._found.append(replace(closing, scores=np.zeros(len(closing), np.float32)))
        self._add(prompts)

    def _exchanged(self, rows: Array) -> Array:
        """How well the exchange fits that an entry closes, 0 for one that closes none."""
        scores = np.zeros(len(rows), np.float32)
        if self._exchanges and self._asked is not None:
            exchanges = Found.joined(self._exchanges)
            best = dict(zip(exchanges.rows.tolist(), exchanges.scores.tolist(), strict=True))
            scores[:] = [best.get(row, 0.0) for row in rows.tolist()]
            scores /= self._asked.matcher.ceiling(self._node) or 1.0
        return scores

    def _further(self, count: int) -> Found:
        if self._by_words:
            return self._text.search(self._matcher.ranked(self._node), count)
        if self._meaning is None:
            return Found.none()
        rows = self._nearest(self._meaning, count).tolist()
        return self._text.search(self._matcher.scored_rows(self._node, rows), count)

    def _nearest(self, meaning: Meaning, count: int) -> Array:
        """The nearest entries that pass the filters."""
        nearest: Callable[..., tuple[Array, Array]] = meaning.vectors.nearest
        filters = self._matcher.filters(self._node)
        if filters is None:
            return nearest(meaning.vector, count, meaning.strategy)[0]
        share, mask = self._passing.of(self._node, filters)
        if mask is not None:
            return nearest(meaning.vector, count, meaning.strategy, mask)[0]
        wide = int(count / max(share, 0.1) * 1.5)
        while True:
            rows = nearest(meaning.vector, wide, meaning.strategy)[0]
            passed = self._text.search(self._matcher.both(filters, rows.tolist()), len(rows)).rows
            kept = rows[np.isin(rows, passed)]
            if len(kept) >= count or len(rows) < wide:
                return kept[:count]
            wide *= 4


def _without_words(node: Node) -> Node:
    """What of a query filters: two with the same give the same entries to choose from."""
    if isinstance(node, AllOf):
        return AllOf(tuple(each for each in node.nodes if not isinstance(each, Word)))
    return node


@cache
def _beside() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="recollect-search")


if hasattr(os, "register_at_fork"):  # a forked child has the pool, but not its thread
    os.register_at_fork(after_in_child=_beside.cache_clear)

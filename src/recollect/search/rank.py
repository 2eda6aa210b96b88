"""From candidates with scores to an order: pure functions over arrays, no I/O, no clock.

Two signals say how well an entry fits: `text` (BM25 of the question's words) and `dense` (cosine of
meaning). Both are brought to one scale by bounds that do not depend on what else was found: text by
what an entry would score that holds every word (`text_max`), dense by the cosine of things that have
nothing to do with each other (`dense_floor`). So a question whose words are hardly found is decided
by meaning, and an entry scores the same among a hundred entries and among a million. The sum is
lifted by what stands next to the entry and by the best of its session, then weighed by kind, time
and the options.

A note was saved by itself: it leans on no neighbour and on no session.

The closing answer of a turn stands for all of it: it has the words of its exchange and the best meaning of
its turn. So it leans on no neighbour, and what led to it (narration, calls, results) counts less.

A candidate's neighbours count only if they are candidates too. `neighbours` says which rows to add
before `rank` is called; they may then be hits themselves.

The numbers are in `weights`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.search.weights import (
    COURSE,
    DAY_MS,
    DENSE_FLOOR,
    EARLY_MS,
    KINDS,
    LATE_MS_MIN,
    NEIGHBOURS_OF,
    REACH,
    RECENCY_PER_DAY,
    RRF_K,
    SESSION_BEST,
    TIES,
    Weights,
)
from recollect.values.records import Kind

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Numbers = NDArray[Any]  # of whatever kind an index gives


@dataclass(frozen=True, slots=True)
class Candidates:
    """Entries to choose from, as columns. Rows are distinct, in any order.

    `text` is 0 where no word matches, `dense` NaN where there is no vector. May be left out: `chars`, the
    length of the texts; `exact` and `complete`, 1 for an entry that holds the question as it is written, or
    all its words; `turns`, alike for entries of one turn; `exchange`, above 0 for an entry that closes one:
    how well, up to about 1, what was asked and what it came to fit together; `alike`, how near in meaning an
    entry is to the one that closes the best exchange; `spread`, how much of what an entry mentions came to
    mind with what the question names, at most 1.
    """

    rows: Numbers
    sessions: Numbers
    kinds: Numbers
    times: Numbers
    text: Numbers
    dense: Numbers
    chars: Numbers = field(default_factory=lambda: np.zeros(0))
    exact: Numbers = field(default_factory=lambda: np.zeros(0))
    complete: Numbers = field(default_factory=lambda: np.zeros(0))
    turns: Numbers = field(default_factory=lambda: np.zeros(0))
    exchange: Numbers = field(default_factory=lambda: np.zeros(0))
    alike: Numbers = field(default_factory=lambda: np.zeros(0))
    spread: Numbers = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, slots=True)
class Options:
    """What is asked, beside the candidates.

    `text_max` is `BM25_MAX` times the sum of the rarities (idf) of the question's words; 0 takes the best
    candidate's score in its place. `window` is from and to in milliseconds (see `when`); `present` where it
    is asked what counts now.
    """

    mode: str = "hybrid"
    fusion: str = "minmax"
    text_max: float = 0.0
    dense_floor: float = DENSE_FLOOR
    window: tuple[int, int] | None = None
    now_ms: int = 0
    recency: bool = False
    boosted_sessions: tuple[int, ...] = ()
    present: bool = False
    weights: Weights = field(default_factory=Weights)


@dataclass(frozen=True, slots=True)
class Ranking:
    """`order` lists positions of candidates, best first; `scores` and `parts` are in the candidates' order.

    A score is (text + dense + neighbours + session + complete + spread + exact + newer) * kind * course *
    time * recency * project; `parts` has them under these names, less those that were not asked for.
    """

    order: Ints
    scores: Floats
    parts: dict[str, Floats]
    explain: dict[str, float]


def rank(candidates: Candidates, options: Options) -> Ranking:
    """The same order for the same candidates, however they are listed; of equals the newest first."""
    by_row = np.argsort(candidates.rows, kind="stable")
    table = _sorted(candidates, by_row)
    dense_share = _dense_share(table, options)
    parts = _sums(table, options, dense_share)
    if options.present:
        parts["newer"] = _newer(table, parts["text"] + parts["dense"], options)
    scores = sum(parts.values(), np.zeros(len(by_row)))
    factors = _factors(table, options)
    for factor in factors.values():
        scores = scores * factor
    # What the indexes gave is float32: differences below that are no differences.
    order = np.lexsort((-table.rows, -np.round(scores, 7)))
    back = np.empty(len(by_row), np.int64)
    back[by_row] = np.arange(len(by_row))
    unsorted = {name: values[back] for name, values in {**parts, **factors}.items()}
    return Ranking(by_row[order], scores[back], unsorted, {"dense_share": round(dense_share, 3)})


def neighbours(best: Numbers) -> Ints:
    """The best of a list (best first) and the rows beside them: make them candidates, then `rank` all.

    Some will not exist, belong to another session or not be indexed; leave those out.
    """
    rows = np.asarray(best, np.int64)[:NEIGHBOURS_OF]
    beside = np.unique(rows[:, None] + np.arange(-REACH, REACH + 1))
    return beside[beside >= 0]


def _sorted(candidates: Candidates, by_row: Ints) -> Candidates:
    """The same candidates by row, with lengths, and as floats where it is reckoned."""
    nothing = np.zeros(len(by_row))
    chars, exact, complete, turns, exchange, alike, spread = (
        given if len(given) else nothing
        for given in (
            candidates.chars,
            candidates.exact,
            candidates.complete,
            candidates.turns,
            candidates.exchange,
            candidates.alike,
            candidates.spread,
        )
    )
    return Candidates(
        np.asarray(candidates.rows, np.int64)[by_row],
        np.asarray(candidates.sessions, np.int64)[by_row],
        np.asarray(candidates.kinds, np.int64)[by_row],
        np.asarray(candidates.times, np.float64)[by_row],
        np.asarray(candidates.text, np.float64)[by_row],
        np.asarray(candidates.dense, np.float64)[by_row],
        np.asarray(chars, np.float64)[by_row],
        np.asarray(exact, np.float64)[by_row],
        np.asarray(complete, np.float64)[by_row],
        np.asarray(turns, np.int64)[by_row],
        np.asarray(exchange, np.float64)[by_row],
        np.asarray(alike, np.float64)[by_row],
        np.asarray(spread, np.float64)[by_row],
    )


def _dense_share(table: Candidates, options: Options) -> float:
    if options.mode != "hybrid":
        return float(options.mode == "vector")
    if np.isnan(table.dense).all():
        return 0.0
    if options.fusion == "rrf":
        return 0.5
    best, weights = np.sort(table.text)[::-1], options.weights
    if not best[0] > 0:
        return 1.0
    ties = best[TIES - 1] / best[0] if len(best) >= TIES else 0.0
    share = weights.dense + weights.dense_by_ties * (ties - weights.ties_usual)
    exchanged = weights.dense_exchanged * bool(table.exchange.any())
    return float(np.clip(share, weights.dense_min, weights.dense_max)) - exchanged


def _sums(table: Candidates, options: Options, dense_share: float) -> dict[str, Floats]:
    """The parts that are added: text and dense, and with scores also neighbours and session.

    Ranks are too much alike for the last two: the first and the fiftieth differ by half.
    """
    text, dense = _scaled(table, options)
    if options.fusion == "rrf":
        return {"text": (1 - dense_share) * text, "dense": dense_share * dense}
    weights = options.weights
    among = table.kinds != Kind.NOTE  # a note has nothing to do with those around it
    leaning = among * (table.exchange == 0) / (1 + (table.chars / weights.short_chars) ** 2)
    beside = (1 - dense_share) * weights.text_beside * _better_neighbour(table, text)
    beside += dense_share * weights.dense_beside * _better_neighbour(table, dense)
    parts = {"text": (1 - dense_share) * text, "dense": dense_share * dense, "neighbours": leaning * beside}
    own = parts["text"] + parts["dense"] + parts["neighbours"]
    parts["session"] = among * weights.session * _session_best(table.sessions, own)
    if table.complete.any():
        parts["complete"] = weights.complete * table.complete
    if table.spread.any():
        parts["spread"] = weights.spread * table.spread
    return {**parts, "exact": weights.exact * table.exact} if table.exact.any() else parts


def _scaled(table: Candidates, options: Options) -> tuple[Floats, Floats]:
    """Text and dense from 0 to about 1. An entry without a vector is taken to mean what its words say."""
    if options.fusion == "rrf":
        return _by_rank(table.text, 0.0), _by_rank(np.nan_to_num(table.dense, nan=-np.inf), -np.inf)
    bound = options.text_max or table.text.max(initial=0.0)
    text = table.text / bound if bound > 0 else table.text
    text = np.maximum(text, options.weights.exchange * table.exchange)
    dense = np.where(table.exchange > 0, _best_of_turn(table.turns, table.dense), table.dense)
    dense = np.maximum((dense - options.dense_floor) / (1 - options.dense_floor), 0.0)
    return text, np.where(np.isnan(dense), text, dense)


def _best_of_turn(turns: Ints, values: Floats) -> Floats:
    """For each entry the best that any of its turn has."""
    _, turn = np.unique(turns, return_inverse=True)
    best = np.full(len(turns), np.nan)
    np.fmax.at(best, turn, values)
    return best[turn]


def _by_rank(values: Numbers, nothing: float) -> Floats:
    """Reciprocal ranks, the first 1; equals share a rank. 0 where there is nothing."""
    ranks = np.searchsorted(np.sort(-values), -values)
    return np.where(values > nothing, (RRF_K + 1) / (RRF_K + 1 + ranks), 0.0)


def _better_neighbour(table: Candidates, values: Floats) -> Floats:
    """For each entry the larger value of the candidate before and the one behind it in its session."""
    near = (np.diff(table.sessions) == 0) & (np.diff(table.rows) <= REACH)
    better = np.zeros(len(values))
    better[1:] = np.where(near, values[:-1], 0.0)
    better[:-1] = np.maximum(better[:-1], np.where(near, values[1:], 0.0))
    return better


def _session_best(sessions: Ints, values: Floats) -> Floats:
    """For each entry the mean of the best few of its session; fewer count as zeros."""
    order = np.lexsort((-values, sessions))
    _, first, session = np.unique(sessions[order], return_index=True, return_inverse=True)
    among_best = np.arange(len(order)) - first[session] < SESSION_BEST
    best = np.bincount(session[among_best], values[order][among_best], minlength=len(first)) / SESSION_BEST
    lifted = np.empty(len(order))
    lifted[order] = best[session]
    return lifted


def _factors(table: Candidates, options: Options) -> dict[str, Floats]:
    """The parts that multiply; those that say nothing are left out."""
    factors = {"kind": _KIND_WEIGHTS[np.clip(table.kinds, 0, len(_KIND_WEIGHTS) - 1)]}
    if table.exchange.any():
        factors["course"] = np.where(_leads_to_another(table), options.weights.course, 1.0)
    if options.window is not None:
        factors["time"] = 1 + options.weights.time * _within(table.times, *options.window)
    if options.recency:
        days = np.maximum(options.now_ms - table.times, 0.0) / 86_400_000
        factors["recency"] = np.exp(-RECENCY_PER_DAY * days)
    if options.boosted_sessions:
        boosted = np.isin(table.sessions, np.array(options.boosted_sessions))
        factors["project"] = 1 + options.weights.project * boosted
    return factors


def _leads_to_another(table: Candidates) -> NDArray[np.bool_]:
    """Which entries are on the way to the closing answer of their turn, when that is a candidate too."""
    closes = table.exchange > 0
    of_closed = np.isin(table.turns, table.turns[closes])
    found: NDArray[np.bool_] = of_closed & ~closes & np.isin(table.kinds, COURSE)
    return found


def _newer(table: Candidates, own: Floats, options: Options) -> Floats:
    """What lifts the later of the closing answers that say something of the same, each in its time.

    What says that it is of a day to come says nothing of the present.
    """
    lift, weights = np.zeros(len(own)), options.weights
    told = (table.times > 0) & (table.times <= options.now_ms + DAY_MS)
    same = (table.exchange > 0) & told & (table.alike >= weights.alike)
    same &= own >= weights.as_good * own[same].max(initial=0.0)
    days, place = np.unique(table.times[same] // DAY_MS, return_inverse=True)
    lift[same] = weights.newer * place / max(len(days) - 1, 1)
    return lift


def _within(times: Numbers, start: float, end: float) -> Floats:
    """1 within the window, less and less outside it."""
    early = np.maximum(start - times, 0.0) / EARLY_MS
    late = np.maximum(times - end, 0.0) / max(end - start, LATE_MS_MIN)
    return np.where(times > 0, np.exp(-early - late), 0.0)


_KIND_WEIGHTS = np.full(max(Kind) + 2, min(KINDS.values()))  # the last is that of any number above
for _kind, _weight in KINDS.items():
    _KIND_WEIGHTS[_kind] = _weight

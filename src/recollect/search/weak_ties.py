"""Sessions that may go on with another's work: the same plan document, branch, files and words within days.

How unlikely it is that two share something follows from how many pieces of work of their project have it. All
of it is arithmetic on columns, as it is done whenever threads are asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from recollect.search.ties import Array, Tie, Ties
from recollect.values.history import How
from recollect.values.text import many

_MINUTE = 60_000
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_WITHIN_MS = 7 * _DAY
_LIKE_MS = 2 * _DAY
_NEAR_MS = 30 * _MINUTE
_MOST = {Tie.DOCUMENT: 4, Tie.FILE: 24, Tie.WORD: 24}  # groups of a project that may share one that tells
_WORD_SHARE = 0.2  # of the groups of a project, likewise
# In nats, set on half of the labelled pairs of `benchmarks.insight_threads`.
_WORD_MIN, _WORDS_MIN, _FILES_MIN, _EVIDENCE_MIN = 1.5, 4.0, 1.4, 3.3
_DOUBLED_PAUSE = 1.2  # what each doubling of the pause takes away
_USUAL = frozenset({"main", "master", "develop", "development", "dev", "trunk", "next", "HEAD", ""})
_USUAL_SHARE = 0.3


class Guess(NamedTuple):
    """That the session at one position goes on with the work of another, and how sure that is."""

    earlier: int
    later: int
    how: How
    confidence: float
    why: str


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of sessions, by position: `group` is what each is one with for certain.

    `project` is a number, 0 for none that counts; `is_first` of its group; `has_plan`: it begins with one.
    """

    group: Array
    project: Array
    begun_ms: Array
    ended_ms: Array
    is_first: Array
    has_plan: Array
    branches: Sequence[str]


def guesses(known: Known, ties: Ties) -> Iterator[Guess]:
    """What speaks for one session going on with another's work."""
    chosen = np.isin(ties.kind, list(_MOST)) & (known.project[ties.session] > 0)
    at, kind, key = ties.session[chosen], ties.kind[chosen], ties.key[chosen]
    groups = _groups_of_projects(known)
    earlier, later, kinds, weight = _shared(known, groups, at, kind, key)
    if not len(later):
        return
    pairs, inverse = np.unique(later * len(known.group) + earlier, return_inverse=True)
    of_kind = {each: kinds == each for each in _MOST}
    counts = {each: np.bincount(inverse[of_kind[each]], minlength=len(pairs)) for each in _MOST}
    nats = {
        each: np.bincount(inverse[of_kind[each]], weight[of_kind[each]], minlength=len(pairs))
        for each in _MOST
    }
    later, earlier = np.divmod(pairs, len(known.group))
    gap = np.maximum(known.begun_ms[later] - known.ended_ms[earlier], 0)
    own = _own_branches(known, groups)
    on_branch = (own[later] > 0) & (own[later] == own[earlier])
    words, files = nats[Tie.WORD], nats[Tie.FILE]
    changed = np.bincount(at[kind == Tie.FILE], minlength=len(known.group))
    is_near = (gap <= _NEAR_MS) & (counts[Tie.FILE] == changed[later]) & (words >= _WORD_MIN)
    is_like = (gap <= _LIKE_MS) & (counts[Tie.WORD] > 1) & (words >= _WORDS_MIN)
    is_like &= 2 * counts[Tie.FILE] >= changed[later]
    is_like &= words + files - _DOUBLED_PAUSE * np.log2(1 + 2 * gap / _HOUR) >= _EVIDENCE_MIN
    follows = (files >= _FILES_MIN) & (is_near | is_like)
    for n in np.flatnonzero((counts[Tie.DOCUMENT] > 0) | on_branch | follows).tolist():
        told = f"{_told(int(counts[Tie.FILE][n]), int(counts[Tie.WORD][n]))}, {_pause(int(gap[n]))}"
        if counts[Tie.DOCUMENT][n]:
            how, confidence, told = How.DOCUMENT, 0.8, f"a plan or specification, {told}"
        elif on_branch[n]:
            how, confidence = How.BRANCH, 0.75 if words[n] >= _WORD_MIN else 0.4
            told = f"their own branch, {told}"
        else:  # a plan says itself what it is about
            planned = known.has_plan[later[n]]
            how, confidence = How.FOLLOW_UP, 0.4 if planned else 0.7 if is_like[n] else 0.6
        yield Guess(int(earlier[n]), int(later[n]), how, confidence, told)


def _groups_of_projects(known: Known) -> Array:
    """For each project how many groups it has, and 1 for none."""
    return np.maximum(
        np.bincount(known.project[known.is_first], minlength=int(known.project.max(initial=0)) + 1), 1
    )


def _shared(
    known: Known, groups: Array, at: Array, kind: Array, key: Array
) -> tuple[Array, Array, Array, Array]:
    """Pairs of sessions of one project that share something: positions, its kind, how unlikely that is."""
    project = known.project[at].astype(np.uint64)
    mixed = (key + kind + project * _ODD) * _ODD
    order = np.lexsort((known.group[at], mixed))
    runs = np.concatenate([[True], mixed[order][1:] != mixed[order][:-1]])[: len(order)]
    steps = (
        runs
        | np.concatenate([[True], known.group[at][order][1:] != known.group[at][order][:-1]])[: len(order)]
    )
    sharing = np.bincount(np.cumsum(runs) - 1, steps, minlength=1)  # groups, for each thing
    sharing = sharing[np.cumsum(runs) - 1]
    of = groups[known.project[at][order]]
    most = np.zeros(max(_MOST) + 1, np.int64)
    most[list(_MOST)] = list(_MOST.values())
    telling = (sharing > 1) & (sharing <= most[kind[order]])
    telling &= (kind[order] != Tie.WORD) | (sharing <= np.maximum(2, _WORD_SHARE * of))
    order, weight = order[telling], np.log(of[telling] / sharing[telling])
    in_time = np.lexsort((known.begun_ms[at[order]], mixed[order]))
    order, weight = order[in_time], weight[in_time]
    found = []
    for shift in range(1, len(order)):
        same = np.flatnonzero(mixed[order][shift:] == mixed[order][:-shift])
        if not len(same):
            break
        one, other = at[order[same]], at[order[same + shift]]
        near = known.begun_ms[other] - known.ended_ms[one] <= _WITHIN_MS
        near &= known.is_first[other] & (known.group[one] != known.group[other])
        found.append((one[near], other[near], kind[order[same]][near], weight[same][near]))
    if not found:
        nothing = np.zeros(0, np.int64)
        return nothing, nothing, nothing, nothing
    one, other, kinds, weights = (np.concatenate(column) for column in zip(*found, strict=True))
    return one, other, kinds, weights


def _own_branches(known: Known, groups: Array) -> Array:
    """For each session a number of its branch, 0 for one that much of its project is on: it tells nothing."""
    numbers = {name: n + 1 for n, name in enumerate(sorted(set(known.branches) - _USUAL))}
    branch = np.array([numbers.get(each, 0) for each in known.branches], np.int64)
    mixed = known.project * (len(numbers) + 1) + branch
    pairs = np.unique(np.stack([mixed, known.group]), axis=1) if len(mixed) else np.zeros((2, 0), np.int64)
    used = np.bincount(pairs[0], minlength=1)
    is_usual = used[mixed] > np.maximum(2, _USUAL_SHARE * groups[known.project])
    return np.where((branch > 0) & ~is_usual, mixed, 0)


def _told(files: int, words: int) -> str:
    told = [many(files, "file")] if files else []
    return " and ".join([*told, *([many(words, "rare word")] if words else [])]) + " in common"


def _pause(gap_ms: int) -> str:
    minutes = math.ceil(gap_ms / _MINUTE)
    if minutes < 90:
        return f"{minutes} min later"
    return f"{round(minutes / 60)} h later" if minutes < 48 * 60 else f"{round(minutes / 1440)} days later"


_ODD = np.uint64(0x9E3779B97F4A7C15)

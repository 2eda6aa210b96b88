"""What is let in: hits that are about what was asked, and as much of a text as a budget has room for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from recollect.values.hits import Hit, Results

SCORE_MIN = 0.2  # in a search; what has nothing to do with the question mostly stays below
HITS_KEPT = 3  # of each search, however low they score: one word in a megabyte scores low

_Made = TypeVar("_Made")


def relevant_hits(results: Results) -> list[Hit]:
    """The hits that are about what was asked; the best few in any case."""
    return [hit for n, hit in enumerate(results.hits) if n < HITS_KEPT or hit.score >= SCORE_MIN]


def fit(
    make: Callable[[int], _Made], chars: int, budget_tokens: int, tokens_of: Callable[[_Made], int]
) -> _Made:
    """What is made of so many characters, or of fewer until it fits; of one character in any case.

    Each try is cut in proportion to what was too much, so a few are enough.
    """
    while True:
        made = make(chars)
        spent = tokens_of(made)
        if spent <= budget_tokens or chars <= 1:
            return made
        chars = max(min(chars - 1, chars * budget_tokens // spent), 1)

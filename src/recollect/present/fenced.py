"""Words of the past for a model, in one fence: as much of them as a budget has room for."""

from __future__ import annotations

from bisect import bisect
from typing import TYPE_CHECKING

from recollect.recall.fence import fenced
from recollect.values.text import tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def fenced_blocks(
    blocks: Sequence[str], foot: Callable[[int], Sequence[str]], budget_tokens: int, **attributes: str
) -> str:
    """The first blocks and what is to be said below them, in one fence that fits a budget."""

    def text(shown: int) -> str:
        return fenced("\n".join((*blocks[:shown], *foot(shown))), **attributes)

    # Measured as it goes out: making a text safe may make it longer.
    over = bisect(range(1, len(blocks) + 1), budget_tokens, key=lambda shown: tokens(text(shown)))
    return text(over)

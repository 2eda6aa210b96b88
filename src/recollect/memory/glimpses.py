"""A few lines of what would be erased, secrets masked: to see whether a pattern means what was meant."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from recollect.redact import redact
from recollect.search.patterns import Patterns
from recollect.search.query import ready_pattern
from recollect.search.run import PATTERN_SECONDS
from recollect.values.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from recollect.values.erasures import Wanted

GLIMPSES_MAX = 3
_CELLS = 72
_BEFORE_CHARS = 24
_TEXT_CHARS_MAX = 100_000  # of a text that is masked for it


def glimpses(texts: Iterable[str], wanted: Wanted) -> list[str]:
    """What the first texts say where they have what is wanted; not one that is long, or is masked there."""
    if not (wanted.match or wanted.regex):
        return []
    found: list[str] = []
    pattern, _ = ready_pattern(wanted.regex) if wanted.regex else ("", "")
    with contextlib.closing(Patterns([(pattern, True)] if pattern else [])) as patterns:
        for text in texts:
            if len(found) == GLIMPSES_MAX:
                break
            if len(text) <= _TEXT_CHARS_MAX:
                masked = redact(text).text
                at = _place(masked, wanted.match, patterns)
                if at >= 0:
                    start = max(at - _BEFORE_CHARS, 0)
                    found.append(
                        one_line(("…" if start else "") + masked[start : start + 4 * _CELLS], _CELLS)
                    )
    return found


def _place(text: str, match: str, patterns: Patterns) -> int:
    if not patterns:
        return text.find(match)
    marks = patterns.marks(text, time.monotonic() + PATTERN_SECONDS)
    return marks[0][0] if marks else -1

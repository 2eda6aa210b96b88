"""The lines of a text that are worth a look.

Most patterns have no first letter to look for and are tried at every place of a text; to look for a word that
they need is many times as fast. So those whose matches stay within a line see only the lines that have it.
"""

from __future__ import annotations

from collections.abc import Sequence


def lines_with(text: str, signs: Sequence[str], at_most: int | None = None) -> list[str]:
    """The lines with any of these signs in them, in order; of more than `at_most` some."""
    starts: set[int] = set()
    for sign in signs:
        at = text.find(sign) if sign in text else -1  # the cheaper question, which is mostly answered with no
        while at >= 0 and (at_most is None or len(starts) < at_most):
            starts.add(text.rfind("\n", 0, at) + 1)
            end = text.find("\n", at)
            at = text.find(sign, end) if end >= 0 else -1
    return [text[start:].partition("\n")[0] for start in sorted(starts)] if starts else []

"""Values that a terminal or a mail broke over lines: the text is read once more without those line ends.

A line end counts as such a break if what stands before it and after it both look like a piece of a random
value, and the piece after it is all of its line and no longer than the line before.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator

from recollect.redact.plausible import VALUE_CHARS, is_random
from recollect.redact.tokens import Span

_PIECE = r"[A-Za-z0-9+/_=.-]"
_BREAK = re.compile(
    rf"\n(?<={_PIECE}{{16}}\n)[ \t]{{0,12}}(?=[^\n0-9]{{0,24}}[0-9])"
    rf"(?=(?P<after>{_PIECE}{{8,200}})[\"'`,;]{{0,2}}[ \t]{{0,4}}(?:\r?\n|\Z))"
)
_CONTINUED = re.compile(rf"\\\n[ \t]{{0,12}}(?=(?P<after>{_PIECE}{{8,200}}))")  # a shell's, by a backslash
_BEFORE = re.compile(rf"{_PIECE}{{12,64}}$")
# The last line of a value is shorter, and may have no digits in it.
_REST = re.compile(
    rf"\\?\n[ \t]{{0,12}}(?=[A-Za-z0-9]{{1,20}}[a-z0-9][A-Z]){_PIECE}{{4,64}}(?=[\"'`,;]{{0,2}}(?:\r?\n|\Z))"
)


def wrapped_spans(text: str, find: Callable[[str], list[Span]]) -> Iterator[Span]:
    """What `find` finds across line ends that are no more than breaks."""
    breaks = [match.span() for match in _BREAK.finditer(text) if _is_break(text, match)]
    if "\\\n" in text:
        breaks += [match.span() for match in _CONTINUED.finditer(text) if _is_break(text, match)]
        breaks.sort()
    if not breaks:
        return
    ends = [0, *(end for _, end in breaks)]
    starts = [*(start for start, _ in breaks), len(text)]
    joined = "".join(text[end:start] for end, start in zip(ends, starts, strict=True))
    gone = [0]  # where the breaks were, and how much was left out before each
    places = []
    for start, end in breaks:
        places.append(start - gone[-1])
        gone.append(gone[-1] + end - start)
    for start, end, kind in find(joined):
        first, last = bisect_left(places, start + 1), bisect_left(places, end)
        if first < last:
            rest = _REST.match(text, end + gone[last])
            yield start + gone[first], rest.end() if rest else end + gone[last], kind


def _is_break(text: str, match: re.Match[str]) -> bool:
    after = match["after"][:VALUE_CHARS]
    before = _BEFORE.search(text, max(0, match.start() - 64), match.start())
    if before is None or not _is_piece(before[0]) or not _is_piece(after):
        return False
    width = match.start() - text.rfind("\n", max(0, match.start() - _WIDTH_MAX), match.start()) - 1
    return match.end() - match.start() - 1 + len(match["after"]) <= width


_WIDTH_MAX = 400


def _is_piece(piece: str) -> bool:
    return _MIXED.match(piece) is not None or is_random(piece)


_MIXED = re.compile(
    r"(?=[^0-9]{0,64}[0-9])(?=[^A-Z]{0,64}[A-Z])(?=[^a-z]{0,64}[a-z])[A-Za-z0-9+=_-]{8,200}\Z"
)

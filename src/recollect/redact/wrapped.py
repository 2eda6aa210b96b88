"""Values that a terminal or a mail broke over lines: the text is read once more without those line ends.

A line end counts as such a break if what stands before it and after it both look like a piece of a random
value, and the piece after it is all of its line and no longer than the line before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from recollect.redact.plausible import VALUE_CHARS, is_random
from recollect.redact.readings import read
from recollect.redact.tokens import Span

_PIECE = r"[A-Za-z0-9+/_=.-]"
_BREAK = re.compile(
    rf"\n(?<={_PIECE}{{16}}\n)[ \t]{{0,12}}(?=[^\n0-9]{{0,24}}[0-9])"
    rf"(?=(?P<after>{_PIECE}{{8,200}})[\"'`,;]{{0,2}}[ \t]{{0,4}}(?:\r?\n|\Z))"
)
_BOXED = re.compile(  # over the edges of a box
    rf"│\r?\n[ ]{{0,12}}│[ ]{{1,12}}(?=(?P<after>{_PIECE}{{8,200}})[ \t]{{0,200}}│)"
)
_CONTINUED = re.compile(rf"\\\n[ \t]{{0,12}}(?=(?P<after>{_PIECE}{{8,200}}))")  # a shell's, by a backslash
_BEFORE = re.compile(rf"{_PIECE}{{12,64}}$")
# The last line of a value is shorter, and may have no digits in it.
_REST = re.compile(
    rf"\\?\n[ \t]{{0,12}}(?=[A-Za-z0-9]{{1,20}}[a-z0-9][A-Z]){_PIECE}{{4,64}}(?=[\"'`,;]{{0,2}}(?:\r?\n|\Z))"
)


def wrapped_spans(text: str, find: Callable[[str], list[Span]]) -> Iterator[Span]:
    """What `find` finds across line ends that are no more than breaks."""
    breaks = sorted(_breaks(text))
    if not breaks:
        return
    reading = read(text, [(start, end, "") for start, end in breaks])
    for start, end, kind in find(reading.text):
        if reading.is_across(start, end):
            last = reading.end(end)
            rest = _REST.match(text, last)
            yield reading.start(start), rest.end() if rest else last, kind


def _breaks(text: str) -> Iterator[tuple[int, int]]:
    for match in _BREAK.finditer(text):
        if _is_break(text, match.start(), match):
            yield match.span()
    for match in _CONTINUED.finditer(text) if "\\\n" in text else ():
        if _is_break(text, match.start(), match):
            yield match.span()
    for match in _BOXED.finditer(text) if not text.isascii() and "│\n" in text else ():
        start = (
            match.start() - _EDGE_CHARS + len(text[match.start() - _EDGE_CHARS : match.start()].rstrip(" "))
        )
        if match.start() >= _EDGE_CHARS and _is_break(text, start, match):
            yield start, match.end()


_EDGE_CHARS = 20  # of blanks before the edge of a box


def _is_break(text: str, start: int, match: re.Match[str]) -> bool:
    after = match["after"][:VALUE_CHARS]
    before = _BEFORE.search(text, max(0, start - 64), start)
    if before is None or not _is_piece(before[0]) or not _is_piece(after):
        return False
    width = start - text.rfind("\n", max(0, start - _WIDTH_MAX), start) - 1
    return match.end() - match.start() - 1 + len(match["after"]) <= width


_WIDTH_MAX = 400


def _is_piece(piece: str) -> bool:
    return _MIXED.match(piece) is not None or is_random(piece)


_MIXED = re.compile(
    r"(?=[^0-9]{0,64}[0-9])(?=[^A-Z]{0,64}[A-Z])(?=[^a-z]{0,64}[a-z])[A-Za-z0-9+=_-]{8,200}\Z"
)

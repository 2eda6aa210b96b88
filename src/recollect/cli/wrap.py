"""Running text on a terminal, broken between words: an id, a path or an address stays in one piece."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.values.text import cells

if TYPE_CHECKING:
    from collections.abc import Iterator

_TAB_CELLS = 8
# A run of blanks, a letter of a script without spaces and what must not begin a line, or a word.
_WIDE = "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6"
_CLOSING = "、。，．・：；？！」』）】〉》ー…"
_PIECE = re.compile(rf"[ \t]+|[{_WIDE}][{_CLOSING}]*|[^ \t{_WIDE}]+")


_BEGINNING = re.compile(r" *(?:(?:[-*+•]|\d{1,3}[.)]) +)?")  # of a line, or of an item of a list


def wrap(text: str, width: int, hang: int | None = None) -> Iterator[tuple[int, int, str]]:
    """Where to break a text, as (from, to, what stands there instead), so that its lines fit.

    A line goes on below its own beginning, or `hang` cells from the edge.
    """
    at = 0
    for line in text.split("\n"):
        if _cells(line) > width:
            indent = min(len(_BEGINNING.match(line)[0]) if hang is None else hang, width // 2)  # type: ignore[index]
            for start, stop in _breaks(line, width, indent):
                yield at + start, at + stop, "\n" + " " * indent
        at += len(line) + 1


def _breaks(line: str, width: int, indent: int) -> Iterator[tuple[int, int]]:
    """The blanks, or the places between two letters, at which a line is broken."""
    used = end = 0  # cells of the line so far, and where its last word ended
    for found in _PIECE.finditer(line):
        if found[0][0] in " \t":
            continue
        taken = _cells(line[end : found.end()])
        if end and used + taken > width:
            yield end, found.start()
            used, taken = indent, _cells(found[0])
        used += taken
        end = found.end()


def _cells(text: str) -> int:
    return cells(text) + (_TAB_CELLS - 1) * text.count("\t")

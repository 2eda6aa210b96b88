"""A text as it reads without what was laid over it: colours, escapes, line ends.

A reading is made by edits; what is found in it is told by its place in the text as it was written.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

Edit = tuple[int, int, str]  # from, to, what is read there


@dataclass(frozen=True, slots=True)
class Reading:
    """A text after edits, and the way back."""

    text: str
    edits: tuple[Edit, ...]
    places: tuple[int, ...]  # where in the reading each edit begins

    def start(self, at: int) -> int:
        """Where in the written text a letter of the reading begins."""
        place = bisect_right(self.places, at) - 1
        if place < 0:
            return at
        first, last, read = self.edits[place]
        past = at - self.places[place] - len(read)
        return first if past < 0 else last + past

    def end(self, at: int) -> int:
        """Where in the written text the letter before this one ends."""
        place = bisect_right(self.places, at - 1) - 1
        if place < 0:
            return at
        _, last, read = self.edits[place]
        return last + max(0, at - self.places[place] - len(read))

    def is_across(self, start: int, end: int) -> bool:
        """Whether an edit stands inside a span of the reading."""
        return bisect_right(self.places, start) < bisect_left(self.places, end)


def read(text: str, edits: Iterable[Edit]) -> Reading:
    """The text with each of the edits made; they come in order and do not overlap."""
    parts, places, at, length = [], [], 0, 0
    made = tuple(edits)
    for start, end, new in made:
        parts += [text[at:start], new]
        length += start - at
        places.append(length)
        length += len(new)
        at = end
    parts.append(text[at:])
    return Reading("".join(parts), made, tuple(places))


# -- layers -------------------------------------------------------------------------------------------

_COLOUR = r"(?:\x1b|\\{1,8}(?:u001[bB]|x1[bB]|033|e))\[[0-9;?]{0,20}[A-Za-z]"
_LAYER = re.compile(
    rf"{_COLOUR}|\\{{1,15}}(?:(?P<plain>[\"/])|u(?P<code>00[2-7][0-9a-fA-F]|25[0-7][0-9a-fA-F])|(?P<end>[nr])|(?P<tab>t))"
)


def layered_parts(text: str, lowered: str, present: tuple[str, ...]) -> list[tuple[int, int]]:
    """Where a second look is worth it: all of a text with colours, else around names in escapes.

    `present` says which names are in the text, as `lowered` has them.
    """
    if "\x1b" in text:
        return [(0, len(text))]
    words = [word for word in _HELD if word in present or "\\" in word]
    places = [at for word in words for at in _places(lowered, word)]
    if "pass" in present:
        places += [at for at in _places(lowered, "pass") if lowered[at + 4 : at + 5] in _AFTER_PASS]
    parts: list[tuple[int, int]] = []
    for at in sorted(places):
        first, last = max(0, at - _AROUND_CHARS), min(len(text), at + _AROUND_CHARS)
        if parts and first <= parts[-1][1]:
            parts[-1] = (parts[-1][0], last)
        elif _LAYER.search(text, first, last):
            parts.append((first, last))
    return parts


_AROUND_CHARS = 200
_HELD = ("secret", "cred", "identified ", ":\\/", "\\u00")
_AFTER_PASS = frozenset("wp=:\"'\\")


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


def unlayered(text: str) -> Reading:
    """Without colours, and with the escapes of JSON as what they stand for, however deep they are."""
    return read(text, [(*match.span(), _letter(match)) for match in _LAYER.finditer(text)])


def _letter(match: re.Match[str]) -> str:
    if match["code"]:
        return chr(int(match["code"], 16))
    return match["plain"] or ("\n" if match["end"] else "\t" if match["tab"] else "")

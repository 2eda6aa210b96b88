"""The piece of a text that shows why it was found.

A snippet is a run of parts, each said to be a match or not, so that a face can mark the
matches after making every part safe for where it is shown.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from recollect.values.hits import Snippet
from recollect.values.records import Entry, Kind

WIDTH_CHARS = 240
READ_CHARS = 10_000  # of a text; more of it only if no word is in these
READ_CHARS_MAX = 400_000  # what lies behind is not looked at for a snippet
MATCHES_MAX = 200
LEAD_CHARS = 40  # before the first match

Marks = Callable[[str], list[tuple[int, int, str]]]  # where a text has something, and what that is


class Highlighter:
    """Finds a query's words in texts the way the index does: by their stems; or whatever `marks` finds."""

    def __init__(
        self, words: Iterable[str], stems_of: Callable[[str], list[str]], marks: Marks | None = None
    ) -> None:
        self._given = marks
        found = [word.lower() for word in words]
        self._stems_of = stems_of
        self._stems = {stem for word in found for stem in stems_of(word)}
        self._known = dict.fromkeys(found, True)
        # A word can only share a stem with one that begins alike, and looking up a stem costs far more
        # than a regular expression does. What is written with signs is looked for as it is written.
        signed = sorted((word for word in found if not word.isalnum()), key=lambda word: (-len(word), word))
        plain = (word for word in found if word.isalnum())
        begins = {word if not word.isascii() else word[:3] for word in (*self._stems, *plain)}
        choices = [re.escape(each) for each in (*signed, *sorted(begins, reverse=True)) if each.strip()]
        self._pattern = re.compile("|".join(choices)) if choices else None

    def snippet(self, entry: Entry, width: int = WIDTH_CHARS) -> Snippet:
        """The window of an entry's text that holds most of the words."""
        text = readable(entry)
        marks = self._marks(text)
        start = _best(marks, width)
        start = _word_start(text, start - LEAD_CHARS) if start > LEAD_CHARS else 0
        stop = _word_stop(text, start + width)
        inside = [(max(a, start), min(b, stop)) for a, b, _ in marks if a < stop and b > start]
        return Snippet(_parts(text, start, stop, inside), (start > 0, stop < len(text)))

    def _marks(self, text: str) -> list[tuple[int, int, str]]:
        if self._given is not None:
            return self._given(text[:READ_CHARS_MAX])
        if self._pattern is None:
            return []
        for first, last in ((0, READ_CHARS), (READ_CHARS, READ_CHARS_MAX)):
            marks = list(islice(self._matches(text, first, last), MATCHES_MAX))
            if marks:
                return marks
        return []

    def _matches(self, text: str, first: int, last: int) -> Iterator[tuple[int, int, str]]:
        assert self._pattern is not None
        piece = text[first:last]
        lowered = piece.lower()
        if len(lowered) != len(piece):  # a letter whose small form is two
            lowered = piece
        at = 0
        while match := self._pattern.search(lowered, at):
            start, at = match.span()
            if not match[0].isascii() or not match[0].isalnum():
                yield first + start, first + at, match[0]
                continue
            behind = _WORD.match(lowered, start)
            assert behind is not None
            at = behind.end()
            if (not start or not _WORD.match(lowered[start - 1])) and self._is_match(behind[0]):
                yield first + start, first + at, behind[0]

    def _is_match(self, word: str) -> bool:
        known = self._known.get(word)
        if known is None:
            known = self._known[word] = not self._stems.isdisjoint(self._stems_of(word))
        return known


_WORD = re.compile(r"\w+")


def readable(entry: Entry) -> str:
    """An entry's text as a person reads it: of a tool call its arguments, not their JSON."""
    if entry.kind != Kind.CALL or not entry.text.startswith("{"):
        return entry.text
    try:
        return "\n".join(_argument(name, each) for name, each in json.loads(entry.text).items())
    except (ValueError, RecursionError):
        return entry.text


def _argument(name: str, value: object) -> str:
    return f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"


def _best(marks: Sequence[tuple[int, int, str]], width: int) -> int:
    """Where the window begins that holds the most different words, the earliest of equals."""
    starts = [start for start, _, _ in marks]
    best, most = 0, 0
    for n, (start, _, _) in enumerate(marks):
        last = bisect_right(starts, start + width - LEAD_CHARS)
        held = len({word for _, _, word in marks[n : min(last, n + 64)]})
        if held > most:
            best, most = start, held
    return best


def _word_start(text: str, at: int) -> int:
    space = max(text.find(" ", at, at + 20), text.find("\n", at, at + 20))
    return space + 1 if space >= 0 else at


def _word_stop(text: str, at: int) -> int:
    if at >= len(text):
        return len(text)
    space = max(text.rfind(" ", at - 20, at), text.rfind("\n", at - 20, at))
    return space if space >= 0 else at


def _parts(
    text: str, start: int, stop: int, marks: Sequence[tuple[int, int]]
) -> tuple[tuple[str, bool], ...]:
    """The window in pieces, runs of white space made one space."""
    pieces: list[tuple[str, bool]] = []
    at = start
    for first, last in marks:
        if first >= at:
            pieces += [(text[at:first], False), (text[first:last], True)]
            at = last
    pieces.append((text[at:stop], False))
    return tuple((re.sub(r"\s+", " ", piece), marked) for piece, marked in pieces if piece)

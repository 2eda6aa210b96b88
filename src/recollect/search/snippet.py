"""The pieces of a text that show why it was found.

A snippet is a run of parts, each said to be a match or not, so that a face can mark the
matches after making every part safe for where it is shown. Of a long text it has two windows: the one
that holds most of the words, and the one that adds most to it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from recollect.search.text.fields import is_grammar
from recollect.values.hits import Snippet
from recollect.values.records import Entry, Kind
from recollect.values.stop_words import STOP_WORDS

WIDTH_CHARS = 240  # of a window
WINDOWS = 2
READ_CHARS = 10_000  # of a text; more of it only if no word is in these
READ_CHARS_MAX = 400_000  # what lies behind is not looked at for a snippet
MATCHES_MAX = 200
LINKS_MAX = 1000
LEAD_CHARS = 40  # before the first match
SEEN_WORTH = 0.5  # of a word that another window shows already
GAP = " ... "

Mark = tuple[int, int, str]  # where a text has something, and what that is
Marks = Callable[[str], list[Mark]]
Window = tuple[int, int]


class Highlighter:
    """Finds a query's words in texts the way the index does: by their stems; or whatever `marks` finds."""

    def __init__(
        self, words: Iterable[str], stems_of: Callable[[str], list[str]], marks: Marks | None = None
    ) -> None:
        self._given = marks
        found = [word.lower() for word in words]
        self._stems_of = stems_of
        self._stems = {stem for word in found for stem in stems_of(word)}
        self._known = {word: next(iter(stems_of(word)), word) for word in found}
        # A word can only share a stem with one that begins alike, and looking up a stem costs far more
        # than a regular expression does. What is written with signs is looked for as it is written.
        signed = sorted((word for word in found if not word.isalnum()), key=lambda word: (-len(word), word))
        plain = (word for word in found if word.isalnum())
        begins = {word if not word.isascii() else word[:3] for word in (*self._stems, *plain)}
        choices = [re.escape(each) for each in (*signed, *sorted(begins, reverse=True)) if each.strip()]
        self._pattern = re.compile("|".join(choices)) if choices else None

    def snippet(self, entry: Entry, width: int = WIDTH_CHARS, count: int = WINDOWS) -> Snippet:
        """The windows of an entry's text that hold most of the words; of links to files the path's end."""
        text = readable(entry)
        if "](" in text[:READ_CHARS_MAX]:
            text = _FILE_LINK.sub(r"\1", text, count=LINKS_MAX)
        marks = self._marks(text)
        windows = _windows(text, marks, width, count)
        parts: list[tuple[str, bool]] = []
        for start, stop in windows:
            inside = [(max(a, start), min(b, stop)) for a, b, _ in marks if a < stop and b > start]
            parts += [*([(GAP, False)] if parts else []), *_parts(text, start, stop, inside)]
        return Snippet(tuple(parts), (windows[0][0] > 0, windows[-1][1] < len(text)))

    def window(self, text: str, width: int) -> Window:
        """The part of a text that holds most of the words."""
        return _windows(text, self._marks(text), width, 1)[0]

    def words_in(self, text: str) -> set[str]:
        """Which of the words a text has, as the index knows them."""
        return {word for _, _, word in self._marks(text)}

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
            if (not start or not _WORD.match(lowered[start - 1])) and (stem := self._matched(behind[0])):
                yield first + start, first + at, stem

    def _matched(self, word: str) -> str:
        """The stem that a word shares with one of those looked for, "" for none."""
        known = self._known.get(word)
        if known is None:
            known = self._known[word] = next((s for s in self._stems_of(word) if s in self._stems), "")
        return known


_WORD = re.compile(r"\w+")
_SPACES = re.compile(r"\s+")
# [token.py](/home/ada/harbor/src/token.py#L7): what is kept is harbor/src/token.py#L7
_FILE_LINK = re.compile(
    r"\[[^\[\]\n]{1,200}\]\((?:file://)?(?:/|[A-Za-z]:[/\\])"
    r"(?:[^()\s/\\]{1,100}[/\\]){0,30}?((?:[^()\s/\\]{1,100}[/\\]){0,2}[^()\s/\\]{1,200})\)"
)


def highlighter(
    words: Sequence[str], analyze: Callable[[str, str], list[str]], marks: Marks | None = None
) -> Highlighter:
    """For the words of a question that say something, as an index has them by field (`TextIndex.analyze`)."""
    telling = [word for word in words if word.lower().strip("?.,!") not in STOP_WORDS] or list(words)
    pairs = [pair for pair in analyze("cjk", " ".join(words)) if not is_grammar(pair)]
    return Highlighter([*telling, *pairs], lambda word: analyze("body", word), marks)


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


def _windows(text: str, marks: Sequence[Mark], width: int, count: int) -> list[Window]:
    """The best windows in the order of the text, as one where they meet; all of a text that has room."""
    if len(text) <= width:
        return [(0, len(text))]
    chosen: list[Window] = []
    seen: set[str] = set()
    while len(chosen) < count and len(text) > width * len(chosen):
        at = _best(marks, width, chosen, seen)
        if at is None:
            break
        start = _word_start(text, at - LEAD_CHARS) if at > LEAD_CHARS else 0
        chosen.append((start, _word_stop(text, start + width)))
        seen.update(word for first, _, word in marks if start <= first < chosen[-1][1])
    joined: list[Window] = []
    for start, stop in sorted(chosen):
        if joined and start - joined[-1][1] <= len(GAP):
            joined[-1] = joined[-1][0], max(stop, joined[-1][1])
        else:
            joined.append((start, stop))
    return joined or [(0, _word_stop(text, width))]


def _best(marks: Sequence[Mark], width: int, taken: Sequence[Window], seen: set[str]) -> int | None:
    """Where the window begins that is worth most by its different words, the earliest of equals.

    None where there is none beside those that are taken.
    """
    held: Counter[str] = Counter()
    best, most, worth, last = None, 0.0, 0.0, 0
    for start, _, word in marks:
        while last < len(marks) and marks[last][0] <= start + width - LEAD_CHARS:
            entering = marks[last][2]
            worth += _worth(entering, seen) * (not held[entering])
            held[entering] += 1
            last += 1
        if worth > most and all(start >= b or start + width <= a for a, b in taken):
            best, most = start, worth
        held[word] -= 1
        worth -= _worth(word, seen) * (not held[word])
    return best


def _worth(word: str, seen: set[str]) -> float:
    return SEEN_WORTH if word in seen else 1.0


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
    return tuple((_SPACES.sub(" ", piece), marked) for piece, marked in pieces if piece)

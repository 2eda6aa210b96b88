"""Sentences of what was said, without the marks of lists and headings, and which of them tell nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

READ_CHARS = 20_000  # of a text
QUOTE_CHARS = 320


class Sentence(NamedTuple):
    """A sentence, and which line of its text it stands in."""

    text: str
    line: int


def sentences(text: str, *, code: bool = False) -> list[Sentence]:
    """What a text says, without tables and bare marks; lines of `code` only if asked for."""
    return list(_sentences(text[:READ_CHARS], code))


def quote(said: Sequence[Sentence], at: int, chars_max: int = QUOTE_CHARS) -> str:
    """A sentence, and what follows it in its line or after a colon, as long as that is short."""
    quoted, line = said[at]
    is_list = False
    for more, number in said[at + 1 :]:
        is_list = is_list or quoted.endswith(":")
        if len(quoted) + len(more) >= chars_max or not (number == line or is_list) or is_narration(more):
            break
        quoted = f"{quoted} {more}"
    return quoted


def is_narration(text: str) -> bool:
    """Whether a text begins with what comes next, and so tells nothing yet."""
    return bool(_NARRATION.match(text))


def _sentences(text: str, code: bool) -> Iterator[Sentence]:
    fence = ""
    for number, line in enumerate(text.splitlines()):
        line = line.strip()
        if line.startswith(fence or _FENCES):
            fence = "" if fence else line[:3]
        elif fence:
            if code and not _BARE.match(line):
                yield Sentence(line, number)
        elif (line := _MARKS.sub("", line)) and not _BARE.match(line):
            yield from (Sentence(each.strip(), number) for each in _ENDS.split(line) if each.strip())


_FENCES = ("```", "~~~")
_MARKS = re.compile(r"^(?:[-*+>]\s+|\d+[.)]\s+|#+\s+|\*\*(?=[^*]+$))+")
_BARE = re.compile(r"^\W*$|^\|.*\|$")
_ENDS = re.compile(r"(?<=[.!?])\s+(?=\S)|(?<=[。！？])")
_NARRATION = re.compile(
    r"(?:(?:now|ok(?:ay)?|good|great|perfect|right|first|next|then|so|also|and)\b[\s,.:!-]*)*"
    r"(?:let me|let's|let us|i'?ll|i will|i am|i[’']m|i[’']ll|i need|i should|we need|time to|"
    r"(?:check|look|try|runn|updat|verify|fix)ing\b)|まず|次に",
    re.IGNORECASE,
)

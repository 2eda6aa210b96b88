"""The word lists of the rules, read once from the data files beside this one."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

_PHRASE_MARK = " "


class Known(NamedTuple):
    """A thing that is known by its name. `vague`: the name is an ordinary word, too."""

    type: str
    name: str
    vague: bool = False


@cache
def words(purpose: str) -> frozenset[str]:
    """The words that are listed for a purpose; none for one that has no list."""
    return _lists().get(purpose, frozenset())


@cache
def ordered_words(purpose: str) -> tuple[str, ...]:
    """The same in an order that is always the same."""
    return tuple(sorted(words(purpose)))


@cache
def known_names() -> dict[str, Known]:
    """Known things by each of their spellings that is one word."""
    return {spelling: known for spelling, known in _spellings() if _PHRASE_MARK not in spelling}


@cache
def known_phrases() -> dict[str, list[tuple[str, Known]]]:
    """Known things whose name is several words: by the first of them, the longest name first."""
    found: dict[str, list[tuple[str, Known]]] = {}
    for spelling, known in sorted(_spellings(), key=lambda each: (-len(each[0]), each[0])):
        if _PHRASE_MARK in spelling:
            found.setdefault(spelling.partition(_PHRASE_MARK)[0], []).append((spelling, known))
    return found


def _spellings() -> list[tuple[str, Known]]:
    found = []
    for type_, lines in _sections("known.txt").items():
        for line in lines:
            spellings = line.split(", ")
            name = spellings[0].lstrip("?")
            found += [
                (each.lstrip("?"), Known(type_, name, vague=each.startswith("?"))) for each in spellings
            ]
    return found


@cache
def _lists() -> dict[str, frozenset[str]]:
    return {
        purpose: frozenset(word for line in lines for word in line.split())
        for purpose, lines in _sections("words.txt").items()
    }


def _sections(name: str) -> dict[str, list[str]]:
    """The lines of a data file below each `[heading]`."""
    text = files(__package__).joinpath(name).read_text("utf-8")
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("[") and line.endswith("]"):
            lines = sections.setdefault(line[1:-1], [])
        elif line and not line.startswith("#"):
            lines.append(line)
    return sections

"""Questions with one known answer, drawn by script from the logs themselves, the same for the same seed.

    error        a line of a failed result, as it is
    error less   the same line without one of its words
    verb file    what was done to a file: "edit token.py"
    paraphrase   most words of what a person said, in another order
    identifier   a name that few entries hold, snake_case or camelCase
    rare words   three words that stand together in few entries

A question is of texts that are seldom enough for a first hit to be right or wrong.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from recollect import Memory
from recollect.values.records import Flag, Kind
from recollect.values.stop_words import EVERYDAY
from recollect.values.stored import StoredEntry

_Any = TypeVar("_Any")

COUNT = 90
SEED = 12
TEXT_CHARS_MAX = 20_000  # of an entry that is looked at
HOLDERS_MAX = 3  # entries that may hold what is asked for

_ERROR = re.compile(r"\b\w*(?:Error|Exception)\b\s*[:(]|\berror(?:\[\w+\])?:|\bfatal:|\bpanic:|[Ff]ailed to")
_CODE = re.compile(r"^[\d+./-]|[;{}]|\b(?:throw|raise|return|new)\b")
_NAME = re.compile(r"(?<![\\\w])(?:[a-z]+(?:_[a-z]+){1,4}|[a-z]+(?:[A-Z][a-z]+){1,4})\b")
_WORD = re.compile(r"[A-Za-z]{4,20}")
_VERBS = {"Edit": "edit", "Write": "write", "MultiEdit": "edit"}


@dataclass(frozen=True)
class Item:
    """What is asked, and whether an entry is the answer to it."""

    query: str
    answers: Callable[[StoredEntry], bool]


def items(memory: Memory, seed: int = SEED, count: int = COUNT) -> dict[str, list[Item]]:
    """So many questions of each kind."""
    entries = [
        each
        for session in memory.sessions()
        for each in memory.show(session.facts.id)
        if each.entry.text.strip() and each.entry.kind != Kind.EVENT and not each.entry.flags & Flag.INJECTED
    ]
    dice = random.Random(seed)
    lines = list(_picked(_error_lines(entries), dice, count))
    return {
        "error": [Item(line, _holding(line)) for line in lines],
        "error less": [Item(_less(line, dice), _holding(line)) for line in lines],
        "verb file": list(_picked(_changes(entries), dice, count)),
        "paraphrase": [_paraphrase(each, dice) for each in _picked(_prompts(entries), dice, count)],
        "identifier": [Item(name, _holding(name)) for name in _picked(_names(entries), dice, count)],
        "rare words": list(_picked(_rare(entries, dice), dice, count)),
    }


def _picked(found: Iterator[_Any], dice: random.Random, count: int) -> Iterator[_Any]:
    every = sorted(found, key=str)
    yield from dice.sample(every, min(count, len(every)))


def _holding(text: str) -> Callable[[StoredEntry], bool]:
    return lambda stored: _spaced(text) in _spaced(stored.entry.text)


def _spaced(text: str) -> str:
    return " ".join(text.replace("\\n", " ").split())


def _error_lines(entries: list[StoredEntry]) -> Iterator[str]:
    holders: Counter[str] = Counter()
    for stored in entries:
        if stored.entry.kind == Kind.RESULT:
            lines = {" ".join(line.split()) for line in stored.entry.text[:TEXT_CHARS_MAX].splitlines()}
            holders.update(line for line in lines if 30 <= len(line) <= 160 and _is_error(line))
    return (line for line, seen in holders.items() if seen <= HOLDERS_MAX and len(line.split()) >= 5)


def _is_error(line: str) -> bool:
    """Whether a line tells of an error, and is not code that would."""
    return bool(_ERROR.search(line)) and not _CODE.search(line)


def _less(line: str, dice: random.Random) -> str:
    words = line.split()
    del words[dice.randrange(1, len(words) - 1)]
    return " ".join(words)


def _changes(entries: list[StoredEntry]) -> Iterator[Item]:
    """A file's name with what was done to it, for files that were changed a few times."""
    changed: dict[tuple[str, str], set[str]] = defaultdict(set)
    for stored in entries:
        entry = stored.entry
        if entry.kind == Kind.CALL and entry.tool in _VERBS and (path := _path(entry.text)):
            changed[_VERBS[entry.tool], re.split(r"[/\\]", path)[-1]].add(stored.id)
    for (verb, name), ids in changed.items():
        if len(ids) <= HOLDERS_MAX and "." in name:
            yield Item(f"{verb} {name}", _any_of(ids))


def _any_of(ids: set[str]) -> Callable[[StoredEntry], bool]:
    return lambda stored: stored.id in ids


def _path(text: str) -> str:
    try:
        return str(json.loads(text).get("file_path", ""))
    except (ValueError, AttributeError):
        return ""


def _prompts(entries: list[StoredEntry]) -> Iterator[str]:
    said = Counter(" ".join(e.entry.text.split()) for e in entries if e.entry.is_said)
    for text, seen in said.items():
        telling = [word for word in _WORD.findall(text) if word.lower() not in EVERYDAY]
        if seen == 1 and 8 <= len(telling) <= 40:
            yield text


def _paraphrase(text: str, dice: random.Random) -> Item:
    telling = [word for word in _WORD.findall(text) if word.lower() not in EVERYDAY]
    kept = dice.sample(telling, max(len(telling) * 3 // 4, 5))
    start = _spaced(text)[:200]
    return Item(" ".join(word.lower() for word in kept), lambda stored: start in _spaced(stored.entry.text))


def _names(entries: list[StoredEntry]) -> Iterator[str]:
    holders: Counter[str] = Counter()
    for stored in entries:
        holders.update(set(_NAME.findall(stored.entry.text[:TEXT_CHARS_MAX])))
    return (name for name, seen in holders.items() if 2 <= seen <= 5 and 8 <= len(name) <= 40)


def _rare(entries: list[StoredEntry], dice: random.Random) -> Iterator[Item]:
    """Three words of an answer or a prompt that few entries hold, and together only few."""
    holders: dict[str, set[int]] = defaultdict(set)
    for n, stored in enumerate(entries):
        for word in set(_WORD.findall(stored.entry.text[:TEXT_CHARS_MAX].lower())):
            holders[word].add(n)
    for n, stored in enumerate(entries):
        if stored.entry.kind not in (Kind.ANSWER, Kind.PROMPT) or dice.random() > 0.05:
            continue
        rare = sorted(
            word
            for word in set(_WORD.findall(stored.entry.text[:TEXT_CHARS_MAX].lower()))
            if 3 <= len(holders[word]) <= 60 and n in holders[word]
        )
        if len(rare) >= 3:
            words = dice.sample(rare, 3)
            if len(set.intersection(*(holders[word] for word in words))) <= HOLDERS_MAX:
                yield Item(" ".join(words), _with_all(words))


def _with_all(words: list[str]) -> Callable[[StoredEntry], bool]:
    return lambda stored: set(words) <= set(_WORD.findall(stored.entry.text.lower()))

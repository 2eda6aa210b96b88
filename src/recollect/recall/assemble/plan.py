"""The first pass: a description becomes facets, each with what to look for.

    sign-in of the extension, "invalid_grant" in tokens.ts; what changed last week
    -> three facets, of which the second has a quotation and a file, and a window of time

No grammar and no model: a description is cut where people breathe. The description as a whole always
comes first, because its parts alone ("OAuth tokens") mean something else elsewhere.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from recollect.search.query import QUERY_CHARS_MAX, Is
from recollect.search.text.fields import path_term, whole_query
from recollect.search.time_words import window
from recollect.values.assembly import FILE, NAME, PHRASE, TOPIC, Ask, Facet, Plan
from recollect.values.errors import UsageError
from recollect.values.stop_words import ASIDES

if TYPE_CHECKING:
    from recollect.search.run import Search

FACETS_MAX = 8
ASKS_MAX = 4  # quotations, names and files of one facet
PROJECT_CHARS_MIN = 3
TIME_WORDS = 3  # "last week", "two weeks ago"

_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”|`([^`]+)`')
_PAUSE = re.compile(r"[,;\n]+|:\s|[.?!]\s+|\s[-–—]+\s")
_AND = re.compile(r"\s(?:and|plus|also|as well as|&)\s", re.IGNORECASE)
_WORD = re.compile(r"\w[\w'-]*")
_HUMPED = re.compile(r"\b(?:[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|[A-Z][A-Z0-9]{2,}\w*)\b")
_LATEST = re.compile(
    r"\b(?:now|current|currently|latest|today|these days|in place|in force|at present)\b", re.IGNORECASE
)


def plan(search: Search, description: str, now: datetime.datetime) -> Plan:
    """What a description asks for."""
    said = " ".join(description.split())
    if not telling(said):
        raise UsageError("nothing to assemble", hint="say what it should be about, in a sentence or a list")
    if len(said) > QUERY_CHARS_MAX:
        raise UsageError(f"the description is longer than {QUERY_CHARS_MAX:,} characters")
    projects = _projects(search, said)
    local = now.astimezone()
    parts = [part for part in _parts(said, projects) if not _is_time(part, local)]
    whole = Facet(said, _asks(search, said))
    facets = [whole]
    if len(parts) > 1:
        facets += [Facet(part, _asks(search, part)) for part in parts[:FACETS_MAX]]
    return Plan(said, tuple(facets), projects, window(said, local), bool(_LATEST.search(said)))


def telling(text: str) -> list[str]:
    """The words of a text that say what it is about."""
    return [word for word in _WORD.findall(text) if word.lower() not in ASIDES]


def _projects(search: Search, said: str) -> tuple[str, ...]:
    """Projects that the store knows and the description names, by the last part of their name."""
    words = {word.casefold() for word in re.findall(r"[\w.-]+", said)}
    known = sorted({session.facts.project for session in search.sessions if session.facts.project})
    return tuple(
        name
        for name in known
        if len(last := name.rsplit("/", 1)[-1].casefold()) >= PROJECT_CHARS_MIN and last in words
    )


def _parts(said: str, projects: Sequence[str]) -> list[str]:
    """The description cut at its pauses, and at an "and" between two things of some words each."""
    names = {name.rsplit("/", 1)[-1].casefold() for name in projects}
    parts: list[str] = []
    for part in _pauses(said):
        ands = [each.strip() for each in _AND.split(part)]
        counts = [len(_left(each, names)) for each in ands]
        if len(ands) > 1 and min(counts) > 1:
            parts += ands
        elif _is_facet(_left(part, names)):
            parts.append(part)
    return parts


def _left(part: str, names: set[str]) -> list[str]:
    """What a part tells beside the project."""
    return [word for word in telling(part) if word.casefold() not in names]


def _is_facet(words: list[str]) -> bool:
    """Whether words can stand for something: two of them, or a name."""
    return len(words) > 1 or any(whole_query(word) or _HUMPED.match(word) for word in words)


def _is_time(part: str, now: datetime.datetime) -> bool:
    """Whether a part says when, and nothing else."""
    return len(telling(part)) <= TIME_WORDS and window(part, now) is not None


def _pauses(said: str) -> Iterator[str]:
    """Between pauses; what stands in quotation marks has none."""
    held = _QUOTED.sub(lambda match: _PAUSE.sub(lambda pause: "\0" * len(pause[0]), match[0]), said)
    at = 0
    for pause in _PAUSE.finditer(held):
        yield said[at : pause.start()].strip()
        at = pause.end()
    yield said[at:].strip()


def _asks(search: Search, text: str) -> tuple[Ask, ...]:
    """The words together, then what in them can be looked for as it is written."""
    quoted = [next(filter(None, match.groups())) for match in _QUOTED.finditer(text)]
    names = [*whole_query(text), *(name.lower() for name in _HUMPED.findall(text))]
    asks = [Ask(PHRASE, each.strip()) for each in quoted if telling(each)]
    for name in dict.fromkeys(names):
        is_file = "." in name and len(search.rows(Is("file", path_term(name)), 1)) > 0
        asks.append(Ask(FILE if is_file else NAME, name))
    return (Ask(TOPIC, _QUOTED.sub(lambda match: match[0][1:-1], text)), *asks[:ASKS_MAX])

"""A session as a page to read.

What a log holds stays text: it can neither end its block nor steer a terminal. It stands
in a fence longer than any run of backticks inside it. Only what the person and the model
wrote to each other is Markdown already, and is quoted line by line so that its headings
do not mix with ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from recollect.records import Flag, Kind
from recollect.text import moment, one_line, printable

if TYPE_CHECKING:
    from recollect.records import Entry
    from recollect.store.base import Session, StoredEntry

_SPOKEN = (Kind.PROMPT, Kind.ANSWER, Kind.SUMMARY)
_RUNS = re.compile(r"`+")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&])")


def markdown(session: Session, entries: Iterable[StoredEntry]) -> Iterator[bytes]:
    """The page, piece by piece. Bookkeeping and repeated entries are left out."""
    yield _head(session).encode("utf-8")
    for stored in entries:
        entry = stored.entry
        said = entry.text or entry.kind == Kind.IMAGE
        if said and entry.kind != Kind.EVENT and not entry.flags & Flag.COPY:
            yield _section(entry).encode("utf-8")


def fenced(text: str, language: str = "") -> str:
    """A code block that nothing inside it can close."""
    longest = max((len(run) for run in _RUNS.findall(text)), default=0)
    fence = "`" * max(longest + 1, 3)
    return f"{fence}{language}\n{text}\n{fence}\n"


def plain(text: str) -> str:
    """Text on one line in which no character means anything to Markdown."""
    return _SPECIAL.sub(r"\\\1", one_line(text))


def _head(session: Session) -> str:
    facts = session.facts
    told = (
        ("Session", facts.id), ("Agent", f"{facts.agent} {facts.version}".strip()), ("Model", facts.model),
        ("Project", facts.project), ("Folder", facts.cwd), ("Branch", facts.branch), ("Host", session.host),
        ("Began", moment(facts.started_ms)), ("Ended", moment(facts.ended_ms)),
        ("Relation", f"{facts.relation.name.lower()} of {facts.parent}" if facts.parent else ""),
    )  # fmt: skip
    lines = [f"# {plain(facts.title or facts.slug or facts.id)}", ""]
    lines += [f"- {name}: {plain(value)}" for name, value in told if value]
    return "\n".join(lines) + "\n"


def _section(entry: Entry) -> str:
    words = [entry.kind.name.capitalize(), plain(entry.tool), moment(entry.time_ms)]
    words += [word for bit, word in ((Flag.ERROR, "(error)"), (Flag.BOUNDARY, "(context restarts)"))
              if entry.flags & bit]  # fmt: skip
    heading = "## " + " ".join(word for word in words if word)
    text = printable(entry.text).strip("\n")
    if not text:
        return f"\n{heading}\n"
    if entry.kind in _SPOKEN:
        quoted = "\n".join(f"> {line}".rstrip() for line in text.split("\n"))
        return f"\n{heading}\n\n{quoted}\n"
    return f"\n{heading}\n\n{fenced(text, 'json' if entry.kind == Kind.CALL else '')}"

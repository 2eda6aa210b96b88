"""Text of a log as Markdown, and a session as a page of it.

What a log holds stays text: it can neither end its block, nor steer a terminal, nor be HTML. It stands in a
fence longer than any run of backticks inside it. Only what the person and the model wrote to each other is
Markdown already; it is quoted line by line so that its headings do not mix with ours. Even there no link is
a link and no image an image, because one could lead elsewhere than it says and the other fetches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from recollect.values.records import Flag, Kind
from recollect.values.text import moment, one_line, printable

if TYPE_CHECKING:
    from recollect.values.records import Entry
    from recollect.values.stored import Session, StoredEntry


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


def quoted(text: str) -> str:
    """Markdown that somebody wrote, as a quotation: its lists, headings and code, but no HTML and no link.

    Fences are written anew and what else could open one is escaped, so that a reader of Markdown sees
    code exactly where we do, and nothing is left as it was elsewhere.
    """
    lines: list[str] = []
    for language, part in pieces(text):
        if language is None:
            lines += map(_tamed, part.split("\n"))
        else:
            lines += fenced(part, language).rstrip("\n").split("\n")
    return "\n".join(f"> {line}".rstrip() for line in lines) + "\n"


def pieces(text: str) -> Iterator[tuple[str | None, str]]:
    """Markdown as prose and code in turn, printable: code with its language or "", prose with None."""
    prose: list[str] = []
    lines = iter(printable(text).strip("\n").split("\n"))
    for line in lines:
        opening = _OPENING.fullmatch(line)
        if opening is None:
            prose.append(line)
            continue
        if opening["lead"].strip():
            prose.append(opening["lead"].rstrip())
        if prose:
            yield None, "\n".join(prose)
        prose = []
        yield _language(opening["info"]), "\n".join(_code(lines, opening["fence"]))
    if prose:
        yield None, "\n".join(prose)


# -- what somebody wrote --------------------------------------------------------------------------

_RUNS = re.compile(r"`+")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&])")

# A fence may stand in a list or a quotation.
_OPENING = re.compile(
    r"(?P<lead>(?:[ \t>]|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))*+)"
    r"(?P<fence>`{3,}+(?=[^`]*$)|~{3,}+)(?P<info>.*)"
)
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,20}")

# A code span is one only on its line and without "|", at which a table would cut it in two.
_MEANS = re.compile(
    r"\\(?P<escaped>.)|(?P<code>(?P<ticks>`{1,2})(?!`)[^|]+?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<run>`+|~{3,})|(?P<link>\[)|(?P<tag><(?![\s\d=]|$))"
)


def _code(lines: Iterator[str], fence: str) -> Iterator[str]:
    """The lines up to the one that closes the fence, or all."""
    for line in lines:
        run = line.strip(" \t>")
        if len(run) >= len(fence) and run.count(fence[0]) == len(run):
            return
        yield line


def _language(info: str) -> str:
    word = _LANGUAGE.match(info.strip())
    return word[0] if word and word[0] == info.split()[0] else ""


def _tamed(line: str) -> str:
    return _MEANS.sub(_neutral, line)


def _neutral(found: re.Match[str]) -> str:
    if found["tag"] or found["escaped"] == "<":
        return "&lt;"
    if found["run"]:
        return "".join(f"\\{each}" for each in found["run"])
    return "\\[" if found["link"] else found[0]


# -- the page -------------------------------------------------------------------------------------


def _head(session: Session) -> str:
    facts = session.facts
    told = (
        ("Session", facts.id),
        ("Agent", f"{facts.agent} {facts.version}".strip()),
        ("Model", facts.model),
        ("Project", facts.project),
        ("Folder", facts.cwd),
        ("Branch", facts.branch),
        ("Host", session.host),
        ("Began", moment(facts.started_ms)),
        ("Ended", moment(facts.ended_ms)),
        ("Relation", f"{facts.relation.name.lower()} of {facts.parent}" if facts.parent else ""),
    )
    lines = [f"# {plain(facts.headline or facts.id)}", ""]
    lines += [f"- {name}: {plain(value)}" for name, value in told if value]
    return "\n".join(lines) + "\n"


def _section(entry: Entry) -> str:
    words = [entry.kind.name.capitalize(), plain(entry.tool), moment(entry.time_ms)]
    words += [
        word
        for bit, word in ((Flag.ERROR, "(error)"), (Flag.BOUNDARY, "(context restarts)"))
        if entry.flags & bit
    ]
    heading = "## " + " ".join(word for word in words if word)
    text = printable(entry.text).strip("\n")
    if not text:
        return f"\n{heading}\n"
    if entry.kind in (Kind.PROMPT, Kind.ANSWER, Kind.SUMMARY, Kind.NOTE):
        return f"\n{heading}\n\n{quoted(text)}"
    return f"\n{heading}\n\n{fenced(text, 'json' if entry.kind == Kind.CALL else '')}"

"""Entries as a model reads them: a label that says what each is, and its text, cut and indented.

    # session 1a2b3c4d-5e6f, harbor, AGENT: Make the token store honour clock skew
    [3f2a90c1d2e4 user, 2026-03-02 14:05]
      Make the token store honour clock skew
    [77ab01c2d3e5 tool result Bash (error), 2026-03-02 14:06, characters 5200-6400 of 60321]
      E   psycopg.OperationalError: connection refused

A label begins a line and no text does: each line of it is indented. So whatever a text says, it cannot pass
for another entry, another speaker or another session.
"""

from __future__ import annotations

import re
from dataclasses import replace

from recollect.recall.fence import safe
from recollect.search.snippet import Highlighter, readable
from recollect.values.facts import TOLD
from recollect.values.records import Entry, Flag, Kind
from recollect.values.stored import Session, StoredEntry
from recollect.values.text import ellipsis, moment, one_line

INDENT = "  "
NAME_CHARS = 60  # of a title, a project
TOOL_CHARS = 40
ID_CHARS = 13  # of a session's id: enough to find it by
SLACK_CHARS = 80  # an excerpt may lose so much to begin or end with a line

_CLASSES = {
    Kind.PROMPT: "user",
    Kind.ANSWER: "assistant",
    Kind.THOUGHT: "assistant thought",
    Kind.CALL: "tool call",
    Kind.RESULT: "tool result",
    Kind.SUMMARY: "summary",
    Kind.CONTEXT: "harness",
    Kind.NOTE: "saved note",
}
_WEB = re.compile(r"web|fetch|browse|http", re.IGNORECASE)

Window = tuple[int, int]


def origin(entry: Entry) -> str:
    """Who a text is from: the user, the assistant, a tool, the harness, or, trusted least, the web."""
    if entry.kind == Kind.RESULT and _WEB.search(entry.tool):
        return "web result"
    if entry.kind == Kind.NOTE and entry.tool == TOLD:
        return "fact"
    return _CLASSES.get(entry.kind, entry.kind.name.lower())


def session_line(session: Session, bad_end: str = "") -> str:
    """What the entries below it belong to, and how that ended, where it was not well."""
    facts = session.facts
    named = (name_of(facts.id)[:ID_CHARS], name_of(facts.project), facts.agent, name_of(facts.headline))
    place = ", ".join(filter(None, (*named[:3], "imported" if session.imported else "", bad_end)))
    return f"# session {place}" + (f": {named[3]}" if named[3] else "")


def below(session: Session, stored: StoredEntry) -> StoredEntry:
    """An entry as it stands below the line of its session: what that says, it need not say again."""
    return replace(stored, imported=False) if stored.imported and session.imported else stored


def excerpt(stored: StoredEntry, window: Window | None = None) -> str:
    """An entry with its label; of its text only a window, if one is given."""
    text = readable(stored.entry)
    start, stop = window or (0, len(text))
    whole = not start and stop >= len(text)
    label = _label(stored, "" if whole else f", characters {start}-{stop} of {len(text)}")
    return f"{label}\n{_indented(safe(text[start:stop]))}"


def window_around(entry: Entry, chars: int, highlighter: Highlighter) -> Window:
    """The part of an entry's text that is worth most, from line to line where that is near."""
    text = readable(entry)
    if len(text) <= chars + SLACK_CHARS:
        return 0, len(text)
    start, _ = highlighter.window(text, chars)
    start = text.rfind("\n", max(start - SLACK_CHARS, 0), start) + 1 or start
    start = start if text[:start].strip() else 0
    if start + chars >= len(text):
        return start, len(text)
    stop = max(text.rfind(blank, start + chars - SLACK_CHARS, start + chars) for blank in "\n ")
    return start, stop if stop > start else start + chars


def has_text(stored: StoredEntry) -> bool:
    """Whether there is anything to show: of most thoughts only the signature is logged."""
    return bool(stored.entry.text) and not stored.entry.text.isspace()


def name_of(text: str) -> str:
    """A title or a project on one line; made safe before it is cut, for half a tag is not known as one."""
    return ellipsis(safe(one_line(text, NAME_CHARS * 4)), NAME_CHARS)[:NAME_CHARS]


def _label(stored: StoredEntry, cut: str) -> str:
    entry = stored.entry
    tool = re.sub(r"[^\w.:-]", "", entry.tool)[:TOOL_CHARS]
    failed = "(error)" if entry.flags & Flag.ERROR else ""
    whose = "imported" if stored.imported else ""
    said = " ".join(filter(None, (stored.id, whose, origin(entry), tool, failed)))
    when = moment(entry.time_ms, "%Y-%m-%d %H:%M")
    return f"[{said}{', ' if when else ''}{when}{cut}]"


def _indented(text: str) -> str:
    """Every line behind a margin, runs of empty ones as one."""
    text = re.sub(r"\n\s*\n", "\n\n", text.strip("\n"))
    return "\n".join((INDENT + line).rstrip() for line in text.split("\n"))

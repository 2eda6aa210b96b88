"""Cursor's documents: transcripts as mere text, which it wrote before 2026, and what is known of a chat.

user:
<user_query>
...
assistant:
[Thinking] ...
[Tool call] Read
  path: /code/harbor/log.md
[Tool result] Read
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import PurePath

from recollect.agents.cursor.bubble import moment
from recollect.agents.cursor.paths import STORE
from recollect.agents.cursor.said import person_in
from recollect.agents.decode import BadLine, decode
from recollect.agents.fields import OpenCalls, dict_of, json_of, text_of, unknown
from recollect.values.records import Entry, Kind, Parsed, SessionFacts
from recollect.values.titles import TITLE_AGENT, title_line

_TURN = re.compile(r"^(user|assistant):[ \t\r]*$", re.MULTILINE)
_MARK = re.compile(r"^\[(Thinking|Tool call|Tool result)\][ \t]*(.*)$", re.MULTILINE)
_ARGUMENT = re.compile(r"^  (\w[\w-]{0,60}): ?(.*)$")


def text_entries(data: bytes, calls: OpenCalls) -> list[Entry]:
    """What a transcript says; bytes that are no text are kept in the line alone."""
    text = data.decode("utf-8", "ignore")
    found: list[Entry] = []
    for turn, said in _parts(_TURN, text):
        found += person_in(said.strip("\r\n"), 0) if turn[1] == "user" else _answered(said, calls)
    return found


def meta_facts(facts: SessionFacts, data: bytes, path: str) -> Parsed:
    """What is known of a chat. Its times tell of one that is there: without its database it is but a name."""
    try:
        told = dict_of(decode(data)[0])
    except BadLine:
        return unknown("document")
    facts.cwd = text_of(told.get("cwd"))
    facts.titled(title_line(text_of(told.get("title"))), TITLE_AGENT)
    if os.path.lexists(PurePath(path).with_name(STORE)):
        for name in ("createdAtMs", "updatedAtMs"):
            facts.saw(moment(told.get(name)))
    return Parsed("chat", (Entry(Kind.EVENT),))


def _answered(said: str, calls: OpenCalls) -> list[Entry]:
    """What stands before the first mark, and behind each."""
    first = _MARK.search(said)
    found = _answer(said[: first.start()] if first else said)
    for mark, rest in _parts(_MARK, said):
        told = mark[2].strip()
        if mark[1] == "Thinking":
            found += [Entry(Kind.THOUGHT, told), *_answer(rest)]
        elif mark[1] == "Tool call":
            lines = rest.split("\n")[1:]
            pairs = [pair for line in lines if (pair := _ARGUMENT.match(line))]
            given = {pair[1]: pair[2].rstrip("\r") for pair in pairs}
            found.append(Entry(Kind.CALL, json_of(given), calls.opened("", told, given), 0, told))
            found += _answer("\n".join(line for line in lines if not line.startswith("  ")))
        else:
            found.append(Entry(Kind.RESULT, rest.strip("\r\n"), 0, 0, told))
    return found


def _answer(text: str) -> list[Entry]:
    return [Entry(Kind.ANSWER, text.strip())] if text.strip() else []


def _parts(pattern: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each place where the pattern is found, and what stands behind it up to the next."""
    found = list(pattern.finditer(text))
    ends = [*(each.start() for each in found[1:]), len(text)]
    return ((each, text[each.end() : end]) for each, end in zip(found, ends, strict=False))

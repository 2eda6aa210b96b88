"""Whether `qwen --resume` opens a transcript whole, and a provider takes what it then sends.

Every rule is checked on the bytes alone, knowing nothing of how they were made: before a file is
written and again when it is read back. Each complaint names its line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any, Final

from recollect.agents.session_lines import file_problems, is_stamp

Record = dict[str, Any]

_ROLES: Final = {"user": "user", "assistant": "model", "tool_result": "user"}
_PARTS: Final = {
    "user": ("text", "inlineData"),
    "assistant": ("text", "functionCall"),
    "tool_result": ("functionResponse",),
}


def validate(data: bytes, session_id: str) -> list[str]:
    """What is wrong with a transcript; nothing, if it may be written under this id."""
    problems = list(file_problems(data, session_id, lambda value: True))
    if problems:
        return problems
    records = [json.loads(line) for line in data.split(b"\n")[:-1]]
    for number, record in enumerate(records, 1):
        problems += [f"line {number}: {problem}" for problem in _record(record, session_id)]
    return problems or [*_chain(records), *_turns(records)]


def _record(record: Record, session_id: str) -> Iterator[str]:
    kind = record.get("type")
    if record.get("sessionId") != session_id:
        yield "the id of another session"
    if not os.path.isabs(_text(record.get("cwd"))) or not _text(record.get("version")):
        yield "no folder or no version"
    if not _text(record.get("uuid")) or not is_stamp(record.get("timestamp")):
        yield "no uuid or no time"
    if kind == "system" and record.get("subtype") == "custom_title":
        return
    message = record.get("message")
    if kind not in _ROLES or type(message) is not dict or message.get("role") != _ROLES[kind]:
        yield f"a record of type {kind!r} in which nobody speaks"
        return
    parts = message.get("parts")
    if type(parts) is not list or not parts:
        yield "nothing is said"
        return
    for part in parts:
        yield from _part(part, str(kind))


def _part(part: Any, kind: str) -> Iterator[str]:
    known = [name for name in _PARTS[kind] if type(part) is dict and name in part]
    if len(known) != 1:
        yield f"a part that {kind} cannot have"
        return
    value = part[known[0]]
    if known[0] == "text":
        if not _text(value).strip():
            yield "an empty text"
        return
    if type(value) is not dict:
        yield f"no object in {known[0]}"
    elif known[0] == "inlineData":
        if not (_text(value.get("data")) and _text(value.get("mimeType"))):
            yield "an image without data"
    elif not (_text(value.get("id")) and _text(value.get("name"))):
        yield f"no id or no name in {known[0]}"
    elif type(value.get("args" if kind == "assistant" else "response")) is not dict:
        yield f"no arguments or no response in {known[0]}"


def _chain(records: list[Record]) -> Iterator[str]:
    """Each record hangs on the one before: so the agent finds all of them, in this order."""
    parent, seen = None, set()
    for number, record in enumerate(records, 1):
        if record.get("parentUuid") != parent:
            yield f"line {number}: does not hang on the record before"
        parent = record["uuid"]
        if parent in seen:
            yield f"line {number}: a uuid for the second time"
        seen.add(parent)


def _turns(records: list[Record]) -> Iterator[str]:
    """What every provider asks for: results right behind their calls, and no call for the second time."""
    asked: set[str] = set()
    calls: set[str] = set()
    spoken = [(number, record) for number, record in enumerate(records, 1) if record["type"] in _ROLES]
    if not any("text" in part for _, record in spoken for part in record["message"]["parts"]):
        yield "no text in it"
    for place, (number, record) in enumerate(spoken):
        parts = record["message"]["parts"]
        if record["type"] == "tool_result":
            for part in parts:
                if part["functionResponse"]["id"] not in asked:
                    yield f"line {number}: a result that no call waits for"
                asked.discard(part["functionResponse"]["id"])
            continue
        if asked:
            yield f"line {number}: a call before it has no result"
        if record["type"] != "assistant":
            continue
        if not place:
            yield f"line {number}: begins with an answer"
        asked = {part["functionCall"]["id"] for part in parts if "functionCall" in part}
        if asked & calls:
            yield f"line {number}: a call's id for the second time"
        calls |= asked
        if parts[-1].get("thought") is True:
            yield f"line {number}: ends in a thought"
    if asked:
        yield "the last call has no result"


def _text(value: Any) -> str:
    return value if type(value) is str else ""

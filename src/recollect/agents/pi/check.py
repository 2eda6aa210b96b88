"""Whether `pi --session` opens a session file whole, and a provider takes what pi then sends.

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

VERSION: Final = 3  # of the format; 0.87.1 was seen to open these files
ID_CHARS: Final = 8

_TYPES: Final = ("message", "custom_message", "session_info")
_BLOCKS: Final = {
    "user": ("text", "image"),
    "toolResult": ("text", "image"),
    "assistant": ("text", "thinking", "toolCall"),
}
_COUNTS: Final = ("input", "output", "cacheRead", "cacheWrite", "totalTokens")


def validate(data: bytes, session_id: str) -> list[str]:
    """What is wrong with a session file; nothing, if it may be written under this id."""
    problems = list(file_problems(data, session_id, lambda value: True))
    if problems:
        return problems
    head, *records = [json.loads(line) for line in data.split(b"\n")[:-1]]
    problems = [f"line 1: {problem}" for problem in _head(head, session_id)]
    for number, record in enumerate(records, 2):
        problems += [f"line {number}: {problem}" for problem in _record(record)]
    return problems or [*_chain(records), *_turns(records)]


def _head(head: Record, session_id: str) -> Iterator[str]:
    if head.get("type") != "session" or head.get("version") != VERSION:
        yield f"no session of version {VERSION}"
    if head.get("id") != session_id:
        yield "the id of another session"
    if not os.path.isabs(_text(head.get("cwd"))):
        yield "no folder"
    if not is_stamp(head.get("timestamp")):
        yield "no time"


def _record(record: Record) -> Iterator[str]:
    kind = record.get("type")
    if kind not in _TYPES:
        yield f"a record of type {kind!r}"
    if not _text(record.get("id")) or not is_stamp(record.get("timestamp")):
        yield "no id or no time"
    if kind == "message":
        yield from _message(record.get("message"))
    elif kind == "custom_message":
        yield from _content(record.get("content"), "user")


def _message(message: Any) -> Iterator[str]:
    role = message.get("role") if type(message) is dict else None
    if role not in _BLOCKS:
        yield "nobody speaks"
        return
    yield from _content(message.get("content"), str(role))
    if type(message.get("timestamp")) is not int:
        yield "a message without time"
    if role == "toolResult" and not (_text(message.get("toolCallId")) and _text(message.get("toolName"))):
        yield "a result without call or tool"
    if role == "assistant":
        for name in ("api", "provider", "model", "stopReason"):
            if not _text(message.get(name)):
                yield f"an answer without {name}"
        usage = message.get("usage")
        costs = usage.get("cost") if type(usage) is dict else None
        if type(costs) is not dict or any(type(usage.get(name)) is not int for name in _COUNTS):
            yield "usage without tokens or cost"


def _content(content: Any, role: str) -> Iterator[str]:
    if type(content) is not list or not (content or role == "toolResult"):
        yield "nothing is said"
        return
    for block in content:
        kind = block.get("type") if type(block) is dict else None
        if kind not in _BLOCKS[role]:
            yield f"a block of type {kind!r} of {role}"
        elif kind == "text" and (
            type(block.get("text")) is not str or not (block["text"].strip() or role == "toolResult")
        ):
            yield "an empty text"
        elif kind == "image" and not (_text(block.get("data")) and _text(block.get("mimeType"))):
            yield "an image without data"
        elif kind == "toolCall" and not (
            _text(block.get("id")) and _text(block.get("name")) and type(block.get("arguments")) is dict
        ):
            yield "a call without id, name or arguments"
        elif kind == "thinking" and not (
            _text(block.get("thinking")).strip() or _text(block.get("thinkingSignature"))
        ):
            yield "an empty thought"


def _chain(records: list[Record]) -> Iterator[str]:
    """Each record hangs on the one before: so pi finds all of them, in this order."""
    parent, seen = None, set()
    for number, record in enumerate(records, 2):
        if record.get("parentId") != parent:
            yield f"line {number}: does not hang on the record before"
        parent = record["id"]
        if parent in seen:
            yield f"line {number}: an id for the second time"
        seen.add(parent)


def _turns(records: list[Record]) -> Iterator[str]:
    """What every provider asks for: results right behind their calls, and no call for the second time."""
    asked: set[str] = set()
    calls: set[str] = set()
    spoken = [
        (number, record) for number, record in enumerate(records, 2) if record["type"] != "session_info"
    ]
    if not any(_says(record) for _, record in spoken):
        yield "no text in it"
    for place, (number, record) in enumerate(spoken):
        message = _spoken(record)
        role = message.get("role")
        if role == "toolResult":
            if message["toolCallId"] not in asked:
                yield f"line {number}: a result that no call waits for"
            asked.discard(message["toolCallId"])
            continue
        if asked:
            yield f"line {number}: a call before it has no result"
        if role != "assistant":
            continue
        if not place:
            yield f"line {number}: begins with an answer"
        asked = {block["id"] for block in message["content"] if block["type"] == "toolCall"}
        if asked & calls:
            yield f"line {number}: a call's id for the second time"
        calls |= asked
        if message["content"][-1]["type"] == "thinking":
            yield f"line {number}: ends in a thought"
    if asked:
        yield "the last call has no result"


def _says(record: Record) -> bool:
    return any(block["type"] == "text" and block["text"].strip() for block in _spoken(record)["content"])


def _spoken(record: Record) -> Record:
    message: Record = record["message"] if record["type"] == "message" else record
    return message


def _text(value: Any) -> str:
    return value if type(value) is str else ""

"""Whether `claude --resume` opens a session file whole, and the API takes what it then sends.

Every rule is checked on the bytes alone, knowing nothing of how they were made: before a file is
written and again when it is read back. Each complaint names its line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from recollect.agents.session_lines import file_problems
from recollect.light.sources import is_uuid

Record = dict[str, Any]

_CHAIN = ("user", "assistant")
_METADATA = ("custom-title",)
_ENVELOPE = ("id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage")
_FOREIGN = ("slug", "agentId", "agentName", "teamName", "sourceToolAssistantUUID", "toolUseResult")
_BLOCKS = {
    "user": ("text", "tool_result", "image", "document"),
    "assistant": ("text", "thinking", "redacted_thinking", "tool_use"),
}
_THOUGHTS = ("thinking", "redacted_thinking")
_ID = re.compile(r"[A-Za-z0-9_-]+")


def validate(data: bytes, session_id: str) -> list[str]:
    """What is wrong with a session file; nothing, if it may be written under this id."""
    problems = list(file_problems(data, session_id, lambda value: True))
    if problems:
        return problems
    records = [(number, json.loads(line)) for number, line in enumerate(data.split(b"\n")[:-1], 1)]
    problems = [
        f"line {number}: {problem}" for number, record in records for problem in _record(record, session_id)
    ]
    chain = [(number, record) for number, record in records if record.get("type") in _CHAIN]
    return problems or [*_chain(chain), *_turns(chain)]


def _record(record: Record, session_id: str) -> Iterator[str]:
    kind = record.get("type")
    if kind not in (*_CHAIN, *_METADATA):
        yield f"a record of type {kind!r}"
    if record.get("sessionId") != session_id:
        yield "the id of another session"
    if kind not in _CHAIN:
        return
    yield from (f"{name} is of another session" for name in _FOREIGN if name in record)
    if record.get("isSidechain") is not False:
        yield "said inside a subagent"
    if not is_uuid(_text(record.get("uuid"))):
        yield "no uuid"
    for name in ("cwd", "version", "userType"):
        if not _text(record.get(name)):
            yield f"no {name}"
    if _time(record) is None:
        yield "no time"
    yield from _message(str(kind), record.get("message"))


def _message(role: str, message: Any) -> Iterator[str]:
    if type(message) is not dict or message.get("role") != role:
        yield f"no message of the {role}"
        return
    content = message.get("content")
    if role == "assistant":
        yield from (f"the answer has no {name}" for name in _ENVELOPE if name not in message)
        usage = message.get("usage")
        numbers = (
            [usage.get(name) for name in ("input_tokens", "output_tokens")] if type(usage) is dict else [None]
        )
        if any(type(number) is not int for number in numbers):
            yield "usage without tokens"
        if (
            message.get("type") != "message"
            or not _text(message.get("id"))
            or not _text(message.get("model"))
        ):
            yield "an answer without type, id or model"
        if type(content) is not list:
            yield "an answer whose content is no list"
    blocks = _blocks(content)
    if not blocks:
        yield "nothing is said"
    for block in blocks:
        yield from _block(role, block)


def _block(role: str, block: Any) -> Iterator[str]:
    kind = block.get("type") if type(block) is dict else None
    if kind not in _BLOCKS[role]:
        yield f"a block of type {kind!r} on the {role}'s side"
    elif kind == "text" and not _text(block.get("text")).strip():
        yield "an empty text"
    elif kind in _THOUGHTS and not _is_signed(block):
        yield "a thought without signature"
    elif kind == "tool_use":
        if not _ID.fullmatch(_text(block.get("id"))) or not _ID.fullmatch(_text(block.get("name"))):
            yield "a call without a proper id or name"
        if type(block.get("input")) is not dict:
            yield "a call whose input is no object"
    elif kind == "tool_result":
        if not _ID.fullmatch(_text(block.get("tool_use_id"))):
            yield "a result without a proper id"
        for part in _blocks(block.get("content") or " "):
            if type(part) is not dict or (part.get("type") == "text" and not part.get("text")):
                yield "an empty text in a result"
    elif kind in ("image", "document") and type(block.get("source")) is not dict:
        yield f"no source of the {kind}"


def _is_signed(block: dict[str, Any]) -> bool:
    if block["type"] == "redacted_thinking":
        return bool(_text(block.get("data")))
    return bool(_text(block.get("signature"))) and type(block.get("thinking")) is str


def _chain(chain: list[tuple[int, Record]]) -> Iterator[str]:
    """Each record hangs on the one before: so the agent finds all of them, in this order."""
    if not chain:
        yield "nothing is said in it"
        return
    if not any(block.get("type") == "text" for _, record in chain for block in _said(record)):
        yield "no text in it"
    parent, seen = None, set()
    for number, record in chain:
        if record.get("parentUuid") != parent:
            yield f"line {number}: does not hang on the record before"
        parent = record["uuid"]
        if parent in seen:
            yield f"line {number}: a uuid for the second time"
        seen.add(parent)
    times = [_time(record) for _, record in chain]
    if any(time is not None and times[-1] is not None and time > times[-1] for time in times):
        yield f"line {chain[-1][0]}: the last record is not the newest"


def _turns(chain: list[tuple[int, Record]]) -> Iterator[str]:
    """The rules of the API, on the turns that the records come to."""
    asked: dict[str, int] = {}  # calls that wait for a result, and their lines
    calls: set[str] = set()
    answers: set[str] = set()
    answer, ending = "", ""  # the answer that is being given, the type of its last block
    for number, record in chain:
        if record["type"] == "assistant":
            own = record["message"]["id"]
            if own != answer:
                if not answers and not answer and number == chain[0][0]:
                    yield f"line {number}: begins with an answer"
                if own in answers:
                    yield f"line {number}: an answer in two places"
                yield from _unanswered(asked)
                if ending in _THOUGHTS:
                    yield f"line {number}: the answer before ends in a thought"
            answer = own
            answers.add(own)
        else:
            if ending in _THOUGHTS:
                yield f"line {number}: the answer before ends in a thought"
            if not any(block["type"] == "tool_result" for block in _said(record)):
                yield from _unanswered(asked)
            answer, ending = "", ""
        for block in _said(record):
            ending = block["type"] if record["type"] == "assistant" else ""
            if block["type"] == "tool_use":
                if block["id"] in calls:
                    yield f"line {number}: a call's id for the second time"
                calls.add(block["id"])
                asked[block["id"]] = number
            elif block["type"] == "tool_result" and asked.pop(block["tool_use_id"], None) is None:
                yield f"line {number}: a result that no call waits for"
    yield from _unanswered(asked)
    if ending in _THOUGHTS:
        yield f"line {chain[-1][0]}: ends in a thought"


def _unanswered(asked: dict[str, int]) -> Iterator[str]:
    yield from (
        f"line {number}: call {call} has no result in the next turn" for call, number in asked.items()
    )
    asked.clear()


def _said(record: Record) -> list[dict[str, Any]]:
    return _blocks(record["message"]["content"])


def _blocks(content: Any) -> list[Any]:
    if type(content) is str:
        return [{"type": "text", "text": content}]
    return content if type(content) is list else []


def _text(value: Any) -> str:
    return value if type(value) is str else ""


def _time(record: Record) -> datetime | None:
    try:
        return datetime.strptime(_text(record.get("timestamp")), "%Y-%m-%dT%H:%M:%S.%fZ")
    except ValueError:
        return None

"""Whether `codex resume` opens a rollout whole, and the API takes what it then sends.

Every rule is checked on the bytes alone, knowing nothing of how they were made: before a file is
written and again when it is read back. Each complaint names its line. Codex passes over an item
that lacks a field without a word, so those of every kind are known here.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from recollect.agents.session_lines import file_problems
from recollect.light.sources import is_uuid

Record = dict[str, Any]

CALL_ID_MAX: Final = 64
NAME_MAX: Final = 128
# Calls, and of what type the result of each is.
CALLS: Final = {
    "function_call": "function_call_output",
    "local_shell_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "tool_search_call": "tool_search_output",
}
OUTPUTS: Final = frozenset(CALLS.values())
# Items that need no other, by who says them.
ALONE: Final = {
    "user": frozenset({"compaction", "compaction_summary", "context_compaction"}),
    "assistant": frozenset({"reasoning", "web_search_call", "image_generation_call"}),
}
PHASES: Final = ("commentary", "final_answer")
NAMED: Final = ("function_call", "custom_tool_call")
_EVENTS: Final = {"user_message": "message", "agent_message": "message", "thread_name_updated": "thread_name"}
_INTRODUCED: Final = ("originator", "cli_version", "source", "model_provider")
_PARTS: Final = {"user": ("input_text", "input_image"), "assistant": ("output_text",)}
_NAME = re.compile(r"[A-Za-z0-9_-]+")


def validate(data: bytes, session_id: str) -> list[str]:
    """What is wrong with a rollout; nothing, if it may be written under this id."""
    problems = list(file_problems(data, session_id, lambda value: type(value.get("payload")) is dict))
    if problems:
        return problems
    records = [(number, json.loads(line)) for number, line in enumerate(data.split(b"\n")[:-1], 1)]
    problems = [f"line {number}: {problem}" for number, record in records for problem in _record(record)]
    if problems:
        return problems
    items = [(number, record["payload"]) for number, record in records if record["type"] == "response_item"]
    return [*_meta(records, session_id), *_shown(records), *_pairs(items), *_thoughts(items)]


def _record(record: Record) -> Iterator[str]:
    kind, payload = record.get("type"), record["payload"]
    if not _is_time(record.get("timestamp")):
        yield "no time"
    if kind == "response_item":
        yield from _item(payload)
    elif kind == "event_msg":
        field = _EVENTS.get(_text(payload.get("type")))
        if field is None or not _text(payload.get(field)):
            yield f"an event of type {payload.get('type')!r} that says nothing"
    elif kind != "session_meta":
        yield f"a record of type {kind!r}"


def is_whole(item: Record) -> bool:
    """Whether an item, other than a message, has what Codex must find in it to take it."""
    kind = _text(item.get("type"))
    fields = _FIELDS.get(kind)
    if fields is None or any(type(item.get(name)) is not wanted for name, wanted in fields.items()):
        return False
    if kind == "local_shell_call":
        return item["action"].get("type") == "exec" and type(item["action"].get("command")) is list
    if kind in ("tool_search_call", "tool_search_output"):
        return item.get("execution") == "client"
    if kind in OUTPUTS:
        return type(item.get("output")) is str or _is_parts(item.get("output"))
    return item.get("encrypted_content") != ""


def _is_parts(output: Any) -> bool:
    return type(output) is list and all(
        type(part) is dict and type(part.get(_CONTENT.get(_text(part.get("type")), ""))) is str
        for part in output
    )


def _item(item: Record) -> Iterator[str]:
    kind = _text(item.get("type"))
    if kind == "message":
        yield from _message(item)
    elif not is_whole(item):
        yield f"an item of type {kind!r} that Codex would not take"
    if kind in CALLS and not 0 < len(_text(item.get("call_id"))) <= CALL_ID_MAX:
        yield "a call without a proper id"
    name = _text(item.get("name"))
    if kind in NAMED and not (_NAME.fullmatch(name) and len(name) <= NAME_MAX):
        yield "a call without a proper name"


def _message(item: Record) -> Iterator[str]:
    role, content = _text(item.get("role")), item.get("content")
    if role not in _PARTS or type(content) is not list or not content:
        yield "a message of nobody, or one that says nothing"
        return
    if item.get("phase", PHASES[0]) not in PHASES:
        yield "a message of no phase that Codex knows"
    yield from (problem for part in content for problem in _part(part, _PARTS[role]))


def _part(part: Any, allowed: tuple[str, ...]) -> Iterator[str]:
    kind = part.get("type") if type(part) is dict else None
    if kind not in allowed:
        yield f"a part of type {kind!r} where none may be"
    elif kind == "input_image":
        if not _text(part.get("image_url")).startswith(("https://", "data:image/")):
            yield "an image that is nowhere"
    elif not _text(part.get("text")).strip():
        yield "an empty text"


def _meta(records: list[tuple[int, Record]], session_id: str) -> Iterator[str]:
    places = [number for number, record in records if record["type"] == "session_meta"]
    if places != [1]:
        yield "the session is not introduced once, in the first line"
        return
    meta = records[0][1]["payload"]
    if meta.get("id") != session_id:
        yield "line 1: the id of another session"
    if not os.path.isabs(_text(meta.get("cwd"))):
        yield "line 1: no folder"
    if not _is_time(meta.get("timestamp")):
        yield "line 1: no time"
    yield from (f"line 1: no {name}" for name in _INTRODUCED if not _text(meta.get(name)))
    if "forked_from_id" in meta and not is_uuid(_text(meta["forked_from_id"])):
        yield "line 1: forked from what is no session"


def _shown(records: list[tuple[int, Record]]) -> Iterator[str]:
    """Codex lists a thread only if a user says something in it."""
    if not any(record["payload"].get("type") == "user_message" for _, record in records):
        yield "no prompt is shown"


def _pairs(items: list[tuple[int, Record]]) -> Iterator[str]:
    """Each call has one result, of its own kind, before anyone speaks again."""
    asked: dict[str, tuple[int, str]] = {}
    calls: set[str] = set()
    for number, item in items:
        kind = item["type"]
        if kind in CALLS:
            if item["call_id"] in calls:
                yield f"line {number}: a call's id for the second time"
            calls.add(item["call_id"])
            asked[item["call_id"]] = number, CALLS[kind]
        elif kind in OUTPUTS:
            if asked.pop(_text(item.get("call_id")), (0, ""))[1] != kind:
                yield f"line {number}: a result that no call waits for"
        elif kind == "message" and item["role"] == "user":
            yield from _unanswered(asked)
    yield from _unanswered(asked)


def _unanswered(asked: dict[str, tuple[int, str]]) -> Iterator[str]:
    yield from (f"line {number}: call {call} has no result" for call, (number, _) in asked.items())
    asked.clear()


def _thoughts(items: list[tuple[int, Record]]) -> Iterator[str]:
    """A thought leads to something that the model says or does."""
    after = [*items[1:], (0, {"type": ""})]
    for (number, item), (_, following) in zip(items, after, strict=True):
        if item["type"] == "reasoning" and not _is_models(following):
            yield f"line {number}: a thought that leads nowhere"


def _is_models(item: Record) -> bool:
    kind = item["type"]
    return kind in CALLS or kind in ALONE["assistant"] or (kind == "message" and item["role"] == "assistant")


def _text(value: Any) -> str:
    return value if type(value) is str else ""


def _is_time(value: Any) -> bool:
    try:
        datetime.strptime(_text(value), "%Y-%m-%dT%H:%M:%S.%fZ")
    except ValueError:
        return False
    return True


_CONTENT: Final = {"input_text": "text", "input_image": "image_url"}
_FIELDS: Final[dict[str, dict[str, type]]] = {
    "reasoning": {"encrypted_content": str, "summary": list},
    "function_call": {"arguments": str},
    "custom_tool_call": {"input": str},
    "local_shell_call": {"status": str, "action": dict},
    "tool_search_call": {"arguments": dict},
    "tool_search_output": {"tools": list},
    "image_generation_call": {"id": str, "status": str, "result": str},
    "compaction": {"encrypted_content": str},
    "compaction_summary": {"encrypted_content": str},
    "function_call_output": {},
    "custom_tool_call_output": {},
    "context_compaction": {},
    "web_search_call": {},
}

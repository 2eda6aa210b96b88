"""Whether `opencode import` takes a document whole, and goes on with it.

Every rule is checked on the bytes alone, knowing nothing of how they were made.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from recollect.agents.fields import dict_of, list_of, text_of

_PARTS = {"user": ("text", "file"), "assistant": ("text", "reasoning", "tool")}


def validate(data: bytes, session_id: str) -> list[str]:
    """What is wrong with a document; nothing, if it may be written under this id."""
    try:
        told = dict_of(json.loads(data))
        json.dumps(told, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return ["no JSON"]
    info, messages = dict_of(told.get("info")), list_of(told.get("messages"))
    problems = list(_session(info, session_id))
    if not messages or dict_of(dict_of(messages[0]).get("info")).get("role") != "user":
        problems.append("it does not begin with a prompt")
    seen: set[str] = set()
    last = ""
    for number, message in enumerate(map(dict_of, messages), 1):
        own = dict_of(message.get("info"))
        problems += [f"message {number}: {each}" for each in _message(own, message, session_id, seen)]
        if text_of(own.get("id")) <= last:
            problems.append(f"message {number}: not in order")
        last = text_of(own.get("id"))
    return problems


def _session(info: dict[str, Any], session_id: str) -> Iterator[str]:
    if info.get("id") != session_id or not session_id.startswith("ses_"):
        yield "the id of another session"
    for name in ("slug", "projectID", "directory", "title", "version"):
        if not text_of(info.get(name)):
            yield f"a session without {name}"
    if type(dict_of(info.get("time")).get("created")) is not int:
        yield "a session without time"


def _message(info: dict[str, Any], message: dict[str, Any], session_id: str, seen: set[str]) -> Iterator[str]:
    role = text_of(info.get("role"))
    if role not in _PARTS:
        yield "nobody speaks"
        return
    if role == "assistant" and info.get("parentID") not in seen:
        yield "an answer to nothing"
    if type(dict_of(info.get("time")).get("created")) is not int:
        yield "no time"
    if not list_of(message.get("parts")):
        yield "nothing is said"
    for each in (info, *map(dict_of, list_of(message.get("parts")))):
        id_ = text_of(each.get("id"))
        if not id_ or id_ in seen or each.get("sessionID") != session_id:
            yield "an id that is missing, another session's or there twice"
        seen.add(id_)
    for part in map(dict_of, list_of(message.get("parts"))):
        yield from _part(part, role, text_of(info.get("id")))


def _part(part: dict[str, Any], role: str, message: str) -> Iterator[str]:
    kind = text_of(part.get("type"))
    if kind not in _PARTS[role] or part.get("messageID") != message:
        yield f"a part of type {kind!r} of {role}"
    elif kind in ("text", "reasoning") and not text_of(part.get("text")).strip():
        yield "an empty text"
    elif kind == "file" and not text_of(part.get("url")).startswith("data:"):
        yield "a file without data"
    elif kind == "tool":
        state = dict_of(part.get("state"))
        said = {"completed": "output", "error": "error"}.get(text_of(state.get("status")), "")
        if not (
            text_of(part.get("tool")) and text_of(part.get("callID")) and type(state.get("input")) is dict
        ):
            yield "a call without tool, id or input"
        elif not said or type(state.get(said)) is not str:
            yield "a call without result"

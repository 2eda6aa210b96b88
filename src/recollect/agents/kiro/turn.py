"""A turn of a conversation in Kiro's database: what was said or given, and the answer to it."""

from __future__ import annotations

from typing import Any

from recollect.agents.fields import (
    ERROR,
    META,
    OpenCalls,
    count_of,
    dict_of,
    json_of,
    list_of,
    text_of,
    time_of,
)
from recollect.values.records import Entry, Kind

_SAID = ("Prompt", "ToolUseResults", "CancelledToolUses")
_ANSWERED = ("Response", "ToolUse")
_DONE = ("0", "exit status: 0")


def sides_of(turn: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """What the person's side sent, the answer, and what is known of the request; older ones are a pair."""
    if pair := list_of(turn):
        return dict_of(pair[0]), dict_of(pair[1] if len(pair) > 1 else None), {}
    told = dict_of(turn)
    return dict_of(told.get("user")), dict_of(told.get("assistant")), dict_of(told.get("request_metadata"))


def strange_in(user: dict[str, Any], answer: dict[str, Any]) -> str:
    """The name of what is not known in it; "" where all is."""
    for names, given in ((_SAID, dict_of(user.get("content"))), (_ANSWERED, answer)):
        for name in given:
            if name not in names:
                return name
    return ""


def folder_of(user: dict[str, Any]) -> str:
    state = dict_of(dict_of(user.get("env_context")).get("env_state"))
    return text_of(state.get("current_working_directory"))


def turn_entries(
    user: dict[str, Any], answer: dict[str, Any], request: dict[str, Any], model: str, calls: OpenCalls
) -> list[Entry]:
    asked_ms = time_of(user.get("timestamp")) or count_of(request.get("request_start_timestamp_ms"))
    answered_ms = count_of(request.get("stream_end_timestamp_ms")) or asked_ms
    found = _said(user, asked_ms, calls)
    for name in _ANSWERED:
        told = dict_of(answer.get(name))
        if text := text_of(told.get("content")):
            found.append(Entry(Kind.ANSWER, text, 0, answered_ms, model=model))
        found += [_call(dict_of(use), model, answered_ms, calls) for use in list_of(told.get("tool_uses"))]
    return found


def _said(user: dict[str, Any], time_ms: int, calls: OpenCalls) -> list[Entry]:
    """Results come first: with calls that were not allowed the person may have said something."""
    content = dict_of(user.get("content"))
    found: list[Entry] = []
    if around := text_of(user.get("additional_context")):
        found.append(Entry(Kind.CONTEXT, around, META, time_ms))
    for name in _SAID:
        told = dict_of(content.get(name))
        found += [_result(dict_of(each), time_ms, calls) for each in list_of(told.get("tool_use_results"))]
        if text := text_of(told.get("prompt")):
            found.append(Entry(Kind.PROMPT, text, 0, time_ms))
    return found + [Entry(Kind.IMAGE, "", 0, time_ms)] * len(list_of(user.get("images")))


def _call(use: dict[str, Any], model: str, time_ms: int, calls: OpenCalls) -> Entry:
    id_, tool, given = text_of(use.get("id")), text_of(use.get("name")), use.get("args")
    return Entry(Kind.CALL, json_of(given), calls.opened(id_, tool, given), time_ms, tool, id_, model)


def _result(told: dict[str, Any], time_ms: int, calls: OpenCalls) -> Entry:
    id_ = text_of(told.get("tool_use_id"))
    parts = [_part(dict_of(part)) for part in list_of(told.get("content"))]
    text = "\n".join(filter(None, (text for text, _ in parts)))
    tool, flags = calls.answered(id_, text)
    if told.get("status") in ("Error", "error") or any(failed for _, failed in parts):
        flags |= ERROR
    return Entry(Kind.RESULT, text, flags, time_ms, tool, id_)


def _part(part: dict[str, Any]) -> tuple[str, bool]:
    """What a tool gave, and whether it says that it failed."""
    if text := text_of(part.get("Text")):
        return text, False
    given = dict_of(part.get("Json"))
    if "exit_status" not in given:
        return json_of(part.get("Json")), False
    printed = (text_of(given.get(name)) for name in ("stdout", "stderr"))
    return "\n".join(filter(None, printed)), given["exit_status"] not in _DONE

"""The parts of Qwen Code's messages: what was said, thought, called and given back, and what it cost.

A file that a person names with @ follows the prompt as parts of its own, between two lines of the client's.
Every part is one entry, and a result has one more for each picture in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from recollect.agents.fields import ERROR, META, OpenCalls, count_of, dict_of, json_of, list_of, text_of
from recollect.values.records import Entry, Kind, Usage

_FAILED: Final = ("error", "cancelled")
_FILES: Final = "--- Content from referenced files ---"
_FILES_END: Final = "--- End of content ---"
_PUT_IN: Final = ("<qwen:user-prompt-submit-context>", "<system-reminder>")


def parts_of(message: Any) -> list[dict[str, Any]]:
    return [dict_of(part) for part in list_of(dict_of(message).get("parts"))]


def said_kinds(parts: list[dict[str, Any]], kind: Kind) -> Iterator[Kind]:
    """Who wrote each part of a message in the user's place, where `kind` says who wrote the message."""
    inside = False
    for part in parts:
        text = text_of(part.get("text")).strip()
        inside = inside or text == _FILES
        put_in = inside or text.startswith(_PUT_IN)
        inside = inside and text != _FILES_END
        if "text" not in part:
            yield Kind.IMAGE if "inlineData" in part or "fileData" in part else Kind.UNKNOWN
        else:
            yield Kind.CONTEXT if put_in else kind


def user_entries(parts: list[dict[str, Any]], kind: Kind, flags: int, time_ms: int) -> list[Entry]:
    return [
        Entry(each, text_of(part.get("text")), flags | (META if each is Kind.CONTEXT else 0), time_ms)
        for part, each in zip(parts, said_kinds(parts, kind), strict=True)
    ]


def answer_entry(part: dict[str, Any], flags: int, time_ms: int, model: str, calls: OpenCalls) -> Entry:
    if asked := dict_of(part.get("functionCall")):
        (tool, given), call = called(asked), text_of(asked.get("id"))
        flags |= calls.opened(call, tool, given)
        return Entry(Kind.CALL, json_of(given), flags, time_ms, tool, call, model)
    if "text" in part:
        kind = Kind.THOUGHT if part.get("thought") is True else Kind.ANSWER
        return Entry(kind, text_of(part["text"]), flags, time_ms, model=model)
    kind = Kind.IMAGE if "inlineData" in part or "fileData" in part else Kind.UNKNOWN
    return Entry(kind, "", flags, time_ms, model=model)


def called(asked: dict[str, Any]) -> tuple[str, Any]:
    """The tool that is called and what it is given: one that was not offered at once is called by another."""
    name, given = text_of(asked.get("name")), asked.get("args")
    inner = dict_of(given)
    if name == "tool_call" and text_of(inner.get("name")) and type(inner.get("arguments")) is dict:
        return text_of(inner["name"]), inner["arguments"]
    return name, given


def result_entries(
    part: dict[str, Any], told: dict[str, Any], flags: int, time_ms: int, calls: OpenCalls
) -> list[Entry]:
    """What a tool gave back; `told` is what the client notes beside it."""
    if "functionResponse" not in part:
        kind = Kind.CONTEXT if "text" in part else Kind.IMAGE if "inlineData" in part else Kind.UNKNOWN
        meta = META if kind is Kind.CONTEXT else 0
        return [Entry(kind, text_of(part.get("text")), flags | meta, time_ms)]
    given = dict_of(part["functionResponse"])
    response = dict_of(given.get("response"))
    text = result_text(response)
    call = text_of(given.get("id")) or text_of(told.get("callId"))
    opened, own = calls.answered(call, text)
    tool = opened or text_of(given.get("name"))
    failed = ERROR if "error" in response or told.get("status") in _FAILED else 0
    pictures = sum("inlineData" in each or "fileData" in each for each in map(dict_of, _inner(given)))
    return [
        Entry(Kind.RESULT, text, flags | own | failed, time_ms, tool, call),
        *[Entry(Kind.IMAGE, "", flags, time_ms, tool, call)] * pictures,
    ]


def result_text(response: dict[str, Any]) -> str:
    """What a tool said: its output or its error, else all of it."""
    for name in ("output", "error"):
        if text := text_of(response.get(name)):
            return text
    return json_of(response) if response and response.keys() - {"output", "error"} else ""


def usage_of(numbers: dict[str, Any], key: str, model: str, time_ms: int) -> tuple[Usage, ...]:
    """The tokens of one response; its input counts what came from the cache, its output what was thought."""
    cached, output = (
        count_of(numbers.get("cachedContentTokenCount")),
        count_of(numbers.get("candidatesTokenCount")),
    )
    thought, asked = count_of(numbers.get("thoughtsTokenCount")), count_of(numbers.get("promptTokenCount"))
    total = count_of(numbers.get("totalTokenCount"))
    # Gemini's own API counts thoughts beside the answer; all others within it.
    output += thought if thought and total == asked + output + thought else 0
    if not (asked or output or cached):
        return ()
    fresh = max(asked - cached, 0)
    return (Usage(key, model, time_ms, fresh, output, cached, reasoning=min(thought, output)),)


def _inner(given: dict[str, Any]) -> list[Any]:
    return list_of(given.get("parts"))

"""A bubble of the editor: what a person or the model said, a thought, or a call."""

from __future__ import annotations

from typing import Any

from recollect.agents.cursor.calls import call_in
from recollect.agents.cursor.rows import value_in
from recollect.agents.fields import (
    BOUNDARY,
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
from recollect.values.records import Entry, Kind, Usage

USER, ASSISTANT = ("user", "assistant")
# As numbers since 2024, as words in the chats before.
_WHOSE = {1: USER, 2: ASSISTANT, "user": USER, "ai": ASSISTANT}
_COMPACTED = 22  # of what a bubble is: the mark of a compaction
_TEXTS = ("text", "rawText", "content")
_ERRORS = ("message", "error", "title")
_NODES_MAX = 100_000
_NO_MODEL = ("", "default")  # the client chooses, and does not say which


def whose(bubble: dict[str, Any]) -> str:
    """Who speaks; "" where that is not known."""
    kind = bubble.get("type")
    return _WHOSE.get(kind, "") if type(kind) in (int, str) else ""


def bubble_entries(
    bubble: dict[str, Any], key: str, model: str, calls: OpenCalls, *, is_sent: bool, time_ms: int = 0
) -> list[Entry]:
    """Its entries; what a subagent was told (`is_sent`) nobody typed."""
    time_ms = moment(bubble.get("createdAt")) or moment(bubble.get("timestamp")) or time_ms
    text = _text_in(bubble)
    if whose(bubble) == USER:
        kind, flags = (Kind.CONTEXT, META) if is_sent else (Kind.PROMPT, 0)
        found = [Entry(kind, text, flags, time_ms)] if text.strip() else []
        return found + [Entry(Kind.IMAGE, "", 0, time_ms)] * len(_images_in(bubble))
    found = []
    thinking = bubble.get("thinking")
    thought = text_of(thinking) or text_of(dict_of(thinking).get("text"))
    if thought or dict_of(thinking).get("redactedThinking"):
        found.append(Entry(Kind.THOUGHT, thought, 0, time_ms, model=model))
    if text.strip():
        found.append(Entry(Kind.ANSWER, text, 0, time_ms, model=model))
    found += call_in(dict_of(bubble.get("toolFormerData")), key, model, time_ms, calls)
    if bubble.get("capabilityType") == _COMPACTED:
        found.append(Entry(Kind.EVENT, "", BOUNDARY, time_ms))
    if trouble := bubble.get("errorDetails"):
        found.append(Entry(Kind.EVENT, _error_text(trouble), ERROR, time_ms))
    return found


def model_in(bubble: dict[str, Any]) -> str:
    """The model that it names; "" where the client chose one."""
    named = dict_of(bubble.get("modelInfo")).get("modelName") or bubble.get("modelType")
    return "" if (name := text_of(named)) in _NO_MODEL else name


def model_chosen(composer: dict[str, Any]) -> str:
    name = text_of(dict_of(composer.get("modelConfig")).get("modelName"))
    return "" if name in _NO_MODEL else name


def usage_in(bubble: dict[str, Any], key: str, model: str, time_ms: int) -> tuple[Usage, ...]:
    """What it cost, where the client noted it: newer ones note zeros."""
    tokens = dict_of(bubble.get("tokenCount"))
    given, made = count_of(tokens.get("inputTokens")), count_of(tokens.get("outputTokens"))
    if not key or not (given or made):
        return ()
    return (Usage(f"cursor:{key}", model, time_ms, input=given, output=made),)


def moment(value: Any) -> int:
    """Milliseconds since 1970, of a number or of what ISO 8601 says."""
    return time_of(value) if type(value) is str else count_of(value)


def _text_in(bubble: dict[str, Any]) -> str:
    told = next(filter(None, (text_of(bubble.get(name)) for name in _TEXTS)), "")
    return told or _plain(value_in(bubble.get("richText")))


def _plain(rich: Any) -> str:
    """The text of what was typed into the editor's field: paragraphs of pieces."""
    if type(rich) is str:
        return rich
    lines: list[str] = []
    waiting: list[Any] = [dict_of(rich).get("root")]
    for _ in range(_NODES_MAX):
        if not waiting:
            break
        node = dict_of(waiting.pop())
        if node.get("type") in ("paragraph", "linebreak") or not lines:
            lines.append("")
        lines[-1] += text_of(node.get("text"))
        waiting += reversed(list_of(node.get("children")))
    return "\n".join(lines).strip("\n")


def _images_in(bubble: dict[str, Any]) -> list[Any]:
    """Pictures, which may stand in two places, each told by where its file is."""
    told = list_of(bubble.get("images")) or list_of(dict_of(bubble.get("context")).get("selectedImages"))
    return [each for each in told if each]


def _error_text(trouble: Any) -> str:
    told = dict_of(value_in(trouble))
    return next(filter(None, (text_of(told.get(name)) for name in _ERRORS)), "") or json_of(trouble)

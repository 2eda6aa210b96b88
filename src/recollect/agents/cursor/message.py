"""A message of the command line's chats, and a line of a transcript: blocks under two sets of names."""

from __future__ import annotations

from typing import Any

from recollect.agents.cursor.bubble import ASSISTANT, USER
from recollect.agents.cursor.calls import own_name
from recollect.agents.cursor.said import person_in
from recollect.agents.fields import BOUNDARY, ERROR, META, OpenCalls, dict_of, json_of, list_of, text_of
from recollect.values.records import Entry, Kind

SYSTEM, TOOL = ("system", "tool")
ROLES = (USER, ASSISTANT, SYSTEM, TOOL)
_THOUGHTS = ("reasoning", "redacted-reasoning", "thinking", "redacted_thinking")
_CALLS, _RESULTS = ("tool-call", "tool_use"), ("tool-result", "tool_result")
_IMAGES = ("image", "file", "document")
_BLOCKS = frozenset({"text", *_THOUGHTS, *_CALLS, *_RESULTS, *_IMAGES})
_FAILED = ("error", "failure", "rejected")
_EXIT = "Exit code: "


def blocks_in(content: Any) -> list[dict[str, Any]]:
    """The blocks of a message, of which a text alone is one."""
    if type(content) is str:
        return [{"type": "text", "text": content}]
    return [dict_of(block) for block in list_of(content)]


def strange_in(blocks: list[dict[str, Any]]) -> str:
    """The name of the first block that is not known; "" where all are."""
    names = (text_of(block.get("type")) for block in blocks)
    return next((name or "block" for name in names if name not in _BLOCKS), "")


def model_in(blocks: list[dict[str, Any]]) -> str:
    """The model that thought, which is all that says who answered."""
    named = (text_of(_told_by_cursor(block).get("modelName")) for block in blocks)
    return next(filter(None, named), "")


def chat_entries(
    message: dict[str, Any], blocks: list[dict[str, Any]], model: str, calls: OpenCalls
) -> list[Entry]:
    """What a message of a chat says. What a person typed has the number of their request."""
    role, told = message.get("role"), _told_by_cursor(message)
    if role == SYSTEM:
        return [Entry(Kind.CONTEXT, text_of(block.get("text")), META) for block in blocks]
    if role == USER and told.get("isSummary") is True:
        return [Entry(Kind.SUMMARY, text_of(block.get("text")), BOUNDARY) for block in blocks]
    is_typed = type(message.get("content")) is list and type(told.get("requestId")) is str
    is_tagged = any("<user_query>" in text_of(block.get("text")) for block in blocks)
    alone = Kind.PROMPT if is_typed and not is_tagged else Kind.CONTEXT
    output = dict_of(dict_of(told.get("highLevelToolCallResult")).get("output"))
    failed = next(iter(output), "") in _FAILED
    return _entries(blocks, text_of(role), model, calls, alone=alone, failed=failed if output else None)


def line_entries(blocks: list[dict[str, Any]], role: str, calls: OpenCalls) -> list[Entry]:
    """What a line of a transcript says."""
    return _entries(blocks, role, "", calls, alone=Kind.PROMPT, failed=None)


def _entries(
    blocks: list[dict[str, Any]], role: str, model: str, calls: OpenCalls, *, alone: Kind, failed: bool | None
) -> list[Entry]:
    found: list[Entry] = []
    for block in blocks:
        kind = block.get("type")
        text = text_of(block.get("text"))
        if kind == "text" and role == USER:
            found += person_in(text, 0, alone=alone)
        elif kind == "text":
            found += [Entry(Kind.ANSWER, text, 0, model=model)] if text.strip() else []
        elif kind in _THOUGHTS:
            found.append(Entry(Kind.THOUGHT, text or text_of(block.get("thinking")), 0, model=model))
        elif kind in _CALLS:
            found.append(_call(block, model, calls))
        elif kind in _RESULTS:
            found.append(_result(block, calls, failed))
        else:
            found.append(Entry(Kind.IMAGE))
    return found


def _call(block: dict[str, Any], model: str, calls: OpenCalls) -> Entry:
    id_ = text_of(block.get("toolCallId")) or text_of(block.get("id"))
    tool = text_of(block.get("toolName")) or text_of(block.get("name"))
    given = block.get("args", block.get("input"))
    flags = calls.opened(id_, own_name(tool, given), given)
    text = given if type(given) is str else json_of(given)
    return Entry(Kind.CALL, text, flags, 0, tool, id_, model)


def _result(block: dict[str, Any], calls: OpenCalls, failed: bool | None) -> Entry:
    id_ = text_of(block.get("toolCallId")) or text_of(block.get("tool_use_id"))
    text = _result_text(block)
    known, flags = calls.answered(id_, text)
    tool = text_of(block.get("toolName")) or known
    if failed is None:  # of an older client: its first line says so
        failed = text.startswith(_EXIT) and not text.startswith(_EXIT + "0")
        failed = failed or block.get("isError") is True or block.get("is_error") is True
    return Entry(Kind.RESULT, text, flags | (ERROR if failed else 0), 0, tool, id_)


def _result_text(block: dict[str, Any]) -> str:
    given = block.get("result", block.get("content"))
    if text := text_of(given):
        return text
    several = blocks_in(block.get("experimental_content") or given)
    texts = [text for each in several if (text := text_of(each.get("text")))]
    return "\n".join(texts) or json_of(given)


def _told_by_cursor(part: dict[str, Any]) -> dict[str, Any]:
    return dict_of(dict_of(part.get("providerOptions")).get("cursor"))

"""What stands in pi's messages: texts, pictures, thoughts, calls, and what they cost.

A file that a person names with @, and a skill, are put into the text of the prompt. What the person said is
what remains.
"""

from __future__ import annotations

import re
from typing import Any, Final

from recollect.agents.fields import ERROR, META, OpenCalls, count_of, dict_of, json_of, list_of, text_of
from recollect.values.records import Entry, Kind, Usage

_PUT_IN: Final = re.compile(
    r'<file name="[^"\n]*">.*?</file>(?:\n|\Z)'
    r'|<skill name="[^"\n]*" location="[^"\n]*">\n.*?\n</skill>(?:\n\n|\Z)',
    re.DOTALL,
)


def blocks_of(content: Any) -> list[dict[str, Any]]:
    """The blocks of a content, which may be one text."""
    if type(content) is str:
        return [{"type": "text", "text": content}]
    return [dict_of(block) for block in list_of(content)]


def said_parts(text: str) -> list[tuple[Kind, str]]:
    """A text in the user's place by who wrote which part of it: at least one part."""
    parts, at = [], 0
    while found := _PUT_IN.match(text, at):
        parts.append((Kind.CONTEXT, found[0].strip()))
        at = found.end()
    if not parts or text[at:].strip():
        parts.append((Kind.PROMPT, text[at:]))
    return parts


def user_entries(block: dict[str, Any], kind: Kind, flags: int, time_ms: int) -> list[Entry]:
    """A block of the user's side, in which `kind` says who speaks: at least one entry."""
    if block.get("type") == "image":
        return [Entry(Kind.IMAGE, "", flags, time_ms)]
    if block.get("type") != "text":
        return [Entry(Kind.UNKNOWN, text_of(block.get("text")), flags, time_ms)]
    text = text_of(block.get("text"))
    parts = said_parts(text) if kind is Kind.PROMPT else [(kind, text)]
    return [
        Entry(part, words, flags if part is Kind.PROMPT else flags | META, time_ms) for part, words in parts
    ]


def answer_entry(block: dict[str, Any], flags: int, time_ms: int, model: str, calls: OpenCalls) -> Entry:
    kind = block.get("type")
    if kind == "toolCall":
        tool, call, given = text_of(block.get("name")), text_of(block.get("id")), block.get("arguments")
        flags |= calls.opened(call, tool, given)
        return Entry(Kind.CALL, json_of(given), flags, time_ms, tool, call, model)
    if kind == "text":
        return Entry(Kind.ANSWER, text_of(block.get("text")), flags, time_ms, model=model)
    if kind == "thinking":
        return Entry(Kind.THOUGHT, text_of(block.get("thinking")), flags, time_ms, model=model)
    return Entry(Kind.UNKNOWN, text_of(block.get("text")), flags, time_ms, model=model)


def result_entries(message: dict[str, Any], flags: int, time_ms: int, calls: OpenCalls) -> list[Entry]:
    """What a tool gave back: its text, then each picture in it."""
    blocks = blocks_of(message.get("content"))
    text = "\n".join(text_of(block.get("text")) for block in blocks if block.get("type") == "text")
    call = text_of(message.get("toolCallId"))
    opened, own = calls.answered(call, text)
    tool = text_of(message.get("toolName")) or opened
    failed = ERROR if message.get("isError") is True else 0
    pictures = sum(block.get("type") == "image" for block in blocks)
    return [
        Entry(Kind.RESULT, text, flags | own | failed, time_ms, tool, call),
        *[Entry(Kind.IMAGE, "", flags, time_ms, tool, call)] * pictures,
    ]


def shell_text(message: dict[str, Any]) -> str:
    """A command that the person ran, and what it printed."""
    return f"$ {text_of(message.get('command'))}\n{text_of(message.get('output'))}".rstrip()


def usage_of(numbers: Any, key: str, model: str, time_ms: int) -> tuple[Usage, ...]:
    """The tokens of one response; those written for an hour are among all that were written."""
    told = dict_of(numbers)
    fresh, output = count_of(told.get("input")), count_of(told.get("output"))
    read, written = count_of(told.get("cacheRead")), count_of(told.get("cacheWrite"))
    if not (fresh or output or read or written):
        return ()  # one that failed, or that an export of ours wrote
    hour = min(count_of(told.get("cacheWrite1h")), written)
    reasoning = count_of(told.get("reasoning"))
    return (Usage(key, model, time_ms, fresh, output, read, written - hour, hour, reasoning),)

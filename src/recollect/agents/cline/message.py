"""One message between person, model and tools, in the blocks that Anthropic made known.

Before 2026 the extension's models called tools in XML inside of their text, and were answered in text that
begins `[read_file for 'x'] Result:`. Those are calls and results like any others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from recollect.agents.decode import BadLine, decode
from recollect.agents.fields import (
    BOUNDARY,
    COPY,
    ERROR,
    META,
    OpenCalls,
    count_of,
    dict_of,
    json_of,
    list_of,
    text_of,
)
from recollect.values.records import Entry, Kind

USER, ASSISTANT = "user", "assistant"

# Tools by which a model speaks to the person: the argument that says it.
_SPEAKING = {
    "attempt_completion": "result",
    "plan_mode_respond": "response",
    "act_mode_respond": "response",
    "submit_and_exit": "summary",
}
_IN_XML = frozenset(
    {
        "access_mcp_resource", "act_mode_respond", "apply_diff", "ask_followup_question",
        "attempt_completion", "browser_action", "codebase_search", "condense", "edit_file",
        "execute_command", "fetch_instructions", "generate_image", "insert_content",
        "list_code_definition_names", "list_files", "load_mcp_documentation", "new_rule",
        "new_task", "plan_mode_respond", "read_file", "replace_in_file", "report_bug",
        "run_slash_command", "search_and_replace", "search_files", "summarize_task", "switch_mode",
        "update_todo_list", "use_mcp_tool", "use_skill", "web_fetch", "web_search", "write_to_file",
    }
)  # fmt: skip
_OPENING = re.compile(r"<(thinking|" + "|".join(sorted(_IN_XML)) + ")>")
_ARGUMENT = re.compile(r"<(\w{1,40})>")
_RESULT = re.compile(r"\[(\w{1,60})(?: for [^\n]{0,1000}?)?\] Result:")
# Whose words these are: a person's, in the first; the harness's, in the second and wherever it begins so.
_PERSON = re.compile(r"<(task|feedback|user_message|answer|user_input|user_command)\b[^>]{0,200}>")
_HARNESS = (
    "<environment_details>",
    "<mode_notice>",
    "<explicit_instructions",
    "[TASK RESUMPTION]",
    "[ERROR]",
    "[NOTE]",
    "[[NOTE]",
    "Tool [",
    "The user approved switching to act mode.",
    "You seem to be having trouble proceeding.",
)
_MODE = re.compile(r"<mode_notice>.{0,500}?</mode_notice>\s*", re.DOTALL)
_FAILED = ("The tool execution failed", "The user denied this operation", "Error ")
# Who a message is of besides its role, as the command line says it.
_NOTICES = frozenset(
    {
        "auto_compaction",
        "compaction_budget_emergency",
        "completion_reminder",
        "loop_detection_notice",
        "manual_compaction",
        "mistake_stop_notice",
        "recovery_notice",
    }
)


def entries_of(
    message: dict[str, Any], time_ms: int, model: str, calls: OpenCalls, number: int, *, from_agent: bool
) -> list[Entry]:
    """Its entries, at least one. `from_agent`: who stands in the person's place is another agent."""
    metadata = dict_of(message.get("metadata"))
    kind, shown_as = text_of(metadata.get("kind")), text_of(metadata.get("displayRole"))
    if kind == "compaction_summary" or message.get("isSummary") is True:
        text = text_of(metadata.get("summary")) or plain_text(message.get("content"))
        return [Entry(Kind.SUMMARY, text, BOUNDARY, time_ms, model=model)]
    if shown_as == "error":
        return [Entry(Kind.EVENT, plain_text(message.get("content")), ERROR, time_ms)]
    if message.get("role") == ASSISTANT:
        found = _answered(message, time_ms, model, calls, number)
    elif kind in _NOTICES or shown_as in ("system", "status") or from_agent:
        found = _told(message, time_ms, calls, number, by_harness=True)
    else:
        found = _told(message, time_ms, calls, number, by_harness=False)
    return found or [Entry(Kind.EVENT, "", 0, time_ms)]


def unknown_block(message: dict[str, Any]) -> str:
    """The type of the first block that is none of those that are known, or ""."""
    for block in list_of(message.get("content")):
        name = text_of(dict_of(block).get("type"))
        if type(block) is not str and name not in _BLOCKS:
            return name or "block"
    return ""


def plain_text(content: Any) -> str:
    if type(content) is str:
        return content
    texts = (text_of(dict_of(block).get("text")) for block in list_of(content))
    return "\n".join(filter(None, texts))


def blocks_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if type(content) is str:
        return [{"type": "text", "text": content}]
    return [
        {"type": "text", "text": block} if type(block) is str else dict_of(block)
        for block in list_of(content)
    ]


_BLOCKS = frozenset(
    {
        "text",
        "image",
        "media",
        "document",
        "file",
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "reasoning",
        "thoughtSignature",
    }
)


# -- the model ---------------------------------------------------------------------------------


def _answered(
    message: dict[str, Any], time_ms: int, model: str, calls: OpenCalls, number: int
) -> list[Entry]:
    found: list[Entry] = []
    for block in blocks_of(message):
        kind = block.get("type")
        if kind == "text":
            found += _spoken(text_of(block.get("text")), time_ms, model, calls, number)
        elif kind in ("thinking", "redacted_thinking", "reasoning"):
            text = text_of(block.get("thinking")) or text_of(block.get("text"))
            found.append(Entry(Kind.THOUGHT, text, 0, time_ms, model=model))
        elif kind == "tool_use":
            id_ = text_of(block.get("id"))
            found += _called(text_of(block.get("name")), id_, block.get("input"), time_ms, model, calls)
        elif kind in ("image", "media"):
            found.append(Entry(Kind.IMAGE, "", 0, time_ms))
    return found


def _spoken(text: str, time_ms: int, model: str, calls: OpenCalls, number: int) -> Iterator[Entry]:
    """A text, without the calls in it."""
    for part, name, inner in _cut(text):
        if part.strip():
            yield Entry(Kind.ANSWER, part.strip(), 0, time_ms, model=model)
        if name == "thinking":
            yield Entry(Kind.THOUGHT, inner.strip(), 0, time_ms, model=model)
        elif name:
            yield from _called(name, xml_call(name, number), _arguments(inner), time_ms, model, calls)


def xml_call(tool: str, number: int) -> str:
    """A call without an id: its message has one of a tool at most, and the next message answers it."""
    return f"{number} {tool}"


def _called(tool: str, id_: str, given: Any, time_ms: int, model: str, calls: OpenCalls) -> Iterator[Entry]:
    flags = calls.opened(id_, tool, given)
    said = text_of(dict_of(given).get(_SPEAKING.get(tool, "")))
    yield Entry(Kind.CALL, json_of(given), flags | (COPY if said else 0), time_ms, tool, id_, model)
    if said:
        yield Entry(Kind.ANSWER, said.strip(), 0, time_ms, model=model)


def _cut(text: str) -> Iterator[tuple[str, str, str]]:
    """What stands before each call in XML, the call's tool and what is inside; at last what is behind all."""
    at = seek = 0
    unclosed = set()  # each is looked for once: else a text of openings alone would take for ever
    while found := _OPENING.search(text, seek):
        name, seek = found[1], found.end()
        end = -1 if name in unclosed else text.find(f"</{name}>", seek)
        if end < 0:
            unclosed.add(name)
            continue
        yield text[at : found.start()], name, text[seek:end]
        at = seek = end + len(name) + 3
    yield text[at:], "", ""


def _arguments(text: str) -> dict[str, str]:
    """Each `<name>value</name>` of a call."""
    given: dict[str, str] = {}
    at = 0
    unclosed = set()
    while found := _ARGUMENT.search(text, at):
        name, at = found[1], found.end()
        end = -1 if name in unclosed else text.find(f"</{name}>", at)
        if end < 0:
            unclosed.add(name)
            continue
        given.setdefault(name, text[at:end].strip("\n"))
        at = end
    return given


# -- person, tools, harness --------------------------------------------------------------------


def _told(
    message: dict[str, Any], time_ms: int, calls: OpenCalls, number: int, *, by_harness: bool
) -> list[Entry]:
    found: list[Entry] = []
    answering = ""  # the tool whose result the next text is
    for block in blocks_of(message):
        kind, text = block.get("type"), text_of(block.get("text"))
        if kind == "text" and (head := _RESULT.match(text)):
            answering = head[1]
            if rest := text[head.end() :].strip("\n"):
                found += _result(answering, xml_call(answering, number - 1), rest, False, time_ms, calls)
                answering = ""
        elif kind == "text" and answering and not text.startswith("<environment_details>"):
            found += _result(answering, xml_call(answering, number - 1), text, False, time_ms, calls)
            answering = ""
        elif kind == "text" and by_harness:
            found.append(Entry(Kind.CONTEXT, text, META, time_ms))
        elif kind == "text":
            found += said(text, time_ms)
        elif kind == "tool_result":
            found += _tool_result(block, time_ms, calls)
        elif kind in ("image", "media", "document"):
            found.append(Entry(Kind.IMAGE, "", 0, time_ms))
        elif kind == "file":
            name, content = text_of(block.get("path")), text_of(block.get("content"))
            found.append(Entry(Kind.CONTEXT, "\n".join(filter(None, (name, content))), META, time_ms))
    return found


def said(text: str, time_ms: int) -> list[Entry]:
    """A text in the person's place: their words, and apart from them what the harness put around."""
    found: list[Entry] = []
    if notice := _MODE.match(text):
        found.append(Entry(Kind.CONTEXT, notice[0].strip(), META, time_ms))
        text = text[notice.end() :]
    opening = _PERSON.search(text)
    if opening and (end := text.find(f"</{opening[1]}>", opening.end())) >= 0:
        before, behind = text[: opening.start()].strip(), text[end + len(opening[1]) + 3 :].strip()
        if before or behind:
            around = "\n".join(filter(None, (before, behind)))
            found.append(Entry(Kind.CONTEXT, around, META, time_ms))
        found += (
            said(text[opening.end() : end].strip(), time_ms)
            if opening[1] == "user_input"
            else [Entry(Kind.PROMPT, text[opening.end() : end].strip(), 0, time_ms)]
        )
        return found
    if text.strip():
        is_harness = text.lstrip().startswith(_HARNESS)
        found.append(Entry(Kind.CONTEXT if is_harness else Kind.PROMPT, text, META * is_harness, time_ms))
    return found


def _tool_result(block: dict[str, Any], time_ms: int, calls: OpenCalls) -> list[Entry]:
    id_ = text_of(block.get("tool_use_id"))
    content = block.get("content")
    texts: list[str] = []
    images = 0
    failed = block.get("is_error") is True
    for part in _parts(content):
        if type(part) is str:
            texts.append(part)
            continue
        told = dict_of(part)
        if told.get("type") in ("image", "media", "document"):
            images += 1
        failed = failed or told.get("success") is False
        given = told.get("result")
        texts.append(text_of(told.get("text")) or plain_text(given) or text_of(told.get("error")))
        images += sum(dict_of(each).get("type") == "image" for each in list_of(given))
    text = "\n".join(filter(None, texts))
    found = _result(text_of(block.get("name")), id_, text, failed, time_ms, calls)
    return [*found, *(Entry(Kind.IMAGE, "", 0, time_ms) for _ in range(images))]


def _parts(content: Any) -> list[Any]:
    """What a tool gave: objects of its own, blocks, or a text, which may be an object as JSON."""
    if type(content) is str:
        if content.startswith('{"'):
            try:
                value = dict_of(decode(content.encode("utf-8", "surrogatepass"))[0])
            except BadLine:
                value = {}
            if any(type(value.get(name)) is str for name in ("result", "error", "text")):
                return [value]
        return [content]
    return [content] if type(content) is dict else list_of(content)


def _result(tool: str, id_: str, text: str, failed: bool, time_ms: int, calls: OpenCalls) -> list[Entry]:
    """What a tool gave; a person's words, where the tool was to ask them."""
    opened, flags = calls.answered(id_, text)
    tool = opened or tool
    if tool in _SPEAKING or tool == "ask_followup_question":
        told = said(text, time_ms)
        if any(entry.kind is Kind.PROMPT for entry in told) and _PERSON.search(text):
            return told
    if failed or text.startswith(_FAILED):
        flags |= ERROR
    return [Entry(Kind.RESULT, text, flags, time_ms, tool, id_)]


def moment(value: Any) -> int:
    """Milliseconds since 1970, as Cline writes all times."""
    return count_of(value)

"""droid's records: a session's facts, messages, compactions, how turns ended; and the session's settings.

A title that changes is written into the first line, and the whole file anew: lines that stay are stored once.
A fork's file begins with its parent's messages, line for line; they too are stored once.

What was spent stands in the settings alone, as one total that grows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from recollect.agents.decode import BadLine, decode
from recollect.agents.fields import (
    BOUNDARY,
    COPY,
    ERROR,
    META,
    NAME_CHARS_MAX,
    OpenCalls,
    count_of,
    dict_of,
    facts_restored,
    facts_state,
    json_of,
    list_of,
    not_an_object,
    note_answers,
    text_of,
    time_of,
    unknown,
)
from recollect.values.records import Entry, Kind, Parsed, Relation, SessionFacts, SourceFile, Usage
from recollect.values.titles import TITLE_AGENT, TITLE_CUSTOM, TITLE_PROMPT, title_line

_ROLES: Final = ("user", "assistant", "system")
_NO_TROUBLE: Final = ("completed", "cancelled", "permission_rejected", "spec_handoff")
_TROUBLE: Final = re.compile(r"(?:\w+ )?Error\b")


class DroidParser:
    """Reads one session in file order, or its settings."""

    __slots__ = ("_calls", "facts")

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        self.facts = facts_restored(state["facts"]) if state else SessionFacts(source.agent, source.session)
        self._calls = OpenCalls(state)

    def state(self) -> dict[str, Any]:
        return {"facts": facts_state(self.facts), **self._calls.state()}

    def parse(self, record: Any, /) -> Parsed:
        if type(record) is not dict:
            return not_an_object(record)
        name, time_ms = text_of(record.get("type")), time_of(record.get("timestamp"))
        self.facts.saw(time_ms)
        handler = _HANDLERS.get(name)
        if handler is None:
            return unknown(name or "record", time_ms, uuid=text_of(record.get("id")))
        return handler(self, record, time_ms)

    # -- the session -----------------------------------------------------------------------

    def _session(self, record: dict[str, Any], time_ms: int) -> Parsed:
        facts = self.facts
        facts.id = facts.id or text_of(record.get("id"))
        facts.cwd = text_of(record.get("cwd")) or facts.cwd
        title = text_of(record.get("title"))
        rank = TITLE_CUSTOM if record.get("isSessionTitleManuallySet") is True else TITLE_AGENT
        facts.titled(title_line(title), rank)
        caller, parent = text_of(record.get("callingSessionId")), text_of(record.get("parent"))
        if caller:
            facts.parent, facts.relation = caller, Relation.SUBAGENT
        elif parent and parent != facts.id:
            facts.parent, facts.relation = parent, Relation.FORK
        facts.root = facts.parent or facts.id
        call = text_of(record.get("callingToolUseId"))
        return Parsed("session_start", (Entry(Kind.EVENT, title, 0, time_ms, call=call),))

    # -- messages --------------------------------------------------------------------------

    def _message(self, record: dict[str, Any], time_ms: int) -> Parsed:
        message = dict_of(record.get("message"))
        role, id_ = text_of(message.get("role")), text_of(record.get("id"))
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if type(content) is str else list_of(content)
        if role not in _ROLES:
            return unknown(f"message/{role}", time_ms, uuid=id_)
        if role == "assistant":
            self.facts.model = text_of(message.get("modelId")) or self.facts.model
        entries = [entry for block in blocks for entry in self._block(dict_of(block), message, time_ms)]
        for entry in entries:
            if entry.kind is Kind.PROMPT:
                self.facts.title_from(entry.text, TITLE_PROMPT)
        note_answers(self.facts, entries)
        strange = [
            text_of(dict_of(block).get("type"))
            for block in blocks
            if dict_of(block).get("type") not in _BLOCKS
        ]
        name = f"message/{role}/{strange[0]}" if strange else f"message/{role}"
        return Parsed(
            name[:NAME_CHARS_MAX],
            tuple(entries) or (Entry(Kind.EVENT, "", 0, time_ms),),
            not strange,
            id_,
            text_of(record.get("parentId")),
        )

    def _block(self, block: dict[str, Any], message: dict[str, Any], time_ms: int) -> list[Entry]:
        kind, model = block.get("type"), text_of(message.get("modelId"))
        if kind == "text":
            return [_said(text_of(block.get("text")), message, time_ms)]
        if kind in ("thinking", "redacted_thinking"):
            return [Entry(Kind.THOUGHT, text_of(block.get("thinking")), 0, time_ms, model=model)]
        if kind == "tool_use":
            tool, call, given = text_of(block.get("name")), text_of(block.get("id")), block.get("input")
            flags = self._calls.opened(call, tool, given)
            return [Entry(Kind.CALL, json_of(given), flags, time_ms, tool, call, model)]
        if kind == "tool_result":
            return self._result(block, time_ms)
        if kind in ("image", "document"):
            return [Entry(Kind.IMAGE, "", 0, time_ms)]
        return [Entry(Kind.UNKNOWN, text_of(block.get("text")), 0, time_ms)]

    def _result(self, block: dict[str, Any], time_ms: int) -> list[Entry]:
        """What a tool gave back: its text, then each picture in it."""
        content, call = block.get("content"), text_of(block.get("tool_use_id"))
        parts = [dict_of(part) for part in list_of(content)]
        told = (text_of(part.get("text")) for part in parts if part.get("type") == "text")
        text = content if type(content) is str else "\n".join(told)
        tool, flags = self._calls.answered(call, text)
        flags |= ERROR if block.get("is_error") is True else 0
        pictures = sum(part.get("type") == "image" for part in parts)
        return [
            Entry(Kind.RESULT, text, flags, time_ms, tool, call),
            *[Entry(Kind.IMAGE, "", 0, time_ms, tool, call)] * pictures,
        ]

    # -- the others ------------------------------------------------------------------------

    def _cut_down(self, record: dict[str, Any], time_ms: int) -> Parsed:
        entry = Entry(Kind.SUMMARY, text_of(record.get("summaryText")), META | BOUNDARY, time_ms)
        return Parsed("compaction_state", (entry,), uuid=text_of(record.get("id")))

    def _over(self, record: dict[str, Any], time_ms: int) -> Parsed:
        reason = text_of(record.get("reason"))
        text = "" if reason == "completed" else f"Turn {reason}"
        flags = 0 if reason in _NO_TROUBLE else ERROR
        return Parsed("agent_turn_outcome", (Entry(Kind.EVENT, text, flags, time_ms),))

    def _todos(self, record: dict[str, Any], time_ms: int) -> Parsed:
        """The list as the call that wrote it says too."""
        return Parsed("todo_state", (Entry(Kind.EVENT, "", COPY, time_ms),), uuid=text_of(record.get("id")))

    # -- the settings ----------------------------------------------------------------------

    def document(self, data: bytes, /) -> Parsed:
        try:
            whole = dict_of(decode(data)[0])
        except BadLine:
            whole = {}
        if not whole:
            return unknown("settings", text=data.decode("utf-8", "backslashreplace"))
        model, told = text_of(whole.get("model")), dict_of(whole.get("tokenUsage"))
        self.facts.model = model
        time_ms, output = time_of(whole.get("providerLockTimestamp")), count_of(told.get("outputTokens"))
        usage = Usage(
            f"droid:{self.facts.id}",
            model,
            time_ms,
            input=count_of(told.get("inputTokens")),
            output=output,
            cache_read=count_of(told.get("cacheReadTokens")),
            cache_write_5m=count_of(told.get("cacheCreationTokens")),
            reasoning=min(count_of(told.get("thinkingTokens")), output),
        )
        spent = usage.input or output or usage.cache_read
        return Parsed("settings", (Entry(Kind.EVENT, "", META),), usages=(usage,) if spent else ())


def _said(text: str, message: dict[str, Any], time_ms: int) -> Entry:
    """A text by whom it is of and for: what the client put in for the model, or shows the person alone."""
    role, seen_by = message.get("role"), message.get("visibility")
    if seen_by == "user_only":
        return Entry(Kind.EVENT, text, META | ERROR if _TROUBLE.match(text) else META, time_ms)
    if role == "assistant":
        return Entry(Kind.ANSWER, text, 0, time_ms, model=text_of(message.get("modelId")))
    if role == "system" or seen_by == "llm_only" or text.lstrip().startswith("<system-reminder>"):
        return Entry(Kind.CONTEXT, text, META, time_ms)
    return Entry(Kind.PROMPT, text, 0, time_ms)


_BLOCKS: Final = ("text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image", "document")

_HANDLERS: Final[dict[str, Callable[[DroidParser, dict[str, Any], int], Parsed]]] = {
    "session_start": DroidParser._session,
    "message": DroidParser._message,
    "compaction_state": DroidParser._cut_down,
    "agent_turn_outcome": DroidParser._over,
    "todo_state": DroidParser._todos,
}

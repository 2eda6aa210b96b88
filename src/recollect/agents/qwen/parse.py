"""The records of Qwen Code, line by line.

A rewind is a record that follows the one before the prompt it goes back to: from that prompt on, all is
taken back. The numbers of an answer stand in it and, once more, in an event for the screen; of those events
only what no other file tells counts, the requests that the client makes for itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from recollect.agents.decode import BadLine, decode
from recollect.agents.fields import (
    BOUNDARY,
    COPY,
    ERROR,
    EXPORTED,
    META,
    NAME_CHARS_MAX,
    SIDECHAIN,
    OpenCalls,
    dict_of,
    facts_restored,
    facts_state,
    has_said,
    lines_of,
    list_of,
    not_an_object,
    note_answers,
    text_of,
    time_of,
    unknown,
)
from recollect.agents.qwen.parts import answer_entry, parts_of, result_entries, usage_of, user_entries
from recollect.light.sources import WRITTEN_BY, WRITTEN_FROM_KEY, WRITTEN_KEY
from recollect.values.records import Entry, Kind, Parsed, Relation, Role, SessionFacts, SourceFile, Usage
from recollect.values.titles import TITLE_AGENT, TITLE_CUSTOM, TITLE_PROMPT, title_line

_TURNS_MAX: Final = 150  # prompts that a rewind can go back to; more would make the state large
_SAID: Final = ("", "mid_turn_user_message", "realtime_message")
_OWN_REQUESTS: Final = "managed-"  # how those subagents are called of which no transcript is kept

Made = tuple[list[Entry], tuple[Usage, ...]]


class QwenParser:
    """Reads one transcript in file order, or a subagent's sidecar."""

    __slots__ = ("_calls", "_source", "_turns", "facts")

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        self._source = source
        self.facts = facts_restored(state["facts"]) if state else _first_facts(source)
        self._calls = OpenCalls(state)
        self._turns: dict[str, str] = dict(state.get("turns", {}))  # a prompt by what it follows

    def state(self) -> dict[str, Any]:
        return {"facts": facts_state(self.facts), "turns": dict(self._turns), **self._calls.state()}

    def parse(self, record: Any, /) -> Parsed:
        if type(record) is not dict:
            return not_an_object(record)
        name, subtype = text_of(record.get("type")), text_of(record.get("subtype"))
        time_ms, flags = time_of(record.get("timestamp")), _flags(record)
        self._note(record)
        if name == "user":
            made = self._user(record, subtype, time_ms, flags)
        elif name == "assistant":
            made = self._assistant(record, time_ms, flags)
        elif name == "tool_result":
            told = dict_of(record.get("toolCallResult"))
            parts = parts_of(record.get("message"))
            made = [e for part in parts for e in result_entries(part, told, flags, time_ms, self._calls)], ()
        elif name == "system":
            made = self._system(record, subtype, time_ms, flags)
        else:
            made = [Entry(Kind.UNKNOWN, "", flags, time_ms)], ()
        return self._made(record, f"{name}/{subtype}" if subtype else name, time_ms, flags, made)

    def document(self, data: bytes, /) -> Parsed:
        """A subagent's sidecar: what it was asked to do, and by which call."""
        try:
            told = dict_of(decode(data)[0])
        except BadLine:
            return unknown("agent_metadata", text=data.decode("utf-8", "backslashreplace"))
        description = text_of(told.get("description"))
        self.facts.titled(title_line(description), TITLE_AGENT)
        if nested := text_of(told.get("parentAgentId")):
            self.facts.parent = f"agent-{nested}"
        tool, call = text_of(told.get("agentType")), text_of(told.get("toolUseId"))
        return Parsed("agent_metadata", (Entry(Kind.EVENT, description, tool=tool, call=call),))

    # -- by type ---------------------------------------------------------------------------

    def _user(self, record: dict[str, Any], subtype: str, time_ms: int, flags: int) -> Made:
        told = text_of(record.get("provenance"))
        is_said = subtype in _SAID and told in ("", "real_user") and not flags & SIDECHAIN
        kind = Kind.PROMPT if is_said else Kind.CONTEXT
        entries = user_entries(parts_of(record.get("message")), kind, flags, time_ms)
        if is_said and subtype != "mid_turn_user_message":
            self._turns[text_of(record.get("parentUuid"))[:13]] = text_of(record.get("uuid"))[:64]
            if len(self._turns) > _TURNS_MAX:
                del self._turns[next(iter(self._turns))]
        for entry in entries:
            if entry.kind is Kind.PROMPT or flags & SIDECHAIN:
                self.facts.title_from(entry.text, TITLE_PROMPT)
        return entries, ()

    def _assistant(self, record: dict[str, Any], time_ms: int, flags: int) -> Made:
        model = text_of(record.get("model"))
        self.facts.model = model or self.facts.model
        parts = parts_of(record.get("message"))
        entries = [answer_entry(part, flags, time_ms, model, self._calls) for part in parts]
        note_answers(self.facts, entries)
        key = f"qwen:{text_of(record.get('uuid'))}"
        numbers = dict_of(record.get("usageMetadata"))
        return entries, usage_of(numbers, key, model or self.facts.model, time_ms)

    def _system(self, record: dict[str, Any], subtype: str, time_ms: int, flags: int) -> Made:
        told = dict_of(record.get("systemPayload"))
        if subtype == "ui_telemetry":
            return self._shown(dict_of(told.get("uiEvent")), time_ms, flags)
        if subtype == "chat_compression":
            history = list_of(told.get("compressedHistory"))
            text = lines_of(parts_of(history[0])) if history else ""
            return [Entry(Kind.SUMMARY, text, flags | BOUNDARY | META, time_ms)], ()
        if subtype == "omni_recall":
            return [Entry(Kind.CONTEXT, text_of(told.get("reminder")), flags | META, time_ms)], ()
        if subtype not in _EVENTS:
            return [Entry(Kind.UNKNOWN, "", flags, time_ms)], ()
        if subtype == "custom_title":
            rank = TITLE_AGENT if told.get("titleSource") == "auto" else TITLE_CUSTOM
            self.facts.titled(title_line(text_of(told.get("customTitle"))), rank)
        elif subtype == "session_model":
            self.facts.model = text_of(told.get("modelId")) or text_of(told.get("model")) or self.facts.model
        elif subtype == "parent_session" and (parent := text_of(told.get("parentSessionId"))):
            self.facts.parent, self.facts.relation = parent, Relation.SUBAGENT
        text = next(filter(None, (text_of(told.get(name)) for name in _EVENTS[subtype])), "")
        return [Entry(Kind.EVENT, text, flags, time_ms)], ()

    def _shown(self, event: dict[str, Any], time_ms: int, flags: int) -> Made:
        """An event for the screen: what it shows stands elsewhere, but for errors and own requests."""
        name = text_of(event.get("event.name"))
        if name.endswith("api_error"):
            text = text_of(event.get("error_message")) or text_of(event.get("error"))
            return [Entry(Kind.EVENT, text, flags | ERROR, time_ms)], ()
        usages: tuple[Usage, ...] = ()
        if name.endswith("api_response") and text_of(event.get("subagent_name")).startswith(_OWN_REQUESTS):
            numbers = {key: event.get(told) for key, told in _COUNTS.items()}
            key = f"qwen:{text_of(event.get('response_id'))}:{text_of(event.get('prompt_id'))}"
            usages = usage_of(numbers, key, text_of(event.get("model")), time_ms)
        return [Entry(Kind.EVENT, "", flags | COPY, time_ms)], usages

    # -- what all have in common -----------------------------------------------------------

    def _note(self, record: dict[str, Any]) -> None:
        facts = self.facts
        session = text_of(record.get("sessionId"))
        if self._source.role is Role.SUBAGENT:
            facts.parent = facts.parent or session
            facts.root = facts.root or facts.parent
        else:
            facts.id = facts.id or session
            facts.root = facts.root or facts.id
        facts.cwd = facts.cwd or text_of(record.get("cwd"))
        facts.branch = text_of(record.get("gitBranch")) or facts.branch
        facts.version = text_of(record.get("version")) or facts.version

    def _made(self, record: dict[str, Any], name: str, time_ms: int, flags: int, made: Made) -> Parsed:
        entries = made[0] or [Entry(Kind.EVENT, "", flags, time_ms)]
        self._note_time(record, time_ms, entries)
        known = all(entry.kind is not Kind.UNKNOWN for entry in entries)
        parent = text_of(record.get("parentUuid"))
        back = self._turns.get(parent[:13], "") if name == "system/rewind" else ""
        return Parsed(
            name if known else name[:NAME_CHARS_MAX],
            tuple(entries),
            known,
            text_of(record.get("uuid")),
            parent,
            made[1],
            rewinds=back,
        )

    def _note_time(self, record: dict[str, Any], time_ms: int, entries: list[Entry]) -> None:
        """A session lasts while its own records are written; an export of ours, from what is first said."""
        facts = self.facts
        forked = text_of(dict_of(record.get("forkedFrom")).get("sessionId"))
        written_from = text_of(record.get(WRITTEN_FROM_KEY))
        is_ours = record.get(WRITTEN_KEY) == WRITTEN_BY
        if self._source.role is Role.MAIN and (forked or is_ours):
            facts.relation = Relation.FORK
            if (forked or written_from) and not facts.parent:
                facts.parent, facts.root = forked or written_from, written_from or forked
        if is_ours:
            return
        if facts.relation is not Relation.FORK or forked or facts.ended_ms or has_said(entries):
            facts.saw(time_ms)


def _flags(record: dict[str, Any]) -> int:
    side = SIDECHAIN if record.get("isSidechain") is True else 0
    return side | EXPORTED if record.get(WRITTEN_KEY) == WRITTEN_BY else side


def _first_facts(source: SourceFile) -> SessionFacts:
    facts = SessionFacts("qwen", source.session, parent=source.parent)
    facts.root = source.parent or source.session
    if source.role in (Role.SUBAGENT, Role.SIDECAR):
        facts.relation = Relation.SUBAGENT
    return facts


_COUNTS: Final = {
    "promptTokenCount": "input_token_count",
    "candidatesTokenCount": "output_token_count",
    "cachedContentTokenCount": "cached_content_token_count",
    "thoughtsTokenCount": "thoughts_token_count",
    "totalTokenCount": "total_token_count",
}

# Bookkeeping by subtype, and what of its payload tells a reader something.
_EVENTS: Final[dict[str, tuple[str, ...]]] = {
    "custom_title": ("customTitle",),
    "slash_command": ("rawCommand",),
    "session_model": ("modelId", "model"),
    "agent_launch_prompt": (),
    **dict.fromkeys(
        (
            "agent_bootstrap",
            "agent_retry",
            "agent_session_ready",
            "at_command",
            "attribution_snapshot",
            "background_task_completed",
            "branch_checkpoint",
            "file_history_snapshot",
            "goal_runtime",
            "goal_state",
            "goal_turn_end",
            "managed_session_commit_v1",
            "managed_session_event_v1",
            "managed_session_header_v1",
            "parent_session",
            "rewind",
            "session_artifact_event",
            "session_artifact_snapshot",
            "session_recording_degraded",
            "session_source",
            "session_sources_snapshot",
            "turn_result",
            "user_text_elements",
        ),
        (),
    ),
}

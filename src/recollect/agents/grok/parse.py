"""Grok's updates, line by line, and the small documents beside them.

Grok glues what is streamed before it writes it: a message is one line, mostly. Where it is more, each line
states it anew with all that came before, in the same place.

A fork's file begins with its parent's lines under its own id; their events still bear the parent's. They
tell no time of the fork. `/rewind` takes nothing out of the file: a marker says from which prompt on it is
taken back.

A turn's cost counts that of the subagents it waited for, so a subagent's own log counts nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any, Final

from recollect.agents.decode import BadLine, decode
from recollect.agents.fields import (
    BOUNDARY,
    COPY,
    ERROR,
    META,
    OpenCalls,
    count_of,
    dict_of,
    facts_restored,
    facts_state,
    lines_of,
    list_of,
    not_an_object,
    note_answers,
    text_of,
    time_of,
    unknown,
)
from recollect.agents.grok.content import block_entry, call_entry, prompt_entry, result_entries, usages_of
from recollect.agents.grok.paths import METHODS, SPAWNED, SUMMARY
from recollect.values.records import Entry, Kind, Parsed, Relation, Role, SessionFacts, SourceFile
from recollect.values.titles import TITLE_AGENT, TITLE_CUSTOM, TITLE_PROMPT, title_line

_GLUED_CHARS_MAX: Final = 2000  # of a message that is stated anew with every line
_ID_CHARS_MAX: Final = 200
_TIME_MAX: Final = 2**53 - 1
_CUT_DOWN: Final = "\nSummary:\n"
_NOTHING: Final = ("", "", "")


class GrokParser:
    """Reads one session in file order, or one document of it."""

    __slots__ = ("_calls", "_failure", "_open", "_prompt", "_source", "facts")

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        self.facts = facts_restored(state["facts"]) if state else _first_facts(source)
        self._source = source
        self._calls = OpenCalls(state)
        # What is being said: which message, its id, and its text so far.
        self._open: tuple[str, str, str] = tuple(state.get("open", _NOTHING))
        self._prompt: tuple[str, int] = tuple(state.get("prompt", ("", 0)))  # and how many blocks it has
        self._failure: str = state.get("failure", "")  # what was told of it last

    def state(self) -> dict[str, Any]:
        return {
            "facts": facts_state(self.facts),
            "open": list(self._open),
            "prompt": list(self._prompt),
            "failure": self._failure,
            **self._calls.state(),
        }

    def parse(self, record: Any, /) -> Parsed:
        if type(record) is not dict:
            return not_an_object(record)
        method, params = record.get("method"), dict_of(record.get("params"))
        if method not in METHODS:
            return unknown(text_of(method) or "record")
        meta, update = dict_of(params.get("_meta")), dict_of(params.get("update"))
        time_ms = _time(meta.get("agentTimestampMs"), record.get("timestamp"))
        self._note(params, meta, time_ms)
        name = text_of(update.get("sessionUpdate"))
        if name in _SAID:
            return self._chunk(name, update, meta, time_ms)
        handler = _HANDLERS.get(name)
        if handler is None:
            return unknown(name or "update", time_ms)
        return handler(self, name, update, time_ms)

    # -- the session -----------------------------------------------------------------------

    def _note(self, params: dict[str, Any], meta: dict[str, Any], time_ms: int) -> None:
        facts = self.facts
        facts.id = facts.id or text_of(params.get("sessionId"))
        facts.root = facts.root or facts.id
        before, _, number = text_of(meta.get("eventId")).rpartition("-")
        if not before or before == facts.id or not number.isdecimal():
            facts.saw(time_ms)
        elif facts.relation is not Relation.SUBAGENT:
            # Copies of copies keep their ids: the first is the root, the last the parent.
            facts.root = facts.root if facts.relation is Relation.FORK else before
            facts.parent, facts.relation = before, Relation.FORK

    # -- what is said ----------------------------------------------------------------------

    def _chunk(self, name: str, update: dict[str, Any], meta: dict[str, Any], time_ms: int) -> Parsed:
        if name == "user_message_chunk":
            entry, id_ = prompt_entry(update, time_ms), self._prompt_id(update)
            self.facts.model = text_of(dict_of(update.get("_meta")).get("modelId")) or self.facts.model
            message = f"{name}:{self._prompt[0]}:{entry.kind}"
        else:
            entry = block_entry(update.get("content"), _SAID[name], 0, time_ms, self.facts.model)
            id_ = f"{text_of(meta.get('eventId'))[:_ID_CHARS_MAX]}@{time_ms}"
            stream = text_of(meta.get("promptId"))[:_ID_CHARS_MAX], count_of(meta.get("streamStartMs"))
            message = f"{name}:{stream}"
        if entry.kind is Kind.UNKNOWN:
            kind = text_of(dict_of(update.get("content")).get("type"))
            return unknown(f"{name}/{kind}", time_ms, entry.text)
        return self._glued(name, message, id_, entry)

    def _prompt_id(self, update: dict[str, Any]) -> str:
        """What a block of a prompt is known by: the prompt's number, and how many came before it."""
        index = dict_of(update.get("_meta")).get("promptIndex")
        if type(index) is not int:
            self._prompt = ("", 0)
            return ""
        prompt = _prompt_name(index)
        known, blocks = self._prompt
        goes_on = known == prompt and self._open[0].startswith("user_message_chunk:")
        self._prompt = (prompt, blocks + 1 if goes_on else 0)
        return prompt if not self._prompt[1] else f"{prompt}.{self._prompt[1]}"

    def _glued(self, name: str, message: str, id_: str, entry: Entry) -> Parsed:
        """A piece of a message with what was said of it before."""
        known, first, before = self._open
        text = before + entry.text if entry.kind in _GLUED else ""
        goes_on = bool(known == message and first and before and text) and len(text) <= _GLUED_CHARS_MAX
        if goes_on:
            id_, entry = first, replace(entry, text=text)
        self._open = (message, id_, entry.text if text and len(entry.text) <= _GLUED_CHARS_MAX else "")
        if entry.kind is Kind.PROMPT:
            self.facts.title_from(entry.text, TITLE_PROMPT)
        note_answers(self.facts, (entry,))
        return Parsed(name, (entry,), uuid=id_, replaces=(id_,) if goes_on else ())

    # -- what is done ----------------------------------------------------------------------

    def _call(self, name: str, update: dict[str, Any], time_ms: int) -> Parsed:
        self._open = _NOTHING
        call = text_of(update.get("toolCallId"))
        again = (f"call:{call}",) if call in self._calls else ()
        entries = [call_entry(update, time_ms, self.facts.model, self._calls)]
        if update.get("status") in _OVER:
            entries += result_entries(update, time_ms, self._calls)
        return Parsed(name, tuple(entries), uuid=f"call:{call}" if call else "", replaces=again)

    def _called(self, name: str, update: dict[str, Any], time_ms: int) -> Parsed:
        """What is known of a call since: how it is shown, which says nothing new, or what came of it."""
        if update.get("status") not in _OVER:
            return Parsed(name, (Entry(Kind.EVENT, "", COPY, time_ms),))
        self._open = _NOTHING
        entries, call = result_entries(update, time_ms, self._calls), text_of(update.get("toolCallId"))
        id_ = f"result:{call}" if call else ""
        return Parsed(name, tuple(entries), uuid=id_, replaces=(id_,) if id_ else ())

    def _over(self, name: str, update: dict[str, Any], time_ms: int) -> Parsed:
        """A turn's end, which tells once more what went wrong."""
        self._open = _NOTHING
        reason, flags = text_of(update.get("stop_reason")), 0
        text = "" if reason == "end_turn" else f"Turn {reason}"
        if reason == "error":
            text = text_of(update.get("agent_result"))
            flags = ERROR | COPY if text == self._failure else ERROR
        is_counted = self._source.role is not Role.SUBAGENT
        usages = usages_of(update, self.facts.model, time_ms) if is_counted else ()
        return Parsed(name, (Entry(Kind.EVENT, text, flags, time_ms),), usages=usages)

    def _rewound(self, name: str, update: dict[str, Any], time_ms: int) -> Parsed:
        self._open = _NOTHING
        index = update.get("target_prompt_index")
        back = _prompt_name(index) if type(index) is int else ""
        return Parsed(name, (Entry(Kind.EVENT, f"went back to before {back}", 0, time_ms),), rewinds=back)

    def _trouble(self, name: str, update: dict[str, Any], time_ms: int) -> Parsed:
        text = text_of(update.get("message")) or text_of(update.get("error"))
        is_final = name != "retry_state" or update.get("type") in ("failed", "exhausted")
        self._failure = text if is_final and len(text) <= _GLUED_CHARS_MAX else self._failure
        return Parsed(name, (Entry(Kind.EVENT, text, ERROR if is_final else 0, time_ms),))

    # -- the others ------------------------------------------------------------------------

    def _cut_down(self, name: str, update: dict[str, Any], time_ms: int) -> Parsed:
        """The model's context restarts here; its summary is in a document that takes this one's place."""
        id_ = text_of(update.get("checkpoint_id"))[:_ID_CHARS_MAX]
        return Parsed(name, (Entry(Kind.EVENT, "", BOUNDARY, time_ms),), uuid=id_)

    def _recap(self, name: str, update: dict[str, Any], time_ms: int) -> Parsed:
        return Parsed(name, (Entry(Kind.SUMMARY, text_of(update.get("summary")), META, time_ms),))

    def _titled(self, name: str, update: dict[str, Any], time_ms: int) -> Parsed:
        title = text_of(update.get("session_summary")) or text_of(update.get("title"))
        self.facts.titled(title_line(title), TITLE_AGENT)
        return Parsed(name, (Entry(Kind.EVENT, title, 0, time_ms),))

    def _model(self, name: str, update: dict[str, Any], time_ms: int) -> Parsed:
        model = text_of(update.get("model_id")) or text_of(update.get("new_model_id"))
        self.facts.model = model or self.facts.model
        return Parsed(name, (Entry(Kind.EVENT, model, 0, time_ms),))

    def _subagent(self, name: str, update: dict[str, Any], time_ms: int) -> Parsed:
        """One that began or ended; what it gave back is the result of its call."""
        failed = update.get("status") not in (None, "completed")
        text = text_of(update.get("error")) or text_of(update.get("description"))
        entry = Entry(Kind.EVENT, text, ERROR if failed else 0, time_ms, text_of(update.get("subagent_type")))
        return Parsed(name, (entry,))

    def _plain(self, name: str, update: dict[str, Any], time_ms: int) -> Parsed:
        text = next(filter(None, (text_of(update.get(each)) for each in _TELLING)), "")
        return Parsed(name, (Entry(Kind.EVENT, text, 0, time_ms),))

    # -- documents -------------------------------------------------------------------------

    def document(self, data: bytes, /) -> Parsed:
        name = PurePath(self._source.path).name
        try:
            whole = dict_of(decode(data)[0])
        except BadLine:
            whole = {}
        if not whole:
            return unknown(name, text=data.decode("utf-8", "backslashreplace"))
        if name == SUMMARY:
            return self._session(whole)
        return self._spawned(whole) if name == SPAWNED else self._checkpoint(whole)

    def _session(self, whole: dict[str, Any]) -> Parsed:
        """`summary.json`: what the session is called, where it was held, and what it came out of."""
        facts, info = self.facts, dict_of(whole.get("info"))
        facts.id = facts.id or text_of(info.get("id"))
        facts.cwd, facts.branch = text_of(info.get("cwd")), text_of(whole.get("head_branch"))
        for name in ("created_at", "last_active_at"):
            facts.saw(time_of(whole.get(name)))
        title = text_of(whole.get("generated_title")) or text_of(whole.get("session_summary"))
        if whole.get("session_kind") == "subagent":
            facts.relation = Relation.SUBAGENT
        else:
            facts.titled(title_line(title), TITLE_CUSTOM if whole.get("title_is_manual") else TITLE_AGENT)
            facts.parent = text_of(whole.get("parent_session_id"))
            facts.relation = Relation.FORK if facts.parent else Relation.NONE
        return Parsed("summary", (Entry(Kind.EVENT, title, META),))

    def _spawned(self, whole: dict[str, Any]) -> Parsed:
        """`meta.json` of a subagent, in its parent's folder."""
        description = text_of(whole.get("description"))
        self.facts.titled(title_line(description), TITLE_AGENT)
        tool = text_of(whole.get("subagent_type"))
        return Parsed("subagent", (Entry(Kind.EVENT, description, META, tool=tool),))

    def _checkpoint(self, whole: dict[str, Any]) -> Parsed:
        """What a compaction kept."""
        told = [
            lines_of(item.get("content"))
            for item in map(dict_of, list_of(whole.get("compacted_history")))
            if item.get("synthetic_reason") == "compaction_meta"
        ]
        text = next((each.partition(_CUT_DOWN)[2] for each in told if _CUT_DOWN in each), "")
        id_ = text_of(whole.get("checkpoint_id"))[:_ID_CHARS_MAX]
        entry = Entry(Kind.SUMMARY, text, META | BOUNDARY, time_of(whole.get("created_at")))
        return Parsed("compaction_checkpoint/file", (entry,), uuid=id_, replaces=(id_,) if id_ else ())


def _first_facts(source: SourceFile) -> SessionFacts:
    facts = SessionFacts(source.agent, source.session, parent=source.parent)
    if source.role is Role.SUBAGENT or source.parent:
        facts.relation = Relation.SUBAGENT
    facts.root = source.parent or (source.session if source.role is Role.MAIN else "")
    return facts


def _time(told_ms: Any, told: Any) -> int:
    """When it happened, in milliseconds; the line itself says only the second in which it was written."""
    return min(count_of(told_ms) or count_of(told) * 1000, _TIME_MAX)


def _prompt_name(index: int) -> str:
    """What a prompt is known by: after going back, the number of one that was taken back is given again."""
    return f"prompt:{index}"[:_ID_CHARS_MAX]


_OVER: Final = ("completed", "failed")
_SAID: Final = {
    "user_message_chunk": Kind.PROMPT,
    "agent_message_chunk": Kind.ANSWER,
    "agent_thought_chunk": Kind.THOUGHT,
}
_GLUED: Final = (Kind.PROMPT, Kind.ANSWER, Kind.THOUGHT)
_TELLING: Final = ("message", "description", "reason", "event_name", "result", "objective", "event_text")

_HANDLERS: Final[dict[str, Callable[[GrokParser, str, dict[str, Any], int], Parsed]]] = {
    "tool_call": GrokParser._call,
    "tool_call_update": GrokParser._called,
    "turn_completed": GrokParser._over,
    "rewind_marker": GrokParser._rewound,
    "retry_state": GrokParser._trouble,
    "auto_compact_failed": GrokParser._trouble,
    "auto_recovery_exhausted": GrokParser._trouble,
    "compaction_checkpoint": GrokParser._cut_down,
    "session_recap": GrokParser._recap,
    "session_summary_generated": GrokParser._titled,
    "session_info_update": GrokParser._titled,
    "model_changed": GrokParser._model,
    "model_auto_switched": GrokParser._model,
    "subagent_spawned": GrokParser._subagent,
    "subagent_finished": GrokParser._subagent,
    **dict.fromkeys(
        (
            "agent_changed",
            "auto_compact_cancelled",
            "auto_compact_completed",
            "auto_compact_started",
            "auto_continue_completed",
            "auto_recovery_started",
            "available_commands_update",
            "background_tasks",
            "config_option_update",
            "current_mode_update",
            "diff_review",
            "feedback_request",
            "goal_updated",
            "hook_annotation",
            "hook_execution",
            "hooks_changed",
            "image_compressed",
            "image_dropped",
            "interaction_resolved",
            "last_turn_summary",
            "memory_capture_activity",
            "memory_dream_completed",
            "memory_dream_queued",
            "memory_dream_started",
            "memory_files",
            "memory_flush_completed",
            "memory_flush_started",
            "memory_session_saved",
            "monitor_event",
            "pending_interaction",
            "plan",
            "plan_cleared",
            "plan_executing",
            "plan_kept",
            "plugin_updates_installed",
            "plugins_changed",
            "reasoning_completed",
            "relay_sync_status",
            "response_completed",
            "response_started",
            "scheduled_task_created",
            "scheduled_task_deleted",
            "scheduled_task_fired",
            "session_recap_unavailable",
            "session_status",
            "subagent_permission_decision",
            "subagent_progress",
            "task_backgrounded",
            "task_completed",
            "tool_call_delta_chunk",
            "usage_update",
            "workflow_updated",
        ),
        GrokParser._plain,
    ),
}

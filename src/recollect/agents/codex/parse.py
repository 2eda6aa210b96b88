"""The records of Codex, line by line, in its three eras.

A session's file may begin with another session's history (forks, subagents), including that
session's own `session_meta`; only the first one is ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from recollect.agents.codex.parse_items import EVENT, Reader, Twins
from recollect.agents.codex.parse_usage import Meter
from recollect.agents.fields import (
    BOUNDARY,
    ERROR,
    EXPORTED,
    META,
    SIDECHAIN,
    OpenCalls,
    count_of,
    dict_of,
    facts_restored,
    facts_state,
    has_said,
    list_of,
    not_an_object,
    note_answers,
    text_of,
    time_of,
    unknown,
)
from recollect.light.project import remote_name
from recollect.light.sources import WRITTEN_BY, WRITTEN_FROM_KEY
from recollect.values.records import Entry, Kind, Parsed, Relation, SessionFacts, SourceFile
from recollect.values.titles import TITLE_CUSTOM, TITLE_PROMPT, title_line

_CWD = re.compile(r"<cwd>(.*?)</cwd>|^Current working directory: (.*)$", re.MULTILINE)
_REQUEST: Final = "## My request for Codex:"  # IDE extensions put their context above it


class CodexParser:
    """Reads one rollout in file order."""

    __slots__ = (
        "_billed",
        "_calls",
        "_copying",
        "_facts",
        "_forking_copy",
        "_introduced",
        "_maybe",
        "_meter",
        "_reader",
        "_replayed",
        "_twins",
        "_untouched",
        "_written_ms",
    )

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        if "facts" in state:
            self._facts = facts_restored(state["facts"])
        else:
            self._facts = SessionFacts("codex", source.session, root=source.session)
        self._calls = OpenCalls(state)
        self._twins = Twins(state.get("twins", ()))
        self._meter = Meter(state.get("total", ()), recorded=state.get("recorded", False))
        self._reader = Reader(self._calls, self._twins, state.get("failed", ()), self._facts.model)
        self._introduced: bool = state.get("introduced", False)  # our own session_meta was read
        # A subagent's file may begin with its parent's history: the lines before this ordinal.
        self._replayed: int = state.get("replayed", 0)
        # When an export of ours wrote the file's beginning, 0 if none did: what is older is a copy.
        self._written_ms: int = state.get("written_ms", 0)
        self._copying = False
        # What follows is such a beginning in a fork that Codex made of it: nothing in it opens a turn.
        self._forking_copy: bool = state.get("forking_copy", False)
        self._untouched: bool = state.get("untouched", False)  # a copy in which nobody said anything yet
        # The thread whose totals this file's token counts go on from, and the one they would
        # go on from if its history turned out to be in this file too.
        self._billed: str = state.get("billed", source.session)
        self._maybe: str = state.get("maybe", "")

    @property
    def facts(self) -> SessionFacts:
        return self._facts

    def state(self) -> dict[str, Any]:
        return {
            "facts": facts_state(self._facts),
            **self._calls.state(),
            "twins": self._twins.state(),
            "failed": self._reader.failed,
            "total": self._meter.state(),
            "recorded": self._meter.recorded,
            "introduced": self._introduced,
            "replayed": self._replayed,
            **({"written_ms": self._written_ms} if self._written_ms else {}),
            **({"forking_copy": True} if self._forking_copy else {}),
            **({"untouched": True} if self._untouched else {}),
            "billed": self._billed,
            "maybe": self._maybe,
        }

    def parse(self, record: Any, /) -> Parsed:
        if type(record) is not dict:
            return not_an_object(record)
        time_ms = time_of(record.get("timestamp"))
        self._forking_copy = self._forking_copy and not _opens_turn(record)
        self._copying = self._forking_copy or 0 < time_ms <= self._written_ms
        parsed = self._parse(record, time_ms)
        if self._copying:
            parsed = _copied(parsed)
        self._untouched = self._untouched and not has_said(parsed.entries)
        if not self._untouched:
            self._facts.saw(time_ms)
        return _inside(parsed) if self._facts.relation is Relation.SUBAGENT else parsed

    def _parse(self, record: dict[str, Any], time_ms: int) -> Parsed:
        name = text_of(record.get("type"))
        payload = record.get("payload")
        if type(payload) is not dict:
            return self._bare(name, record, time_ms)
        if self._replayed and count_of(record.get("ordinal")) >= self._replayed:
            self._replayed = 0
        if name == "response_item":
            if "type" not in payload and "role" in payload:  # as other programs write a message
                payload = {**payload, "type": "message"}
            return self._item(f"response_item/{text_of(payload.get('type'))}", payload, time_ms)
        if name == "event_msg":
            return self._event(payload, time_ms)
        if name == "token_usage_record":
            usage = self._meter.record(payload, self._facts.id, self._facts.model, time_ms)
            return Parsed(name, (Entry(Kind.EVENT, "", 0, time_ms),), usages=(usage,) if usage else ())
        handler = _RECORDS.get(name)
        if handler is None:
            return unknown(name, time_ms)
        return Parsed(name, (handler(self, payload, time_ms),))

    def document(self, data: bytes, /) -> Parsed:
        """The oldest era: one document `{session, items}`."""
        try:
            whole = dict_of(json.loads(data))
        except (ValueError, RecursionError):
            return unknown("document", text=data.decode("utf-8", "backslashreplace"))
        self._introduce(dict_of(whole.get("session")), 0)
        entries: list[Entry] = []
        known = type(whole.get("items")) is list
        for item in list_of(whole.get("items")):
            found = self._reader.item(dict_of(item), time_of(dict_of(item).get("timestamp")))
            known = known and found is not None
            entries += found if found is not None else [Entry(Kind.UNKNOWN)]
        self._title(entries)
        return Parsed("document", tuple(entries) or (Entry(Kind.EVENT),), known)

    def _item(self, name: str, payload: dict[str, Any], time_ms: int) -> Parsed:
        entries = self._reader.item(payload, time_ms)
        uuid = text_of(payload.get("id"))
        if entries is None:
            return unknown(name, time_ms, uuid=uuid)
        if name.endswith("message"):
            self._title(entries)
        return Parsed(name, tuple(entries) or (Entry(Kind.EVENT, "", 0, time_ms),), uuid=uuid)

    def _event(self, payload: dict[str, Any], time_ms: int) -> Parsed:
        subtype = text_of(payload.get("type"))
        name = f"event_msg/{subtype}"
        if subtype == "token_count":
            usage = self._meter.read(payload, self._billed, self._facts.model, time_ms)
            return Parsed(name, (Entry(Kind.EVENT, "", 0, time_ms),), usages=(usage,) if usage else ())
        if subtype == "item_completed":
            return self._completion(name, dict_of(payload.get("item")), time_ms)
        if subtype == "user_message":
            return Parsed(name, self._prompt(payload, time_ms))
        handler = _EVENTS.get(subtype)
        if handler is None:
            return unknown(name, time_ms, text_of(payload.get("message")))
        return Parsed(name, (handler(self, payload, time_ms),))

    def _bare(self, name: str, record: dict[str, Any], time_ms: int) -> Parsed:
        """A record without envelope: the era before September 2025."""
        if "record_type" in record:
            state = text_of(record["record_type"])
            if state != "state":
                return unknown(f"record_type/{state}", time_ms)
            return Parsed("record_type/state", (Entry(Kind.EVENT, "", 0, time_ms),))
        if not name and type(record.get("id")) is str:
            return Parsed("session_meta", (self._introduce(record, time_ms),))
        return self._item(name, record, time_ms)

    # -- records: each answers with one entry

    def _introduce(self, payload: dict[str, Any], time_ms: int) -> Entry:
        """A `session_meta`: ours the first time, later ours again or a replayed one's."""
        session, begun_ms = text_of(payload.get("id")), time_of(payload.get("timestamp"))
        copy = payload.get("originator") == WRITTEN_BY
        self._copying = self._copying or copy
        if not self._introduced:
            self._introduced = True
            if session:
                self._facts.id = self._facts.root = self._billed = session
            self._replayed = count_of(payload.get("subagent_history_start_ordinal"))
            if copy:
                self._written_ms, self._untouched = begun_ms, True
            self._relate(payload, copy=copy)
            self._describe(payload)
        elif session == self._facts.id:
            self._describe(payload)
        elif copy:
            # A fork of one of our exports: the client writes the history anew, at the time of the fork.
            self._forking_copy = self._untouched = True
            self._facts.started_ms = self._facts.ended_ms = 0
        self._descend(session, payload)
        if not self._untouched:
            self._facts.saw(begun_ms)
        return Entry(Kind.EVENT, "", 0, time_ms)

    def _relate(self, payload: dict[str, Any], *, copy: bool) -> None:
        forked, spawned = _forked_from(payload), _spawned_by(payload)
        if spawned:
            self._facts.parent, self._facts.relation = spawned, Relation.SUBAGENT
        elif forked or copy:
            self._facts.parent, self._facts.relation = forked, Relation.FORK

    def _describe(self, payload: dict[str, Any]) -> None:
        facts, git = self._facts, dict_of(payload.get("git"))
        facts.cwd = facts.cwd or text_of(payload.get("cwd"))
        facts.version = text_of(payload.get("cli_version")) or facts.version
        facts.branch = text_of(git.get("branch")) or facts.branch
        facts.project = remote_name(text_of(git.get("repository_url"))) or facts.project
        self._model(text_of(payload.get("model")))

    def _descend(self, session: str, payload: dict[str, Any]) -> None:
        """Follow the chain of forks to its start, as far as this file tells it."""
        forked, spawned = _forked_from(payload), _spawned_by(payload)
        if session == self._facts.root:
            self._facts.root = forked or spawned or session
        if session and session == self._maybe:
            self._billed, self._maybe = session, ""
        if session == self._billed:
            self._billed, self._maybe = (forked, "") if forked else (session, spawned)

    def _turn_context(self, payload: dict[str, Any], time_ms: int) -> Entry:
        self._facts.cwd = self._facts.cwd or text_of(payload.get("cwd"))
        self._model(text_of(payload.get("model")))
        return Entry(Kind.EVENT, "", 0, time_ms, model=self._facts.model)

    def _compaction(self, payload: dict[str, Any], time_ms: int) -> Entry:
        return Entry(Kind.SUMMARY, text_of(payload.get("message")), BOUNDARY, time_ms)

    def _said_by_agent(self, payload: dict[str, Any], time_ms: int) -> Entry:
        return Entry(Kind.CONTEXT, text_of(payload.get("content")), META, time_ms)

    def _plain(self, payload: dict[str, Any], time_ms: int) -> Entry:
        return Entry(Kind.EVENT, "", 0, time_ms)

    # -- events: each answers with one entry

    def _prompt(self, payload: dict[str, Any], time_ms: int) -> tuple[Entry, ...]:
        entries = self._reader.prompt([text_of(payload.get("message"))], EVENT, time_ms)
        self._title(entries)
        return tuple(entries)

    def _completion(self, name: str, item: dict[str, Any], time_ms: int) -> Parsed:
        entries = self._reader.turn_item(item, time_ms)
        if entries is None:
            return unknown(f"{name}/{text_of(item.get('type'))}", time_ms)
        self._title(entries)
        # No uuid: a turn item may bear the id of the response item it shows.
        return Parsed(name, tuple(entries) or (Entry(Kind.EVENT, "", 0, time_ms),))

    def _answer(self, payload: dict[str, Any], time_ms: int) -> Entry:
        said = self._reader.speech(Kind.ANSWER, text_of(payload.get("message")), EVENT, time_ms)
        self._title([said])
        return said

    def _thought(self, payload: dict[str, Any], time_ms: int) -> Entry:
        return self._reader.speech(Kind.THOUGHT, text_of(payload.get("text")), EVENT, time_ms)

    def _tool_end(self, payload: dict[str, Any], time_ms: int) -> Entry:
        """How a tool call ended; what it gave back is in the call's output item."""
        code = payload.get("exit_code")
        failed = (type(code) is int and code != 0) or payload.get("success") is False
        failed = failed or "Err" in dict_of(payload.get("result"))
        return self._reader.call_end(text_of(payload.get("call_id")), failed=failed, time_ms=time_ms)

    def _failure(self, payload: dict[str, Any], time_ms: int) -> Entry:
        return Entry(Kind.EVENT, text_of(payload.get("message")), ERROR, time_ms)

    def _turn_end(self, payload: dict[str, Any], time_ms: int) -> Entry:
        """The end of a turn; when the model could not be asked, the only place that says why."""
        text = text_of(dict_of(payload.get("error")).get("message"))
        return Entry(Kind.EVENT, text, ERROR if text else 0, time_ms)

    def _notice(self, payload: dict[str, Any], time_ms: int) -> Entry:
        text = text_of(payload.get("message")) or text_of(payload.get("reason"))
        return Entry(Kind.EVENT, text, 0, time_ms)

    def _name(self, payload: dict[str, Any], time_ms: int) -> Entry:
        name = text_of(payload.get("thread_name")) or text_of(payload.get("name"))
        self._facts.titled(title_line(name), TITLE_CUSTOM)
        return Entry(Kind.EVENT, name, 0, time_ms)

    def _goal(self, payload: dict[str, Any], time_ms: int) -> Entry:
        return Entry(Kind.EVENT, text_of(dict_of(payload.get("goal")).get("objective")), 0, time_ms)

    def _review(self, payload: dict[str, Any], time_ms: int) -> Entry:
        output = dict_of(payload.get("review_output"))
        return Entry(Kind.EVENT, text_of(output.get("overall_explanation")), 0, time_ms)

    # -- what spans lines

    @property
    def _repeats(self) -> bool:
        """Whether what is read now was said in another session."""
        return bool(self._replayed) or self._copying

    def _model(self, model: str) -> None:
        if model:
            self._facts.model = self._reader.model = model

    def _title(self, entries: list[Entry]) -> None:
        """Take the title from what was said, and the directory from the context before it."""
        facts = self._facts
        if not self._repeats:
            note_answers(facts, entries)
        for entry in entries:
            if entry.kind is Kind.PROMPT and not self._repeats:
                asked = entry.text.rpartition(_REQUEST)[2]
                facts.title_from(asked if asked.strip() else entry.text, TITLE_PROMPT)
            elif entry.kind is Kind.CONTEXT and not facts.cwd:
                found = _CWD.search(entry.text[:4096])
                if found:
                    facts.cwd = (found[1] or found[2] or "").strip()


def _opens_turn(record: dict[str, Any]) -> bool:
    """Whether Codex begins to work here: no export of ours has such a record."""
    started = dict_of(record.get("payload")).get("type") in ("task_started", "turn_started")
    return record.get("type") == "turn_context" or started


def _copied(parsed: Parsed) -> Parsed:
    """The same, as an export of ours repeats it out of another session."""
    return replace(
        parsed, entries=tuple(replace(entry, flags=entry.flags | EXPORTED) for entry in parsed.entries)
    )


def _inside(parsed: Parsed) -> Parsed:
    """The same, said inside a subagent: there the agent that started it takes the user's place."""
    entries = []
    for entry in parsed.entries:
        prompt = entry.kind is Kind.PROMPT
        flags = entry.flags | SIDECHAIN | (META if prompt else 0)
        entries.append(replace(entry, kind=Kind.CONTEXT if prompt else entry.kind, flags=flags))
    return replace(parsed, entries=tuple(entries))


def _forked_from(payload: dict[str, Any]) -> str:
    base = dict_of(payload.get("history_base"))
    named = (payload.get("forked_from_id"), base.get("thread_id"), payload.get(WRITTEN_FROM_KEY))
    return next(filter(None, map(text_of, named)), "")


def _spawned_by(payload: dict[str, Any]) -> str:
    subagent = dict_of(dict_of(payload.get("source")).get("subagent"))
    spawn = dict_of(subagent.get("thread_spawn"))
    return text_of(spawn.get("parent_thread_id")) or text_of(payload.get("parent_thread_id"))


_Handler = Callable[[CodexParser, dict[str, Any], int], Entry]

_RECORDS: Final[dict[str, _Handler]] = {
    "session_meta": CodexParser._introduce,
    "turn_context": CodexParser._turn_context,
    "compacted": CodexParser._compaction,
    "world_state": CodexParser._plain,
    "inter_agent_communication": CodexParser._said_by_agent,
    "inter_agent_communication_metadata": CodexParser._plain,
    "security_risk_score": CodexParser._plain,
}

_EVENTS: Final[dict[str, _Handler]] = {
    "agent_message": CodexParser._answer,
    "agent_reasoning": CodexParser._thought,
    "agent_reasoning_raw_content": CodexParser._thought,
    "error": CodexParser._failure,
    "stream_error": CodexParser._failure,
    "warning": CodexParser._notice,
    "turn_aborted": CodexParser._notice,
    "task_complete": CodexParser._turn_end,
    "turn_complete": CodexParser._turn_end,
    "thread_name_updated": CodexParser._name,
    "thread_goal_updated": CodexParser._goal,
    "exited_review_mode": CodexParser._review,
    **dict.fromkeys(
        (
            "collab_agent_interaction_end",
            "collab_agent_spawn_end",
            "collab_close_end",
            "collab_resume_end",
            "collab_waiting_end",
            "dynamic_tool_call_response",
            "exec_command_end",
            "image_generation_end",
            "mcp_tool_call_end",
            "patch_apply_end",
            "view_image_tool_call",
            "web_search_end",
        ),
        CodexParser._tool_end,
    ),
    **dict.fromkeys(
        (
            "context_compacted",
            "dynamic_tool_call_request",
            "entered_review_mode",
            "guardian_assessment",
            "model_reroute",
            "plan_update",
            "sub_agent_activity",
            "task_started",
            "thread_rolled_back",
            "thread_settings_applied",
            "turn_diff",
            "turn_started",
        ),
        CodexParser._plain,
    ),
}

TYPES: Final = frozenset({"response_item", "event_msg", "token_usage_record", *_RECORDS})

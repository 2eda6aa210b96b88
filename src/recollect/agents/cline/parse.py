"""Cline's documents: conversations as messages, and beside them what else is known of a session."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from recollect.agents.cline import screen
from recollect.agents.cline.message import ASSISTANT, USER, entries_of, moment, unknown_block
from recollect.agents.cline.paths import COMPACTED, ITEM, MESSAGES, METADATA, SCREEN, TALK
from recollect.agents.cut import END, HEAD, cut, head_in, thing_in
from recollect.agents.decode import BadLine, decode
from recollect.agents.fields import (
    OpenCalls,
    count_of,
    dict_of,
    facts_restored,
    facts_state,
    list_of,
    not_an_object,
    note_answers,
    text_of,
    time_of,
    unknown,
)
from recollect.values.records import Entry, Kind, Parsed, Relation, Role, SessionFacts, SourceFile, Usage
from recollect.values.titles import TITLE_AGENT, TITLE_PROMPT, title_line

_FOLDER = re.compile(r"# Current Work(?:ing|space) Directory \(([^\n]{1,1000}?)\) Files")
_MODEL = re.compile(r"<model>([^<\n]{1,100})</model>")
_NUMBERED = re.compile(r"\d{13}")  # a task of the extension is named by when it began


class ClineParser:
    """One document of a session."""

    def __init__(self, source: SourceFile, state: Mapping[str, Any], folder: str = "") -> None:
        self.facts = facts_restored(state["facts"]) if state else _first_facts(source, folder)
        self._calls = OpenCalls(state)
        self._number = count_of(state.get("number"))
        self._last = text_of(state.get("last"))  # what was called last on the screen
        self._name = PurePath(source.path).name
        self._is_alone = source.role is Role.MAIN
        self._is_subagent = source.role is Role.SUBAGENT

    def state(self) -> dict[str, Any]:
        return {
            "facts": facts_state(self.facts),
            "number": self._number,
            "last": self._last,
            **self._calls.state(),
        }

    # -- what a document is cut into -------------------------------------------------------

    def records(self, data: bytes, /) -> Iterator[tuple[str, bytes]]:
        try:
            whole = decode(data)[0]
        except BadLine:
            return iter(())
        if self._name in (TALK, SCREEN):
            return cut(data, "", _key)
        if self._name.endswith(MESSAGES):
            return cut(data, "messages", _key)
        return iter([("document", data)] if type(whole) is dict else [])

    def record(self, key: str, data: bytes, /) -> Parsed:
        if key == "document":
            return self.document(data)
        if key == END:
            return Parsed(key, ())
        if key == HEAD:
            self._note_head(dict_of(head_in(data)))
            return Parsed(key, ())
        try:
            told = thing_in(data)
        except BadLine:
            return unknown("message")
        return self.parse(told)

    def document(self, data: bytes, /) -> Parsed:
        """What is said beside a conversation."""
        try:
            told = dict_of(decode(data)[0])
        except BadLine:
            return unknown("document")
        if self._name.endswith(COMPACTED):
            return self._compacted(told)
        if self._name == METADATA:
            return self._metadata(told)
        if self._name == ITEM:
            return self._item(told)
        return self._session(told) if "session_id" in told else unknown("document")

    # -- a message -------------------------------------------------------------------------

    def parse(self, record: Any, /) -> Parsed:
        if type(record) is not dict:
            return not_an_object(record)
        self._number += 1
        return self._shown(record) if self._name == SCREEN else self._message(record)

    def _message(self, message: dict[str, Any]) -> Parsed:
        role, time_ms = text_of(message.get("role")), moment(message.get("ts"))
        id_ = text_of(message.get("id")) or f"message {self._number}"
        if role not in (USER, ASSISTANT):
            return unknown(role or text_of(message.get("type")) or "message", time_ms, uuid=id_)
        if name := unknown_block(message):
            return unknown(f"{role}/{name}", time_ms, uuid=id_)
        self.facts.saw(time_ms)
        model = _model_of(message)
        self.facts.model = model or self.facts.model
        found = entries_of(message, time_ms, model, self._calls, self._number, from_agent=self._is_subagent)
        self._note(found)
        is_error = dict_of(message.get("metadata")).get("displayRole") == "error"
        return Parsed(
            "message/error" if is_error else f"message/{role}",
            tuple(found),
            uuid=id_,
            usages=_usage_of(message, id_, model) if self._name.endswith(MESSAGES) else (),
            # What was shown before there was a conversation is the prompt it begins with.
            replaces=(screen.TASK,) if self._name == TALK and self._number == 1 else (),
        )

    def _note(self, found: list[Entry]) -> None:
        for entry in found:
            if entry.kind is Kind.PROMPT:
                self.facts.title_from(entry.text, TITLE_PROMPT)
            elif entry.kind is Kind.CONTEXT and self._name == TALK:
                if not self.facts.cwd and (folder := _FOLDER.search(entry.text)):
                    self.facts.cwd = folder[1]
                if model := _MODEL.search(entry.text):
                    self.facts.model = model[1]
        note_answers(self.facts, found)

    def _shown(self, shown: dict[str, Any]) -> Parsed:
        if self._number == 1 and shown.get("say") == "text":
            shown = {**shown, "say": screen.TASK}  # as Roo begins
        name, time_ms = screen.name_of(shown), moment(shown.get("ts"))
        if name not in screen.KNOWN:
            kind = "ask" if shown.get("type") == "ask" else "say"
            return unknown(f"{kind}/{name}" if name else "message", time_ms)
        self.facts.saw(time_ms)
        model = text_of(dict_of(shown.get("modelInfo")).get("modelId"))
        self.facts.model = model or self.facts.model
        found = screen.entries_of(shown, self._calls, self._last, alone=self._is_alone)
        self._last = screen.call_of(shown) or self._last
        if name == screen.TASK:
            self.facts.title_from(text_of(shown.get("text")), TITLE_PROMPT)
        self._note(found)
        return Parsed(
            f"{text_of(shown.get('type')) or 'say'}/{name}",
            tuple(found),
            uuid=screen.TASK if name == screen.TASK else "",
            usages=screen.usage_of(shown, self.facts.id, model or self.facts.model),
        )

    # -- what is said of a session ---------------------------------------------------------

    def _note_head(self, head: dict[str, Any]) -> None:
        facts, origin = self.facts, dict_of(head.get("origin"))
        facts.id = facts.id or text_of(head.get("sessionId"))
        facts.root = facts.root or facts.id
        facts.version = text_of(origin.get("version")) or facts.version
        parent = text_of(origin.get("parentThreadId"))
        if parent and (self._is_subagent or origin.get("mode") == "subagent"):
            self._is_subagent = True
            facts.parent, facts.relation = parent, Relation.SUBAGENT

    def _session(self, told: dict[str, Any]) -> Parsed:
        facts, metadata = self.facts, dict_of(told.get("metadata"))
        facts.cwd = text_of(told.get("cwd")) or text_of(told.get("workspace_root"))
        facts.model = text_of(told.get("model"))
        facts.version = text_of(dict_of(metadata.get("sessionHistoryOrigin")).get("version"))
        for name in ("started_at", "ended_at"):
            facts.saw(time_of(told.get(name)))
        # Until a person gives it another one, its title is what was asked first.
        title, asked = text_of(metadata.get("title")), text_of(told.get("prompt"))
        if title and title != asked:
            facts.titled(title_line(title), TITLE_AGENT)
        status = text_of(told.get("status"))
        return Parsed("session", (Entry(Kind.EVENT, status, 0, time_of(told.get("ended_at"))),))

    def _compacted(self, told: dict[str, Any]) -> Parsed:
        """What the model is told instead of all before; the conversation itself keeps that."""
        found = [
            entry
            for message in map(dict_of, list_of(told.get("messages")))
            if dict_of(message.get("metadata")).get("kind") == "compaction_summary"
            for entry in entries_of(
                message, time_of(told.get("updated_at")), "", self._calls, 0, from_agent=False
            )
        ]
        return Parsed("compaction", tuple(found) or (Entry(Kind.EVENT),))

    def _metadata(self, told: dict[str, Any]) -> Parsed:
        for used in map(dict_of, list_of(told.get("model_usage"))):
            self.facts.model = text_of(used.get("model_id")) or self.facts.model
        for place in map(dict_of, list_of(told.get("environment_history"))):
            self.facts.version = text_of(place.get("cline_version")) or self.facts.version
        return Parsed("task_metadata", (Entry(Kind.EVENT),))

    def _item(self, told: dict[str, Any]) -> Parsed:
        """A task as Roo lists it."""
        facts = self.facts
        facts.cwd = text_of(told.get("workspace"))
        facts.saw(moment(told.get("ts")))
        facts.title_from(text_of(told.get("task")), TITLE_PROMPT)
        if parent := text_of(told.get("parentTaskId")):
            facts.parent, facts.relation = parent, Relation.SUBAGENT
        return Parsed("history_item", (Entry(Kind.EVENT),))


def _key(thing: Any, number: int) -> str:
    told = dict_of(thing)
    return f"message {told.get('id') or told.get('ts') or number}"


def _model_of(message: dict[str, Any]) -> str:
    model = dict_of(message.get("modelInfo"))
    return text_of(model.get("id")) or text_of(model.get("modelId"))


def _usage_of(message: dict[str, Any], id_: str, model: str) -> tuple[Usage, ...]:
    """What an answer of the command line took: its input counts what the cache had, or was given."""
    metrics = dict_of(message.get("metrics"))
    if not metrics:
        return ()
    read, written = (count_of(metrics.get(name)) for name in ("cacheReadTokens", "cacheWriteTokens"))
    return (
        Usage(
            f"cline:{id_}",
            model,
            moment(message.get("ts")),
            input=max(count_of(metrics.get("inputTokens")) - read - written, 0),
            output=count_of(metrics.get("outputTokens")),
            cache_read=read,
            cache_write_5m=written,
        ),
    )


def _first_facts(source: SourceFile, folder: str) -> SessionFacts:
    facts = SessionFacts(source.agent, source.session, cwd=folder, root=source.session)
    if source.parent:
        facts.parent, facts.relation = source.parent, Relation.SUBAGENT
    if PurePath(source.path).name in (TALK, SCREEN) and _NUMBERED.fullmatch(source.session):
        facts.saw(int(source.session))
    return facts

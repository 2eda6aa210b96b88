"""Gemini CLI's records: a session's facts, messages, changes of either, and going back.

A message is stated again whenever something of it is known better (tokens, results of tools), under the
same id; the later one takes the place of the earlier.

`{"$set": {"messages": [...]}}` is the model's history, written when it was cut down. What was said
stays said: of that list only messages count that were never stated before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from recollect.agents.cut import END, HEAD, cut, thing_in
from recollect.agents.decode import BadLine, decode
from recollect.agents.fields import (
    EXPORTED,
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
from recollect.agents.gemini.message import RESULTS_AGAIN, Calls, entries_of, short_hash, usage_of
from recollect.agents.gemini.paths import project_name
from recollect.light.sources import WRITTEN_BY, WRITTEN_FROM_KEY, WRITTEN_KEY
from recollect.values.records import Entry, Kind, Parsed, Relation, SessionFacts, SourceFile
from recollect.values.titles import TITLE_AGENT, TITLE_PROMPT, title_line

_TYPES = ("user", "gemini", "info", "warning", "error")
_IDS_MAX = 1000  # of messages, remembered by a short hash
_ID_BYTES = 3


class GeminiParser:
    """One chat, as a log or as a document."""

    def __init__(self, source: SourceFile, state: Mapping[str, Any], folder: str = "") -> None:
        self.facts = facts_restored(state["facts"]) if state else _first_facts(source, folder)
        self._calls = Calls(state)
        # It began with what an export of ours wrote, and nobody has said anything since.
        self._untouched: bool = state.get("untouched", False)
        self._ids: dict[str, None] = dict.fromkeys(state.get("ids", ()))

    def state(self) -> dict[str, Any]:
        untouched = {"untouched": True} if self._untouched else {}
        return {"facts": facts_state(self.facts), "ids": list(self._ids), **untouched, **self._calls.state()}

    # -- a log -----------------------------------------------------------------------------

    def parse(self, record: Any, /) -> Parsed:
        if type(record) is not dict:
            return not_an_object(record)
        if type(record.get("$rewindTo")) is str:
            back = record["$rewindTo"]
            return Parsed("$rewindTo", (Entry(Kind.EVENT, f"went back to before {back}"),), rewinds=back)
        if "$set" in record:
            return self._changed(dict_of(record["$set"]))
        if "type" in record or "id" in record:
            return self._message(record)
        if "sessionId" in record or "projectHash" in record:
            return self._changed(record, "session")
        return unknown(next(iter(record), "{}"))

    def document(self, data: bytes, /) -> Parsed:
        """A document in one piece, which only one that cannot be cut is."""
        return unknown("document")

    # -- a document ------------------------------------------------------------------------

    def records(self, data: bytes, /) -> Iterator[tuple[str, bytes]]:
        try:
            whole = dict_of(decode(data)[0])
        except BadLine:
            return iter(())
        self._note({name: value for name, value in whole.items() if name != "messages"})
        return cut(data, "messages", lambda message, _: f"message {dict_of(message).get('id')}")

    def record(self, key: str, data: bytes, /) -> Parsed:
        if key in (HEAD, END):
            return Parsed(key, ())
        try:
            message = thing_in(data)
        except BadLine:
            return unknown("message")
        return self._message(message) if type(message) is dict else not_an_object(message)

    # -- what they say ---------------------------------------------------------------------

    def _changed(self, facts: dict[str, Any], name: str = "$set") -> Parsed:
        """Facts that changed, and those messages of a history that were never stated."""
        copied = self._note(facts)
        summary, time_ms = text_of(facts.get("summary")), time_of(facts.get("lastUpdated"))
        found = [Entry(Kind.EVENT, summary, copied, time_ms)]
        usages = []
        for message in map(dict_of, list_of(facts.get("messages"))):
            id_ = text_of(message.get("id"))
            if id_.endswith(RESULTS_AGAIN) and self._is_known(id_.removesuffix(RESULTS_AGAIN)):
                continue
            if id_ and not self._is_known(id_) and message.get("type") in _TYPES:
                found += self._entries(message)
                usages += usage_of(message, self.facts)
        return Parsed(name, tuple(found), usages=tuple(usages))

    def _message(self, message: dict[str, Any]) -> Parsed:
        id_, name = text_of(message.get("id")), text_of(message.get("type"))
        if name not in _TYPES:
            return unknown(name or "message", time_of(message.get("timestamp")), uuid=id_)
        self._is_known(id_)
        return Parsed(
            name,
            tuple(self._entries(message)),
            uuid=id_,
            usages=tuple(usage_of(message, self.facts)),
            replaces=(id_,) if id_ else (),
        )

    def _entries(self, message: dict[str, Any]) -> list[Entry]:
        if model := text_of(message.get("model")):
            self.facts.model = model
        aside = self.facts.relation is Relation.SUBAGENT
        found = entries_of(message, self._calls, aside=aside)
        if message.get(WRITTEN_KEY) == WRITTEN_BY:
            found = [replace(entry, flags=entry.flags | EXPORTED) for entry in found]
        self._untouched = self._untouched and not has_said(found)
        if not self._untouched:
            self.facts.saw(time_of(message.get("timestamp")))
        for entry in found:
            if entry.kind is Kind.PROMPT or (aside and entry.kind is Kind.CONTEXT):
                self.facts.title_from(entry.text, TITLE_PROMPT)
        note_answers(self.facts, found)
        return found

    def _note(self, told: dict[str, Any]) -> int:
        """Take in what is told of the session; answer with the flags of what an export of ours told."""
        facts, copied = self.facts, 0
        facts.id = facts.id or text_of(told.get("sessionId"))
        facts.root = facts.root or facts.id
        if told.get(WRITTEN_KEY) == WRITTEN_BY:
            copied = EXPORTED
            if not facts.ended_ms:
                self._untouched, facts.relation = True, Relation.FORK
                facts.parent = facts.root = text_of(told.get(WRITTEN_FROM_KEY)) or facts.id
        if not self._untouched:
            facts.saw(time_of(told.get("startTime")))
            facts.saw(time_of(told.get("lastUpdated")))
        facts.titled(title_line(text_of(told.get("summary"))), TITLE_AGENT)
        if not facts.cwd:
            facts.cwd = next(filter(None, map(text_of, list_of(told.get("directories")))), "")
        return copied

    def _is_known(self, id_: str) -> bool:
        """Whether a message was stated before; from now on it was."""
        short = short_hash(id_, _ID_BYTES)
        known = short in self._ids
        self._ids.pop(short, None)
        self._ids[short] = None
        if len(self._ids) > _IDS_MAX:
            del self._ids[next(iter(self._ids))]
        return known


def _first_facts(source: SourceFile, folder: str) -> SessionFacts:
    facts = SessionFacts(source.agent, source.session, cwd=folder, root=source.parent or source.session)
    if not folder:
        facts.project = project_name(source.path)
    if source.parent:
        facts.parent, facts.relation = source.parent, Relation.SUBAGENT
    return facts

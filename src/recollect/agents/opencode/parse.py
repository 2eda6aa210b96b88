"""OpenCode's records: rows of a database, files of the older storage, messages of an exported document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from recollect.agents.cut import END, HEAD, cut, head_in, thing_in
from recollect.agents.decode import BadLine, decode
from recollect.agents.fields import (
    ERROR,
    EXPORTED,
    META,
    OpenCalls,
    dict_of,
    facts_restored,
    facts_state,
    has_said,
    list_of,
    not_an_object,
    note_answers,
    text_of,
    unknown,
)
from recollect.agents.opencode.part import (
    ASSISTANT,
    KNOWN,
    SUMMARY,
    USER,
    entries_of,
    error_text,
    moment,
    usage_of,
)
from recollect.agents.opencode.paths import stored_kind
from recollect.agents.opencode.rows import data_of, session_of
from recollect.light.sources import WRITTEN_BY, WRITTEN_FROM_KEY, WRITTEN_KEY
from recollect.values.records import Entry, Kind, Parsed, Relation, SessionFacts, SourceFile, Usage
from recollect.values.titles import TITLE_AGENT, TITLE_PROMPT, title_line

_MESSAGES_MAX = 100  # remembered: parts of the last ones are still being written
# Before the client has a title for it.
_NO_TITLE = re.compile(r"(?:New|Child) session - \d{4}-")


class OpenCodeParser:
    """One session, or what one file of it holds."""

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        self.facts = facts_restored(state["facts"]) if state else _first_facts(source)
        self._kind = stored_kind(source.path)
        self._calls = OpenCalls(state)
        self._messages: dict[str, list[str]] = dict(state.get("messages", {}))  # whose, and by which model
        self._is_copy: bool = state.get("copy", False)  # an export of ours wrote it

    def state(self) -> dict[str, Any]:
        return {
            "facts": facts_state(self.facts),
            "messages": dict(self._messages),
            "copy": self._is_copy,
            **self._calls.state(),
        }

    # -- a row -----------------------------------------------------------------------------

    def parse(self, record: Any, /) -> Parsed:
        if type(record) is not dict:
            return not_an_object(record)
        table, key, row = text_of(record.get("table")), text_of(record.get("key")), record.get("row")
        if not table and "info" in record and "messages" in record:
            return self._whole(record)
        if not table:
            return unknown(next(iter(record), "{}"))
        if row is None:
            return Parsed(f"{table}/gone", (Entry(Kind.EVENT),), uuid=key, replaces=(key,) if key else ())
        row = dict_of(row)
        if table == "session":
            return self._session(session_of(row), key)
        if table == "message":
            return self._message(data_of(row), key)
        if table == "part":
            return self._part(
                data_of(row), text_of(row.get("message_id")), key, moment(row.get("time_created"))
            )
        if table == "todo":
            return _again("todo", [Entry(Kind.EVENT, "", 0, moment(row.get("time_updated")))], key)
        name = f"{table}/{text_of(row.get('type'))}" if row.get("type") else table
        return unknown(name, moment(row.get("time_created")), uuid=key)

    # -- a file ----------------------------------------------------------------------------

    def document(self, data: bytes, /) -> Parsed:
        """A file of the older storage."""
        try:
            told = dict_of(decode(data)[0])
        except BadLine:
            return unknown("document")
        id_ = text_of(told.get("id"))
        if self._kind == "session":
            return self._session(told, id_)
        if self._kind == "message":
            return self._message(told, id_)
        if self._kind == "part":
            return self._part(told, text_of(told.get("messageID")), id_, 0)
        return unknown("document")

    def records(self, data: bytes, /) -> Iterator[tuple[str, bytes]]:
        try:
            decode(data)
        except BadLine:
            return iter(())
        if self._kind:
            return iter([(self._kind, data)])
        return cut(data, "messages", lambda each, _: f"message {_id_of(each)}")

    def record(self, key: str, data: bytes, /) -> Parsed:
        if self._kind:
            return self.document(data)
        if key == END:
            return Parsed(key, ())
        if key == HEAD:
            self._session(dict_of(dict_of(head_in(data)).get("info")), "")
            return Parsed(key, ())
        try:
            told = thing_in(data)
        except BadLine:
            return unknown("message")
        if type(told) is not dict:
            return not_an_object(told)
        return self._exported(told)

    def _whole(self, told: dict[str, Any]) -> Parsed:
        """A document on one line."""
        begun = self._session(dict_of(told.get("info")), "")
        found = [self._exported(each) for each in map(dict_of, list_of(told.get("messages")))]
        return Parsed(
            "session",
            (*begun.entries, *(entry for each in found for entry in each.entries)),
            known=all(each.known for each in found),
            usages=tuple(usage for each in found for usage in each.usages),
        )

    def _exported(self, told: dict[str, Any]) -> Parsed:
        """A message with all of its parts."""
        info = dict_of(told.get("info"))
        id_ = text_of(info.get("id"))
        message = self._message(info, id_)
        found = list(message.entries)
        usages: list[Usage] = []
        names = [] if message.known else [message.type]
        ids = [id_]
        for part in map(dict_of, list_of(told.get("parts"))):
            parsed = self._part(part, id_, text_of(part.get("id")), moment(_times(info).get("created")))
            found += parsed.entries
            usages += parsed.usages
            names += [] if parsed.known else [parsed.type]
            ids.append(parsed.uuid)
        return Parsed(
            names[0] if names else "message",
            tuple(found),
            known=all(entry.kind is not Kind.UNKNOWN for entry in found),
            uuid=id_,
            usages=tuple(usages),
            replaces=tuple(filter(None, ids)),
        )

    # -- what they say ---------------------------------------------------------------------

    def _session(self, info: dict[str, Any], key: str) -> Parsed:
        facts, times = self.facts, _times(info)
        facts.id = facts.id or text_of(info.get("id"))
        facts.root = facts.root or facts.id
        facts.cwd = text_of(info.get("directory")) or facts.cwd
        facts.slug = text_of(info.get("slug")) or facts.slug
        facts.version = text_of(info.get("version")) or facts.version
        if parent := text_of(info.get("parentID")):
            facts.parent, facts.relation = parent, Relation.SUBAGENT
        if (title := text_of(info.get("title"))) and not _NO_TITLE.match(title):
            facts.titled(title_line(title), TITLE_AGENT)
        written = _written(info.get("metadata"))
        if written.get(WRITTEN_KEY) == WRITTEN_BY:
            self._is_copy = True
            parent = text_of(written.get(WRITTEN_FROM_KEY))
            facts.relation, facts.parent = Relation.FORK, parent or facts.parent
            facts.root = parent or facts.root
        self._saw(moment(times.get("created")), moment(times.get("updated")))
        flags = EXPORTED if self._is_copy else 0
        return _again("session", [Entry(Kind.EVENT, "", flags, moment(times.get("updated")))], key)

    def _saw(self, *times_ms: int) -> None:
        """Of a copy that nobody went on in no time is known."""
        for time_ms in () if self._is_copy else times_ms:
            self.facts.saw(time_ms)

    def _message(self, info: dict[str, Any], key: str) -> Parsed:
        role = text_of(info.get("role"))
        if role not in (USER, ASSISTANT):
            return unknown(f"message/{role}" if role else "message", uuid=key)
        model = text_of(info.get("modelID")) or text_of(dict_of(info.get("model")).get("modelID"))
        self._messages.pop(key, None)
        self._messages[key] = [SUMMARY if info.get("summary") is True else role, model]
        if len(self._messages) > _MESSAGES_MAX:
            del self._messages[next(iter(self._messages))]
        created = moment(_times(info).get("created"))
        self._saw(created, moment(_times(info).get("completed")))
        if role == ASSISTANT:
            self.facts.model = model or self.facts.model
            self.facts.cwd = self.facts.cwd or text_of(dict_of(info.get("path")).get("cwd"))
        trouble = error_text(info.get("error"))
        flags = (ERROR if trouble else 0) | (META if role == USER else 0)
        return _again(f"message/{role}", [Entry(Kind.EVENT, trouble, flags, created)], key)

    def _part(self, part: dict[str, Any], message: str, key: str, time_ms: int) -> Parsed:
        name = text_of(part.get("type"))
        if name not in KNOWN:
            return unknown(f"part/{name}" if name else "part", time_ms, uuid=key)
        role, model = self._messages.get(message, ["", self.facts.model])
        found = entries_of(part, key, role, model, time_ms, self._calls)
        if self._is_copy and _is_ours(part):
            found = [replace(entry, flags=entry.flags | EXPORTED) for entry in found]
        if has_said(found):
            self.facts.saw(time_ms)
        self._saw(time_ms)
        for entry in found:
            if entry.kind is Kind.PROMPT:
                self.facts.title_from(entry.text, TITLE_PROMPT)
        note_answers(self.facts, found)
        return _again(f"part/{name}", found, key, usage_of(part, key, model, time_ms))


def _is_ours(part: dict[str, Any]) -> bool:
    """Whether an export of ours wrote it; a file bears nothing but a name."""
    is_ours = _written(part.get("metadata")).get(WRITTEN_KEY) == WRITTEN_BY
    return is_ours or (part.get("type") == "file" and part.get("filename") == WRITTEN_BY)


def _written(metadata: Any) -> dict[str, Any]:
    """What an export of ours said of itself."""
    return dict_of(dict_of(metadata).get(WRITTEN_BY))


def _again(name: str, entries: list[Entry], key: str, usages: tuple[Usage, ...] = ()) -> Parsed:
    """What takes the place of what was said before under the same key."""
    return Parsed(name, tuple(entries), uuid=key, usages=usages, replaces=(key,) if key else ())


def _times(info: dict[str, Any]) -> dict[str, Any]:
    return dict_of(info.get("time"))


def _id_of(message: Any) -> str:
    return text_of(dict_of(dict_of(message).get("info")).get("id"))


def _first_facts(source: SourceFile) -> SessionFacts:
    return SessionFacts(source.agent, source.session, root=source.session)

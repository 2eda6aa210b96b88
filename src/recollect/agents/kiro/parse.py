"""Kiro's records: prompts, answers and what tools gave, with blocks of `{kind, data}`; and rows of turns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from recollect.agents.cut import thing_in
from recollect.agents.decode import BadLine, decode
from recollect.agents.fields import (
    ERROR,
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
from recollect.agents.head import Head
from recollect.agents.kiro.database import TURN
from recollect.agents.kiro.turn import folder_of, sides_of, strange_in, turn_entries
from recollect.values.records import Entry, Framing, Kind, Parsed, Relation, Role, SessionFacts, SourceFile
from recollect.values.titles import TITLE_AGENT, TITLE_PROMPT, title_line

_AGENT = "kiro"
_KINDS = ("Prompt", "AssistantMessage", "ToolResults")
_BLOCKS = ("text", "thinking", "toolUse", "toolResult", "image")
_SESSION = (b'"session_id"', b'"session_state"')
_DONE = "exit status: 0"
_DATABASE = "data.sqlite3"
_TABLE = b"CREATE TABLE conversations"


def recognise(path: PurePath, head: Head) -> SourceFile | None:
    """A log by its first record, what is known of a session by its fields, a database by name and tables."""
    if path.name == _DATABASE:
        known = head.is_database and (path.parent.name == "kiro-cli" or _TABLE in head.data)
        return SourceFile(_AGENT, str(path), framing=Framing.ROWS) if known else None
    if path.suffix == ".json":
        if head.data.lstrip()[:1] != b"{" or not all(field in head.data for field in _SESSION):
            return None
        return SourceFile(_AGENT, str(path), Role.SIDECAR, Framing.DOCUMENT, path.stem)
    if path.suffix != ".jsonl":
        return None
    first = dict_of(next(iter(head.records), None))
    if first.get("kind") not in _KINDS or "message_id" not in dict_of(first.get("data")):
        return None
    return SourceFile(_AGENT, str(path), session=path.stem)


class KiroParser:
    """One session, or what is said of it."""

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        self.facts = facts_restored(state["facts"]) if state else _first_facts(source)
        self._calls = OpenCalls(state)

    def state(self) -> dict[str, Any]:
        return {"facts": facts_state(self.facts), **self._calls.state()}

    def parse(self, record: Any, /) -> Parsed:
        if type(record) is not dict:
            return not_an_object(record)
        if "table" in record:
            return self._row(record)
        kind, data = text_of(record.get("kind")), dict_of(record.get("data"))
        id_ = text_of(data.get("message_id"))
        time_ms = min(count_of(dict_of(data.get("meta")).get("timestamp")), 2**40) * 1000
        blocks = [dict_of(block) for block in list_of(data.get("content"))]
        if kind not in _KINDS:
            return unknown(kind or next(iter(record), "{}"), time_ms, uuid=id_)
        names = (text_of(block.get("kind")) for block in blocks)
        if strange := [name for name in names if name not in _BLOCKS]:
            return unknown(f"{kind}/{strange[0]}", time_ms, uuid=id_)
        self.facts.saw(time_ms)
        found = self._told([self._entry(block, kind, time_ms) for block in blocks])
        return Parsed(kind, tuple(found) or (Entry(Kind.EVENT, "", 0, time_ms),), uuid=id_)

    def _row(self, record: dict[str, Any]) -> Parsed:
        """A turn, or what is known of a conversation. What the client drops of it was said all the same."""
        table, key, row = text_of(record.get("table")), text_of(record.get("key")), record.get("row")
        if row is None:
            return Parsed(f"{table}/gone", (Entry(Kind.EVENT),))
        try:
            told = thing_in(text_of(dict_of(row).get("value")).encode("utf-8", "surrogatepass"))
        except BadLine:
            told = None
        if table == TURN:
            return self._turn(told, key)
        if table not in ("conversations_v2", "conversations") or type(told) is not dict:
            return unknown(table, uuid=key)
        self.facts.cwd = text_of(dict_of(row).get("key")) or self.facts.cwd
        self.facts.model = text_of(dict_of(told.get("model_info")).get("model_id")) or self.facts.model
        return Parsed(table, (Entry(Kind.EVENT),), uuid=key, replaces=(key,))

    def _turn(self, turn: Any, key: str) -> Parsed:
        user, answer, request = sides_of(turn)
        if not user and not answer:
            return unknown(f"turn/{next(iter(dict_of(turn)), type(turn).__name__)}", uuid=key)
        if strange := strange_in(user, answer):
            return unknown(f"turn/{strange}", uuid=key)
        self.facts.cwd = self.facts.cwd or folder_of(user)
        self.facts.model = text_of(request.get("model_id")) or self.facts.model
        found = self._told(turn_entries(user, answer, request, self.facts.model, self._calls))
        return Parsed("turn", tuple(found) or (Entry(Kind.EVENT),), uuid=key, replaces=(key,))

    def _told(self, found: list[Entry]) -> list[Entry]:
        for entry in found:
            self.facts.saw(entry.time_ms)
            if entry.kind is Kind.PROMPT:
                self.facts.title_from(entry.text, TITLE_PROMPT)
            self.facts.model = entry.model or self.facts.model
        note_answers(self.facts, found)
        return found

    def document(self, data: bytes, /) -> Parsed:
        """What is known of a session."""
        try:
            told = dict_of(decode(data)[0])
        except BadLine:
            return unknown("document")
        facts = self.facts
        facts.cwd = text_of(told.get("cwd"))
        for name in ("created_at", "updated_at"):
            facts.saw(time_of(told.get(name)))
        facts.titled(title_line(text_of(told.get("title"))), TITLE_AGENT)
        if parent := text_of(told.get("parent_session_id")):
            facts.parent = parent
            is_sent = told.get("session_created_reason") == "subagent"
            facts.relation = Relation.SUBAGENT if is_sent else Relation.FORK
        return Parsed("session", (Entry(Kind.EVENT, "", 0, time_of(told.get("updated_at"))),))

    def _entry(self, block: dict[str, Any], kind: str, time_ms: int) -> Entry:
        name, data = block.get("kind"), block.get("data")
        told = dict_of(data)
        if name == "text":
            said = Kind.PROMPT if kind == "Prompt" else Kind.ANSWER
            return Entry(said, text_of(data), 0, time_ms)
        if name == "thinking":
            model = text_of(told.get("modelId"))
            return Entry(Kind.THOUGHT, text_of(told.get("text")), 0, time_ms, model=model)
        if name == "image":
            return Entry(Kind.IMAGE, "", 0, time_ms)
        id_ = text_of(told.get("toolUseId"))
        if name == "toolUse":
            tool, given = text_of(told.get("name")), told.get("input")
            return Entry(Kind.CALL, json_of(given), self._calls.opened(id_, tool, given), time_ms, tool, id_)
        parts = [_part(dict_of(part)) for part in list_of(told.get("content"))]
        text = "\n".join(filter(None, (text for text, _ in parts)))
        tool, flags = self._calls.answered(id_, text)
        if told.get("status") == "error" or any(failed for _, failed in parts):
            flags |= ERROR
        return Entry(Kind.RESULT, text, flags, time_ms, tool, id_)


def _part(part: dict[str, Any]) -> tuple[str, bool]:
    """What a tool gave, and whether it says that it failed: a text, or what a command printed."""
    data = part.get("data")
    if type(data) is str:
        return data, False
    told = dict_of(data)
    if "exit_status" not in told:
        return json_of(data), False
    printed = (text_of(told.get(name)) for name in ("stdout", "stderr"))
    return "\n".join(filter(None, printed)), told["exit_status"] != _DONE


def _first_facts(source: SourceFile) -> SessionFacts:
    return SessionFacts(source.agent, source.session, root=source.session)

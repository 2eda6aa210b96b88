"""Cursor's records: rows of its databases, and lines of its transcripts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from recollect.agents.cursor.blobs import tree_in
from recollect.agents.cursor.bubble import bubble_entries, model_chosen, model_in, moment, usage_in, whose
from recollect.agents.cursor.database import BUBBLE, COMPOSER, CONTEXT, LEFT, TAB, meta_in
from recollect.agents.cursor.message import ROLES, blocks_in, chat_entries, line_entries, strange_in
from recollect.agents.cursor.message import model_in as model_of_blocks
from recollect.agents.cursor.paths import CHAT, TRANSCRIPT, folder_in, project_of, workspace_folder
from recollect.agents.cursor.rows import value_in
from recollect.agents.cursor.transcript import meta_facts, text_entries
from recollect.agents.cut import thing_in
from recollect.agents.decode import BadLine
from recollect.agents.fields import (
    ERROR,
    EXPORTED,
    META,
    OpenCalls,
    dict_of,
    facts_restored,
    facts_state,
    json_of,
    list_of,
    not_an_object,
    note_answers,
    text_of,
    unknown,
)
from recollect.values.records import (
    Entry,
    Framing,
    Kind,
    Parsed,
    Relation,
    Role,
    SessionFacts,
    SourceFile,
    Usage,
)
from recollect.values.titles import TITLE_AGENT, TITLE_PROMPT, title_line

_NO_TITLE = ("New Agent", "New Chat", "Untitled")
_SUCCESS = "success"


class CursorParser:
    """One conversation of the editor or the command line, or a transcript of one."""

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        self.facts = facts_restored(state["facts"]) if state else _first_facts(source)
        self._calls = OpenCalls(state)
        self._source = source

    def state(self) -> dict[str, Any]:
        return {"facts": facts_state(self.facts), **self._calls.state()}

    def parse(self, record: Any, /) -> Parsed:
        if type(record) is not dict:
            return not_an_object(record)
        if "table" in record:
            return self._row(record)
        return self._line(record)

    def document(self, data: bytes, /) -> Parsed:
        """A transcript that is mere text, or what is known of a chat."""
        if self._source.path.endswith(CHAT):
            return meta_facts(self.facts, data, self._source.path)
        found = self._told(text_entries(data, self._calls))
        return Parsed("transcript", tuple(_copied(found)) or (Entry(Kind.EVENT),))

    # -- a transcript ----------------------------------------------------------------------

    def _line(self, record: dict[str, Any]) -> Parsed:
        role, kind = text_of(record.get("role")), text_of(record.get("type"))
        if kind in ("turn_ended", "error") and not role:
            told = record.get("error") or (record.get("status") if record.get("status") != _SUCCESS else "")
            text = text_of(told) or json_of(told or None)
            return Parsed(kind, (Entry(Kind.EVENT, text, EXPORTED | (ERROR if text else 0)),))
        if role not in ROLES:
            return unknown(role or kind or next(iter(record), "{}"))
        blocks = blocks_in(dict_of(record.get("message")).get("content", record.get("content")))
        if strange := strange_in(blocks):
            return unknown(f"{role}/{strange}")
        found = self._told(line_entries(blocks, role, self._calls))
        return Parsed(role, tuple(_copied(found)) or (Entry(Kind.EVENT, "", EXPORTED),))

    # -- a row -----------------------------------------------------------------------------

    def _row(self, record: dict[str, Any]) -> Parsed:
        table, key, row = text_of(record.get("table")), text_of(record.get("key")), record.get("row")
        uuid = f"{table} {key}"
        if row is None:
            return _stated(f"{table}/gone", [], uuid)
        row = dict_of(row)
        if table == LEFT:
            return _stated("bubble/left", [], uuid)
        if table == TAB:
            return self._tab(row, uuid)
        if table == "meta":
            return self._meta(row, key, uuid)
        if table == "blobs":
            return self._blob(row, uuid)
        told = dict_of(value_in(row.get("value")))
        if table == "composerHeaders":
            self._note(told, text_of(row.get("workspaceId")))
            return _stated(table, [], uuid)
        if table == "cursorDiskKV" and key.startswith(COMPOSER):
            return self._composer(told, uuid)
        if table == "cursorDiskKV" and key.startswith(CONTEXT):
            return self._context(told, uuid)
        if table == "cursorDiskKV" and key.startswith(BUBBLE):
            return self._bubble(row.get("value"), key.removeprefix(BUBBLE), uuid)
        name = f"{table}/{key.partition(':')[0]}" if key else table
        return unknown(name, uuid=uuid)

    def _composer(self, told: dict[str, Any], uuid: str) -> Parsed:
        """What is known of a conversation, and in older ones all of it."""
        self._note(told, "")
        self.facts.model = model_chosen(told) or self.facts.model
        inside = dict_of(told.get("conversationMap"))
        headers = map(dict_of, list_of(told.get("fullConversationHeadersOnly")))
        listed = [inside[id_] for each in headers if (id_ := text_of(each.get("bubbleId"))) in inside]
        bubbles = list_of(told.get("conversation")) or listed
        return self._several("composerData", bubbles, uuid, moment(told.get("createdAt")))

    def _bubble(self, value: Any, key: str, uuid: str) -> Parsed:
        bubble = value_in(value)
        if value is None:  # the client took it away and left its key
            return _stated("bubble", [], uuid)
        if type(bubble) is not dict or not whose(bubble):
            return unknown(_bubble_name(bubble), uuid=uuid)
        return self._several(f"bubble/{whose(bubble)}", [bubble], uuid, 0, key)

    def _tab(self, row: dict[str, Any], uuid: str) -> Parsed:
        """A chat of 2024."""
        try:
            tab = dict_of(thing_in(text_of(row.get("value")).encode("utf-8", "surrogatepass")))
        except BadLine:
            return unknown("tab", uuid=uuid)
        self.facts.titled(title_line(text_of(tab.get("chatTitle"))), TITLE_AGENT)
        time_ms = moment(tab.get("timestamp")) or moment(tab.get("lastSendTime"))
        self.facts.saw(time_ms)
        return self._several("tab", list_of(tab.get("bubbles")), uuid, time_ms)

    def _several(self, name: str, bubbles: list[Any], uuid: str, time_ms: int, key: str = "") -> Parsed:
        """Bubbles that one row holds."""
        found: list[Entry] = []
        usages: list[Usage] = []
        is_sent = self.facts.relation is Relation.SUBAGENT
        for bubble in bubbles:
            if type(bubble) is not dict or not whose(bubble):
                return unknown(f"{name}/{_bubble_name(bubble)}", time_ms, uuid=uuid)
            self._note_folder(bubble)
            model = self.facts.model = model_in(bubble) or self.facts.model
            own = key or f"{self.facts.id}:{text_of(bubble.get('bubbleId'))}"
            entries = bubble_entries(bubble, own, model, self._calls, is_sent=is_sent, time_ms=time_ms)
            found += entries
            usages += usage_in(bubble, own, model, next((e.time_ms for e in entries), time_ms))
        return _stated(name, self._told(found), uuid, tuple(usages))

    def _context(self, told: dict[str, Any], uuid: str) -> Parsed:
        """What was sent along with a prompt: rules, folders, what lay in terminals."""
        for layout in list_of(told.get("projectLayouts")):
            self.facts.cwd = self.facts.cwd or folder_in(dict_of(value_in(layout)).get("rootPath"))
        return _stated("messageRequestContext", [Entry(Kind.EVENT, "", META)], uuid)

    def _meta(self, row: dict[str, Any], key: str, uuid: str) -> Parsed:
        """What is known of a chat of the command line."""
        told = meta_in(row.get("value")) if key == "0" else {key: value_in(row.get("value"))}
        self.facts.saw(moment(told.get("createdAt")))
        if (name := text_of(told.get("name"))) not in _NO_TITLE:
            self.facts.titled(title_line(name), TITLE_AGENT)
        model = text_of(told.get("lastUsedModel"))
        self.facts.model = self.facts.model or ("" if model == "default" else model)
        return _stated("meta", [], uuid)

    def _blob(self, row: dict[str, Any], uuid: str) -> Parsed:
        """A message, or a tree of which only messages and folder are known."""
        message = value_in(data := row.get("data"))
        if type(message) is not dict:
            self.facts.cwd = tree_in(data)[1] or self.facts.cwd
            return _stated("blob/tree", [], uuid)
        role = text_of(message.get("role"))
        blocks = blocks_in(message.get("content"))
        if role not in ROLES:
            return unknown(f"blob/{role}" if role else "blob", uuid=uuid)
        if strange := strange_in(blocks):
            return unknown(f"blob/{role}/{strange}", uuid=uuid)
        model = self.facts.model = model_of_blocks(blocks) or self.facts.model
        return _stated(f"blob/{role}", self._told(chat_entries(message, blocks, model, self._calls)), uuid)

    # -- the session -----------------------------------------------------------------------

    def _note(self, told: dict[str, Any], workspace: str) -> None:
        facts, place = self.facts, dict_of(told.get("workspaceIdentifier"))
        facts.saw(moment(told.get("createdAt")))
        facts.saw(moment(told.get("lastUpdatedAt")))
        facts.titled(title_line(text_of(told.get("name"))), TITLE_AGENT)
        facts.branch = text_of(told.get("createdOnBranch")) or facts.branch
        workspace = workspace or text_of(place.get("id"))
        facts.cwd = (
            folder_in(place.get("uri"))
            or facts.cwd
            or workspace_folder(self._source.path.rpartition("#")[0], workspace)
        )
        if parent := text_of(dict_of(told.get("subagentInfo")).get("parentComposerId")):
            facts.parent, facts.relation = parent, Relation.SUBAGENT

    def _note_folder(self, bubble: dict[str, Any]) -> None:
        if not self.facts.cwd:
            told = (bubble.get("workspaceProjectDir"), *list_of(bubble.get("workspaceUris")))
            self.facts.cwd = next(filter(None, map(folder_in, told)), "")

    def _told(self, found: list[Entry]) -> list[Entry]:
        for entry in found:
            self.facts.saw(entry.time_ms)
            if entry.kind is Kind.PROMPT:
                self.facts.title_from(entry.text, TITLE_PROMPT)
        note_answers(self.facts, found)
        return found


def _stated(name: str, entries: list[Entry], uuid: str, usages: tuple[Usage, ...] = ()) -> Parsed:
    """What takes the place of what the same row said before."""
    return Parsed(name, tuple(entries) or (Entry(Kind.EVENT),), uuid=uuid, usages=usages, replaces=(uuid,))


def _copied(entries: list[Entry]) -> list[Entry]:
    """A transcript is a copy of the conversation in its database, where that is there."""
    return [replace(entry, flags=entry.flags | EXPORTED) for entry in entries]


def _bubble_name(bubble: Any) -> str:
    kind = dict_of(bubble).get("type")
    return f"bubble/{kind}" if type(kind) in (int, str) and kind != "" else "bubble"


def _first_facts(source: SourceFile) -> SessionFacts:
    """Of a transcript: it came out of the conversation of which it is a copy."""
    facts = SessionFacts(source.agent, source.session, root=source.session)
    origin = source.session.removeprefix(TRANSCRIPT)
    if source.framing is Framing.ROWS or origin == source.session or source.role is Role.SIDECAR:
        return facts
    facts.root, facts.project = origin, project_of(source.path)
    facts.parent, facts.relation = origin, Relation.FORK
    if source.parent:
        facts.parent, facts.relation = source.parent, Relation.SUBAGENT
    return facts

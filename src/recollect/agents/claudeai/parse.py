"""Claude.ai's conversations: messages in order, each in blocks; of older ones only the text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from recollect.agents.branches import WHOLE, branch_to, together
from recollect.agents.claudeai.export import identity
from recollect.agents.cut import END, HEAD, cut, thing_in
from recollect.agents.decode import BadLine, decode
from recollect.agents.fields import (
    ERROR,
    META,
    OpenCalls,
    dict_of,
    json_of,
    list_of,
    not_an_object,
    note_answers,
    text_of,
    time_of,
    unknown,
)
from recollect.values.records import Entry, Kind, Parsed, SessionFacts, SourceFile
from recollect.values.titles import TITLE_AGENT, TITLE_PROMPT, title_line

_SENDERS = {"human": Kind.PROMPT, "user": Kind.PROMPT, "assistant": Kind.ANSWER}
_SILENT = frozenset({"flag", "token_budget"})
_KNOWN = frozenset(
    {"image", "redacted_thinking", "text", "thinking", "tool_result", "tool_use", "voice_note"} | _SILENT
)
_SAID = ("text", "voice_note")
_PICTURES = (".gif", ".heic", ".jpeg", ".jpg", ".png", ".webp")
# What a result is made of besides texts: pages that were found and files, by the fields that tell them.
_INSIDE = ("title", "url", "file_path", "text")


class ClaudeaiParser:
    """One conversation."""

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        self.facts = SessionFacts(source.agent, source.session, root=source.session)
        self._calls = OpenCalls({})
        self._last = ("", "")  # the last call and its tool, for a result that names none

    def state(self) -> dict[str, Any]:
        return {}  # a conversation is always read as a whole

    def document(self, data: bytes, /) -> Parsed:
        """A conversation in one piece, which only one that cannot be cut is."""
        return unknown("document")

    def records(self, data: bytes, /) -> Iterator[tuple[str, bytes]]:
        try:
            whole = dict_of(decode(data)[0])
        except BadLine:
            return iter(())
        if identity(whole) is None:
            return iter(())
        self._note(whole)
        messages = _messages(whole)
        branch = _branch(whole, messages)
        if branch and branch != list(messages):
            return iter([(WHOLE, data)])
        return cut(data, "chat_messages", lambda _, number: f"message {number}")

    def record(self, key: str, data: bytes, /) -> Parsed:
        if key in (HEAD, END):
            return Parsed(key, ())
        try:
            if key != WHOLE:
                return self.parse(thing_in(data))
            whole = dict_of(decode(data)[0])
        except BadLine:
            return unknown("message")
        messages = _messages(whole)
        return together([self.parse(messages[id_]) for id_ in _branch(whole, messages)])

    def parse(self, record: Any, /) -> Parsed:
        if type(record) is not dict:
            return not_an_object(record)
        id_, sender = text_of(record.get("uuid")), text_of(record.get("sender"))
        time_ms = time_of(record.get("created_at"))
        if sender not in _SENDERS:
            return unknown(sender or "message", time_ms, text_of(record.get("text")), uuid=id_)
        blocks = [dict_of(each) for each in list_of(record.get("content"))]
        if strange := [name for each in blocks if (name := text_of(each.get("type"))) not in _KNOWN]:
            return unknown(f"{sender}/{strange[0]}", time_ms, text_of(record.get("text")), uuid=id_)
        self.facts.saw(time_ms)
        entries = [
            entry
            for number, block in enumerate(blocks)
            for entry in self._entries(block, sender, time_ms, f"{id_}/{number}")
        ]
        # Older exports have nothing but a message's text; newer ones repeat it there.
        entries = entries or self._said(text_of(record.get("text")), sender, time_ms)
        entries += _given(record, time_ms)
        for entry in entries:
            if entry.kind is Kind.PROMPT:
                self.facts.title_from(entry.text, TITLE_PROMPT)
        note_answers(self.facts, entries)
        parent = text_of(record.get("parent_message_uuid"))
        return Parsed(f"message/{sender}", tuple(entries), uuid=id_, parent=parent)

    def _said(self, text: str, sender: str, time_ms: int) -> list[Entry]:
        return [Entry(_SENDERS[sender], text, 0, time_ms)] if text else []

    def _entries(self, block: dict[str, Any], sender: str, message_ms: int, place: str) -> list[Entry]:
        kind, time_ms = block.get("type"), time_of(block.get("start_timestamp")) or message_ms
        if kind in _SAID:
            return self._said(text_of(block.get("text")), sender, time_ms)
        if kind in ("thinking", "redacted_thinking"):
            return [Entry(Kind.THOUGHT, text_of(block.get("thinking")), 0, time_ms)]
        if kind == "tool_use":
            call, tool = text_of(block.get("id")) or place, text_of(block.get("name"))
            given = block.get("input")
            flags = self._calls.opened(call, tool, given)
            self._last = call, tool
            return [Entry(Kind.CALL, json_of(given), flags, time_ms, tool, call)]
        if kind == "tool_result":
            return self._result(block, time_ms)
        if kind == "image":
            return [Entry(Kind.IMAGE, "", 0, time_ms)]
        return []

    def _result(self, block: dict[str, Any], time_ms: int) -> list[Entry]:
        """It names its call, or follows it."""
        call, tool = text_of(block.get("tool_use_id")), text_of(block.get("name"))
        if not call and tool in ("", self._last[1]):
            call = self._last[0]
        inside = block.get("content")
        things = [dict_of(each) for each in list_of(inside)]
        text = text_of(inside) or "\n".join(filter(None, map(_told, things)))
        answered, flags = self._calls.answered(call, text)
        flags |= ERROR if block.get("is_error") is True else 0
        found = [Entry(Kind.RESULT, text, flags, time_ms, tool or answered, call)]
        pictures = sum(thing.get("type") == "image" for thing in things)
        return found + [Entry(Kind.IMAGE, "", 0, time_ms, tool or answered, call)] * pictures

    def _note(self, whole: dict[str, Any]) -> None:
        facts, found = self.facts, identity(whole)
        if found is not None:
            facts.id = facts.id or found[0]
            facts.root = facts.root or found[0]
        facts.saw(time_of(whole.get("created_at")))
        facts.model = text_of(whole.get("model"))
        title = text_of(whole.get("name")) or text_of(whole.get("title"))
        facts.titled(title_line(title), TITLE_AGENT)


def _told(thing: dict[str, Any]) -> str:
    return "\n".join(filter(None, (text_of(thing.get(name)) for name in _INSIDE)))


def _given(message: dict[str, Any], time_ms: int) -> list[Entry]:
    """What was attached: the text that was taken out of a file, or its name; pictures as such."""
    found = []
    for each in map(dict_of, list_of(message.get("attachments"))):
        text = text_of(each.get("extracted_content")) or text_of(each.get("file_name"))
        found.append(Entry(Kind.CONTEXT, text, META, time_ms))
    for each in map(dict_of, list_of(message.get("files")) or list_of(message.get("files_v2"))):
        name = text_of(each.get("file_name"))
        is_picture = each.get("file_kind") == "image" or name.lower().endswith(_PICTURES)
        found.append(
            Entry(Kind.IMAGE, "", 0, time_ms) if is_picture else Entry(Kind.CONTEXT, name, META, time_ms)
        )
    return found


def _messages(conversation: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Messages by their ids."""
    return {
        text_of(each.get("uuid")): each
        for each in map(dict_of, list_of(conversation.get("chat_messages")))
        if each.get("uuid")
    }


def _branch(conversation: dict[str, Any], messages: Mapping[str, dict[str, Any]]) -> list[str]:
    """The messages that lead to where it goes on; none where it does not say, and all are told."""
    parents = {id_: text_of(each.get("parent_message_uuid")) for id_, each in messages.items()}
    return branch_to(text_of(conversation.get("current_leaf_message_uuid")), parents)

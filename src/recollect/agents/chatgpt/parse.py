"""ChatGPT's conversations: messages in a tree, of which `current_node` is where one goes on.

One that goes straight on is cut into its messages. Of one with branches the messages that lead to
`current_node` are told, and which these are no message says by itself: such a conversation is one record.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from recollect.agents.branches import WHOLE, branch_to, together
from recollect.agents.chatgpt.content import Piece, Strange, Told, pieces_of
from recollect.agents.chatgpt.export import identity, moment
from recollect.agents.cut import END, HEAD, cut, member_in
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
    unknown,
)
from recollect.values.records import Entry, Kind, Parsed, SessionFacts, SourceFile
from recollect.values.titles import TITLE_AGENT, TITLE_PROMPT, title_line

_ROLES = ("assistant", "system", "tool", "user")


class ChatgptParser:
    """One conversation."""

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        self.facts = SessionFacts(source.agent, source.session, root=source.session)
        self._calls = OpenCalls({})
        self._asked: dict[str, tuple[str, str]] = {}  # by message: the call it is or answers, and its tool

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
        nodes = dict_of(whole.get("mapping"))
        if not nodes:
            return iter([(HEAD, data)] if identity(whole) else [])
        self._note(whole)
        branch = _branch(whole)
        if branch and branch != list(nodes):
            return iter([(WHOLE, data)])
        return cut(data, "mapping", lambda _, number: f"message {number}")

    def record(self, key: str, data: bytes, /) -> Parsed:
        if key in (HEAD, END):
            return Parsed(key, ())
        try:
            if key != WHOLE:
                return self._node(*member_in(data))
            whole = dict_of(decode(data)[0])
        except BadLine:
            return unknown("message")
        nodes = dict_of(whole.get("mapping"))
        return together([self._node(id_, nodes[id_]) for id_ in _branch(whole)])

    def parse(self, record: Any, /) -> Parsed:
        return self._node(text_of(dict_of(record).get("id")), record)

    def _node(self, id_: str, node: Any) -> Parsed:
        if type(node) is not dict:
            return not_an_object(node)
        message, parent = dict_of(node.get("message")), text_of(node.get("parent"))
        if not message:  # where the tree begins
            return Parsed("node", (), uuid=id_, parent=parent)
        role = text_of(dict_of(message.get("author")).get("role"))
        time_ms = moment(message.get("create_time"))
        if role not in _ROLES:
            return unknown(role or "message", time_ms, uuid=id_)
        try:
            pieces = pieces_of(dict_of(message.get("content")))
        except Strange as strange:
            return unknown(f"{role}/{strange}", time_ms, uuid=id_)
        self.facts.saw(time_ms)
        entries = list(self._entries(id_, parent, message, role, pieces, time_ms))
        for entry in entries:
            if entry.kind is Kind.PROMPT:
                self.facts.title_from(entry.text, TITLE_PROMPT)
        note_answers(self.facts, entries)
        return Parsed(f"message/{role}", tuple(entries), uuid=id_, parent=parent)

    def _entries(
        self, id_: str, parent: str, message: dict[str, Any], role: str, pieces: Iterable[Piece], time_ms: int
    ) -> Iterator[Entry]:
        metadata = dict_of(message.get("metadata"))
        if role == "tool":
            yield from self._results(id_, parent, message, pieces, time_ms)
            return
        model = text_of(metadata.get("model_slug")) if role == "assistant" else ""
        self.facts.model = model or self.facts.model
        is_hidden = role == "system" or metadata.get("is_visually_hidden_from_conversation") is True
        recipient = text_of(message.get("recipient"))
        for told, text in pieces:
            if told is Told.IMAGE:
                yield Entry(Kind.IMAGE, "", 0, time_ms)
            elif told is Told.ERROR:
                yield Entry(Kind.EVENT, text, ERROR, time_ms)
            elif told is Told.EVENT:
                yield Entry(Kind.EVENT, text, 0, time_ms)
            elif told is Told.THOUGHT:
                yield Entry(Kind.THOUGHT, text, 0, time_ms, model=model)
            elif role == "assistant" and recipient not in ("", "all"):
                yield self._call(id_, recipient, text, time_ms, model)
            elif not text:
                continue
            elif is_hidden or told is Told.CONTEXT:
                yield Entry(Kind.CONTEXT, text, META, time_ms)
            elif role == "assistant":
                yield Entry(Kind.ANSWER, text, 0, time_ms, model=model)
            else:
                yield Entry(Kind.PROMPT, text, 0, time_ms)
        for each in list_of(metadata.get("attachments")):
            # A picture stands among the parts too.
            name, kind = text_of(dict_of(each).get("name")), _mime(dict_of(each))
            if name and role == "user" and not kind.startswith("image/"):
                yield Entry(Kind.CONTEXT, name, META, time_ms)

    def _call(self, id_: str, tool: str, text: str, time_ms: int, model: str) -> Entry:
        """What a tool was told: JSON, or a program, or anything else."""
        given: Any = {"code": text}
        if text.lstrip()[:1] == "{":
            with contextlib.suppress(BadLine):
                given = decode(text.encode("utf-8", "surrogatepass"))[0]
        flags = self._calls.opened(id_, tool, given)
        self._asked[id_] = id_, tool
        return Entry(Kind.CALL, json_of(given), flags, time_ms, tool, id_, model)

    def _results(
        self, id_: str, parent: str, message: dict[str, Any], pieces: Iterable[Piece], time_ms: int
    ) -> Iterator[Entry]:
        """What a tool answered. It stands behind its call, or behind another answer to it."""
        named = text_of(dict_of(message.get("author")).get("name"))
        call, tool = self._asked.get(parent, ("", named))
        self._asked[id_] = call, tool
        run = dict_of(dict_of(message.get("metadata")).get("aggregate_result"))
        failed = bool(run.get("in_kernel_exception")) or text_of(run.get("status")).startswith("failed")
        for told, text in pieces:
            if told is Told.IMAGE:
                yield Entry(Kind.IMAGE, "", 0, time_ms, tool, call)
                continue
            flags = self._calls.answered(call, text)[1]
            flags |= ERROR if failed or told is Told.ERROR else 0
            yield Entry(Kind.RESULT, text, flags, time_ms, tool, call)
        for each in list_of(run.get("messages")):
            if dict_of(each).get("message_type") == "image":
                yield Entry(Kind.IMAGE, "", 0, time_ms, tool, call)

    def _note(self, whole: dict[str, Any]) -> None:
        facts, found = self.facts, identity(whole)
        if found is not None:
            facts.id = facts.id or found[0]
            facts.root = facts.root or found[0]
        facts.saw(moment(whole.get("create_time")))
        facts.model = text_of(whole.get("default_model_slug"))
        facts.titled(title_line(text_of(whole.get("title"))), TITLE_AGENT)


def _branch(conversation: dict[str, Any]) -> list[str]:
    """The messages that lead to where it goes on; none where it does not say, and all are told."""
    nodes = dict_of(conversation.get("mapping"))
    parents = {id_: text_of(dict_of(node).get("parent")) for id_, node in nodes.items()}
    return branch_to(text_of(conversation.get("current_node")), parents)


def _mime(attachment: dict[str, Any]) -> str:
    return text_of(attachment.get("mimeType")) or text_of(attachment.get("mime_type"))

"""Amp's threads: a document with what is known of the thread, and its messages in Anthropic's blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any
from urllib.parse import unquote

from recollect.agents.cut import END, HEAD, cut, thing_in
from recollect.agents.decode import BadLine, decode
from recollect.agents.fields import (
    BOUNDARY,
    ERROR,
    META,
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
from recollect.values.records import Entry, Framing, Kind, Parsed, SessionFacts, SourceFile, Usage
from recollect.values.titles import TITLE_AGENT, TITLE_PROMPT, title_line

_AGENT = "amp"
_THREAD = re.compile(rb'"id"\s*:\s*"(T-[\w-]{1,80})"')
_ROLES = ("user", "assistant")
_FAILED = ("error", "cancelled", "rejected-by-user")
_KNOWN = frozenset(
    {
        "text",
        "thinking",
        "redacted_thinking",
        "tool_use",
        "tool_result",
        "image",
        "summary",
        "manual_bash_invocation",
    }
)


def roots(home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
    moved = environ.get("XDG_DATA_HOME")
    return [(PurePath(moved) if moved else home / ".local" / "share") / _AGENT / "threads"]


def recognise(path: PurePath, head: Head) -> SourceFile | None:
    """A thread by its id, whatever its name."""
    if path.suffix != ".json" or head.data.lstrip()[:1] != b"{" or b'"messages"' not in head.data:
        return None
    found = _THREAD.search(head.data)
    if found is None:
        return None
    return SourceFile(_AGENT, str(path), framing=Framing.DOCUMENT, session=found[1].decode())


class AmpParser:
    """One thread."""

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        self.facts = facts_restored(state["facts"]) if state else _first_facts(source)
        self._calls = OpenCalls(state)
        self._number = count_of(state.get("number"))

    def state(self) -> dict[str, Any]:
        return {"facts": facts_state(self.facts), "number": self._number, **self._calls.state()}

    def document(self, data: bytes, /) -> Parsed:
        """A thread in one piece, which only one that cannot be cut is."""
        return unknown("document")

    def records(self, data: bytes, /) -> Iterator[tuple[str, bytes]]:
        try:
            whole = dict_of(decode(data)[0])
        except BadLine:
            return iter(())
        self._note(whole)
        return cut(data, "messages", lambda _, number: f"message {number}")

    def record(self, key: str, data: bytes, /) -> Parsed:
        if key in (HEAD, END):
            return Parsed(key, ())
        try:
            return self.parse(thing_in(data))
        except BadLine:
            return unknown("message")

    def parse(self, record: Any, /) -> Parsed:
        if type(record) is not dict:
            return not_an_object(record)
        self._number += 1
        role, time_ms = text_of(record.get("role")), _moment(record)
        blocks = [dict_of(block) for block in list_of(record.get("content"))]
        names = [text_of(block.get("type")) for block in blocks]
        if role not in _ROLES:
            return unknown(role or "message", time_ms)
        if strange := [name for name in names if name not in _KNOWN]:
            return unknown(f"{role}/{strange[0]}", time_ms)
        usage = dict_of(record.get("usage"))
        model = text_of(usage.get("model"))
        self.facts.saw(time_ms)
        self.facts.model = model or self.facts.model
        found = [entry for block in blocks for entry in self._entries(block, role, time_ms, model)]
        for entry in found:
            if entry.kind is Kind.PROMPT:
                self.facts.title_from(entry.text, TITLE_PROMPT)
        note_answers(self.facts, found)
        return Parsed(
            f"message/{role}",
            tuple(found) or (Entry(Kind.EVENT, "", 0, time_ms),),
            usages=self._usage(usage, record, model, time_ms),
        )

    def _entries(self, block: dict[str, Any], role: str, time_ms: int, model: str) -> list[Entry]:
        kind, text = block.get("type"), text_of(block.get("text"))
        if kind == "text":
            if role == "assistant":
                return [Entry(Kind.ANSWER, text, 0, time_ms, model=model)]
            return [Entry(Kind.PROMPT, text, 0, time_ms)]
        if kind in ("thinking", "redacted_thinking"):
            return [Entry(Kind.THOUGHT, text_of(block.get("thinking")), 0, time_ms, model=model)]
        if kind == "tool_use":
            id_, tool, given = text_of(block.get("id")), text_of(block.get("name")), block.get("input")
            flags = self._calls.opened(id_, tool, given)
            return [Entry(Kind.CALL, json_of(given), flags, time_ms, tool, id_, model)]
        if kind == "tool_result":
            return [self._result(block, time_ms)]
        if kind == "image":
            return [Entry(Kind.IMAGE, "", 0, time_ms)]
        if kind == "summary":
            told = dict_of(block.get("summary"))
            return [Entry(Kind.SUMMARY, text or text_of(told.get("summary")), BOUNDARY, time_ms)]
        # A command that the person ran themselves.
        command = text_of(dict_of(block.get("args")).get("cmd"))
        return [Entry(Kind.EVENT, command, META, time_ms)]

    def _result(self, block: dict[str, Any], time_ms: int) -> Entry:
        id_ = text_of(block.get("toolUseID")) or text_of(block.get("tool_use_id"))
        run = dict_of(block.get("run"))
        given = run.get("result", block.get("content"))
        told = dict_of(given)
        error = run.get("error")
        text = (
            text_of(given)
            or text_of(told.get("output"))
            or text_of(told.get("content"))
            or text_of(error)
            or text_of(dict_of(error).get("message"))
            or json_of(given)
        )
        tool, flags = self._calls.answered(id_, text)
        code = told.get("exitCode")
        if run.get("status") in _FAILED or (type(code) is int and code):
            flags |= ERROR
        return Entry(Kind.RESULT, text, flags, time_ms, tool, id_)

    def _usage(
        self, usage: dict[str, Any], message: dict[str, Any], model: str, time_ms: int
    ) -> tuple[Usage, ...]:
        """What an answer took: what the cache held, and was given, is told apart."""
        if not usage:
            return ()
        id_ = message.get("messageId")
        return (
            Usage(
                f"amp:{self.facts.id}:{id_ if type(id_) in (int, str) else self._number}",
                model,
                time_ms,
                input=count_of(usage.get("inputTokens")),
                output=count_of(usage.get("outputTokens")),
                cache_read=count_of(usage.get("cacheReadInputTokens")),
                cache_write_5m=count_of(usage.get("cacheCreationInputTokens")),
            ),
        )

    def _note(self, thread: dict[str, Any]) -> None:
        facts = self.facts
        facts.id = facts.id or text_of(thread.get("id"))
        facts.root = facts.root or facts.id
        facts.saw(count_of(thread.get("created")))
        facts.titled(title_line(text_of(thread.get("title"))), TITLE_AGENT)
        place = dict_of(dict_of(thread.get("env")).get("initial"))
        facts.version = text_of(dict_of(place.get("platform")).get("clientVersion"))
        trees = [dict_of(tree) for tree in list_of(place.get("trees"))]
        for tree in trees[:1]:
            facts.cwd = unquote(text_of(tree.get("uri")).removeprefix("file://"))
            branch = text_of(dict_of(tree.get("repository")).get("ref"))
            facts.branch = branch.removeprefix("refs/heads/")
        facts.cwd = text_of(place.get("cwd")) or facts.cwd


def _moment(message: dict[str, Any]) -> int:
    told = (message.get("createdAt"), dict_of(message.get("meta")).get("sentAt"))
    return next(filter(None, map(count_of, told)), 0) or time_of(
        dict_of(message.get("usage")).get("timestamp")
    )


def _first_facts(source: SourceFile) -> SessionFacts:
    return SessionFacts(source.agent, source.session, root=source.session)

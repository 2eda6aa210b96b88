"""The records of Claude Code, line by line.

Most "user" records are not a person speaking, and an answer comes as one record a content
block, each repeating the answer's id and usage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any, Final

from recollect.agents.claude import parse_blocks as blocks
from recollect.agents.claude.parse_context import attachment_row, loose_text, system_row, told_by_hooks
from recollect.agents.claude.parse_session import Session, is_copied
from recollect.agents.fields import (
    COPY,
    ERROR,
    EXPORTED,
    INJECTED,
    META,
    NAME_CHARS_MAX,
    SIDECHAIN,
    OpenCalls,
    dict_of,
    not_an_object,
    text_of,
    time_of,
    unknown,
)
from recollect.agents.injected import is_own_spill
from recollect.values.records import Entry, Kind, Parsed, Role, SessionFacts, SourceFile, Usage
from recollect.values.titles import TITLE_AGENT, TITLE_CUSTOM, TITLE_STRANGER


class ClaudeParser:
    """Reads one Claude Code source in file order."""

    __slots__ = ("_calls", "_session", "_source")

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        self._source = source
        self._calls = OpenCalls(state)
        self._session = Session(source, state)

    @property
    def facts(self) -> SessionFacts:
        return self._session.facts

    @property
    def first(self) -> str:
        return self._session.first

    def state(self) -> dict[str, Any]:
        return {**self._session.state(), **self._calls.state()}

    def parse(self, record: Any, /) -> Parsed:
        if type(record) is not dict:
            return not_an_object(record)
        name = record.get("type")
        handler = _HANDLERS.get(name) if type(name) is str else None
        if handler is not None:
            parsed = handler(self, record)
            self._session.go_on(parsed.entries)
            return parsed
        time_ms = self._session.note(record)
        entry = Entry(Kind.UNKNOWN, loose_text(record), _side(record), time_ms)
        return _chain(text_of(name), (entry,), record, known=False)

    def document(self, data: bytes, /) -> Parsed:
        if self._source.role is Role.SIDECAR:
            return self._sidecar(data)
        # Tool output may be any bytes; what is no UTF-8 stays visible as \xNN.
        text = data.decode("utf-8", "backslashreplace")
        call = PurePath(self._source.path).stem
        flags = INJECTED if is_own_spill(call, text) else 0
        entry = Entry(Kind.RESULT, text, flags, call=call if call.startswith("toolu_") else "")
        return Parsed("tool-results", (entry,))

    # -- chain records

    def _user(self, record: dict[str, Any]) -> Parsed:
        time_ms = self._session.note(record)
        flags = _side(record)
        message = record.get("message")
        content = message.get("content") if type(message) is dict else message
        entries: list[Entry] = []
        name = "user"
        if type(content) is str:
            entries.append(self._said(content, record, flags, time_ms))
        elif type(content) is list:
            for block in content:
                body = dict_of(block)
                kind = body.get("type")
                if kind == "tool_result":
                    blocks.result(body, flags, time_ms, self._calls, entries)
                elif kind == "text":
                    entries.append(self._said(text_of(body.get("text")), record, flags, time_ms))
                elif not blocks.other(body, flags, time_ms, "", self._calls, entries):
                    name = f"user/{text_of(kind)}"
        if not entries:
            entries.append(Entry(Kind.EVENT, "", flags, time_ms))
        return _chain(name, entries, record)

    def _assistant(self, record: dict[str, Any]) -> Parsed:
        time_ms = self._session.note(record)
        message = dict_of(record.get("message"))
        flags = _side(record)
        if record.get("isApiErrorMessage") is True:
            flags |= ERROR
        model = text_of(message.get("model"))
        billed = model != blocks.SYNTHETIC
        if not billed:
            model = ""
        elif model:
            self._session.facts.model = model
        content = message.get("content")
        entries: list[Entry] = []
        name = "assistant"
        if type(content) is str:
            entries.append(Entry(Kind.ANSWER, content, flags, time_ms, model=model))
        elif type(content) is list:
            for block in content:
                body = dict_of(block)
                if not blocks.answer(body, flags, time_ms, model, self._calls, entries):
                    name = f"assistant/{text_of(body.get('type'))}"
        if not billed and [entry.text for entry in entries] == [blocks.NO_ANSWER]:
            entries = [Entry(Kind.EVENT, blocks.NO_ANSWER, flags | META, time_ms)]
        if not entries:
            entries.append(Entry(Kind.EVENT, "", flags, time_ms, model=model))
        self._session.note_answers(entries)
        usage = blocks.usage(message, record, model, time_ms) if billed else None
        return _chain(name, entries, record, usage)

    def _system(self, record: dict[str, Any]) -> Parsed:
        time_ms = self._session.note(record)
        subtype = text_of(record.get("subtype"))
        row = system_row(subtype)
        name = f"system/{subtype}" if subtype else "system"
        if row is None:
            entry = Entry(Kind.UNKNOWN, loose_text(record), _side(record), time_ms)
            return _chain(name, (entry,), record, known=False)
        kind, flags, read = row
        entry = Entry(kind, read(record), flags | _side(record), time_ms)
        return _chain(name, (entry,), record)

    def _attachment(self, record: dict[str, Any]) -> Parsed:
        time_ms = self._session.note(record)
        body = dict_of(record.get("attachment"))
        subtype = text_of(body.get("type"))
        name = f"attachment/{subtype}"
        side = _side(record)
        if subtype == "queued_command":
            return _chain(name, self._queued_prompt(body, record, side, time_ms), record)
        row = attachment_row(subtype)
        if row is None:
            entry = Entry(Kind.UNKNOWN, loose_text(body), side, time_ms)
            return _chain(name, (entry,), record, known=False)
        kind, flags, read = row
        text = read(body)
        if dict_of(body.get("content")).get("type") == "image":
            kind = Kind.IMAGE
        elif kind is Kind.CONTEXT:
            flags |= META
        flags |= side
        own, others = told_by_hooks(body)
        if not own:
            return _chain(name, (Entry(kind, text, flags, time_ms),), record)
        entries = [Entry(kind, own, flags | INJECTED, time_ms)]
        if others:
            entries.append(Entry(kind, others, flags, time_ms))
        return _chain(name, entries, record)

    def _queued_prompt(
        self, body: dict[str, Any], record: dict[str, Any], flags: int, time_ms: int
    ) -> list[Entry]:
        """A prompt typed while the agent was busy: here it reaches the model, and only here."""
        if body.get("commandMode") not in ("prompt", None):
            return [Entry(Kind.CONTEXT, text_of(body.get("prompt")), flags | META, time_ms)]
        prompt = body.get("prompt")
        said = {**record, "origin": body.get("origin"), "isMeta": body.get("isMeta", record.get("isMeta"))}
        if type(prompt) is str:
            return [self._said(prompt, said, flags, time_ms)]
        entries: list[Entry] = []
        for block in prompt if type(prompt) is list else ():
            body = dict_of(block)
            if body.get("type") == "text":
                entries.append(self._said(text_of(body.get("text")), said, flags, time_ms))
            else:
                blocks.other(body, flags, time_ms, "", self._calls, entries)
        return entries or [Entry(Kind.EVENT, "", flags, time_ms)]

    def _progress(self, record: dict[str, Any]) -> Parsed:
        time_ms = self._session.note(record)
        subtype = text_of(dict_of(record.get("data")).get("type"))
        flags = _side(record)
        if subtype in _PROGRESS:
            # Whatever progress shows is said again by a result or in the subagent's own file.
            return _chain(f"progress/{subtype}", (Entry(Kind.EVENT, "", flags | COPY, time_ms),), record)
        return _chain(f"progress/{subtype}", (Entry(Kind.UNKNOWN, "", flags, time_ms),), record, known=False)

    # -- metadata records

    def _plain(self, record: dict[str, Any]) -> Parsed:
        return self._event(record, "")

    def _title(self, record: dict[str, Any]) -> Parsed:
        name = text_of(record.get("type"))
        key, rank = _TITLES[name]
        text = text_of(record.get(key))
        flags = self._session.take_title(text, rank)
        if is_copied(record):
            return self._event(record, text, EXPORTED)
        return self._event(record, text, COPY if name == "last-prompt" else flags)

    def _summary(self, record: dict[str, Any]) -> Parsed:
        text = text_of(record.get("summary"))
        self._session.take_summary(text)
        time_ms = self._session.note(record)
        return Parsed("summary", (Entry(Kind.SUMMARY, text, 0, time_ms),))

    def _queue_operation(self, record: dict[str, Any]) -> Parsed:
        # The prompt comes again once the model gets it, as a user record or an attachment.
        # Before attachments were written, a prompt taken in mid-turn stood only here.
        again = _version(self._session.facts.version) >= _ATTACHMENTS_SINCE
        return self._event(record, loose_text(record), COPY if again else 0)

    def _pr_link(self, record: dict[str, Any]) -> Parsed:
        url = text_of(record.get("prUrl"))
        self._session.take_pull_request(text_of(record.get("prRepository")), url)
        return self._event(record, url)

    def _snapshot(self, record: dict[str, Any]) -> Parsed:
        time_ms = time_of(record.get("timestamp")) or time_of(
            dict_of(record.get("snapshot")).get("timestamp")
        )
        return Parsed(text_of(record.get("type")), (Entry(Kind.EVENT, "", 0, time_ms),))

    def _link(self, record: dict[str, Any]) -> Parsed:
        return self._event(record, text_of(record.get("title")))

    def _agent_metadata(self, record: dict[str, Any]) -> Parsed:
        return Parsed("agent_metadata", (self._description(record),))

    def _event(self, record: dict[str, Any], text: str, flags: int = 0) -> Parsed:
        time_ms = self._session.note(record)
        return Parsed(text_of(record.get("type")), (Entry(Kind.EVENT, text, flags, time_ms),))

    def _said(self, text: str, record: dict[str, Any], flags: int, time_ms: int) -> Entry:
        """An entry for text in the user's place, whoever wrote it."""
        kind, extra = blocks.speaker(text, record, flags)
        if kind is Kind.PROMPT or (kind is Kind.CONTEXT and self._source.role is Role.SUBAGENT):
            self._session.note_prompt(text)
        return Entry(kind, text, flags | extra, time_ms)

    def _sidecar(self, data: bytes) -> Parsed:
        record = blocks.decoded(data)
        if type(record) is not dict:
            return unknown("agent_metadata", text=data.decode("utf-8", "backslashreplace"))
        return Parsed("agent_metadata", (self._description(record),))

    def _description(self, record: dict[str, Any]) -> Entry:
        """A subagent's sidecar; `call` is the tool call that started it."""
        self._session.take_description(record)
        tool, call = text_of(record.get("agentType")), text_of(record.get("toolUseId"))
        return Entry(Kind.EVENT, text_of(record.get("description")), tool=tool, call=call)


def _version(text: str) -> tuple[int, ...]:
    """A version as numbers; unknown counts as new."""
    return tuple(int(part[:9]) if part.isdecimal() else 0 for part in text.split(".")) if text else (999,)


def _side(record: dict[str, Any]) -> int:
    """What a record says of all that is in it: of a subagent, or written by an export of ours."""
    side = SIDECHAIN if record.get("isSidechain") is True else 0
    return side | EXPORTED if is_copied(record) else side


def _chain(
    name: str,
    entries: list[Entry] | tuple[Entry, ...],
    record: dict[str, Any],
    usage: Usage | None = None,
    *,
    known: bool = True,
) -> Parsed:
    """A record of the parent chain; a "/" in a user or assistant name is a block not known."""
    known = known and not name.startswith(("user/", "assistant/"))
    if not known:
        name = name[:NAME_CHARS_MAX]
    return Parsed(
        name,
        tuple(entries),
        known,
        text_of(record.get("uuid")),
        text_of(record.get("parentUuid")),
        (usage,) if usage else (),
    )


_ATTACHMENTS_SINCE: Final = (2, 1, 91)

_PROGRESS: Final = frozenset(
    {
        "agent_progress",
        "bash_progress",
        "hook_progress",
        "mcp_progress",
        "powershell_progress",
        "query_update",
        "search_results_received",
        "skill_progress",
        "waiting_for_task",
    }
)

_TITLES: Final[dict[str, tuple[str, int]]] = {
    "custom-title": ("customTitle", TITLE_CUSTOM),
    "ai-title": ("aiTitle", TITLE_AGENT),
    "last-prompt": ("lastPrompt", TITLE_STRANGER),
}

_BOOKKEEPING: Final = """
    agent-color agent-name agent-setting api-request api-request-blob api-request-shape
    artifact-autoreact-ledger artifact-comment-monitor atis-latch attribution-snapshot bridge-session
    content-replacement continued-in cost-state data-flow-incomplete data-flow-records derived-from
    dev-mods ended-by-model fork-context-ref history-suppression isolation-latch marble-origami-commit
    marble-origami-reset marble-origami-snapshot memory-mode mode observer-ref permission-mode relocated
    repl-mode resume-head-vouch session-owner speculation-accept tag tools-used worktree-state
"""

_HANDLERS: Final[dict[str, Callable[[ClaudeParser, dict[str, Any]], Parsed]]] = {
    "user": ClaudeParser._user,
    "assistant": ClaudeParser._assistant,
    "progress": ClaudeParser._progress,
    "system": ClaudeParser._system,
    "attachment": ClaudeParser._attachment,
    "summary": ClaudeParser._summary,
    "custom-title": ClaudeParser._title,
    "ai-title": ClaudeParser._title,
    "last-prompt": ClaudeParser._title,
    "queue-operation": ClaudeParser._queue_operation,
    "pr-link": ClaudeParser._pr_link,
    "file-history-snapshot": ClaudeParser._snapshot,
    "file-history-delta": ClaudeParser._snapshot,
    "frame-link": ClaudeParser._link,
    "agent_metadata": ClaudeParser._agent_metadata,
    **dict.fromkeys(_BOOKKEEPING.split(), ClaudeParser._plain),
}

TYPES: Final = frozenset(_HANDLERS)

"""Copilot CLI's events: what was said, thought, called and answered, and what became of the session.

A call stands in the message that makes it and again where it is begun; the prompt stands in its event twice,
as it was typed and as the model got it, with what the client put around it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from recollect.agents.copilot.names import CONTEXTS, COPIES, ERRORS, EVENTS
from recollect.agents.copilot.usage import Meter
from recollect.agents.copilot.workspace import values_of
from recollect.agents.fields import (
    BOUNDARY,
    COPY,
    ERROR,
    INJECTED,
    META,
    SIDECHAIN,
    OpenCalls,
    dict_of,
    facts_restored,
    facts_state,
    json_of,
    lines_of,
    list_of,
    not_an_object,
    note_answers,
    text_of,
    time_of,
    unknown,
)
from recollect.agents.injected import is_fenced
from recollect.light.project import remote_name
from recollect.values.records import Entry, Kind, Parsed, Relation, Role, SessionFacts, SourceFile, Usage
from recollect.values.titles import TITLE_AGENT, TITLE_CUSTOM, TITLE_PROMPT, title_line

_TEXTS_MAX: Final = 20  # system prompts and thoughts, remembered by a short hash
_DATETIME: Final = re.compile(r"\A\s*<current_datetime>[^<]*</current_datetime>\s*")
_EXIT: Final = re.compile(r"with exit code (?!0>)-?\d+>\s*\Z")
_EXIT_CHARS: Final = 200  # at the end of a result, where a shell says how it ended

# An event's data, what is true of all its entries, and its time.
_Reader = Callable[["CopilotParser", dict[str, Any], int, int], list[Entry]]


class CopilotParser:
    """One session, with its subagents in it."""

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        self._role = source.role
        self.facts = facts_restored(state["facts"]) if state else _first_facts(source)
        self._calls = OpenCalls(state)
        self._meter = Meter(state.get("meter", {}))
        self._texts: dict[str, None] = dict.fromkeys(state.get("texts", ()))

    def state(self) -> dict[str, Any]:
        return {
            "facts": facts_state(self.facts),
            "meter": self._meter.state(),
            "texts": list(self._texts),
            **self._calls.state(),
        }

    def parse(self, record: Any, /) -> Parsed:
        if type(record) is not dict:
            return not_an_object(record)
        name, id_ = text_of(record.get("type")), text_of(record.get("id"))
        time_ms = time_of(record.get("timestamp"))
        data = record.get("data")
        flags = SIDECHAIN if record.get("agentId") or dict_of(data).get("parentToolCallId") else 0
        entries = self._entries(name, dict_of(data), flags, time_ms)
        if entries is None and record.get("ephemeral") is True and name:
            entries = [Entry(Kind.EVENT, "", flags | COPY, time_ms)]
        if entries is None or type(data) is not dict:
            return unknown(name or next(iter(record), "{}"), time_ms, uuid=id_)
        self.facts.saw(time_ms)
        usages = tuple(self._usages(name, data, id_, time_ms))
        parent = text_of(record.get("parentId"))
        return Parsed(name, tuple(entries), uuid=id_, parent=parent, usages=usages)

    def document(self, data: bytes, /) -> Parsed:
        if self._role is not Role.SIDECAR:
            return unknown("document")
        told = values_of(data)
        named = TITLE_CUSTOM if told.get("user_named") == "true" else TITLE_AGENT
        title = told.get("name") or told.get("summary", "")
        self.facts.titled(title_line(title), named)
        return Parsed("workspace", (Entry(Kind.EVENT, title),))

    def _entries(self, name: str, data: dict[str, Any], flags: int, time_ms: int) -> list[Entry] | None:
        """What an event holds, at least one entry; None where nobody knows it."""
        if reader := _READERS.get(name):
            return reader(self, data, flags, time_ms) or [Entry(Kind.EVENT, "", flags, time_ms)]
        for kind, more, texts in _PLAIN:
            if name in texts:
                return [Entry(kind, text_of(data.get(texts[name])), flags | more, time_ms)]
        return [Entry(Kind.EVENT, "", flags | COPY, time_ms)] if name in COPIES else None

    def _usages(self, name: str, data: dict[str, Any], id_: str, time_ms: int) -> list[Usage]:
        told = self.facts.id, id_, time_ms
        found: list[Usage | None] = []
        if name == "session.usage_record":
            found = [self._meter.record(dict_of(data.get("usage")), *told)]
        elif name == "assistant.message":
            found = [self._meter.message(data, *told)]
        elif name == "session.compaction_complete":
            found = [self._meter.compaction(data, *told)]
        elif name in ("session.shutdown", "session.usage_checkpoint"):
            found = [*self._meter.totals(data, *told)]
        return [usage for usage in found if usage is not None]

    # -- the session -----------------------------------------------------------------------

    def _started(self, data: dict[str, Any], flags: int, time_ms: int) -> list[Entry]:
        facts = self.facts
        facts.id = facts.id or text_of(data.get("sessionId"))
        facts.root = facts.root or facts.id
        facts.version = text_of(data.get("copilotVersion")) or facts.version
        parent = text_of(data.get("detachedFromSpawningParentSessionId"))
        if parent and parent != facts.id:
            facts.parent, facts.relation = parent, Relation.CONTINUATION
        return self._resumed(data, flags, time_ms)

    def _resumed(self, data: dict[str, Any], flags: int, time_ms: int) -> list[Entry]:
        self._note_place(dict_of(data.get("context")))
        self.facts.model = text_of(data.get("selectedModel")) or self.facts.model
        return []

    def _moved(self, data: dict[str, Any], flags: int, time_ms: int) -> list[Entry]:
        self._note_place(data)
        return [Entry(Kind.EVENT, text_of(data.get("cwd")), flags, time_ms)]

    def _chose_model(self, data: dict[str, Any], flags: int, time_ms: int) -> list[Entry]:
        self.facts.model = text_of(data.get("newModel")) or self.facts.model
        return [Entry(Kind.EVENT, text_of(data.get("newModel")), flags, time_ms)]

    def _compacted(self, data: dict[str, Any], flags: int, time_ms: int) -> list[Entry]:
        if data.get("success") is False:
            return [Entry(Kind.EVENT, text_of(data.get("error")), flags | ERROR, time_ms)]
        return [Entry(Kind.SUMMARY, text_of(data.get("summaryContent")), flags | BOUNDARY, time_ms)]

    def _cleared(self, data: dict[str, Any], flags: int, time_ms: int) -> list[Entry]:
        return [Entry(Kind.EVENT, text_of(data.get("initialMessage")), flags | BOUNDARY, time_ms)]

    def _handed_over(self, data: dict[str, Any], flags: int, time_ms: int) -> list[Entry]:
        """The work was begun elsewhere; this is what is known of it here."""
        told = lines_of([data.get("summary"), data.get("context")])
        return [Entry(Kind.SUMMARY, told, flags, time_ms)]

    # -- what was said ---------------------------------------------------------------------

    def _asked(self, data: dict[str, Any], flags: int, time_ms: int) -> list[Entry]:
        said, found = text_of(data.get("content")), []
        is_typed = not (flags & SIDECHAIN or data.get("isAutopilotContinuation")) and data.get("source") in (
            None,
            "",
            "user",
        )
        if said and is_typed:
            self.facts.title_from(said, TITLE_PROMPT)
            found.append(Entry(Kind.PROMPT, said, flags, time_ms))
        elif said:
            found.append(Entry(Kind.CONTEXT, said, flags | META, time_ms))
        if around := _around(said, text_of(data.get("transformedContent"))):
            found.append(Entry(Kind.CONTEXT, around, flags | META, time_ms))
        for attached in map(dict_of, list_of(data.get("attachments"))):
            if text_of(attached.get("mimeType")).startswith("image/") or attached.get("type") == "image":
                found.append(Entry(Kind.IMAGE, "", flags, time_ms))
            elif text := text_of(attached.get("text")):
                found.append(Entry(Kind.CONTEXT, text, flags | META, time_ms))
        return found

    def _answered(self, data: dict[str, Any], flags: int, time_ms: int) -> list[Entry]:
        model = text_of(data.get("model"))
        if not flags & SIDECHAIN:
            self.facts.model = model or self.facts.model
        found = []
        thought = text_of(data.get("reasoningText"))
        if thought or data.get("reasoningOpaque") or data.get("encryptedContent"):
            copied = COPY if thought and self._is_told(thought) else 0
            found.append(Entry(Kind.THOUGHT, thought, flags | copied, time_ms, model=model))
        if said := text_of(data.get("content")):
            found.append(Entry(Kind.ANSWER, said, flags, time_ms, model=model))
        for call in map(dict_of, list_of(data.get("toolRequests"))):
            found.append(self._call(call, text_of(call.get("name")), flags, time_ms, model))
        if not flags & SIDECHAIN:
            note_answers(self.facts, found)
        return found

    def _thought(self, data: dict[str, Any], flags: int, time_ms: int) -> list[Entry]:
        """Told before the message that holds it too."""
        thought = text_of(data.get("content"))
        self._is_told(thought)
        return [Entry(Kind.THOUGHT, thought, flags, time_ms)]

    def _instructed(self, data: dict[str, Any], flags: int, time_ms: int) -> list[Entry]:
        """The client's instructions, which it writes again whenever a session goes on."""
        text = text_of(data.get("content"))
        copied = COPY if text and self._is_told(text) else 0
        return [Entry(Kind.CONTEXT, text, flags | META | copied, time_ms)]

    def _hooked(self, data: dict[str, Any], flags: int, time_ms: int) -> list[Entry]:
        """What a hook had to say; most have nothing."""
        output = dict_of(data.get("output"))
        if added := text_of(output.get("additionalContext")):
            flags |= META | (INJECTED if is_fenced(added) else 0)
            return [Entry(Kind.CONTEXT, added, flags, time_ms)]
        if data.get("success") is False:
            error = text_of(dict_of(data.get("error")).get("message"))
            return [Entry(Kind.EVENT, error, flags | ERROR, time_ms)]
        return [
            Entry(Kind.EVENT, json_of(output) if output else "", flags | (0 if output else COPY), time_ms)
        ]

    # -- tools -----------------------------------------------------------------------------

    def _began(self, data: dict[str, Any], flags: int, time_ms: int) -> list[Entry]:
        """A call as a message made it, or one that no message made: a person's own."""
        if text_of(data.get("toolCallId")) in self._calls:
            return [Entry(Kind.EVENT, "", flags | COPY, time_ms)]
        return [self._call(data, text_of(data.get("toolName")), flags, time_ms, text_of(data.get("model")))]

    def _call(self, call: dict[str, Any], tool: str, flags: int, time_ms: int, model: str) -> Entry:
        id_, given = text_of(call.get("toolCallId")), call.get("arguments")
        flags |= self._calls.opened(id_, tool, given)
        text = given if type(given) is str else json_of(given)
        return Entry(Kind.CALL, text, flags, time_ms, tool, id_, model)

    def _came_back(self, data: dict[str, Any], flags: int, time_ms: int) -> list[Entry]:
        id_, result = text_of(data.get("toolCallId")), dict_of(data.get("result"))
        text = text_of(result.get("content")) or lines_of(result.get("contents"))
        text = text or text_of(dict_of(data.get("error")).get("message"))
        tool, own = self._calls.answered(id_, text)
        failed = data.get("success") is False or _exit_code(data, text)
        found = [Entry(Kind.RESULT, text, flags | own | (ERROR if failed else 0), time_ms, tool, id_)]
        shown = list_of(result.get("binaryResultsForLlm")) or list_of(result.get("contents"))
        images = [each for each in map(dict_of, shown) if each.get("type") == "image"]
        return [*found, *(Entry(Kind.IMAGE, "", flags, time_ms, tool, id_) for _ in images)]

    # -- what spans events -----------------------------------------------------------------

    def _note_place(self, context: dict[str, Any]) -> None:
        facts = self.facts
        # The folder the session began in: it moves with the agent.
        facts.cwd = facts.cwd or text_of(context.get("cwd"))
        facts.branch = text_of(context.get("branch")) or facts.branch
        repository = text_of(context.get("repository"))
        if repository.count("/") == 1:
            host = text_of(context.get("repositoryHost")) or "github.com"
            facts.project = remote_name(f"https://{host}/{repository}") or facts.project

    def _is_told(self, text: str) -> bool:
        """Whether a text was told before; from now on it was."""
        short = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
        known = short in self._texts
        self._texts.pop(short, None)
        self._texts[short] = None
        if len(self._texts) > _TEXTS_MAX:
            del self._texts[next(iter(self._texts))]
        return known


_READERS: Final[dict[str, _Reader]] = {
    "assistant.message": CopilotParser._answered,
    "assistant.reasoning": CopilotParser._thought,
    "hook.end": CopilotParser._hooked,
    "session.compaction_complete": CopilotParser._compacted,
    "session.context_changed": CopilotParser._moved,
    "session.context_cleared": CopilotParser._cleared,
    "session.handoff": CopilotParser._handed_over,
    "session.model_change": CopilotParser._chose_model,
    "session.resume": CopilotParser._resumed,
    "session.shutdown": lambda *_: [],
    "session.start": CopilotParser._started,
    "session.usage_checkpoint": lambda *_: [],
    "session.usage_record": lambda *_: [],
    "system.message": CopilotParser._instructed,
    "tool.execution_complete": CopilotParser._came_back,
    "tool.execution_start": CopilotParser._began,
    "tool.user_requested": CopilotParser._began,
    "user.message": CopilotParser._asked,
}
_PLAIN: Final = ((Kind.EVENT, 0, EVENTS), (Kind.EVENT, ERROR, ERRORS), (Kind.CONTEXT, META, CONTEXTS))


def _first_facts(source: SourceFile) -> SessionFacts:
    return SessionFacts(source.agent, source.session, root=source.session)


def _around(said: str, sent: str) -> str:
    """What the client put around a prompt, beyond the time of day."""
    before, found, behind = sent.partition(said) if said else (sent, "", "")
    if said and not found:
        before, behind = sent, ""
    return lines_of([_DATETIME.sub("", before).strip(), behind.strip()])


def _exit_code(data: dict[str, Any], text: str) -> bool:
    """Whether a command ended with another code than 0."""
    code = dict_of(data.get("shellExecution")).get("exitCode")
    return bool(code) if type(code) is int else _EXIT.search(text[-_EXIT_CHARS:]) is not None

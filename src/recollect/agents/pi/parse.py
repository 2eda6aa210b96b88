"""The records of pi, line by line: of version 1, which has no ids, and of the trees that came after it.

Branches stay: whoever goes back in a session leaves a branch, and may return to it.

pi rewrites a file of version 1 as a whole when it opens it. Each of its records then takes the place of the
one that said the same before: of the same moment, role and call.

A fork's file begins with its parent's records, which are older than the file. They are the parent's lines, so
they are stored once; here they only tell no time of the fork.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from recollect.agents.fields import (
    BOUNDARY,
    ERROR,
    EXPORTED,
    META,
    NAME_CHARS_MAX,
    OpenCalls,
    dict_of,
    facts_restored,
    facts_state,
    has_said,
    json_of,
    lines_of,
    not_an_object,
    note_answers,
    text_of,
    time_of,
    unknown,
)
from recollect.agents.pi.content import (
    answer_entry,
    blocks_of,
    result_entries,
    shell_text,
    usage_of,
    user_entries,
)
from recollect.agents.pi.paths import session_in
from recollect.light.sources import WRITTEN_BY, WRITTEN_FROM_KEY, WRITTEN_KEY
from recollect.values.records import Entry, Kind, Parsed, Relation, SessionFacts, SourceFile, Usage
from recollect.values.titles import TITLE_CUSTOM, TITLE_PROMPT, title_line

Made = tuple[list[Entry], tuple[Usage, ...]]


class PiParser:
    """Reads one session in file order."""

    __slots__ = ("_begun_ms", "_calls", "_was_rewritten", "facts")

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        first = SessionFacts("pi", source.session, root=source.session)
        self.facts = facts_restored(state["facts"]) if state else first
        self._calls = OpenCalls(state)
        self._begun_ms: int = state.get("begun", 0)  # when the file was begun
        self._was_rewritten: bool = state.get("rewritten", False)  # from version 1

    def state(self) -> dict[str, Any]:
        return {
            "facts": facts_state(self.facts),
            "begun": self._begun_ms,
            "rewritten": self._was_rewritten,
            **self._calls.state(),
        }

    def parse(self, record: Any, /) -> Parsed:
        if type(record) is not dict:
            return not_an_object(record)
        name = record.get("type")
        if name == "session":
            return self._session(record)
        if name == "message":
            return self._message(record)
        handler = _HANDLERS.get(name) if type(name) is str else None
        if handler is None:
            time_ms = time_of(record.get("timestamp"))
            return unknown(text_of(name), time_ms, uuid=text_of(record.get("id")))
        return self._made(record, str(name), handler(self, record, *_envelope(record)))

    def document(self, data: bytes, /) -> Parsed:
        """A session is never one piece."""
        return unknown("document")

    # -- the session -----------------------------------------------------------------------

    def _session(self, record: dict[str, Any]) -> Parsed:
        facts = self.facts
        facts.id = facts.id or text_of(record.get("id"))
        facts.root = facts.root or facts.id
        facts.cwd = facts.cwd or text_of(record.get("cwd"))
        facts.model = facts.model or text_of(record.get("modelId"))
        self._begun_ms = time_of(record.get("timestamp"))
        # What JavaScript adds to an object comes last; a file of a later version says it first.
        fields = list(record)
        self._was_rewritten = "version" in record and fields.index("version") > fields.index("type") + 1
        parent = text_of(record.get("parentSession")) or text_of(record.get("branchedFrom"))
        self._note_fork(session_in(parent), text_of(record.get(WRITTEN_FROM_KEY)))
        time_ms, flags = _envelope(record)
        if flags:
            facts.relation = Relation.FORK
        return Parsed("session", (Entry(Kind.EVENT, "", flags, time_ms),))

    def _note_fork(self, parent: str, written_from: str) -> None:
        parent, root = parent or written_from, written_from or parent
        facts = self.facts
        if root and root != facts.id:
            facts.root, facts.relation = root, Relation.FORK
            if parent != facts.id:
                facts.parent = facts.parent or parent

    # -- messages --------------------------------------------------------------------------

    def _message(self, record: dict[str, Any]) -> Parsed:
        message = dict_of(record.get("message"))
        role = text_of(message.get("role"))
        handler = _ROLES.get(role)
        name = f"message/{role}"
        if handler is None:
            time_ms, flags = _envelope(record)
            text = lines_of(blocks_of(message.get("content")))
            return self._made(record, name, ([Entry(Kind.UNKNOWN, text, flags, time_ms)], ()))
        entries, usages = handler(self, message, *_envelope(record))
        if any(entry.kind is Kind.UNKNOWN for entry in entries):
            kinds = [text_of(block.get("type")) for block in blocks_of(message.get("content"))]
            strange = [kind for kind in kinds if kind not in ("text", "image", "thinking", "toolCall")]
            name = f"{name}/{next(iter(strange), '')}"
        return self._made(record, name, (entries, usages))

    def _user(self, message: dict[str, Any], time_ms: int, flags: int) -> Made:
        entries = [
            entry
            for block in blocks_of(message.get("content"))
            for entry in user_entries(block, Kind.PROMPT, flags, time_ms)
        ]
        for entry in entries:
            if entry.kind is Kind.PROMPT:
                self.facts.title_from(entry.text, TITLE_PROMPT)
        return entries, ()

    def _assistant(self, message: dict[str, Any], time_ms: int, flags: int) -> Made:
        model = text_of(message.get("responseModel")) or text_of(message.get("model"))
        if flags & EXPORTED == 0 and model:
            self.facts.model = model
        entries = [
            answer_entry(block, flags, time_ms, model, self._calls)
            for block in blocks_of(message.get("content"))
        ]
        reason, told = message.get("stopReason"), text_of(message.get("errorMessage"))
        if reason == "aborted":
            entries.append(Entry(Kind.EVENT, told or "Request was aborted", flags, time_ms))
        elif reason == "error":
            entries.append(Entry(Kind.EVENT, told, flags | ERROR, time_ms))
        note_answers(self.facts, entries)
        return entries, usage_of(message.get("usage"), _key(message, "responseId"), model, time_ms)

    def _result(self, message: dict[str, Any], time_ms: int, flags: int) -> Made:
        entries = result_entries(message, flags, time_ms, self._calls)
        return entries, usage_of(message.get("usage"), _key(message, "toolCallId"), "", time_ms)

    def _shell(self, message: dict[str, Any], time_ms: int, flags: int) -> Made:
        failed = ERROR if message.get("exitCode") not in (0, None) else 0
        return [Entry(Kind.EVENT, shell_text(message), flags | failed | META, time_ms)], ()

    def _put_in(self, message: dict[str, Any], time_ms: int, flags: int) -> Made:
        entries = [
            entry
            for block in blocks_of(message.get("content"))
            for entry in user_entries(block, Kind.CONTEXT, flags, time_ms)
        ]
        return entries, ()

    def _instructions(self, message: dict[str, Any], time_ms: int, flags: int) -> Made:
        sections = [text for text in dict_of(message.get("sections")).values() if type(text) is str]
        text = "\n".join(filter(None, [lines_of(blocks_of(message.get("content"))), *sections]))
        return [Entry(Kind.CONTEXT, text, flags | META, time_ms)], ()

    # -- the others ------------------------------------------------------------------------

    def _summary(self, record: dict[str, Any], time_ms: int, flags: int) -> Made:
        if record.get("type") == "compaction":
            flags |= BOUNDARY
        entries = [Entry(Kind.SUMMARY, text_of(record.get("summary")), flags | META, time_ms)]
        return entries, usage_of(record.get("usage"), _key(record, "id"), self.facts.model, time_ms)

    def _spent(self, record: dict[str, Any], time_ms: int, flags: int) -> Made:
        usages = usage_of(record.get("usage"), _key(record, "id"), text_of(record.get("model")), time_ms)
        return [Entry(Kind.EVENT, text_of(record.get("kind")), flags, time_ms)], usages

    def _model(self, record: dict[str, Any], time_ms: int, flags: int) -> Made:
        self.facts.model = text_of(record.get("modelId")) or self.facts.model
        return [Entry(Kind.EVENT, text_of(record.get("modelId")), flags, time_ms)], ()

    def _named(self, record: dict[str, Any], time_ms: int, flags: int) -> Made:
        name = text_of(record.get("name"))
        self.facts.titled(title_line(name), TITLE_CUSTOM)
        return [Entry(Kind.EVENT, name, flags, time_ms)], ()

    def _edited(self, record: dict[str, Any], time_ms: int, flags: int) -> Made:
        text = lines_of(blocks_of(dict_of(record.get("replacement")).get("content")))
        return [Entry(Kind.EVENT, text, flags, time_ms)], ()

    def _plain(self, record: dict[str, Any], time_ms: int, flags: int) -> Made:
        text = next(filter(None, (text_of(record.get(name)) for name in _TELLING)), "")
        return [Entry(Kind.EVENT, text, flags, time_ms)], ()

    # -- what all have in common -----------------------------------------------------------

    def _made(self, record: dict[str, Any], name: str, made: Made) -> Parsed:
        entries, usages = made
        time_ms, flags = _envelope(record)
        entries = entries or [Entry(Kind.EVENT, "", flags, time_ms)]
        self._note_time(record, time_ms, entries)
        known = all(entry.kind is not Kind.UNKNOWN for entry in entries)
        id_ = text_of(record.get("id"))
        return Parsed(
            name if known else name[:NAME_CHARS_MAX],
            tuple(entries),
            known,
            id_ or _place(record),
            text_of(record.get("parentId")),
            usages,
            self._replaced(record, id_),
        )

    def _note_time(self, record: dict[str, Any], time_ms: int, entries: list[Entry]) -> None:
        """Let a session last from its file's beginning; an export of ours, from what is first said in it."""
        facts, is_fork = self.facts, self.facts.relation is Relation.FORK
        if _is_copied(record):
            self._note_fork("", text_of(record.get(WRITTEN_FROM_KEY)))
        elif 0 < time_ms < self._begun_ms:  # the parent's
            facts.saw(self._begun_ms)
        elif not is_fork:
            facts.saw(self._begun_ms)
            facts.saw(time_ms)
        elif facts.ended_ms or has_said(entries):
            facts.saw(time_ms)

    def _replaced(self, record: dict[str, Any], id_: str) -> tuple[str, ...]:
        if not id_:
            return ()
        if self._was_rewritten:
            return (_place(record),)
        # Version 2 called it otherwise; the record that says it anew has the same id.
        return (id_,) if dict_of(record.get("message")).get("role") == "custom" else ()


def _envelope(record: dict[str, Any]) -> tuple[int, int]:
    """A record's time, and the flags of all that is in it."""
    return time_of(record.get("timestamp")), EXPORTED if _is_copied(record) else 0


def _is_copied(record: dict[str, Any]) -> bool:
    return record.get(WRITTEN_KEY) == WRITTEN_BY


def _place(record: dict[str, Any]) -> str:
    """What a record without an id is known by, and still is once it has one."""
    message = dict_of(record.get("message"))
    role = text_of(message.get("role")).replace("hookMessage", "custom")
    parts = (record.get("type"), record.get("timestamp"), role, message.get("toolCallId"))
    return ":".join(["v1", *map(text_of, parts)])


def _key(told: dict[str, Any], name: str) -> str:
    """One response's own key, in whichever file it is copied: ids of local servers come again."""
    numbers = dict_of(told.get("usage"))
    parts = told.get("timestamp"), numbers.get("input"), numbers.get("output")
    return ":".join(["pi", text_of(told.get(name)), *map(json_of, parts)])


_TELLING: Final = ("thinkingLevel", "label", "customType")

_ROLES: Final[dict[str, Callable[[PiParser, dict[str, Any], int, int], Made]]] = {
    "user": PiParser._user,
    "assistant": PiParser._assistant,
    "toolResult": PiParser._result,
    "bashExecution": PiParser._shell,
    "custom": PiParser._put_in,
    "hookMessage": PiParser._put_in,
    "system": PiParser._instructions,
    "branchSummary": PiParser._summary,
    "compactionSummary": PiParser._summary,
}

_HANDLERS: Final[dict[str, Callable[[PiParser, dict[str, Any], int, int], Made]]] = {
    "model_change": PiParser._model,
    "thinking_level_change": PiParser._plain,
    "usage": PiParser._spent,
    "compaction": PiParser._summary,
    "branch_summary": PiParser._summary,
    "custom": PiParser._plain,
    "custom_message": PiParser._put_in,
    "label": PiParser._plain,
    "session_info": PiParser._named,
    "context_edit": PiParser._edited,
}

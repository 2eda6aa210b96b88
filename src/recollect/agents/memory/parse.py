"""From a record of a saved session to entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from recollect.agents.fields import (
    INJECTED,
    NAME_CHARS_MAX,
    count_of,
    dict_of,
    facts_restored,
    facts_state,
    not_an_object,
    text_of,
    unknown,
)
from recollect.agents.memory.graph_records import ENTITY, RELATION, entity_of, relation_of
from recollect.agents.memory.records import (
    ARTIFACT,
    DELETE,
    DIMS,
    MARK,
    NOTE,
    SESSION,
    dims_of,
    role_of,
    session_id,
)
from recollect.light.sources import MEMORY
from recollect.values.records import Entry, Kind, Parsed, SessionFacts, SourceFile
from recollect.values.titles import TITLE_CUSTOM, TITLE_PROMPT, TITLE_STRANGER

_KINDS: Final = {
    "note": Kind.NOTE,
    "user": Kind.PROMPT,
    "assistant": Kind.ANSWER,
    "system": Kind.CONTEXT,
    "tool": Kind.RESULT,
}
_TIME_MS_MAX: Final = 2**53 - 1


class NoteParser:
    """Knows a session by the name it was saved under, and by what is said of it."""

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        id_ = source.session or source.path.removeprefix(f"{MEMORY}:")
        known = {name: value for name, value in state.items() if name != DIMS}
        self.facts = facts_restored(known) if known else SessionFacts(MEMORY, id_, root=id_)
        self._dims = dims_of(state)

    def parse(self, record: Any, /) -> Parsed:
        if type(record) is not dict:
            return not_an_object(record)
        kind = text_of(record.get("type"))
        read = {
            NOTE: self._note,
            DELETE: self._delete,
            SESSION: self._session,
            ARTIFACT: self._artifact,
            MARK: self._mark,
            ENTITY: self._entity,
            RELATION: self._relation,
        }
        return read[kind](record) if kind in read else unknown(kind)

    def document(self, data: bytes, /) -> Parsed:
        return unknown("document")

    def state(self) -> dict[str, Any]:
        told = facts_state(self.facts)
        return {**told, DIMS: self._dims} if self._dims else told

    def _note(self, record: dict[str, Any]) -> Parsed:
        text, role = record.get("text"), role_of(record)
        if type(text) is not str:
            return unknown(NOTE)
        self._dims = self._dims or len(text_of(record.get("vector"))) * 3 // 16
        time_ms = self._saw(record)
        self.facts.project = self.facts.project or text_of(record.get("project"))[:NAME_CHARS_MAX]
        self.facts.title_from(text, TITLE_PROMPT if role == "user" else TITLE_STRANGER)
        entry = Entry(
            _KINDS[role], text, 0, time_ms, tool=text_of(dict_of(record.get("metadata")).get("tool"))
        )
        return Parsed(
            f"{NOTE}/{role}", (entry,), uuid=text_of(record.get("id")), replaces=self._replaces(record)
        )

    def _delete(self, record: dict[str, Any]) -> Parsed:
        entry = Entry(Kind.EVENT, "", INJECTED, self._saw(record))
        uuid = text_of(record.get("id"))
        return Parsed(DELETE, (entry,), uuid=uuid, replaces=(uuid,) if uuid else ())

    def _session(self, record: dict[str, Any]) -> Parsed:
        """What is said of the session: the last word counts."""
        time_ms = self._saw(record)
        for name in ("started_ms", "ended_ms"):
            self.facts.saw(min(count_of(record.get(name)), _TIME_MS_MAX))
        self.facts.titled(text_of(record.get("title")), TITLE_CUSTOM)
        self.facts.project = text_of(record.get("project"))[:NAME_CHARS_MAX] or self.facts.project
        summary = text_of(record.get("summary"))
        entry = (
            Entry(Kind.SUMMARY, summary, 0, time_ms) if summary else Entry(Kind.EVENT, "", INJECTED, time_ms)
        )
        uuid = session_id(self.facts.id)
        return Parsed(SESSION, (entry,), uuid=uuid, replaces=(uuid,))

    def _artifact(self, record: dict[str, Any]) -> Parsed:
        entry = Entry(Kind.EVENT, "", INJECTED, self._saw(record))
        return Parsed(ARTIFACT, (entry,), uuid=text_of(record.get("id")))

    def _mark(self, record: dict[str, Any]) -> Parsed:
        uuid = text_of(record.get("id"))
        return Parsed(
            MARK, (Entry(Kind.EVENT, "", INJECTED, 0),), uuid=uuid, replaces=(uuid,) if uuid else ()
        )

    def _entity(self, record: dict[str, Any]) -> Parsed:
        entity = entity_of(record)
        if entity is None:
            return unknown(ENTITY)
        return self._stated(
            ENTITY, record, ", ".join(filter(None, (entity.name, entity.type, *entity.aliases)))
        )

    def _relation(self, record: dict[str, Any]) -> Parsed:
        relation = relation_of(record)
        if relation is None:
            return unknown(RELATION)
        return self._stated(RELATION, record, f"{relation.source} {relation.relation} {relation.target}")

    def _stated(self, kind: str, record: dict[str, Any], text: str) -> Parsed:
        """A statement of the graph: found by its words, but no note, nor anything that was said."""
        uuid = text_of(record.get("id"))
        return Parsed(kind, (Entry(Kind.EVENT, text, 0, self._saw(record)),), uuid=uuid, replaces=(uuid,))

    def _replaces(self, record: dict[str, Any]) -> tuple[str, ...]:
        uuid = text_of(record.get("id"))
        return (uuid,) if uuid and record.get("again") is True else ()

    def _saw(self, record: dict[str, Any]) -> int:
        time_ms = min(count_of(record.get("time_ms")), _TIME_MS_MAX)
        self.facts.saw(time_ms)
        return time_ms

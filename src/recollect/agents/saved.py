"""Threads that a person saved, as lines of a source that Recollect itself writes into the store.

There is no such file on any disk, so none is ever found. The first line is the thread as it was saved,
every later one an edit; what they come to is for `recollect.recall.saved` to say. They are a session
in the store, as everything is, but no conversation (`is_conversation`), and what they say is never
indexed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final

from recollect.agents.contract import Agent, Parser
from recollect.agents.decisions import PROJECTS, DecisionParser
from recollect.agents.erasures import ERASURES, ErasureParser
from recollect.agents.fields import (
    INJECTED,
    NAME_CHARS_MAX,
    count_of,
    dict_of,
    facts_restored,
    facts_state,
    list_of,
    text_of,
    unknown,
)
from recollect.agents.head import Head
from recollect.light.sources import NOTES
from recollect.values.records import Entry, Kind, Parsed, Provenance, SessionFacts, SourceFile
from recollect.values.saved import Edit, SavedPiece, SavedThread
from recollect.values.titles import TITLE_CUSTOM, title_line

THREAD: Final = "thread"
EDIT: Final = "edit"
RENAME: Final = "rename"
DELETE: Final = "delete"

Window = tuple[int, int]

_PATH: Final = "recollect:curated/"
_DECISIONS: Final = "recollect:projects"
_ERASURES: Final = "recollect:erasures"
_PROJECT_CHARS_MAX: Final = 1_000
_TIME_MS_MAX: Final = 2**53 - 1


def curated_file(id_: str) -> SourceFile:
    """The source that the thread of this id is kept in."""
    return SourceFile(NOTES, _PATH + id_, session=id_, provenance=Provenance.OWN)


def decisions_file() -> SourceFile:
    """The source that what was decided about projects is kept in."""
    return SourceFile(NOTES, _DECISIONS, session=PROJECTS, provenance=Provenance.OWN)


def erasures_file() -> SourceFile:
    """The source that what was erased is kept in, as keyed hashes."""
    return SourceFile(NOTES, _ERASURES, session=ERASURES, provenance=Provenance.OWN)


def thread_of(record: dict[str, Any]) -> SavedThread | None:
    """The thread that a record says was saved, if it does."""
    id_, created_ms = text_of(record.get("id")), count_of(record.get("created_ms"))
    if not id_:
        return None
    pieces = (_piece(n, dict_of(each)) for n, each in enumerate(list_of(record.get("pieces")), 1))
    return SavedThread(
        id_,
        text_of(record.get("name")),
        text_of(record.get("description")),
        text_of(record.get("project")),
        count_of(record.get("budget_tokens")),
        tuple(piece for piece in pieces if piece.ids),
        created_ms,
        created_ms,
    )


def edit_of(record: dict[str, Any]) -> tuple[Edit, int]:
    """A record's edit, and when it was made."""
    numbers = (count_of(record.get("piece")), count_of(record.get("to")))
    edit = Edit(text_of(record.get("op")), *numbers, text_of(record.get("name")))
    return edit, count_of(record.get("time_ms"))


class SavedThreads(Agent):
    """Reads what `recollect.recall.saved` writes."""

    name = NOTES
    title = "Recollect"
    version = 1

    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        return []

    def recognise(self, path: PurePath, head: Head) -> SourceFile | None:
        return None

    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> Parser:
        if source.path == _ERASURES:
            return ErasureParser(state)
        return DecisionParser(state) if source.path == _DECISIONS else CuratedParser(source, state)


class CuratedParser:
    """Knows a thread by its name, also after it was given another."""

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        id_ = source.path.removeprefix(_PATH)
        self.facts = facts_restored(state) if state else SessionFacts(NOTES, id_, root=id_)

    def parse(self, record: Any, /) -> Parsed:
        record = dict_of(record)
        kind = text_of(record.get("type"))
        if kind == THREAD:
            return self._thread(record)
        return self._edit(record) if kind == EDIT else unknown(kind)

    def document(self, data: bytes, /) -> Parsed:
        return unknown("document")

    def state(self) -> dict[str, Any]:
        return facts_state(self.facts)

    def _thread(self, record: dict[str, Any]) -> Parsed:
        time_ms = self._saw(record.get("created_ms"))
        self._named(record)
        self.facts.project = self.facts.project or text_of(record.get("project"))[:_PROJECT_CHARS_MAX]
        text = f"{text_of(record.get('name'))}: {text_of(record.get('description'))}"
        return Parsed(THREAD, (Entry(Kind.EVENT, text, INJECTED, time_ms),))

    def _edit(self, record: dict[str, Any]) -> Parsed:
        op = text_of(record.get("op"))[:NAME_CHARS_MAX]
        time_ms = self._saw(record.get("time_ms"))
        if op == RENAME:
            self._named(record)
        return Parsed(f"{EDIT}/{op}", (Entry(Kind.EVENT, op, INJECTED, time_ms),))

    def _named(self, record: dict[str, Any]) -> None:
        self.facts.titled(title_line(text_of(record.get("name"))), TITLE_CUSTOM)

    def _saw(self, value: Any) -> int:
        time_ms = min(count_of(value), _TIME_MS_MAX)
        self.facts.saw(time_ms)
        return time_ms


def _piece(number: int, record: dict[str, Any]) -> SavedPiece:
    ids = tuple(id_ for id_ in list_of(record.get("ids")) if type(id_) is str)
    score = record.get("score")
    worth = score if type(score) is float and math.isfinite(score) else 0.0
    cuts = ((id_, _window(cut)) for id_, cut in dict_of(record.get("cuts")).items())
    told = tuple((id_, window) for id_, window in cuts if window is not None and id_ in ids)
    return SavedPiece(number, ids, count_of(record.get("tokens")), worth, told)


def _window(value: Any) -> Window | None:
    ends = list_of(value)
    if len(ends) != 2 or not all(type(end) is int for end in ends) or not 0 <= ends[0] <= ends[1]:
        return None
    return ends[0], ends[1]

"""A result that was too long for its chat, in a file of its own: `tool-outputs/session-ID/CALL.txt`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from recollect.agents.fields import facts_restored, facts_state, not_an_object, unknown
from recollect.values.records import Entry, Kind, Parsed, SessionFacts, SourceFile


class OutputParser:
    """One file, which is one result."""

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        self._call = PurePath(source.path).stem
        self.facts = facts_restored(state) if state else SessionFacts(source.agent, source.session)

    def state(self) -> dict[str, Any]:
        return facts_state(self.facts)

    def parse(self, record: Any, /) -> Parsed:
        return unknown("tool-outputs") if type(record) is dict else not_an_object(record)

    def document(self, data: bytes, /) -> Parsed:
        # Tool output may be any bytes; what is no UTF-8 stays visible as \xNN.
        text = data.decode("utf-8", "backslashreplace")
        return Parsed("tool-outputs", (Entry(Kind.RESULT, text, call=self._call),))

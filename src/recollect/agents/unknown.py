"""Lines of an agent this version does not know: kept as they are, until one that does reparses them.

They come from a newer Recollect: through the journal, or in a store it wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from recollect.agents.contract import Agent
from recollect.agents.head import Head
from recollect.values.records import Entry, Kind, Parsed, SessionFacts, SourceFile


class UnknownAgent(Agent):
    """Reads no file of its own accord and takes every record for one of an unknown kind."""

    version = 0

    def __init__(self, name: str) -> None:
        self.name = self.title = name

    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        return []

    def recognise(self, path: PurePath, head: Head) -> SourceFile | None:
        return None

    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> UnknownParser:
        return UnknownParser(source)


class UnknownParser:
    """Knows of the session what the source's name says."""

    def __init__(self, source: SourceFile) -> None:
        self.facts = SessionFacts(agent=source.agent, id=source.session, parent=source.parent)

    def parse(self, record: Any, /) -> Parsed:
        return Parsed("", (Entry(Kind.UNKNOWN),), known=False)

    def document(self, data: bytes, /) -> Parsed:
        return self.parse(data)

    def state(self) -> dict[str, Any]:
        return {}

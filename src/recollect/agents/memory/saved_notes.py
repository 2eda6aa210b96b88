"""What code and people saved (`Memory.save`, `recollect remember`): lines of sources on no disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.agents.contract import Agent
from recollect.light.sources import MEMORY

if TYPE_CHECKING:
    from pathlib import PurePath

    from recollect.agents.contract import Parser
    from recollect.agents.head import Head
    from recollect.values.records import SourceFile


class SavedNotes(Agent):
    """Reads what `recollect.memory.saving` writes. No file is ever found, because there is none."""

    name = MEMORY
    title = "Recollect's own memory"
    version = 1

    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        return []

    def recognise(self, path: PurePath, head: Head) -> SourceFile | None:
        return None

    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> Parser:
        from recollect.agents.memory.parse import NoteParser

        return NoteParser(source, state)

"""Claude.ai: what its data export gives out, `conversations.json` in a zip or by itself.

It has no folder on this machine: an export is handed to `recollect ingest`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.agents.contract import Agent

if TYPE_CHECKING:
    from pathlib import PurePath

    from recollect.agents.claudeai.parse import ClaudeaiParser
    from recollect.agents.contract import Conversations
    from recollect.agents.head import Head
    from recollect.agents.tools import Tools
    from recollect.values.records import SourceFile


class Claudeai(Agent):
    """Conversations out of exports."""

    name = "claudeai"
    title = "Claude.ai export"
    version = 1
    is_proven = False

    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        return []

    def recognise(self, path: PurePath, head: Head) -> SourceFile | None:
        from recollect.agents.claudeai.export import recognise

        return recognise(path, head)

    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> ClaudeaiParser:
        from recollect.agents.claudeai.parse import ClaudeaiParser

        return ClaudeaiParser(source, state)

    def conversations(self) -> Conversations:
        from recollect.agents.claudeai import export

        return export

    def tools(self) -> Tools:
        from recollect.agents.claudeai.tools import TOOLS

        return TOOLS


AGENT = Claudeai()

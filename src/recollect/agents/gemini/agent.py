"""Gemini CLI: `~/.gemini/tmp/PROJECT/chats/session-*.json`, saved again at every message, or `.jsonl`.

A resumed `.json` goes on as a `.jsonl` beside it. Both are one session, and what the second states again
takes the place of what the first said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.agents.contract import Agent

if TYPE_CHECKING:
    from pathlib import PurePath

    from recollect.agents.gemini.parse import GeminiParser
    from recollect.agents.head import Head
    from recollect.agents.tools import Tools
    from recollect.values.records import SourceFile


class Gemini(Agent):
    """Chats as documents and as logs."""

    name = "gemini"
    title = "Gemini CLI"
    version = 1
    home = "~/.gemini"
    moved_by = ("GEMINI_CLI_HOME",)
    instructions = "GEMINI.md"
    tags = ("session_context", "state_snapshot")

    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        from recollect.agents.gemini.paths import roots

        return roots(home, environ)

    def recognise(self, path: PurePath, head: Head) -> SourceFile | None:
        from recollect.agents.gemini.paths import recognise

        return recognise(path, head)

    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> GeminiParser:
        from recollect.agents.gemini.parse import GeminiParser
        from recollect.agents.gemini.paths import folder_of

        return GeminiParser(source, state, folder_of(source.path))

    def tools(self) -> Tools:
        from recollect.agents.gemini.tools import TOOLS

        return TOOLS


AGENT = Gemini()

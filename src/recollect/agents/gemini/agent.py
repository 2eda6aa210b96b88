"""Gemini CLI: `~/.gemini/tmp/PROJECT/chats/session-*.json`, saved again at every message, or `.jsonl`.

A resumed `.json` goes on as a `.jsonl` beside it. Both are one session, and what the second states again
takes the place of what the first said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.agents.contract import Agent

if TYPE_CHECKING:
    from pathlib import Path, PurePath

    from recollect.agents.contract import Parser, Reader, Writer
    from recollect.agents.head import Head
    from recollect.agents.signs import Signs
    from recollect.agents.tools import Tools
    from recollect.light.agents import Hooks
    from recollect.values.records import SourceFile
    from recollect.values.settings import Commands, Settings


class Gemini(Agent):
    """Chats as documents and as logs."""

    name = "gemini"
    title = "Gemini CLI"
    version = 2
    home = "~/.gemini"
    moved_by = ("GEMINI_CLI_HOME",)
    instructions = "GEMINI.md"
    tags = ("hook_context", "session_context", "state_snapshot", "untrusted_context")

    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        from recollect.agents.gemini.paths import roots

        return roots(home, environ)

    def recognise(self, path: PurePath, head: Head) -> SourceFile | None:
        from recollect.agents.gemini.paths import recognise

        return recognise(path, head)

    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> Parser:
        from recollect.agents.gemini.outputs import OutputParser
        from recollect.agents.gemini.parse import GeminiParser
        from recollect.agents.gemini.paths import folder_of
        from recollect.values.records import Role

        if source.role is Role.SPILL:
            return OutputParser(source, state)
        return GeminiParser(source, state, folder_of(source.path))

    def hooks(self) -> Hooks:
        from recollect.agents.gemini import hooks

        return hooks

    def settings(
        self, commands: Commands, *, home: Path, environ: Mapping[str, str], folder: Path
    ) -> Settings:
        from recollect.agents.gemini.settings import settings_of

        return settings_of(commands, home, environ, folder)

    def reader(self) -> Reader:
        from recollect.agents.gemini import read

        return read

    def writer(self) -> Writer:
        from recollect.agents.gemini import write

        return write

    def deletes_after_days(self, home: Path, environ: Mapping[str, str]) -> int | None:
        from recollect.agents.gemini.settings import retention_days

        return retention_days(home, environ)

    def tells(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        from pathlib import PurePath

        from recollect.agents.gemini.hooks import folder

        return [PurePath(folder(str(home), environ), name) for name in ("settings.json", "projects.json")]

    def signs(self) -> Signs:
        from recollect.agents.gemini.signs import SIGNS

        return SIGNS

    def tools(self) -> Tools:
        from recollect.agents.gemini.tools import TOOLS

        return TOOLS


AGENT = Gemini()

"""OpenCode: a database (`~/.local/share/opencode/opencode.db`), before that a file for each part.

`opencode export` writes a session as one document. All three say the same of sessions, messages and parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.agents.contract import Agent

if TYPE_CHECKING:
    from pathlib import Path, PurePath

    from recollect.agents.contract import Database, Reader, Writer
    from recollect.agents.head import Head
    from recollect.agents.opencode.parse import OpenCodeParser
    from recollect.agents.signs import Signs
    from recollect.agents.tools import Tools
    from recollect.values.records import SourceFile
    from recollect.values.settings import Commands, Settings


class OpenCode(Agent):
    """Sessions as rows, as folders of parts, and as documents."""

    name = "opencode"
    title = "OpenCode"
    version = 1
    home = "~/.local/share/opencode"
    moved_by = ("XDG_DATA_HOME",)
    instructions = "AGENTS.md"

    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        from recollect.agents.opencode.paths import roots

        return roots(home, environ)

    def recognise(self, path: PurePath, head: Head) -> SourceFile | None:
        from recollect.agents.opencode.paths import recognise

        return recognise(path, head)

    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> OpenCodeParser:
        from recollect.agents.opencode.parse import OpenCodeParser

        return OpenCodeParser(source, state)

    def database(self) -> Database:
        from recollect.agents.opencode import database

        return database

    def settings(
        self, commands: Commands, *, home: Path, environ: Mapping[str, str], folder: Path
    ) -> Settings:
        from recollect.agents.editing.servers import ServerSettings
        from recollect.agents.opencode.paths import settings_file

        return ServerSettings(
            name=self.name,
            title=self.title,
            used=home / self.roots(home, environ)[0],
            path=settings_file(home, environ),
            entry={"type": "local", "command": list(commands.mcp), "enabled": True},
            environment=environ,
            servers="mcp",
        )

    def reader(self) -> Reader:
        from recollect.agents.opencode import read

        return read

    def writer(self) -> Writer:
        from recollect.agents.opencode import write

        return write

    def tools(self) -> Tools:
        from recollect.agents.opencode.tools import TOOLS

        return TOOLS

    def signs(self) -> Signs:
        from recollect.agents.opencode.signs import SIGNS

        return SIGNS


AGENT = OpenCode()

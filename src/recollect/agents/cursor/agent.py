"""Cursor: the editor's database (`state.vscdb`), one for each chat of its command line, and transcripts.

The transcripts say again, without times and results, what the databases have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.agents.contract import Agent

if TYPE_CHECKING:
    from pathlib import Path, PurePath

    from recollect.agents.contract import Database
    from recollect.agents.cursor.parse import CursorParser
    from recollect.agents.head import Head
    from recollect.agents.signs import Signs
    from recollect.agents.tools import Tools
    from recollect.values.records import SourceFile
    from recollect.values.settings import Commands, Settings


class Cursor(Agent):
    """Conversations as rows of two kinds of databases, and as transcripts."""

    name = "cursor"
    title = "Cursor"
    version = 1
    is_proven = False
    home = "~/.cursor"
    moved_by = ("CURSOR_CONFIG_DIR", "XDG_CONFIG_HOME")
    instructions = "AGENTS.md"
    tags = ("user_query", "user_info", "system_reminder")

    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        from recollect.agents.cursor.paths import roots

        return roots(home, environ)

    def recognise(self, path: PurePath, head: Head) -> SourceFile | None:
        from recollect.agents.cursor.paths import recognise

        return recognise(path, head)

    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> CursorParser:
        from recollect.agents.cursor.parse import CursorParser

        return CursorParser(source, state)

    def database(self) -> Database:
        from recollect.agents.cursor import database

        return database

    def settings(
        self, commands: Commands, *, home: Path, environ: Mapping[str, str], folder: Path
    ) -> Settings:
        from recollect.agents.editing.servers import ServerSettings

        # The editor reads it here, wherever the command line keeps its own.
        path = home / ".cursor" / "mcp.json"
        program, *args = commands.mcp
        return ServerSettings(
            name=self.name,
            title=self.title,
            used=path.parent,
            path=path,
            entry={"command": program, "args": args},
            environment=environ,
        )

    def tools(self) -> Tools:
        from recollect.agents.cursor.tools import TOOLS

        return TOOLS

    def signs(self) -> Signs:
        from recollect.agents.cursor.signs import SIGNS

        return SIGNS


AGENT = Cursor()

"""Kiro: `~/.kiro/sessions/cli/ID.jsonl`, and beside it `ID.json` with what is known of the session.

Its older command line has a database, `~/.local/share/kiro-cli/data.sqlite3`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.agents.contract import Agent

if TYPE_CHECKING:
    from pathlib import Path, PurePath

    from recollect.agents.contract import Database
    from recollect.agents.head import Head
    from recollect.agents.kiro.parse import KiroParser
    from recollect.agents.signs import Signs
    from recollect.agents.tools import Tools
    from recollect.values.records import SourceFile
    from recollect.values.settings import Commands, Settings


class Kiro(Agent):
    """Sessions of its command line as logs, and as rows."""

    name = "kiro"
    title = "Kiro"
    version = 1
    is_proven = False
    home = "~/.kiro"

    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        databases = (".local/share/kiro-cli", "Library/Application Support/kiro-cli")
        return [home / ".kiro" / "sessions", *(home / place for place in databases)]

    def recognise(self, path: PurePath, head: Head) -> SourceFile | None:
        from recollect.agents.kiro.parse import recognise

        return recognise(path, head)

    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> KiroParser:
        from recollect.agents.kiro.parse import KiroParser

        return KiroParser(source, state)

    def database(self) -> Database:
        from recollect.agents.kiro import database

        return database

    def settings(
        self, commands: Commands, *, home: Path, environ: Mapping[str, str], folder: Path
    ) -> Settings:
        from recollect.agents.editing.servers import ServerSettings

        program, *args = commands.mcp
        return ServerSettings(
            name=self.name,
            title=self.title,
            used=home / ".kiro",
            path=home / ".kiro" / "settings" / "mcp.json",
            entry={"command": program, "args": args},
            environment=environ,
        )

    def tools(self) -> Tools:
        from recollect.agents.tools import Tools

        return Tools(
            change=frozenset({"fs_write", "write"}),
            run=frozenset({"execute_bash", "shell"}),
            paths=("path",),
            commands=("command",),
            read=frozenset({"fs_read"}),
        )

    def signs(self) -> Signs:
        from recollect.agents.signs import Signs

        return Signs(refused=("Tool use was cancelled by the user",))


AGENT = Kiro()

"""Factory droid: `~/.factory/sessions/FOLDER/SESSION.jsonl`, and what it cost in a document beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.agents.contract import Agent

if TYPE_CHECKING:
    from pathlib import Path, PurePath

    from recollect.agents.droid.parse import DroidParser
    from recollect.agents.head import Head
    from recollect.agents.signs import Signs
    from recollect.agents.tools import Tools
    from recollect.values.records import SourceFile
    from recollect.values.settings import Commands, Settings


class Droid(Agent):
    """Sessions as logs of messages."""

    name = "droid"
    title = "Factory droid"
    version = 1
    home = "~/.factory"
    moved_by = ("FACTORY_HOME_OVERRIDE",)
    instructions = "AGENTS.md"
    tags = ("system-reminder",)

    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        from recollect.agents.droid.paths import folder

        return [folder(home, environ) / "sessions"]

    def recognise(self, path: PurePath, head: Head) -> SourceFile | None:
        from recollect.agents.droid.paths import recognise

        return recognise(path, head)

    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> DroidParser:
        from recollect.agents.droid.parse import DroidParser

        return DroidParser(source, state)

    def settings(
        self, commands: Commands, *, home: Path, environ: Mapping[str, str], folder: Path
    ) -> Settings:
        from recollect.agents.droid.paths import servers_file
        from recollect.agents.editing.servers import ServerSettings

        path = servers_file(home, environ)
        program, *args = commands.mcp
        return ServerSettings(
            name=self.name,
            title=self.title,
            used=path.parent,
            path=path,
            entry={"type": "stdio", "command": program, "args": args, "disabled": False},
            environment=environ,
        )

    def tools(self) -> Tools:
        from recollect.agents.droid.tools import TOOLS

        return TOOLS

    def signs(self) -> Signs:
        from recollect.agents.droid.signs import SIGNS

        return SIGNS


AGENT = Droid()

"""Grok: `~/.grok/sessions/FOLDER/SESSION/updates.jsonl`, and small documents beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.agents.contract import Agent

if TYPE_CHECKING:
    from pathlib import Path, PurePath

    from recollect.agents.grok.parse import GrokParser
    from recollect.agents.head import Head
    from recollect.agents.signs import Signs
    from recollect.agents.tools import Tools
    from recollect.values.records import SourceFile
    from recollect.values.settings import Commands, Settings


class Grok(Agent):
    """Sessions as logs of updates."""

    name = "grok"
    title = "Grok"
    version = 1
    home = "~/.grok"
    moved_by = ("GROK_HOME",)
    instructions = "AGENTS.md"
    tags = ("system-reminder", "system_reminder", "user_info")

    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        from recollect.agents.grok.paths import folder

        return [folder(home, environ) / "sessions"]

    def recognise(self, path: PurePath, head: Head) -> SourceFile | None:
        from recollect.agents.grok.paths import recognise

        return recognise(path, head)

    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> GrokParser:
        from recollect.agents.grok.parse import GrokParser

        return GrokParser(source, state)

    def settings(
        self, commands: Commands, *, home: Path, environ: Mapping[str, str], folder: Path
    ) -> Settings:
        from recollect.agents.editing.toml_servers import TomlServerSettings
        from recollect.agents.grok.paths import settings_file

        path = settings_file(home, environ)
        program, *args = commands.mcp
        return TomlServerSettings(
            name=self.name,
            title=self.title,
            used=path.parent,
            path=path,
            entry={"command": program, "args": args},
            environment=environ,
        )

    def tools(self) -> Tools:
        from recollect.agents.grok.tools import TOOLS

        return TOOLS

    def signs(self) -> Signs:
        from recollect.agents.grok.signs import SIGNS

        return SIGNS

    def deletes_after_days(self, home: Path, environ: Mapping[str, str]) -> int | None:
        from recollect.agents.grok.paths import cleanup_days

        return cleanup_days(home, environ)

    def tells(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        from recollect.agents.grok.paths import folder

        return [folder(home, environ) / "config.toml"]


AGENT = Grok()

"""GitHub Copilot CLI: `~/.copilot/session-state/ID/events.jsonl`, or `ID.jsonl` before it had folders.

A subagent's events stand among those of its session, in the same file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.agents.contract import Agent
from recollect.agents.copilot import paths

if TYPE_CHECKING:
    from pathlib import Path, PurePath

    from recollect.agents.copilot.parse import CopilotParser
    from recollect.agents.head import Head
    from recollect.agents.signs import Signs
    from recollect.agents.tools import Tools
    from recollect.light.agents import Hooks
    from recollect.values.records import SourceFile
    from recollect.values.settings import Commands, Settings


class Copilot(Agent):
    """Sessions as lists of events."""

    name = "copilot"
    title = "Copilot CLI"
    version = 1
    home = "~/.copilot"
    moved_by = (paths.MOVED_BY,)
    instructions = ".github/copilot-instructions.md"
    tags = ("current_datetime", "sql_tables", "system_notification", "system_reminder", "tagged_files")

    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        from pathlib import PurePath

        return [PurePath(root) for root in paths.roots(str(home), environ)]

    def recognise(self, path: PurePath, head: Head) -> SourceFile | None:
        from recollect.agents.copilot.recognise import recognise

        return recognise(path, head)

    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> CopilotParser:
        from recollect.agents.copilot.parse import CopilotParser

        return CopilotParser(source, state)

    def hooks(self) -> Hooks:
        from recollect.agents.copilot import hooks

        return hooks

    def settings(
        self, commands: Commands, *, home: Path, environ: Mapping[str, str], folder: Path
    ) -> Settings:
        from recollect.agents.copilot.settings import CopilotSettings

        return CopilotSettings(commands, home, environ, folder)

    def tools(self) -> Tools:
        from recollect.agents.copilot.tools import TOOLS

        return TOOLS

    def signs(self) -> Signs:
        from recollect.agents.copilot.signs import SIGNS

        return SIGNS


AGENT = Copilot()

"""Cline: `~/.cline/data/sessions/ID/ID.messages.json`, in an editor `tasks/ID/api_conversation_history.json`.

Both are saved again as a whole at every step. Beside them lie documents that say the rest: folder, tokens,
and what was shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.agents.contract import Agent

if TYPE_CHECKING:
    from pathlib import Path, PurePath

    from recollect.agents.cline.parse import ClineParser
    from recollect.agents.head import Head
    from recollect.agents.signs import Signs
    from recollect.agents.tools import Tools
    from recollect.values.records import SourceFile
    from recollect.values.settings import Commands, Settings


class Cline(Agent):
    """Sessions of the command line, tasks of the extension and of Roo Code, which came of it."""

    name = "cline"
    title = "Cline"
    version = 1
    home = "~/.cline"
    moved_by = ("CLINE_DIR", "CLINE_DATA_DIR", "CLINE_SESSION_DATA_DIR")
    instructions = ".clinerules"
    tags = ("user_input", "user_command", "mode_notice", "environment_details")

    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        from recollect.agents.cline.paths import roots

        return roots(home, environ)

    def recognise(self, path: PurePath, head: Head) -> SourceFile | None:
        from recollect.agents.cline.paths import recognise

        return recognise(path, head)

    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> ClineParser:
        from recollect.agents.cline.parse import ClineParser
        from recollect.agents.cline.paths import folder_of

        return ClineParser(source, state, folder_of(source))

    def settings(
        self, commands: Commands, *, home: Path, environ: Mapping[str, str], folder: Path
    ) -> Settings:
        from recollect.agents.cline.paths import data_folder, settings_file
        from recollect.agents.editing.servers import ServerSettings

        program, *words = commands.mcp
        return ServerSettings(
            name=self.name,
            title=self.title,
            used=home / data_folder(home, environ),
            path=settings_file(home, environ),
            # Of its own it waits 3 seconds for a server to start, which a busy machine may take.
            entry={"type": "stdio", "command": program, "args": words, "timeout": 60},
            environment=environ,
        )

    def tools(self) -> Tools:
        from recollect.agents.cline.tools import TOOLS

        return TOOLS

    def signs(self) -> Signs:
        from recollect.agents.cline.signs import SIGNS

        return SIGNS


AGENT = Cline()

"""What we put into Qwen Code's settings: hooks and our MCP server, both in `settings.json`.

Its hooks have the events, the payload and the answer of those that Recollect is made for.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from recollect.agents.editing.json_text import Document
from recollect.agents.editing.servers import HookFiles, ServerSettings
from recollect.agents.qwen import paths
from recollect.values.settings import Commands

TIMEOUTS = {
    "SessionStart": 5,
    "UserPromptSubmit": 5,
    "Stop": 5,
    "SubagentStop": 5,
    "PreCompact": 5,
    "SessionEnd": 5,
}  # seconds; without a number it waits a minute


def settings_of(commands: Commands, home: Path, environ: Mapping[str, str], folder: Path) -> ServerSettings:
    """Qwen Code as it is set up in this home, and in this folder for what is the project's."""
    root = Path(paths.folder(str(home), environ))
    program, *args = commands.mcp
    return ServerSettings(
        name="qwen",
        title="Qwen Code",
        used=root,
        path=root / "settings.json",
        entry={"command": program, "args": args},
        environment=environ,
        hooks=HookFiles(
            commands, root / "settings.json", folder / ".qwen" / "settings.json", TIMEOUTS, _silenced
        ),
    )


def _silenced(document: Document) -> str:
    return "`disableAllHooks` is set" if document.value.get("disableAllHooks") is True else ""

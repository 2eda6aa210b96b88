"""What we put into Copilot CLI's settings: hooks in a file of our own, our MCP server in `mcp-config.json`.

Hooks of a person lie in `~/.copilot/hooks`, a file each; those of a project in `.github/hooks`. It takes
them in Claude Code's form too, and under those names tells its events as Claude Code does.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from recollect.agents.copilot import paths
from recollect.agents.editing.entries import document_at
from recollect.agents.editing.servers import HookFiles, ServerSettings
from recollect.values.settings import Commands

TIMEOUTS = {
    "SessionStart": 5,
    "UserPromptSubmit": 5,
    "Stop": 5,
    "SubagentStop": 5,
    "PreCompact": 5,
    "SessionEnd": 5,
}

_FILE = "recollect.json"


def settings_of(commands: Commands, home: Path, environ: Mapping[str, str], folder: Path) -> ServerSettings:
    """Copilot CLI as it is set up in this home, and in this folder for what is the project's."""
    root = Path(paths.folder(str(home), environ))
    program, *args = commands.mcp
    return ServerSettings(
        name="copilot",
        title="Copilot CLI",
        used=root,
        path=root / "mcp-config.json",
        entry={"type": "local", "command": program, "args": args, "tools": ["*"]},
        environment=environ,
        hooks=HookFiles(
            commands,
            root / "hooks" / _FILE,
            folder / ".github" / "hooks" / _FILE,
            TIMEOUTS,
            lambda document: _silenced(root / "settings.json") if document.path.name == _FILE else "",
        ),
    )


def _silenced(settings: Path) -> str:
    is_off = document_at(settings, []).value.get("disableAllHooks") is True
    return f"`disableAllHooks` is set in {settings}" if is_off else ""

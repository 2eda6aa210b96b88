"""What we put into Copilot CLI's settings: hooks in a file of our own, our MCP server in `mcp-config.json`.

Hooks of a person lie in `~/.copilot/hooks`, a file each; those of a project in `.github/hooks`. It takes
them in Claude Code's form too, and under those names tells its events as Claude Code does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from recollect.agents.copilot import paths
from recollect.agents.editing.change import Change
from recollect.agents.editing.entries import (
    document_at,
    hooks_in,
    json_change,
    json_removal,
    missing_events,
    server_in,
    with_hooks,
    with_server,
    without_hooks,
    without_server,
)
from recollect.agents.editing.programs import version_said
from recollect.light.processes import program_path
from recollect.values.settings import AgentState, Commands, Installed

TIMEOUTS = {
    "SessionStart": 5,
    "UserPromptSubmit": 5,
    "Stop": 5,
    "SubagentStop": 5,
    "PreCompact": 5,
    "SessionEnd": 5,
}

_FILE = "recollect.json"


@dataclass(frozen=True, slots=True)
class CopilotSettings:
    """Copilot CLI as it is set up in this home, and in this folder for what is the project's."""

    commands: Commands
    home: Path
    environment: Mapping[str, str]
    folder: Path

    name = "copilot"
    title = "Copilot CLI"

    def found(self) -> bool:
        return self._root.is_dir() or self._program is not None

    def version(self) -> str:
        words = version_said(self._program, self.environment).split()
        return next((word.rstrip(".") for word in words if word[:1].isdigit()), "")

    def changes(self, *, hooks: bool, mcp: bool, project: bool) -> list[Change]:
        found = []
        if hooks:
            command = self.commands.hook_line
            path = self._project_hooks if project else self._hooks
            found += json_change(path, lambda document: with_hooks(document, command, TIMEOUTS))
        if mcp and not project:
            program, *args = self.commands.mcp
            entry = {"type": "local", "command": program, "args": args, "tools": ["*"]}
            found += json_change(self._servers, lambda document: with_server(document, entry))
        return found

    def removal(self, *, project: bool, mcp: bool = True) -> list[Change]:
        found = json_removal(self._project_hooks if project else self._hooks, without_hooks)
        if mcp and not project:
            found += json_removal(self._servers, without_server)
        return found

    def state(self) -> AgentState:
        problems: list[str] = []
        files = dict.fromkeys((self._hooks, self._project_hooks))
        documents = [document_at(path, problems) for path in files]
        hooks = [Installed(found.path, *item) for found in documents for item in hooks_in(found).items()]
        problems += (problem for found in hooks for problem in missing_events(found, TIMEOUTS))
        if hooks and document_at(self._root / "settings.json", []).value.get("disableAllHooks") is True:
            problems.append(f"{self._root / 'settings.json'}: `disableAllHooks` is set, so no hook runs")
        line = server_in(document_at(self._servers, problems))
        return AgentState(tuple(hooks), (Installed(self._servers, line),) if line else (), tuple(problems))

    # -- where -----------------------------------------------------------------------------

    @property
    def _root(self) -> Path:
        return Path(paths.folder(str(self.home), self.environment))

    @property
    def _hooks(self) -> Path:
        return self._root / "hooks" / _FILE

    @property
    def _project_hooks(self) -> Path:
        return self.folder / ".github" / "hooks" / _FILE

    @property
    def _servers(self) -> Path:
        return self._root / "mcp-config.json"

    @property
    def _program(self) -> str | None:
        return program_path("copilot", self.environment)

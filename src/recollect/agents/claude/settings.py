"""What we put into Claude Code's settings, hooks; and into `.claude.json`, our MCP server.

`.claude.json` lies beside `~/.claude`, but inside the folder that CLAUDE_CONFIG_DIR names,
and Claude Code writes it all the time. Where our plugin is switched on, it brings both,
and the settings are left alone: else every event would be captured, and told, twice.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from recollect.agents.claude import paths
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

# Seconds. A hook is done in a fraction of one; without a number Claude Code waits ten minutes.
# At the end of a session it grants 1.5 s to all hooks together unless one asks for more.
TIMEOUTS = {
    "SessionStart": 5,
    "UserPromptSubmit": 5,
    "Stop": 5,
    "SubagentStop": 5,
    "PreCompact": 5,
    "SessionEnd": 5,
}


CLEANUP_DAYS = 30  # unless its settings say otherwise


@dataclass(frozen=True, slots=True)
class ClaudeSettings:
    """Claude Code as it is set up in this home, and in this folder for what is the project's."""

    commands: Commands
    home: Path
    environment: Mapping[str, str]
    folder: Path

    name = "claude"
    title = "Claude Code"

    def found(self) -> bool:
        return self._root.is_dir() or self._program is not None

    def version(self) -> str:
        return version_said(self._program, self.environment).partition(" ")[0].strip()

    def changes(self, *, hooks: bool, mcp: bool, project: bool) -> list[Change]:
        if self._plugin():
            return []
        command = self.commands.hook_line
        found = []
        if hooks:
            path = self._project_settings if project else self._settings
            found += json_change(path, lambda document: with_hooks(document, command, TIMEOUTS))
        if mcp and not project:
            program, *args = self.commands.mcp
            entry = {"type": "stdio", "command": program, "args": args}
            found += json_change(self._servers, lambda document: with_server(document, entry))
        return found

    def removal(self, *, project: bool, mcp: bool = True) -> list[Change]:
        found = json_removal(self._project_settings if project else self._settings, without_hooks)
        if mcp and not project:
            found += json_removal(self._servers, without_server)
        return found

    def state(self) -> AgentState:
        problems: list[str] = []
        hooks = [found for path in self._hook_files() for found in self._hooks_of(path, problems)]
        mcp = [Installed(path, line) for path, line in self._servers_of(problems) if line]
        for found in hooks:
            problems += missing_events(found, TIMEOUTS)
        plugin = self._plugin()
        if plugin and hooks:
            problems.append(f"the plugin {plugin} and the settings both run the hooks")
        if plugin:
            problems += self._plugin_problems(plugin)
            hooks.append(Installed(self._settings, f"plugin {plugin}", tuple(TIMEOUTS)))
            mcp.append(Installed(self._settings, f"plugin {plugin}"))
        return AgentState(tuple(hooks), tuple(mcp), tuple(problems))

    # -- where -----------------------------------------------------------------------------

    @property
    def _root(self) -> Path:
        return Path(paths.folder(str(self.home), self.environment))

    @property
    def _settings(self) -> Path:
        return self._root / "settings.json"

    @property
    def _project_settings(self) -> Path:
        return self.folder / ".claude" / "settings.json"

    @property
    def _servers(self) -> Path:
        return (self._root if self.environment.get(paths.MOVED_BY) else self.home) / ".claude.json"

    @property
    def _program(self) -> str | None:
        return program_path("claude", self.environment)

    # -- what is there ---------------------------------------------------------------------

    def _hook_files(self) -> list[Path]:
        return list(dict.fromkeys((self._settings, self._project_settings)))

    def _hooks_of(self, path: Path, problems: list[str]) -> Iterator[Installed]:
        document = document_at(path, problems)
        for command, events in hooks_in(document).items():
            yield Installed(path, command, events)
        if document.value.get("disableAllHooks") is True:
            problems.append(f"{path}: `disableAllHooks` is set, so no hook runs")

    def _servers_of(self, problems: list[str]) -> Iterator[tuple[Path, str]]:
        yield self._servers, server_in(document_at(self._servers, problems))

    def _plugin(self) -> str:
        """The name under which our plugin is switched on, or ""."""
        plugins = document_at(self._settings, []).value.get("enabledPlugins")
        on = [name for name, is_on in plugins.items() if is_on] if isinstance(plugins, dict) else []
        return next((name for name in on if name.partition("@")[0] == "recollect"), "")

    def _plugin_problems(self, plugin: str) -> Iterator[str]:
        """What is wrong with the copy of the plugin that Claude Code made for itself."""
        known = document_at(self._root / "plugins" / "installed_plugins.json", []).value.get("plugins")
        copies = known.get(plugin) if isinstance(known, dict) else None
        for copy in copies if isinstance(copies, list) else ():
            folder = copy.get("installPath") if isinstance(copy, dict) else None
            path = Path(folder if isinstance(folder, str) else self._root) / "hooks" / "hooks.json"
            if set(hooks_in(document_at(path, []))) - {shlex.join(self.commands.hook)}:
                again = f"`claude plugin uninstall {plugin}` and install it again"
                yield (
                    f"{path}: runs another Recollect, or one by its name alone, or names another store:"
                    f" run `recollect hook plugin`, then {again}"
                )


def cleanup_days(home: Path, environ: Mapping[str, str]) -> int:
    """After how many days without a change it deletes a transcript, without asking."""
    settings = Path(paths.folder(str(home), environ)) / "settings.json"
    try:
        value = json.loads(settings.read_bytes()).get("cleanupPeriodDays")
    except (OSError, ValueError, AttributeError, RecursionError):
        return CLEANUP_DAYS
    usable = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e6
    return int(value) if usable else CLEANUP_DAYS

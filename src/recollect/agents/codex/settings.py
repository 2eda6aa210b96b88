"""What we put into Codex's settings: hooks in `hooks.json`; our MCP server and `notify` in `config.toml`.

Codex runs a hook only once a person has trusted it (Codex asks when it starts), and `codex exec`
skips it without a word until then. We do not write that approval ourselves: it is there so that
no program that can write a file can approve itself. `notify` needs none, so finished turns are
captured at once; it has room for one program, and another's is left alone.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recollect.agents.codex import paths
from recollect.agents.codex.review import unreviewed
from recollect.agents.editing.change import Change, read_settings
from recollect.agents.editing.commands import is_ours
from recollect.agents.editing.entries import (
    document_at,
    hooks_in,
    json_change,
    json_removal,
    missing_events,
    with_hooks,
    without_hooks,
)
from recollect.agents.editing.programs import version_said
from recollect.agents.editing.toml_servers import server_in, with_server, without_server
from recollect.agents.editing.toml_text import Toml, toml_change, toml_removal
from recollect.light.processes import program_path
from recollect.values.errors import SettingsRefused
from recollect.values.settings import AgentState, Commands, Installed

# Seconds. Codex grants no more than three at the end of a session, and says so each time more is asked.
TIMEOUTS = {
    "SessionStart": 5,
    "UserPromptSubmit": 5,
    "Stop": 5,
    "SubagentStop": 5,
    "PreCompact": 5,
    "SessionEnd": 3,
}


@dataclass(frozen=True, slots=True)
class CodexSettings:
    """Codex as it is set up in this home, and in this folder for what is the project's."""

    commands: Commands
    home: Path
    environment: Mapping[str, str]
    folder: Path

    name = "codex"
    title = "Codex"

    def found(self) -> bool:
        return self._root.is_dir() or self._program is not None

    def version(self) -> str:
        return version_said(self._program, self.environment).strip().rpartition(" ")[2]

    def changes(self, *, hooks: bool, mcp: bool, project: bool) -> list[Change]:
        line = self.commands.hook_line
        found = []
        if hooks:
            path = self._project_hooks if project else self._hooks
            found += json_change(path, lambda document: with_hooks(document, line, TIMEOUTS))
        if not project:
            notify = list(self.commands.hook) if hooks else None
            server = self._server() if mcp else None
            found += toml_change(self._settings, lambda toml: _with_entries(toml, notify, server))
        return found

    def removal(self, *, project: bool, mcp: bool = True) -> list[Change]:
        if project:
            return json_removal(self._project_hooks, without_hooks)
        without = _without_entries if mcp else _without_notify
        found = json_removal(self._hooks, without_hooks)
        return found + toml_removal(self._settings, without, left=lambda toml: bool(server_in(toml)))

    def state(self) -> AgentState:
        problems: list[str] = []
        toml = self._toml(problems)
        paths = dict.fromkeys((self._hooks, self._project_hooks))
        documents = [document_at(path, problems) for path in paths]
        hooks = [Installed(found.path, *item) for found in documents for item in hooks_in(found).items()]
        problems += (problem for found in hooks for problem in missing_events(found, TIMEOUTS))
        problems += (problem for document in documents for problem in unreviewed(document, toml.value))
        if hooks and not _hooks_are_on(toml.value):
            problems.append(f"{self._settings}: the feature `hooks` is switched off, so no hook runs")
        if notify := _our_notify(toml):
            hooks.append(Installed(self._settings, notify, ("notify",)))
        line = server_in(toml)
        return AgentState(tuple(hooks), (Installed(self._settings, line),) if line else (), tuple(problems))

    def _server(self) -> dict[str, Any]:
        """Our server; Codex gives it hardly anything of its own environment, so what it needs is named."""
        program, *args = self.commands.mcp
        return {"command": program, "args": args, "env_vars": self.commands.variables}

    # -- where -----------------------------------------------------------------------------

    @property
    def _root(self) -> Path:
        return Path(paths.folder(str(self.home), self.environment))

    @property
    def _settings(self) -> Path:
        return self._root / "config.toml"

    @property
    def _hooks(self) -> Path:
        return self._root / "hooks.json"

    @property
    def _project_hooks(self) -> Path:
        return self.folder / ".codex" / "hooks.json"

    @property
    def _program(self) -> str | None:
        return program_path("codex", self.environment)

    # -- what is there ---------------------------------------------------------------------

    def _toml(self, problems: list[str]) -> Toml:
        try:
            return Toml.parse(self._settings, read_settings(self._settings, to_write=False))
        except SettingsRefused as error:
            problems.append(str(error))
            return Toml(self._settings, "", {})


def _with_entries(toml: Toml, notify: list[str] | None, server: Mapping[str, Any] | None) -> Toml:
    if notify and ("notify" not in toml.value or _our_notify(toml)):
        toml = toml.put_key("notify", notify)
    if server:
        # A list that is there may be longer by what a person needs.
        toml = with_server(toml, server, kept={"env_vars"})
    return toml


def _without_entries(toml: Toml) -> Toml:
    return without_server(_without_notify(toml))


def _without_notify(toml: Toml) -> Toml:
    return toml.drop_key("notify") if _our_notify(toml) else toml


def _our_notify(toml: Toml) -> str:
    """The command line that `notify` runs, if it is ours."""
    words = toml.value.get("notify")
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        return ""
    line = shlex.join(words)
    return line if is_ours(line) else ""


def _hooks_are_on(settings: Mapping[str, Any]) -> bool:
    features = settings.get("features")
    return not isinstance(features, dict) or features.get("hooks", features.get("codex_hooks")) is not False

"""What we put into Gemini CLI's `settings.json`: hooks, under names of its own, and our MCP server."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from recollect.agents.editing.change import Change
from recollect.agents.editing.entries import (
    Edit,
    Removal,
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
from recollect.agents.fields import dict_of, text_of
from recollect.agents.gemini.hooks import folder
from recollect.light.processes import program_path
from recollect.values.settings import AgentState, Commands, Installed

# Milliseconds. For the end of a session it does not wait at all.
TIMEOUTS = {
    "SessionStart": 5000,
    "BeforeAgent": 5000,
    "AfterAgent": 5000,
    "PreCompress": 5000,
    "SessionEnd": 5000,
}

RETENTION_DAYS = 30  # unless its settings say otherwise

_AGE = re.compile(r"(\d{1,6})([hdwm])")
_HOURS = {"h": 1, "d": 24, "w": 24 * 7, "m": 24 * 30}


@dataclass(frozen=True, slots=True)
class GeminiSettings:
    """Gemini CLI as it is set up in this home, and in this folder for what is the project's."""

    commands: Commands
    home: Path
    environment: Mapping[str, str]
    folder: Path

    name = "gemini"
    title = "Gemini CLI"

    def found(self) -> bool:
        return self._settings.parent.is_dir() or self._program is not None

    def version(self) -> str:
        return version_said(self._program, self.environment).strip()

    def changes(self, *, hooks: bool, mcp: bool, project: bool) -> list[Change]:
        edits: list[Edit] = []
        if hooks:
            command = self.commands.hook_line
            edits.append(lambda document: with_hooks(document, command, TIMEOUTS))
        if mcp and not project:
            program, *args = self.commands.mcp
            edits.append(lambda document: with_server(document, {"command": program, "args": args}))
        return json_change(self._project_settings if project else self._settings, *edits)

    def removal(self, *, project: bool, mcp: bool = True) -> list[Change]:
        removals: list[Removal] = [without_hooks]
        if mcp and not project:
            removals.append(without_server)
        return json_removal(self._project_settings if project else self._settings, *removals)

    def state(self) -> AgentState:
        problems: list[str] = []
        files = dict.fromkeys((self._settings, self._project_settings))
        documents = [document_at(path, problems) for path in files]
        hooks = [Installed(found.path, *item) for found in documents for item in hooks_in(found).items()]
        problems += (problem for found in hooks for problem in missing_events(found, TIMEOUTS))
        for found in documents:
            if hooks and dict_of(found.value.get("hooksConfig")).get("enabled") is False:
                problems.append(f"{found.path}: `hooksConfig.enabled` is false, so no hook runs")
        line = server_in(documents[0])
        return AgentState(tuple(hooks), (Installed(self._settings, line),) if line else (), tuple(problems))

    # -- where -----------------------------------------------------------------------------

    @property
    def _settings(self) -> Path:
        return Path(folder(str(self.home), self.environment)) / "settings.json"

    @property
    def _project_settings(self) -> Path:
        return self.folder / ".gemini" / "settings.json"

    @property
    def _program(self) -> str | None:
        return program_path("gemini", self.environment)


def retention_days(home: Path, environ: Mapping[str, str]) -> int | None:
    """After how many days it deletes a chat at its next start; None where that is switched off."""
    try:
        told = json.loads((Path(folder(str(home), environ)) / "settings.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return RETENTION_DAYS
    kept = dict_of(dict_of(dict_of(told).get("general")).get("sessionRetention"))
    if kept.get("enabled") is False:
        return None
    age = _AGE.fullmatch(text_of(kept.get("maxAge")))
    return int(age[1]) * _HOURS[age[2]] // 24 if age else RETENTION_DAYS

"""What we put into Qwen Code's settings: hooks and our MCP server, both in `settings.json`.

Its hooks have the events, the payload and the answer of those that Recollect is made for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from recollect.agents.editing.change import Change, read_settings
from recollect.agents.editing.entries import (
    Edit,
    Removal,
    hooks_in,
    json_change,
    json_removal,
    server_in,
    with_hooks,
    with_server,
    without_hooks,
    without_server,
)
from recollect.agents.editing.json_text import Document
from recollect.agents.editing.programs import version_said
from recollect.agents.qwen import paths
from recollect.light.processes import program_path
from recollect.values.errors import SettingsRefused
from recollect.values.settings import AgentState, Commands, Installed

TIMEOUTS = {
    "SessionStart": 5,
    "UserPromptSubmit": 5,
    "Stop": 5,
    "SubagentStop": 5,
    "PreCompact": 5,
    "SessionEnd": 5,
}  # seconds; without a number it waits a minute


@dataclass(frozen=True, slots=True)
class QwenSettings:
    """Qwen Code as it is set up in this home, and in this folder for what is the project's."""

    commands: Commands
    home: Path
    environment: Mapping[str, str]
    folder: Path

    name = "qwen"
    title = "Qwen Code"

    def found(self) -> bool:
        return self._root.is_dir() or self._program is not None

    def version(self) -> str:
        return version_said(self._program, self.environment).strip()

    def changes(self, *, hooks: bool, mcp: bool, project: bool) -> list[Change]:
        edits: list[Edit] = []
        if hooks:
            line = self.commands.hook_line
            edits.append(lambda document: with_hooks(document, line, TIMEOUTS))
        if mcp and not project:
            program, *args = self.commands.mcp
            edits.append(lambda document: with_server(document, {"command": program, "args": args}))
        return json_change(self._settings(project=project), *edits)

    def removal(self, *, project: bool, mcp: bool = True) -> list[Change]:
        removals: list[Removal] = [without_hooks, *([without_server] if mcp and not project else [])]
        return json_removal(self._settings(project=project), *removals)

    def state(self) -> AgentState:
        problems: list[str] = []
        files = dict.fromkeys((self._settings(project=False), self._settings(project=True)))
        read = {path: _document_at(path, problems) for path in files}
        hooks = [
            Installed(path, command, events)
            for path, document in read.items()
            for command, events in hooks_in(document).items()
        ]
        mcp = [Installed(path, line) for path, document in read.items() if (line := server_in(document))]
        for found in hooks:
            problems += _missing(found)
        problems += [
            f"{path}: `disableAllHooks` is set, so no hook runs"
            for path, document in read.items()
            if document.value.get("disableAllHooks") is True
        ]
        return AgentState(tuple(hooks), tuple(mcp), tuple(problems))

    @property
    def _root(self) -> Path:
        return Path(paths.folder(str(self.home), self.environment))

    @property
    def _program(self) -> str | None:
        return program_path("qwen", self.environment)

    def _settings(self, *, project: bool) -> Path:
        return (self.folder / ".qwen" if project else self._root) / "settings.json"


def _missing(found: Installed) -> Iterator[str]:
    missing = [event for event in TIMEOUTS if event not in found.events]
    if missing:
        yield f"{found.path}: no hook for {', '.join(missing)}"


def _document_at(path: Path, problems: list[str]) -> Document:
    """A settings file; one that cannot be read counts as empty, and the reason is noted."""
    try:
        return Document.parse(path, read_settings(path, to_write=False))
    except SettingsRefused as error:
        problems.append(str(error))
        return Document(path, "", {})

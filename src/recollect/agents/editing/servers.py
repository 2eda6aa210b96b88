"""Settings of an agent in JSON files: our MCP server and, where it has such, hooks in the form most have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recollect.agents.editing.change import Change
from recollect.agents.editing.entries import (
    SERVERS,
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
from recollect.agents.editing.json_text import Document
from recollect.agents.editing.programs import version_said
from recollect.light.processes import program_path
from recollect.values.settings import AgentState, Commands, Installed


@dataclass(frozen=True, slots=True)
class HookFiles:
    """Where hooks go, a person's and a project's, and for which events, each with the time it may take.

    `silenced` says which setting of a file keeps all hooks from running, "" for none.
    """

    commands: Commands
    path: Path
    project: Path
    timeouts: Mapping[str, int]
    silenced: Callable[[Document], str] = lambda document: ""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where the server's entry goes, under which name, and how it is written there; and the hooks.

    `used` is a folder that is there once the agent was used.
    """

    name: str
    title: str
    used: Path
    path: Path
    entry: Mapping[str, Any]
    environment: Mapping[str, str]
    servers: str = SERVERS
    hooks: HookFiles | None = None

    def found(self) -> bool:
        return self.used.is_dir() or self._program is not None

    def version(self) -> str:
        words = version_said(self._program, self.environment).split()
        return next((word.rstrip(".") for word in words if word[:1].isdigit()), "")

    def changes(self, *, hooks: bool, mcp: bool, project: bool) -> Sequence[Change]:
        edits: dict[Path, list[Edit]] = {}
        if hooks and self.hooks is not None:
            line, timeouts = self.hooks.commands.hook_line, self.hooks.timeouts
            path = self.hooks.project if project else self.hooks.path
            edits.setdefault(path, []).append(lambda document: with_hooks(document, line, timeouts))
        if mcp and not project:
            edits.setdefault(self.path, []).append(
                lambda document: with_server(document, self.entry, self.servers)
            )
        return [change for path, made in edits.items() for change in json_change(path, *made)]

    def removal(self, *, project: bool, mcp: bool = True) -> Sequence[Change]:
        removals: dict[Path, list[Removal]] = {}
        if self.hooks is not None:
            removals[self.hooks.project if project else self.hooks.path] = [without_hooks]
        if mcp and not project:
            removals.setdefault(self.path, []).append(
                lambda document, original: without_server(document, original, self.servers)
            )
        return [change for path, made in removals.items() for change in json_removal(path, *made)]

    def state(self) -> AgentState:
        problems: list[str] = []
        files = dict.fromkeys((self.path, *self._hook_files()))
        read = {path: document_at(path, problems) for path in files}
        hooks = [
            Installed(path, *item) for path in self._hook_files() for item in hooks_in(read[path]).items()
        ]
        if self.hooks is not None and hooks:
            problems += [each for found in hooks for each in missing_events(found, self.hooks.timeouts)]
            silenced = {path: self.hooks.silenced(document) for path, document in read.items()}
            problems += [f"{path}: {why}, so no hook runs" for path, why in silenced.items() if why]
        line = server_in(read[self.path], self.servers)
        return AgentState(tuple(hooks), (Installed(self.path, line),) if line else (), tuple(problems))

    def _hook_files(self) -> Sequence[Path]:
        return () if self.hooks is None else tuple(dict.fromkeys((self.hooks.path, self.hooks.project)))

    @property
    def _program(self) -> str | None:
        return program_path(self.name, self.environment)

"""Settings of an agent that takes an MCP server, in a JSON file, and has no hooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recollect.agents.editing.change import Change, read_settings
from recollect.agents.editing.entries import (
    SERVERS,
    json_change,
    json_removal,
    server_in,
    with_server,
    without_server,
)
from recollect.agents.editing.json_text import Document
from recollect.agents.editing.programs import version_said
from recollect.light.processes import program_path
from recollect.values.errors import SettingsRefused
from recollect.values.settings import AgentState, Installed


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where the server's entry goes, under which name, and how it is written there.

    `used` is a folder that is there once the agent was used.
    """

    name: str
    title: str
    used: Path
    path: Path
    entry: Mapping[str, Any]
    environment: Mapping[str, str]
    servers: str = SERVERS

    def found(self) -> bool:
        return self.used.is_dir() or self._program is not None

    def version(self) -> str:
        words = version_said(self._program, self.environment).split()
        return next((word.rstrip(".") for word in words if word[:1].isdigit()), "")

    def changes(self, *, hooks: bool, mcp: bool, project: bool) -> Sequence[Change]:
        if project or not mcp:
            return []
        return json_change(self.path, lambda document: with_server(document, self.entry, self.servers))

    def removal(self, *, project: bool, mcp: bool = True) -> Sequence[Change]:
        if project or not mcp:
            return []
        return json_removal(
            self.path, lambda document, original: without_server(document, original, self.servers)
        )

    def state(self) -> AgentState:
        try:
            document = Document.parse(self.path, read_settings(self.path, to_write=False))
        except SettingsRefused as error:
            return AgentState(problems=(str(error),))
        line = server_in(document, self.servers)
        return AgentState(mcp=(Installed(self.path, line),) if line else ())

    @property
    def _program(self) -> str | None:
        return program_path(self.name, self.environment)

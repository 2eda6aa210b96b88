"""Settings of an agent that gets our MCP server and no hooks, in a JSON file or in a TOML file."""

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
from recollect.agents.editing.toml_servers import server_in as toml_server_in
from recollect.agents.editing.toml_servers import with_server as with_toml_server
from recollect.agents.editing.toml_servers import without_server as without_toml_server
from recollect.agents.editing.toml_text import Toml, toml_change, toml_removal
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
            line = self._line(read_settings(self.path, to_write=False))
        except SettingsRefused as error:
            return AgentState(problems=(str(error),))
        return AgentState(mcp=(Installed(self.path, line),) if line else ())

    def _line(self, data: bytes | None) -> str:
        """The command line of our server in the file's bytes."""
        return server_in(Document.parse(self.path, data), self.servers)

    @property
    def _program(self) -> str | None:
        return program_path(self.name, self.environment)


@dataclass(frozen=True, slots=True)
class TomlServerSettings(ServerSettings):
    """The same in the table `mcp_servers` of a TOML file."""

    def changes(self, *, hooks: bool, mcp: bool, project: bool) -> Sequence[Change]:
        if project or not mcp:
            return []
        return toml_change(self.path, lambda toml: with_toml_server(toml, self.entry))

    def removal(self, *, project: bool, mcp: bool = True) -> Sequence[Change]:
        if project or not mcp:
            return []
        return toml_removal(self.path, without_toml_server, left=lambda toml: False)

    def _line(self, data: bytes | None) -> str:
        return toml_server_in(Toml.parse(self.path, data))

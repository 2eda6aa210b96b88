"""Our MCP server in a TOML file of settings: the table `mcp_servers.recollect`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from recollect.agents.editing.change import Change, read_settings
from recollect.agents.editing.commands import is_ours
from recollect.agents.editing.entries import SERVER, server_command
from recollect.agents.editing.servers import ServerSettings
from recollect.agents.editing.toml_text import Toml, toml_change, toml_removal
from recollect.values.errors import SettingsRefused
from recollect.values.settings import AgentState, Installed

_TABLE: Final = ("mcp_servers", SERVER)


def with_server(toml: Toml, entry: Mapping[str, Any], *, kept: Collection[str] = ()) -> Toml:
    """The file with our server in it; members that are `kept` stay as they are where they are."""
    servers = toml.value.get(_TABLE[0], {})
    old = servers.get(SERVER, {}) if isinstance(servers, dict) else {}
    if old and not server_in(toml):
        raise SettingsRefused(
            toml.path,
            f"another MCP server is called `{SERVER}` there",
            hint="rename or remove that one, or leave ours out: recollect init --no-mcp",
        )
    new = {key: value for key, value in entry.items() if key not in kept or key not in old}
    return toml.put_table(_TABLE, new)


def without_server(toml: Toml) -> Toml:
    return toml.drop_table(_TABLE) if server_in(toml) else toml


def server_in(toml: Toml) -> str:
    """The command line of our server; "" where it is not there."""
    servers = toml.value.get(_TABLE[0])
    line = server_command(servers.get(SERVER)) if isinstance(servers, dict) else ""
    return line if is_ours(line) else ""


@dataclass(frozen=True, slots=True)
class TomlServerSettings(ServerSettings):
    """Settings of an agent that takes our server in a TOML file, and has no hooks."""

    def changes(self, *, hooks: bool, mcp: bool, project: bool) -> Sequence[Change]:
        if project or not mcp:
            return []
        return toml_change(self.path, lambda toml: with_server(toml, self.entry))

    def removal(self, *, project: bool, mcp: bool = True) -> Sequence[Change]:
        if project or not mcp:
            return []
        return toml_removal(self.path, without_server, left=lambda toml: False)

    def state(self) -> AgentState:
        try:
            line = server_in(Toml.parse(self.path, read_settings(self.path, to_write=False)))
        except SettingsRefused as error:
            return AgentState(problems=(str(error),))
        return AgentState(mcp=(Installed(self.path, line),) if line else ())

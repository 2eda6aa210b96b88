"""Our MCP server in a TOML file of settings: the table `mcp_servers.recollect`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from recollect.agents.editing.commands import is_ours
from recollect.agents.editing.entries import SERVER, server_command
from recollect.agents.editing.toml_text import Toml
from recollect.values.errors import SettingsRefused

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

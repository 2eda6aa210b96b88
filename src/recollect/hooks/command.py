"""The commands that stand in agents' settings: our hook and our MCP server."""

from __future__ import annotations

import shlex
from pathlib import Path

from recollect.config import Config, host_name
from recollect.light import processes
from recollect.values.errors import UsageError


def hook_command(agent: str, config: Config) -> str:
    """The line of a settings file that runs our hook."""
    return shlex.join(hook_words(agent, config))


def hook_words(agent: str, config: Config) -> list[str]:
    """The hook of one store. It reads no settings, so that all it needs to know stands here."""
    entry = str(Path(__file__).with_name("entry.py").resolve())
    if config.path is None:
        raise UsageError(
            f"{config.store}: hooks append to a store in a file",
            hint="name a file with --store, or take in logs with `recollect ingest` or `recollect watch`",
        )
    words = processes.hook_words(entry, agent, config.url, str(config.state))
    return words if config.host == host_name() else [*words, config.host]


def mcp_command(config: Config) -> list[str]:
    """The MCP server of one store."""
    return processes.command_words("--store", config.url, "mcp")

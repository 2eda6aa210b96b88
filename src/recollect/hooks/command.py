"""The commands that stand in agents' settings: our hook and our MCP server."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from recollect.config import Config, host_name


def hook_command(agent: str, config: Config) -> str:
    """The line of a settings file that runs our hook."""
    return shlex.join(hook_words(agent, config))


def hook_words(agent: str, config: Config) -> list[str]:
    """The hook of one store. It reads no settings, so that all it needs to know stands here."""
    entry = str(Path(__file__).with_name("entry.py").resolve())
    store = str(config.store.absolute())
    words = [sys.executable, "-I", "-S", entry, agent, store, str(config.state)]
    return words if config.host == host_name() else [*words, config.host]


def mcp_command(config: Config) -> list[str]:
    """The MCP server of one store."""
    # -P: an agent starts it in a project's folder, and what lies there must not be imported.
    return [sys.executable, "-P", "-m", "recollect", "--store", str(config.store.absolute()), "mcp"]

"""The commands that stand in agents' settings: our hook, our MCP server, and how to know them again."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

from recollect.config import Config, host_name
from recollect.values.errors import UsageError

_HOOK = re.compile(r"recollect[/\\]hooks[/\\]entry\.py|\brecollect-hook\b")
_NAME = re.compile(r"(^|[/\\])recollect(\.exe)?$")


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
    words = [sys.executable, "-I", "-S", entry, agent, config.url, str(config.state)]
    return words if config.host == host_name() else [*words, config.host]


def mcp_command(config: Config) -> list[str]:
    """The MCP server of one store."""
    # -P: an agent starts it in a project's folder, and what lies there must not be imported.
    return [sys.executable, "-P", "-m", "recollect", "--store", config.url, "mcp"]


def is_ours(command: str) -> bool:
    """Whether a line of a settings file runs Recollect's hook or server, of whichever install."""
    if _HOOK.search(command):
        return True
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    at = next((n for n, word in enumerate(words) if _NAME.search(word)), len(words))
    rest = words[at + 1 :]
    return rest[:1] == ["mcp"] or (rest[:1] == ["--store"] and rest[2:3] == ["mcp"])

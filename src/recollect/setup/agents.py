"""Every agent that Recollect can be put into, on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from recollect.config import Config
from recollect.hooks.command import hook_words, mcp_command
from recollect.memory.machine import agent_settings
from recollect.setup.service import variables
from recollect.values.errors import NotFound
from recollect.values.settings import Commands, Settings


def agents(config: Config, *, home: Path, environ: Mapping[str, str], folder: Path) -> list[Settings]:
    """All of them, here or not. `folder`: where a project's own settings are looked for."""
    return agent_settings(lambda agent: commands_of(agent, config), home=home, environ=environ, folder=folder)


def commands_of(agent: str, config: Config) -> Commands:
    """What runs our hook and our server for an agent."""
    hook = hook_words(agent, config) if config.path is not None else ()
    return Commands(tuple(hook), tuple(mcp_command(config)), variables())


def chosen(known: Sequence[Settings], names: Sequence[str]) -> list[Settings]:
    """The agents of those names; without names, those that are on this machine."""
    if names:
        return [agent for agent in known if agent.name in names]
    found = [agent for agent in known if agent.found()]
    if not found:
        titles = " nor ".join(agent.title for agent in known)
        hint = f"start one once, or name it: --agent {known[0].name}; logs of other agents: `recollect watch`"
        raise NotFound(f"neither {titles} was found on this machine", hint=hint)
    return found

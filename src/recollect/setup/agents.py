"""Every agent that Recollect can be put into, on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from recollect.agents.editing.change import Settings
from recollect.agents.editing.commands import Commands
from recollect.agents.registry import agents as known_agents
from recollect.config import Config
from recollect.hooks.command import hook_words, mcp_command
from recollect.setup.service import variables
from recollect.values.errors import NotFound


def agents(config: Config, *, home: Path, environ: Mapping[str, str], folder: Path) -> list[Settings]:
    """All of them, here or not. `folder`: where a project's own settings are looked for."""
    found = [
        agent.settings(commands_of(agent.name, config), home=home, environ=environ, folder=folder)
        for agent in known_agents()
    ]
    return [settings for settings in found if settings is not None]


def commands_of(agent: str, config: Config) -> Commands:
    """What runs our hook and our server for an agent."""
    return Commands(tuple(hook_words(agent, config)), tuple(mcp_command(config)), variables())


def plugin_folder() -> str | None:
    """The folder of the plugin that an agent takes by a command of its own, where one has some."""
    return next((agent.plugin for agent in known_agents() if agent.plugin), None)


def chosen(known: Sequence[Settings], names: Sequence[str]) -> list[Settings]:
    """The agents of those names; without names, those that are on this machine."""
    if names:
        return [agent for agent in known if agent.name in names]
    found = [agent for agent in known if agent.found()]
    if not found:
        titles = " nor ".join(agent.title for agent in known)
        hint = f"start one once, or name it: --agent {known[0].name}"
        raise NotFound(f"neither {titles} was found on this machine", hint=hint)
    return found

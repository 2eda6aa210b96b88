"""Every agent that Recollect can be put into, on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from recollect.agents.claude.settings import Claude
from recollect.agents.codex.settings import Codex
from recollect.agents.editing.change import Agent
from recollect.config import Config
from recollect.values.errors import NotFound


def agents(config: Config, *, home: Path, environ: Mapping[str, str], folder: Path) -> list[Agent]:
    """All of them, here or not. `folder`: where a project's own settings are looked for."""
    return [Claude(config, home, environ, folder), Codex(config, home, environ, folder)]


def chosen(known: Sequence[Agent], names: Sequence[str]) -> list[Agent]:
    """The agents of those names; without names, those that are on this machine."""
    if names:
        return [agent for agent in known if agent.name in names]
    found = [agent for agent in known if agent.found()]
    if not found:
        titles = " nor ".join(agent.title for agent in known)
        hint = f"start one once, or name it: --agent {known[0].name}"
        raise NotFound(f"neither {titles} was found on this machine", hint=hint)
    return found

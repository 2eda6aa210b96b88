"""The agents there are: a folder beside this file with an `agent.py` in it, or an installed package.

A built-in agent is found by its folder, so that a new one touches nothing else. Another package joins
with an entry point of the group `recollect.agents` that names an `Agent`; those are looked for only
when an unknown name or the full list is asked for, which takes some 20 ms. A package that cannot
be loaded is reported and left out.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from recollect.agents.contract import Agent
from recollect.light.sources import MEMORY, is_conversation

if TYPE_CHECKING:
    from recollect.agents.signs import Signs
    from recollect.agents.tools import Tools

GROUP = "recollect.agents"

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def agents() -> tuple[Agent, ...]:
    """All of them: those of this package in the order of their names, then those of others."""
    return (*built_in(), *_installed()[0].values())


@functools.cache
def built_in() -> tuple[Agent, ...]:
    """Those of this package."""
    return tuple(map(_load, names()))


@functools.cache
def names() -> tuple[str, ...]:
    """The names of those of this package, without loading them."""
    return tuple(
        sorted(
            name for name in os.listdir(_FOLDER) if os.path.isfile(os.path.join(_FOLDER, name, "agent.py"))
        )
    )


def agent_of(name: str) -> Agent:
    """An agent by name; for one that nobody knows, one that only keeps its lines."""
    from recollect.agents import saved, unknown

    if name in names():
        return _load(name)
    if not is_conversation(name):
        return saved.SavedThreads()
    if name == MEMORY:
        from recollect.agents.memory.saved_notes import SavedNotes

        return SavedNotes()
    found = _installed()[0].get(name) if name else None
    return found or unknown.UnknownAgent(name)


def troubles() -> tuple[str, ...]:
    """What is wrong with agents of other packages, in sentences."""
    return _installed()[1]


@functools.cache
def all_tools() -> Tools:
    """What the tools of all agents do."""
    from recollect.agents.tools import union_of

    return union_of(tools for agent in agents() if (tools := agent.tools()) is not None)


@functools.cache
def all_signs() -> Signs:
    """What the clients of all agents write where a person stepped in."""
    from recollect.agents.signs import signs_of

    return signs_of(signs for agent in agents() if (signs := agent.signs()) is not None)


@functools.cache
def _load(name: str) -> Agent:
    agent: Agent = importlib.import_module(f"recollect.agents.{name}.agent").AGENT
    return agent


@functools.cache
def _installed() -> tuple[dict[str, Agent], tuple[str, ...]]:
    """Agents of other packages by name, and what is wrong with the rest."""
    from importlib.metadata import entry_points

    found: dict[str, Agent] = {}
    wrong: list[str] = []
    for point in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        agent = _agent_at(point.load)
        if isinstance(agent, str):
            wrong.append(f"agent {point.name} ({point.value}): {agent}")
        elif agent.name in (*names(), *found):
            wrong.append(f"agent {point.name} ({point.value}): {agent.name} is taken")
        else:
            found[agent.name] = agent
    return found, tuple(wrong)


def _agent_at(load: Callable[[], object]) -> Agent | str:
    """What an entry point names, or why it is no agent; somebody else's code may do anything."""
    try:
        agent = load()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if not isinstance(agent, Agent):
        return "not an instance of recollect.agents.contract.Agent"
    return agent if agent.name.isidentifier() else f"{agent.name!r} is no name for an agent"

"""The agents there are, in the words of help texts and messages.

Everything here is asked for at every start of the command, so only the agents of this package are
enumeration; one of another package is known by its name when somebody says it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recollect.agents.contract import Agent
from recollect.agents.registry import agent_of, built_in


class Names:
    """The names of agents that have a capability, and words beside them, for a choice on the command line."""

    def __init__(self, capability: str, *beside: str) -> None:
        self._capability, self._beside = capability, beside

    def __iter__(self) -> Iterator[str]:
        yield from (agent.name for agent in _able(self._capability))
        yield from self._beside

    def __contains__(self, word: object) -> bool:
        if word in tuple(self):
            return True
        return isinstance(word, str) and agent_of(word).has(self._capability)

    def __str__(self) -> str:
        return ", ".join(self)


def names(capability: str = "") -> tuple[str, ...]:
    """The names of agents, or of those that have a capability."""
    return tuple(agent.name for agent in _able(capability))


def titles() -> str:
    """What those call themselves that write on this machine, as part of a sentence."""
    return enumeration([agent.title for agent in built_in() if agent.home])


def exported() -> str:
    """What gives out conversations when it is asked for one's data, as part of a sentence."""
    return enumeration([agent.title for agent in _able("conversations")], "or")


def homes() -> str:
    """Where they keep everything."""
    return ", ".join(agent.home for agent in built_in() if agent.home)


def variables() -> str:
    """The variables of the environment that say they are elsewhere, as part of a sentence."""
    return enumeration([name for agent in built_in() for name in agent.moved_by])


def enumeration(words: Sequence[str], joint: str = "and") -> str:
    """Words as part of a sentence: "a, b and c"."""
    *most, last = words
    return f"{', '.join(most)} {joint} {last}" if most else last


def _able(capability: str) -> list[Agent]:
    return [agent for agent in built_in() if not capability or agent.has(capability)]

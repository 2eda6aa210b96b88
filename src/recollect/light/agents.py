"""The half of an agent that hooks need, found by the agent's name alone.

An agent called NAME has it in `recollect.agents.NAME.hooks`; no list is read and no registry is
imported. Only for a name that is not ours the installed packages are asked: that takes longer, and
inside a hook, which sees no site-packages, it finds none.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Protocol

    from recollect.light.sources import Place

    class Hooks(Protocol):
        """Where an agent's transcripts are, and what its events say. A module will do.

        One whose client has words of its own may have two functions more: `heard(payload, home, environ)`, an
        event in the words that are known, and `answer(event, text)`, what is told in its own. Where a client
        hands on what a hook tells with a prompt, `TOLD_WITH_PROMPTS` is true.
        """

        def roots(self, home: str, environ: Mapping[str, str], /) -> list[str]:
            """The folders below which its transcripts lie."""
            ...

        def place(self, path: str, /) -> Place | None:
            """What a file is, by its path alone; None where it is nothing to follow."""
            ...

        def beside(self, transcript: str, /) -> Iterable[str]:
            """The files that belong to a session besides its transcript."""
            ...

        def transcript_of(self, path: str, /) -> str:
            """The transcript of the session that a file is of; "" for a file of no session."""
            ...

        def payload(self, told: str, home: str, environ: Mapping[str, str], /) -> dict[str, Any] | None:
            """An event that was told on the command line, as a hook's payload; None for no event."""
            ...


_known: dict[str, Hooks | None] = {}


def hooks_of(agent: str) -> Hooks | None:
    """What hooks need of an agent; None for one that has no hooks, or is not known here."""
    if agent not in _known:
        _known[agent] = _find(agent)
    return _known[agent]


def _find(agent: str) -> Hooks | None:
    if not agent.isidentifier():
        return None
    name = f"recollect.agents.{agent}.hooks"
    try:
        __import__(name)
    except ModuleNotFoundError:
        return _installed(agent)
    module: Any = sys.modules[name]
    return module  # type: ignore[no-any-return]


def _installed(agent: str) -> Hooks | None:
    """Those of another package's agent. Whatever is wrong with it, the sessions of others are followed."""
    try:
        __import__("recollect.agents.registry")
        found: Hooks | None = sys.modules["recollect.agents.registry"].agent_of(agent).hooks()
    except Exception:
        return None
    return found

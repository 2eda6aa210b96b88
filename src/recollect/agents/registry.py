"""The agents whose logs Recollect reads. A new one is a file beside this and a row below."""

from __future__ import annotations

from recollect.agents.claude.agent import ClaudeAdapter
from recollect.agents.codex.agent import CodexAdapter
from recollect.agents.contract import Adapter, Parser
from recollect.agents.saved import CuratedAdapter
from recollect.agents.unknown import UnknownAdapter

ADAPTERS: tuple[Adapter, ...] = (ClaudeAdapter(), CodexAdapter())
_OWN: tuple[Adapter, ...] = (CuratedAdapter(),)  # what Recollect writes itself; in no log


def adapter_of(agent: str) -> Adapter:
    """The adapter for an agent by name; for one we do not know, one that only keeps its lines."""
    return next((each for each in (*ADAPTERS, *_OWN) if each.name == agent), UnknownAdapter(agent))


__all__ = ["ADAPTERS", "Adapter", "Parser", "adapter_of"]

"""The agents whose logs Recollect reads. A new one is a file beside this and a row below."""

from __future__ import annotations

from recollect.adapters.base import Adapter, Parser
from recollect.adapters.claude import ClaudeAdapter
from recollect.adapters.codex import CodexAdapter

ADAPTERS: tuple[Adapter, ...] = (ClaudeAdapter(), CodexAdapter())

__all__ = ["ADAPTERS", "Adapter", "Parser"]

"""What tests and benchmarks of others need to drive Recollect; nothing in the product imports it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["AgentContract", "AgentCorpus", "EmbedderContract", "NastyInput", "StoreContract", "nasty_inputs"]

_HOMES = {
    "AgentContract": "agents",
    "AgentCorpus": "agents",
    "EmbedderContract": "embedders",
    "NastyInput": "nasty",
    "StoreContract": "stores",
    "nasty_inputs": "nasty",
}

if TYPE_CHECKING:
    from recollect.testing.agents import AgentContract, AgentCorpus
    from recollect.testing.embedders import EmbedderContract
    from recollect.testing.nasty import NastyInput, nasty_inputs
    from recollect.testing.stores import StoreContract


def __getattr__(name: str) -> Any:
    """Import late: the plain store in here needs neither pytest nor hypothesis."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"recollect.testing.{_HOMES[name]}"), name)

"""Recollect: every conversation of your coding agents, lossless, in one file you own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = ["Memory", "__version__"]

if TYPE_CHECKING:
    from recollect.memory import Memory


def __getattr__(name: str) -> Any:
    """Import late: a command that only prints its help needs neither numpy nor HDF5."""
    if name == "Memory":
        from recollect.memory import Memory

        return Memory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

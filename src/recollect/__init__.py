"""Recollect: every conversation of your coding agents, lossless, in one file you own."""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = ["Memory", "__version__"]

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from typing import Any

    from recollect.memory import Memory


def __getattr__(name: str) -> Any:
    """Import late: a command that only prints its help needs neither numpy nor HDF5."""
    if name == "Memory":
        from recollect.memory import Memory

        return Memory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

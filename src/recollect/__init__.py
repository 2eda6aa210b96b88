"""Recollect: every conversation of your coding agents, lossless, in one file you own.

What stands in `__all__` is public; everything else may change from one version to the next.
"""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = [
    "AsyncMemory",
    "DerivedDamaged",
    "EmbedderFailed",
    "Entry",
    "Evicted",
    "FileRefused",
    "Hit",
    "Kind",
    "Memory",
    "NewNote",
    "NotAStore",
    "NotFound",
    "Note",
    "RecollectError",
    "Results",
    "Session",
    "SettingsRefused",
    "SourceError",
    "StoreBusy",
    "StoreClosed",
    "StoreCorrupt",
    "StoreError",
    "StoreMissing",
    "StoreTooNew",
    "StoreWriteFailed",
    "UsageError",
    "Wanted",
    "__version__",
]

# Where each of them lives; what is not here is an error.
_HOMES = {
    "AsyncMemory": "recollect.memory.asynchronous",
    "Entry": "recollect.values.records",
    "Hit": "recollect.values.hits",
    "Kind": "recollect.values.records",
    "Memory": "recollect.memory",
    "NewNote": "recollect.values.notes",
    "Note": "recollect.values.notes",
    "Results": "recollect.values.hits",
    "Session": "recollect.values.stored",
    "Wanted": "recollect.values.erasures",
}

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from typing import Any

    from recollect.memory import Memory
    from recollect.memory.asynchronous import AsyncMemory
    from recollect.values.erasures import Wanted
    from recollect.values.errors import (
        DerivedDamaged,
        EmbedderFailed,
        Evicted,
        FileRefused,
        NotAStore,
        NotFound,
        RecollectError,
        SettingsRefused,
        SourceError,
        StoreBusy,
        StoreClosed,
        StoreCorrupt,
        StoreError,
        StoreMissing,
        StoreTooNew,
        StoreWriteFailed,
        UsageError,
    )
    from recollect.values.hits import Hit, Results
    from recollect.values.notes import NewNote, Note
    from recollect.values.records import Entry, Kind
    from recollect.values.stored import Session


def __getattr__(name: str) -> Any:
    """Import late: a command that only prints its help needs neither numpy nor HDF5."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES.get(name, "recollect.values.errors")), name)

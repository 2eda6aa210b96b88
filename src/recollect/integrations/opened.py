"""What every integration does first and last: say which package is missing, open a memory, close its own."""

from __future__ import annotations

import os

from recollect.memory import Memory
from recollect.values.errors import UsageError

Where = Memory | str | os.PathLike[str] | None


def missing(extra: str, error: ImportError) -> UsageError:
    """What is said where an integration's package is not there."""
    return UsageError(
        f"the package {error.name or extra} is not installed", hint=f'pip install "recollect[{extra}]"'
    )


class Opened:
    """A memory that was handed over, or that is opened with its first use and closed by who opened it."""

    def __init__(self, where: Where) -> None:
        self._where = where
        self._memory = where if isinstance(where, Memory) else None

    @property
    def memory(self) -> Memory:
        if self._memory is None:
            assert not isinstance(self._where, Memory)
            self._memory = Memory.open(self._where)
        return self._memory

    def close(self) -> None:
        """Close it, unless it was handed over."""
        if not isinstance(self._where, Memory) and self._memory is not None:
            self._memory.close()
            self._memory = None

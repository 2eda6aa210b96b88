"""What is handed to an agent's reader, and what its writer hands back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from recollect.values.fidelity import Fidelity
from recollect.values.stored import Source, StoredLine


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a session as it is kept; `lines` reads it."""

    source: Source
    lines: Callable[[], Iterable[StoredLine]]


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A session that was made for an agent: its bytes, where the agent looks for them, how it opens them.

    `problems` says what is wrong with bytes that are meant to be this file.
    """

    session_id: str
    data: bytes
    path: Path
    command: str
    fidelity: Fidelity
    problems: Callable[[bytes], list[str]]

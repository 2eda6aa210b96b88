"""Which database a server is for, and where that is kept.

The folder that a client names is what it takes its database to be: deleted with it, moved with it, another
one in another folder. So the folder gets a file that says which of the store's databases it is.
"""

from __future__ import annotations

import json
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from recollect.chroma.database import CHANNEL, Database, Fleeting
from recollect.config import Config
from recollect.memory.live import LiveNotes
from recollect.memory.machine import static_vectors, write_target
from recollect.values.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.chroma.collection import Floats, TextVectors

DEFAULT: Final = "default"  # the database of no folder
MARK: Final = "recollect-chroma.json"  # the file in a client's folder
_NAME_CHARS: Final = 16


class Lazily:
    """Our embedder, loaded when the first vector is made."""

    @cached_property
    def _embedder(self) -> TextVectors:
        return static_vectors()

    @property
    def dims(self) -> int:
        return self._embedder.dims

    def encode(self, texts: Sequence[str]) -> Floats:
        return self._embedder.encode(texts)


def open_database(config: Config, data_dir: Path | None, *, fleeting: bool = False) -> Database:
    """The database of a folder, or the one of no folder; a `fleeting` one is gone with the process."""
    if fleeting:
        return Database(Fleeting(), DEFAULT, Lazily())
    name = DEFAULT if data_dir is None else database_of(data_dir)
    return Database(LiveNotes(config, f"{CHANNEL}/{name}"), name, Lazily())


def database_of(folder: Path) -> str:
    """Which database a folder is; a folder that is none becomes a new one."""
    mark = folder / MARK
    try:
        folder.mkdir(parents=True, exist_ok=True)
        name = _named(mark.read_bytes()) if mark.exists() else ""
        if name:
            return name
        name = os.urandom(_NAME_CHARS // 2).hex()
        write_target(mark, [json.dumps({"database": name}).encode("ascii") + b"\n"], force=True)
    except OSError as error:
        raise UsageError(
            f"{folder}: cannot be written: {error.strerror or error}", hint="name another folder: --data-dir"
        ) from error
    return name


def _named(data: bytes) -> str:
    """What a folder's file says; "" for what is no name of ours."""
    try:
        told: Any = json.loads(data)["database"]
    except (ValueError, KeyError, TypeError):
        return ""
    fits = isinstance(told, str) and len(told) == _NAME_CHARS and set(told) <= set("0123456789abcdef")
    return told if fits else ""

"""A database on a store of its own, ranked by vectors that anyone can work out by hand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from recollect.chroma.database import CHANNEL, Database
from recollect.chroma.tools import call
from recollect.config import Config
from recollect.memory.live import LiveNotes

if TYPE_CHECKING:
    from recollect.chroma.collection import Floats

DIMS = 16


class Hashed:
    """Vectors by hash: the same for the same text, and near nothing else."""

    dims = DIMS

    def encode(self, texts: Sequence[str]) -> Floats:
        rows = [
            np.frombuffer(hashlib.blake2b(each.encode("utf-8", "surrogatepass")).digest()[:DIMS], np.int8)
            for each in texts
        ]
        made = np.array(rows, np.float32).reshape(len(texts), DIMS)
        unit: Floats = made / np.linalg.norm(made, axis=1, keepdims=True)
        return unit


class Asked:
    """A database asked as a client asks it."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def __call__(self, tool: str, **arguments: Any) -> list[str]:
        """The texts of an answer that is no error."""
        texts, is_error = call(self.database, f"chroma_{tool}", arguments)
        assert not is_error, texts
        return texts

    def refused(self, tool: str, **arguments: Any) -> str:
        (text,), is_error = call(self.database, f"chroma_{tool}", arguments)
        assert is_error, text
        return text

    def get(self, collection_name: str = "docs", **arguments: Any) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(
            self("get_documents", collection_name=collection_name, **arguments)[0]
        )
        return found


Open = Callable[[], Asked]


@pytest.fixture
def config(folder: Path) -> Config:
    return Config(store=folder / "memory.h5", host="here", cache=folder / "cache")


@pytest.fixture
def opened(config: Config) -> Open:
    """Another process on the same database, each time it is called."""
    return lambda: Asked(Database(LiveNotes(config, f"{CHANNEL}/default"), "default", Hashed()))


@pytest.fixture
def asked(opened: Open) -> Asked:
    return opened()

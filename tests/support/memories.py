"""Small memories in scratch folders, and all that a store shows as one value."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from recollect.config import Config
from recollect.memory import Memory
from recollect.values.stored import source_bytes

HOST = "here"


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder that is gone afterwards, in memory where there is some."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="recollect-test-", dir=memory))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def open_memory(path: Path, *, create: bool = True) -> Memory:
    return Memory.open(path, create=create, config=Config(path, HOST, cache=path.parent / "cache"))


def memory_at(folder: Path, store: str = "memory.h5", cache: str = "cache") -> Memory:
    """The memory of a folder; another store or another cache beside it by name."""
    return Memory.open(folder / store, config=Config(folder / store, HOST, cache=folder / cache))


def sources_of(memory: Memory) -> dict[str, bytes]:
    """Every source's bytes by its path, newest versions only."""
    with memory.view() as view:
        return {
            source.file.path: b"".join(source_bytes(source, view.lines(source)))
            for source in view.sources()
            if not source.superseded
        }


def content(memory: Memory) -> dict[str, Any]:
    """Everything a reader can see, in a form that two stores can be compared by."""
    with memory.view() as view:
        sessions = {}
        for session in view.sessions():
            entries = list(view.entries(session))
            assert session.entries == len(entries)
            sessions[session.facts.agent, session.facts.id] = (asdict(session.facts), session.host, entries)
        columns = view.usage()
        names = ("time", "input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning")
        usage = sorted(
            (columns.sessions[session].facts.id, columns.models[model], *numbers)
            for session, model, *numbers in zip(
                columns.session.tolist(),
                columns.model.tolist(),
                *(getattr(columns, name).tolist() for name in names),
                strict=True,
            )
        )
        owners = {s.file.path: (s.session, s.file.role, s.host) for s in view.sources() if not s.superseded}
    return {"sessions": sessions, "usage": usage, "owners": owners, "raw": sources_of(memory)}

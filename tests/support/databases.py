"""Databases as agents keep them, made of SQL that is kept with the tests."""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support import DATA


def make_database(path: Path, sql: str = "opencode/harbor.sql") -> Path:
    """A database of this SQL, closed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with written(path) as connection:
        connection.executescript((DATA / sql).read_text())
    return path


@contextlib.contextmanager
def written(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection as a client has one, closed afterwards."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


@cache
def fixture_folder() -> Path:
    """A folder with all fixtures of OpenCode: its database is made of SQL, the rest is copied."""
    kept = tempfile.TemporaryDirectory(prefix="recollect-opencode-")
    _kept.append(kept)
    folder = Path(kept.name)
    make_database(folder / "opencode" / "opencode.db")
    for path in sorted((DATA / "opencode").rglob("*.json")):
        copy = folder / path.relative_to(DATA)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    return folder


_kept: list[tempfile.TemporaryDirectory[str]] = []  # gone with this process

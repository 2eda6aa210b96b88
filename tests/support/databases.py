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
def fixture_folder(agent: str = "opencode") -> Path:
    """A folder with all fixtures of an agent: its databases are made of SQL, the rest is copied."""
    kept = tempfile.TemporaryDirectory(prefix=f"recollect-{agent}-")
    _kept.append(kept)
    folder = Path(kept.name)
    for path, sql in _DATABASES[agent].items():
        make_database(folder / agent / path, f"{agent}/{sql}")
    for path in sorted((DATA / agent).rglob("*")):
        if path.is_file() and path.suffix != ".sql":
            copy = folder / path.relative_to(DATA)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    return folder


CURSOR_CHAT = "ca700000-0000-4000-8000-00000000c0de"
# Where each database of an agent lies, and of which SQL it is made.
_DATABASES = {
    "cursor": {
        "User/globalStorage/state.vscdb": "harbor.sql",
        "User/workspaceStorage/ws0/state.vscdb": "tabs.sql",
        f"chats/1d7dc785/{CURSOR_CHAT}/store.db": "chat.sql",
    },
    "kiro": {"kiro-cli/data.sqlite3": "harbor.sql"},
    "opencode": {"opencode.db": "harbor.sql"},
}
_kept: list[tempfile.TemporaryDirectory[str]] = []  # gone with this process

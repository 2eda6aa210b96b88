"""Memories of other programs, made of SQL that is kept with the tests, and their rows as notes have them."""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.support import DATA
from tests.support.databases import written

from recollect.memory import Memory
from recollect.values.notes import Note

CHUNKS = """
CREATE TABLE memory_chunks (id INTEGER PRIMARY KEY, chunk TEXT NOT NULL, embedding BLOB NOT NULL,
    source_channel TEXT DEFAULT 'api', timestamp REAL NOT NULL, session_id TEXT, tags TEXT DEFAULT '',
    deleted INTEGER DEFAULT 0);
CREATE TABLE sessions (id TEXT PRIMARY KEY, start_idx INTEGER, end_idx INTEGER, channel TEXT,
    timestamp REAL, summary TEXT);
CREATE TABLE entities (id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,
    embedding_idx INTEGER DEFAULT -1);
CREATE TABLE relations (src INTEGER NOT NULL, tgt INTEGER NOT NULL, relation TEXT NOT NULL,
    weight REAL DEFAULT 1.0, timestamp REAL);
"""
FOREIGN = ("claude_mem", "memory_service", "mempalace", "mempalace_graph", "chroma")


def chunks_database(path: Path, chunks: Iterable[tuple[Any, ...]] = (), more: str = "") -> Path:
    """A memory of chunks: rows of `memory_chunks`, and more SQL."""
    with written(path) as connection:
        connection.executescript(CHUNKS + more)
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO memory_chunks VALUES (?,?,?,?,?,?,?,?)", chunks)
        connection.execute("COMMIT")
    return path


def foreign_database(path: Path, name: str) -> Path:
    """A database as one of the programs wrote it."""
    with written(path) as connection:
        connection.executescript((DATA / "migrate" / f"{name}.sql").read_text("utf-8"))
    return path


def rows_in(path: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a table, without the columns that are made of others."""
    with written(path) as connection:
        connection.row_factory = sqlite3.Row
        info = connection.execute(f"PRAGMA table_xinfo({table})").fetchall()
        columns = [each["name"] for each in info if not each["hidden"]]
        return [{name: row[name] for name in columns} for row in connection.execute(f"SELECT * FROM {table}")]


def migrated_notes(memory: Memory, table: str) -> Iterator[Note]:
    """The notes that were made of the rows of a table."""
    return (each for each in memory.notes() if each.metadata.get("migrated", {}).get("table") == table)


def row_again(note: Note, *, text: str = "", vector: str = "", metadata: str = "") -> dict[str, Any]:
    """The row that a note was made of, from the note alone; named are the columns that its parts say."""
    told = {name: value_again(value) for name, value in note.metadata["migrated"]["row"].items()}
    told |= {text: note.text} if text else {}
    told |= {vector: note.vector} if vector and note.vector else {}
    own = {name: value for name, value in note.metadata.items() if name != "migrated"}
    return told | ({metadata: own} if metadata and metadata not in told else {})


def value_again(value: Any) -> Any:
    if isinstance(value, Mapping) and set(value) == {"base64"}:
        return base64.b64decode(value["base64"])
    return float(value["float"]) if isinstance(value, Mapping) and set(value) == {"float"} else value

"""An SQLite memory as system 001 migrates them, of real texts: what `recollect migrate` is measured with.

python -m benchmarks.memory_old DATABASE ROWS SUBJECT
"""

from __future__ import annotations

import random
import sqlite3
import struct
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from benchmarks.memory_subject import SESSION_NOTES, Notes

DIMS = 384
SEED = 16
VECTORS = 500  # drawn; more would only take longer to draw
SECONDS = 1.77e9
_SCHEMA = """
CREATE TABLE memory_chunks (id INTEGER PRIMARY KEY, chunk TEXT NOT NULL, embedding BLOB NOT NULL,
    source_channel TEXT, timestamp REAL NOT NULL, session_id TEXT, tags TEXT, deleted INTEGER DEFAULT 0);
CREATE TABLE sessions (id TEXT PRIMARY KEY, start_idx INTEGER, end_idx INTEGER, channel TEXT,
    timestamp REAL, summary TEXT);
CREATE TABLE entities (id INTEGER PRIMARY KEY, name TEXT, type TEXT, embedding_idx INTEGER);
CREATE TABLE relations (src INTEGER, tgt INTEGER, relation TEXT, weight REAL, timestamp REAL);
"""


def write(path: Path, rows: int, texts: Sequence[str]) -> None:
    """So many chunks, a session for every 200, an entity for every ten, each related to the one before."""
    drawn = random.Random(SEED)
    vectors = [struct.pack(f"<{DIMS}f", *(drawn.gauss(0, 1) for _ in range(DIMS))) for _ in range(VECTORS)]
    chunks = (
        (
            n,
            texts[n % len(texts)],
            vectors[n % VECTORS],
            "slack",
            SECONDS + n,
            f"s{n // SESSION_NOTES}",
            "a,b",
        )
        for n in range(rows)
    )
    firsts = range(0, rows, SESSION_NOTES)
    sessions = (
        (f"s{n // SESSION_NOTES}", n, n + SESSION_NOTES - 1, "slack", SECONDS, "said") for n in firsts
    )
    things = ((n, f"thing {n}", "module", n) for n in range(rows // 10))
    pairs = ((n, n - 1, "uses", 0.5, SECONDS) for n in range(1, rows // 10))
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(_SCHEMA)
        database.executemany("INSERT INTO memory_chunks VALUES (?, ?, ?, ?, ?, ?, ?, 0)", chunks)
        database.executemany("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?)", sessions)
        database.executemany("INSERT INTO entities VALUES (?, ?, ?, ?)", things)
        database.executemany("INSERT INTO relations VALUES (?, ?, ?, ?, ?)", pairs)


if __name__ == "__main__":
    _, target, count, subject = sys.argv
    write(Path(target), int(count), Notes(Path(subject)).all_texts)

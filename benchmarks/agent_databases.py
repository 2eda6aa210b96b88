"""Large databases as agents keep them, invented, and what a client writes into one when more is said."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_START_MS = 1_790_000_000_000
_TEXT_CHARS = 6_000


@dataclass(frozen=True)
class Kept:
    """An agent's database: its file, how one is made, and what one more message writes, in so many rows."""

    name: str
    schema: str
    fill: Callable[[sqlite3.Connection, int, int], None]
    say: Callable[[sqlite3.Connection, str], None]
    rows: int

    def make(self, folder: Path, sessions: int, size: int) -> Path:
        """So many sessions, of about so many bytes together."""
        path = folder / self.name
        with _client(path) as connection:
            connection.executescript(self.schema)
            connection.execute("BEGIN")
            self.fill(connection, sessions, max(size // sessions // _TEXT_CHARS, 2))
            connection.execute("COMMIT")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return path

    def go_on(self, path: Path, text: str) -> None:
        with _client(path) as connection:
            self.say(connection, text)


@contextmanager
def _client(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = OFF")
        yield connection
    finally:
        connection.close()


def _text(session: int, part: int) -> str:
    return " ".join(f"{session * 7919 + part * 104729 + word * 31:x}" for word in range(_TEXT_CHARS // 8))


# -- OpenCode --------------------------------------------------------------------------------------


def _fill_opencode(connection: sqlite3.Connection, sessions: int, parts: int) -> None:
    for n in range(sessions):
        id_, at = f"ses_{n:06}", _START_MS + n * 1_000_000
        connection.execute("INSERT INTO event_sequence VALUES (?, ?, NULL)", (id_, parts))
        row = (id_, "global", None, "s", "/code/harbor", f"Pier {n}", "1.18.33", at, at + parts)
        connection.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        told = json.dumps({"role": "assistant", "modelID": "tide-1", "time": {"created": at}})
        connection.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (f"msg_{n:06}", id_, at, at, told))
        for part in range(parts):
            said = json.dumps({"type": "text", "text": _text(n, part), "time": {"start": at + part}})
            one = (f"prt_{n:06}_{part:06}", f"msg_{n:06}", id_, at + part, at + part, said)
            connection.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", one)


def _say_opencode(connection: sqlite3.Connection, text: str) -> None:
    """A message more in the last session, and a change of the part before it."""
    (session,) = connection.execute("SELECT max(id) FROM session").fetchone()
    (part, at) = connection.execute("SELECT id, max(time_updated) FROM part").fetchone()
    said = json.dumps({"type": "text", "text": text})
    for asked, given in (
        (
            "UPDATE part SET time_updated = ?, data = json_set(data, '$.time.end', 1) WHERE id = ?",
            (at + 1, part),
        ),
        ("INSERT INTO message VALUES ('msg_x', ?, ?, ?, '{\"role\":\"user\"}')", (session, at + 2, at + 2)),
        ("INSERT INTO part VALUES ('prt_x', 'msg_x', ?, ?, ?, ?)", (session, at + 3, at + 3, said)),
        ("UPDATE session SET time_updated = ? WHERE id = ?", (at + 4, session)),
        ("UPDATE event_sequence SET seq = seq + 4 WHERE aggregate_id = ?", (session,)),
    ):
        connection.execute(asked, given)


OPENCODE = Kept(
    "opencode.db",
    """
CREATE TABLE event_sequence (aggregate_id text PRIMARY KEY, seq integer NOT NULL, owner_id text);
CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, slug text, directory text,
  title text, version text, time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
  time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE INDEX message_idx ON message (session_id, time_created, id);
CREATE INDEX part_idx ON part (session_id);
""",
    _fill_opencode,
    _say_opencode,
    rows=4,  # the session, the message, its part and the one before it
)


# -- Cursor ----------------------------------------------------------------------------------------


def _put(connection: sqlite3.Connection, key: str, told: object) -> None:
    connection.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (key, json.dumps(told)))


def _composer(id_: str, at: int, bubbles: int) -> dict[str, object]:
    headers = [{"bubbleId": f"b{n:06}", "type": 2} for n in range(bubbles)]
    return {"_v": 17, "composerId": id_, "createdAt": at, "fullConversationHeadersOnly": headers}


def _fill_cursor(connection: sqlite3.Connection, sessions: int, parts: int) -> None:
    """By turns what was said and what was called, as in the editor's own."""
    for n in range(sessions):
        id_, at = f"{n:08x}-0000-4000-8000-000000000000", _START_MS + n * 1_000_000
        for part in range(parts):
            bubble: dict[str, object] = {"_v": 3, "type": 2, "createdAt": at + part, "text": _text(n, part)}
            if part % 3 == 2:
                call = {"name": "run_terminal_command_v2", "toolCallId": f"t{part}", "status": "completed"}
                result = json.dumps({"output": bubble.pop("text"), "exitCode": 0})
                bubble["toolFormerData"] = {**call, "params": '{"command":"tide"}', "result": result}
            _put(connection, f"bubbleId:{id_}:b{part:06}", bubble)
        _put(connection, f"composerData:{id_}", _composer(id_, at, parts))


def _say_cursor(connection: sqlite3.Connection, text: str) -> None:
    """A bubble more in the last conversation, which lists it."""
    asked = "SELECT max(key) FROM cursorDiskKV WHERE key LIKE 'composerData:%'"
    id_ = connection.execute(asked).fetchone()[0].partition(":")[2]
    asked = "SELECT count(*) FROM cursorDiskKV WHERE key LIKE ?"
    (bubbles,) = connection.execute(asked, (f"bubbleId:{id_}:%",)).fetchone()
    _put(connection, f"bubbleId:{id_}:b{bubbles:06}", {"_v": 3, "type": 1, "text": text})
    _put(connection, f"composerData:{id_}", _composer(id_, _START_MS, bubbles + 1))


CURSOR = Kept(
    "state.vscdb",
    "CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);",
    _fill_cursor,
    _say_cursor,
    rows=2,  # the conversation and the bubble
)

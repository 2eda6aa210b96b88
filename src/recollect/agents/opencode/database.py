"""OpenCode's database: sessions, their messages and the parts of these, each a row that is changed in place.

Every change is also an `event` with all of the row in it, three times the bytes; of those only the number of
the last is read, which tells that a session changed. Accounts, credentials and the secrets of shared sessions
are in the same file, and are not looked at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from sqlite3 import Connection
from typing import Any

_OURS = {"session", "message", "part"}


def sessions(connection: Connection, /) -> Iterator[tuple[str, tuple[int, int, int]]]:
    known = _tables(connection)
    if not known >= _OURS:
        return  # another program's of the same name: an older one kept its tables under other names
    if "event_sequence" in known:
        asked = """SELECT s.id, s.time_updated, e.seq, 0 FROM session s
            LEFT JOIN event_sequence e ON e.aggregate_id = s.id ORDER BY s.parent_id IS NOT NULL, s.rowid"""
    else:
        asked = """SELECT s.id, s.time_updated, max(p.time_updated), count(p.id) FROM session s
            LEFT JOIN part p ON p.session_id = s.id GROUP BY s.id
            ORDER BY s.parent_id IS NOT NULL, s.rowid"""
    for id_, changed, *others in connection.execute(asked):
        if isinstance(id_, str) and id_:
            yield id_, (_number(others[0]), _number(changed), _number(others[1]))


def rows(connection: Connection, session: str, /) -> Iterator[tuple[str, str, int]]:
    known = _tables(connection)
    for id_, version in connection.execute("SELECT id, time_updated FROM session WHERE id = ?", (session,)):
        yield "session", str(id_), _number(version)
    parts: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    asked = "SELECT message_id, id, time_updated FROM part WHERE session_id = ? ORDER BY message_id, id"
    for message, id_, version in connection.execute(asked, (session,)):
        parts[str(message)].append((str(id_), _number(version)))
    asked = "SELECT id, time_updated FROM message WHERE session_id = ? ORDER BY time_created, id"
    for id_, version in connection.execute(asked, (session,)):
        yield "message", str(id_), _number(version)
        for part, part_version in parts.pop(str(id_), ()):
            yield "part", part, part_version
    for left in parts.values():  # whose message is gone
        for part, part_version in left:
            yield "part", part, part_version
    if "session_message" in known:
        asked = "SELECT id, time_updated FROM session_message WHERE session_id = ? ORDER BY seq"
        for id_, version in connection.execute(asked, (session,)):
            yield "session_message", str(id_), _number(version)
    if "todo" in known:
        asked = "SELECT position, time_updated FROM todo WHERE session_id = ? ORDER BY position"
        for position, version in connection.execute(asked, (session,)):
            yield "todo", f"{session} {position}", _number(version)


def row(connection: Connection, table: str, key: str, /) -> Mapping[str, Any] | None:
    if table == "todo":
        session, _, position = key.partition(" ")
        found = connection.execute(
            "SELECT * FROM todo WHERE session_id = ? AND position = ?", (session, position)
        )
    else:
        assert table in ("session", "message", "part", "session_message")
        found = connection.execute(f"SELECT * FROM {table} WHERE id = ?", (key,))
    one = found.fetchone()
    return None if one is None else dict(one)


def _tables(connection: Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0

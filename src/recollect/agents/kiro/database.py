"""Kiro's database, in which its older command line keeps conversations: a value each, written anew each turn.

What is kept are its turns, each a row of its own (`conversations/turn`), and the value without them. The same
file has the tables of the login and of the shell's history, which are not looked at.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from sqlite3 import Connection
from typing import Any

from recollect.agents.cut import END, HEAD, cut
from recollect.agents.fields import dict_of, list_of, text_of

TURN = "conversations/turn"
_TURNS = "history"  # in the value
_ID = re.compile(rb'"conversation_id"\s*:\s*"([\w-]{1,100})"')
# With an id of its own each, and before: the last conversation of each folder.
_BY_ID = "SELECT conversation_id, updated_at, rowid, value, key FROM conversations_v2"
_BY_FOLDER = "SELECT NULL, NULL, rowid, value, key FROM conversations"
_HASH_BYTES = 6


def sessions(connection: Connection, /) -> Iterator[tuple[str, tuple[int, int, int]]]:
    known = _tables(connection)
    found: dict[str, tuple[int, int, int]] = {}
    if "conversations" in known:
        for _, _, _, value, _ in connection.execute(_BY_FOLDER + " ORDER BY rowid"):
            data = _bytes(value)
            if named := _ID.search(data):
                found[named[1].decode()] = _hash(data), len(data), 0
    if "conversations_v2" in known:
        asked = "SELECT conversation_id, updated_at, length(value), rowid FROM conversations_v2"
        for id_, changed, length, rowid in connection.execute(asked + " ORDER BY rowid"):
            if isinstance(id_, str) and id_:
                found[id_] = changed if isinstance(changed, int) else 0, length or 0, rowid
    yield from found.items()


def rows(connection: Connection, session: str, /) -> Iterator[tuple[str, str, int]]:
    table, _, value = _conversation(connection, session)
    for key, piece in _pieces(value).items():
        yield (TURN, f"{session} {key}", _hash(piece)) if key else (table, session, _hash(piece))


def row(connection: Connection, table: str, key: str, /) -> Mapping[str, Any] | None:
    session, _, turn = key.partition(" ")
    _, folder, value = _conversation(connection, session)
    piece = _pieces(value).get(turn)
    if piece is None:
        return None
    told = piece.decode("utf-8", "surrogateescape")
    return {"value": told} if table == TURN else {"key": folder, "value": told}


def _conversation(connection: Connection, session: str) -> tuple[str, str, bytes]:
    """Its table, its folder and its value."""
    known = _tables(connection)
    if "conversations_v2" in known:
        asked = _BY_ID + " WHERE conversation_id = ? ORDER BY rowid DESC"
        for _, _, _, value, folder in connection.execute(asked, (session,)):
            return "conversations_v2", text_of(folder), _bytes(value)
    if "conversations" in known:
        for _, _, _, value, folder in connection.execute(_BY_FOLDER + " ORDER BY rowid DESC"):
            found = _ID.search(data := _bytes(value))
            if found and found[1].decode() == session:
                return "conversations", text_of(folder), data
    return "", "", b""


@lru_cache(maxsize=2)
def _pieces(value: bytes) -> dict[str, bytes]:
    """The value without its turns, under "", and each turn by what identifies it; of no JSON, all of it."""
    pieces = list(cut(value, _TURNS, lambda turn, _: _turn_id(turn)))
    if not pieces:
        return {"": value} if value else {}
    found = {"": b"".join(piece for key, piece in pieces if key in (HEAD, END))}
    times: Counter[str] = Counter()
    for key, piece in pieces:
        if key not in (HEAD, END):
            name = key or f"{_hash(piece):x}"
            times[name] += 1
            found[name if times[name] == 1 else f"{name} {times[name]}"] = piece
    return found


def _turn_id(turn: Any) -> str:
    """The id of its answer; "" where it has none yet."""
    answer = list_of(turn)[1:2] or [dict_of(turn).get("assistant")]
    told = next(iter(dict_of(answer[0]).values()), None)
    id_ = text_of(dict_of(told).get("message_id"))
    return "" if id_ in (HEAD, END) else id_


def _bytes(value: Any) -> bytes:
    data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
    return data if isinstance(data, bytes) else b""


def _hash(data: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=_HASH_BYTES).digest())


def _tables(connection: Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

"""Cursor's databases, of which nothing but conversations is read: `state.vscdb` holds access tokens too.

    cursorDiskKV      `composerData:C`, what is known of a conversation and the order of its bubbles;
                      `bubbleId:C:B`, one of those; `messageRequestContext:C:B`, what was sent along with one
    composerHeaders   what the list of conversations shows: folder, parent
    ItemTable         chats of 2024, all tabs of a window in one value; each is told as a row of its own
    meta, blobs       a chat of the command line, in a database of its own: messages by their hash, and trees
                      of hashes, of which the last lists the messages in order

The client's tables are made so that a row that is written again gets another rowid, the greatest: that and,
where it was taken away before, its length tell that it changed. A bubble that its conversation lists no more
(a turn that was made anew) is a row of `cursorDiskKV/left`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from sqlite3 import Connection
from typing import Any

from recollect.agents.cursor.blobs import tree_in
from recollect.agents.cursor.rows import text_in, value_in
from recollect.agents.cut import END, HEAD, cut
from recollect.agents.fields import dict_of, list_of, text_of

LEFT = "cursorDiskKV/left"
TAB = "ItemTable/tab"
COMPOSER, BUBBLE, CONTEXT = ("composerData:", "bubbleId:", "messageRequestContext:")
_TABS = "workbench.panel.aichat.view.aichat.chatdata"
_LENGTH_BITS = 28  # more than a cell that is read may have bytes
_SHORT_BITS, _LONG_BITS = (27, 48)  # of a hash in a version's place: below all of a rowid, or of any length

Mark = tuple[int, int, int]


def sessions(connection: Connection, /) -> Iterator[tuple[str, Mark]]:
    known = _tables(connection)
    if "cursorDiskKV" in known:
        yield from _composers(connection, known)
    if "ItemTable" in known:
        for tab, piece in _tabs(connection).items():
            yield tab, (_hash(piece, _LONG_BITS), len(piece), 0)
    if known >= {"meta", "blobs"}:
        for chat, told in _chat(connection).items():
            newest, count = connection.execute("SELECT max(rowid), count(*) FROM blobs").fetchone()
            yield chat, (newest or 0, count, _hash(told.values(), _LONG_BITS))


def rows(connection: Connection, session: str, /) -> Iterator[tuple[str, str, int]]:
    known = _tables(connection)
    if "cursorDiskKV" in known:
        yield from _bubbles(connection, session, known)
    if "ItemTable" in known and (piece := _tabs(connection).get(session)):
        yield TAB, session, _hash(piece, _LONG_BITS)
    if known >= {"meta", "blobs"} and (told := _chat(connection).get(session)) is not None:
        yield from _messages(connection, told)


def row(connection: Connection, table: str, key: str, /) -> Mapping[str, Any] | None:
    if table == TAB:
        piece = _tabs(connection).get(key)
        return None if piece is None else {"key": _TABS, "value": text_in(piece)}
    asked = {
        "cursorDiskKV": "SELECT key, value FROM cursorDiskKV WHERE key = ?",
        LEFT: "SELECT key, value FROM cursorDiskKV WHERE key = ?",
        "composerHeaders": "SELECT * FROM composerHeaders WHERE composerId = ?",
        "meta": "SELECT key, value FROM meta WHERE key = ?",
        "blobs": "SELECT id, data FROM blobs WHERE id = ?",
    }[table]
    one = connection.execute(asked, (key,)).fetchone()
    return None if one is None else {name: text_in(value) for name, value in dict(one).items()}


# -- the editor ------------------------------------------------------------------------------------


def _composers(connection: Connection, known: set[str]) -> Iterator[tuple[str, Mark]]:
    """Every conversation that somebody began: most rows are tabs in which nothing was said."""
    marks: dict[str, list[int]] = {}
    for prefix in (COMPOSER, BUBBLE, CONTEXT):
        asked = """SELECT substr(name, 1, instr(name || ':', ':') - 1), sum(rowid), max(rowid)
            FROM (SELECT substr(key, ?) AS name, rowid FROM cursorDiskKV WHERE key >= ? AND key < ?)
            GROUP BY 1"""
        for id_, total, newest in connection.execute(asked, (len(prefix) + 1, *_range(prefix))):
            if prefix == COMPOSER and id_:
                marks[id_] = [0, 0, total, newest]
            elif prefix == BUBBLE and id_:
                mark = marks.setdefault(id_, [0, 0, 0, 0])
                marks[id_] = [1, 0, mark[2] + total, max(mark[3], newest)]
            elif id_ in marks:
                marks[id_] = [*marks[id_][:2], marks[id_][2] + total, max(marks[id_][3], newest)]
    changed = {}
    if "composerHeaders" in known:
        asked = "SELECT composerId, lastUpdatedAt, isSubagent FROM composerHeaders"
        for id_, at, is_sent in connection.execute(asked):
            changed[id_] = at if isinstance(at, int) else 0
            if id_ in marks:
                marks[id_][1] = int(is_sent == 1)
    begun = [id_ for id_, mark in marks.items() if mark[0] or _is_inline(connection, id_)]
    for id_ in sorted(begun, key=lambda each: (marks[each][1], marks[each][3])):
        yield id_, (marks[id_][2], marks[id_][3], changed.get(id_, 0))


def _is_inline(connection: Connection, composer: str) -> bool:
    """Whether a conversation without bubbles of its own has them in it, as all had once."""
    asked = "SELECT instr(value, '\"bubbleId\"') FROM cursorDiskKV WHERE key = ?"
    found = connection.execute(asked, (COMPOSER + composer,)).fetchone()
    return found is not None and bool(found[0])


def _bubbles(connection: Connection, composer: str, known: set[str]) -> Iterator[tuple[str, str, int]]:
    """What the conversation says of itself, its bubbles in its order, and those that it lists no more."""
    if "composerHeaders" in known:
        asked = "SELECT value FROM composerHeaders WHERE composerId = ?"
        for (value,) in connection.execute(asked, (composer,)):
            yield "composerHeaders", composer, _hash(value, _SHORT_BITS)
    listed: list[str] = []
    asked = "SELECT rowid, length(value), value FROM cursorDiskKV WHERE key = ?"
    for rowid, length, value in connection.execute(asked, (COMPOSER + composer,)):
        yield "cursorDiskKV", COMPOSER + composer, _version(rowid, length)
        headers = list_of(dict_of(value_in(text_in(value))).get("fullConversationHeadersOnly"))
        listed = [text_of(dict_of(header).get("bubbleId")) for header in headers]
    bubbles = _versions(connection, f"{BUBBLE}{composer}:")
    contexts = _versions(connection, f"{CONTEXT}{composer}:")
    in_order = [id_ for id_ in dict.fromkeys(listed) if id_ in bubbles] if any(listed) else list(bubbles)
    for id_ in in_order:
        if id_ in contexts:
            yield "cursorDiskKV", f"{CONTEXT}{composer}:{id_}", contexts[id_]
        yield "cursorDiskKV", f"{BUBBLE}{composer}:{id_}", bubbles.pop(id_)
    for id_, version in bubbles.items():
        yield LEFT, f"{BUBBLE}{composer}:{id_}", version


def _versions(connection: Connection, prefix: str) -> dict[str, int]:
    """By what follows in its key, each row's version, in the order in which they were written."""
    asked = "SELECT key, rowid, length(value) FROM cursorDiskKV WHERE key >= ? AND key < ? ORDER BY rowid"
    found = connection.execute(asked, _range(prefix))
    return {key[len(prefix) :]: _version(rowid, length) for key, rowid, length in found}


def _version(rowid: int, length: int | None) -> int:
    return (max(rowid, 0) << _LENGTH_BITS) + (length or 0)


def _range(prefix: str) -> tuple[str, str]:
    """Between which all keys with this beginning are."""
    return prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1)


# -- chats of 2024 ---------------------------------------------------------------------------------


def _tabs(connection: Connection) -> dict[str, bytes]:
    """The tabs of a window by their ids, each as the text it is in the value."""
    found = connection.execute("SELECT value FROM ItemTable WHERE key = ?", (_TABS,)).fetchone()
    value = found[0] if found is not None else None
    data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
    if not isinstance(data, bytes):
        return {}
    pieces = cut(data, "tabs", lambda tab, _: text_of(dict_of(tab).get("tabId")))
    return {id_: piece for id_, piece in pieces if id_ not in ("", HEAD, END)}


# -- the command line ------------------------------------------------------------------------------


def _chat(connection: Connection) -> dict[str, dict[str, str]]:
    """The one chat of a database by its id, and what is known of it: all in one value, or a row each."""
    told = {str(key): value for key, value in connection.execute("SELECT key, value FROM meta ORDER BY key")}
    known = meta_in(told.get("0"))
    id_ = text_of(known.get("agentId")) or text_of(told.get("agentId"))
    if not id_:
        return {}
    root = text_of(known.get("latestRootBlobId")) or text_of(told.get("latestRootBlobId"))
    return {id_: {"": root, **{key: str(text_in(value)) for key, value in told.items()}}}


def meta_in(value: Any) -> dict[str, Any]:
    """What is known of a chat: JSON, mostly written as the digits of its bytes."""
    text = text_of(text_in(value))
    try:
        text = bytes.fromhex(text).decode("utf-8") if text[:1] != "{" else text
    except ValueError:
        return {}
    return dict_of(value_in(text))


def _messages(connection: Connection, told: Mapping[str, str]) -> Iterator[tuple[str, str, int]]:
    """What is known of the chat, what is in its last tree no more, and what is, in its order."""
    for key, value in told.items():
        if key:
            yield "meta", key, _hash(value, _LONG_BITS)
    found = connection.execute("SELECT data FROM blobs WHERE id = ?", (told[""],)).fetchone()
    listed = tree_in(found[0] if found is not None else None)[0]
    blobs = dict(tuple(each) for each in connection.execute("SELECT id, rowid FROM blobs ORDER BY rowid"))
    in_order = [id_ for id_ in dict.fromkeys(listed) if id_ in blobs]
    for id_ in (*(id_ for id_ in blobs if id_ not in set(in_order)), *in_order):
        yield "blobs", str(id_), _version(blobs[id_], 0)


def _hash(value: Any, bits: int) -> int:
    """A number for a content."""
    data = value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest()) >> (64 - bits)


def _tables(connection: Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

"""A tree of the command line: protobuf, of which two fields are known, the messages and the folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from recollect.agents.cursor.paths import folder_in

_MESSAGES, _FOLDER = (1, 9)
_HASH_BYTES = 32
_NUMBER, _LONG, _BYTES, _SHORT = (0, 1, 2, 5)  # how a field is written
_VARINT_BYTES_MAX = 10


def tree_in(data: Any) -> tuple[list[str], str]:
    """The ids of the messages that it lists, and the folder it names; nothing of what is no such tree."""
    if type(data) is str:
        data = data.encode("utf-8", "surrogatepass")
    if type(data) is not bytes:
        return [], ""
    listed, folder = [], ""
    try:
        for field, value in _fields(data):
            if field == _MESSAGES and len(value) == _HASH_BYTES:
                listed.append(value.hex())
            elif field == _FOLDER and not folder:
                folder = folder_in(value.decode("utf-8"))
    except (IndexError, UnicodeDecodeError):
        return [], ""
    return listed, folder


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Number and bytes of every field that has some; IndexError where it is no protobuf."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 == _NUMBER:
            _, at = _varint(data, at)
        elif key & 7 == _BYTES:
            length, at = _varint(data, at)
            if length > len(data) - at:
                raise IndexError(length)
            yield key >> 3, data[at : at + length]
            at += length
        elif key & 7 in (_LONG, _SHORT):
            at += 8 if key & 7 == _LONG else 4
        else:
            raise IndexError(key)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for count in range(_VARINT_BYTES_MAX):
        byte = data[at + count]
        number |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return number, at + count + 1
    raise IndexError(at)

"""Cutting a JSON document into the things it lists, without losing a byte.

A thing's piece is everything behind the one before it, comma and white space too: so it stays the same
when more things follow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from recollect.agents.decode import BadLine, decode

HEAD, END = "session", "end"  # the pieces before the first thing and behind the last

_SPACE = re.compile(r"[ \t\r\n]*")
_scan = json.JSONDecoder(strict=False).raw_decode


def cut(data: bytes, list_name: str, key: Callable[[Any, int], str]) -> Iterator[tuple[str, bytes]]:
    """(key, bytes) of every piece; none where the document has no list of this name at its top.

    With "" for a name, the document is the list. `key` is given a thing and its number.
    """
    # One character a byte: what strings mean does not matter here, where they end does.
    text = data.decode("latin-1")
    try:
        ends = list(_ends(text, list_name, key))
    except (ValueError, IndexError, RecursionError):
        return
    start = 0
    for name, end in ends:
        yield name, data[start:end]
        start = end
    if ends:
        yield END, data[start:]


def thing_in(piece: bytes) -> Any:
    """What a piece holds between head and end; BadLine where it is no JSON."""
    return decode(piece.lstrip(b", \t\r\n"))[0]


def head_in(piece: bytes) -> Any:
    """What stands before the list, without it; {} where nothing does."""
    try:
        return decode(piece.rstrip(b" \t\r\n") + b"]}")[0]
    except BadLine:
        return {}


def _ends(text: str, list_name: str, key: Callable[[Any, int], str]) -> Iterator[tuple[str, int]]:
    """Where the list begins, and where each thing in it ends."""
    at = _behind(text, _space(text, 0), "{") if list_name else _space(text, 0)
    while list_name:
        name, at = _scan(text, _space(text, at))
        at = _space(text, _behind(text, _space(text, at), ":"))
        if name == list_name and text[at] == "[":
            break
        at = _space(text, _scan(text, at)[1])
        if text[at] != ",":
            return
        at = _space(text, at + 1)
    at = _behind(text, at, "[")
    yield HEAD, at
    number = 0
    while text[_space(text, at)] != "]":
        thing, at = _scan(text, _space(text, at))
        yield key(thing, number), at
        number += 1
        after = _space(text, at)
        if text[after] == ",":
            at = after + 1
        elif text[after] != "]":
            raise ValueError("no list")


def _space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _behind(text: str, at: int, mark: str) -> int:
    if text[at] != mark:
        raise ValueError(f"no {mark}")
    return at + 1

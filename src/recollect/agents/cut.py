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

    With "" for a name, the document is the list. An object in its place is cut into its members. `key` is
    given a thing and its number.
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


def member_in(piece: bytes) -> tuple[str, Any]:
    """The name and the value that a piece of an object holds; BadLine where it is no JSON."""
    found: dict[str, Any] = decode(b"{" + piece.lstrip(b", \t\r\n") + b"}")[0]
    if len(found) != 1:
        raise BadLine("not a member")
    return next(iter(found.items()))


def first_names(data: bytes) -> set[str]:
    """The names in the first object of a document, or of the list it is, as far as its beginning tells."""
    text = data.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    names = set()
    try:
        at = _space(text, 0)
        at = _space(text, at + 1) if text[at] == "[" else at
        at = _space(text, _behind(text, at, "{"))
        while text[at] == '"':
            name, at = _scan(text, at)
            at = _space(text, _behind(text, _space(text, at), ":"))
            names.add(name)
            at = _space(text, _behind(text, _space(text, _scan(text, at)[1]), ","))
    except (ValueError, IndexError, RecursionError):
        pass
    return names


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
        if name == list_name and text[at] in "[{":
            break
        at = _space(text, _scan(text, at)[1])
        if text[at] != ",":
            return
        at = _space(text, at + 1)
    is_object = text[at] == "{" and bool(list_name)
    at, last = _behind(text, at, "{" if is_object else "["), "}" if is_object else "]"
    yield HEAD, at
    number = 0
    while text[_space(text, at)] != last:
        if is_object:
            at = _behind(text, _space(text, _scan(text, _space(text, at))[1]), ":")
        thing, at = _scan(text, _space(text, at))
        yield key(thing, number), at
        number += 1
        after = _space(text, at)
        if text[after] == ",":
            at = after + 1
        elif text[after] != last:
            raise ValueError("no list")


def _space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _behind(text: str, at: int, mark: str) -> int:
    if text[at] != mark:
        raise ValueError(f"no {mark}")
    return at + 1

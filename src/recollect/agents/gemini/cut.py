"""Cutting a chat that is one JSON document into its messages, without losing a byte.

A message's piece is everything behind the one before it, comma and white space too: so it stays the same
when more messages follow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from recollect.agents.fields import dict_of

HEAD, END = "session", "end"  # the pieces before the first message and behind the last

_SPACE = re.compile(r"[ \t\r\n]*")
_scan = json.JSONDecoder(strict=False).raw_decode


def cut(data: bytes) -> Iterator[tuple[str, bytes]]:
    """(key, bytes) of every piece; none where the document has no list of messages at its top."""
    # One character a byte: what strings mean does not matter here, where they end does.
    text = data.decode("latin-1")
    try:
        ends = list(_ends(text))
    except (ValueError, IndexError, RecursionError):
        return
    start = 0
    for key, end in ends:
        yield key, data[start:end]
        start = end
    if ends:
        yield END, data[start:]


def _ends(text: str) -> Iterator[tuple[str, int]]:
    """Where the list of messages begins, and where each message ends, by its id."""
    at = _behind(text, _space(text, 0), "{")
    while True:
        name, at = _scan(text, _space(text, at))
        at = _space(text, _behind(text, _space(text, at), ":"))
        if name == "messages" and text[at] == "[":
            break
        at = _space(text, _scan(text, at)[1])
        if text[at] != ",":
            return
        at = _space(text, at + 1)
    at += 1
    yield HEAD, at
    while text[_space(text, at)] != "]":
        message, at = _scan(text, _space(text, at))
        yield f"message {dict_of(message).get('id')}", at
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

"""An entry's text, cut into the pieces that are embedded.

A piece is white space made single, and what only looks like words (times, hashes, addresses, long
numbers) made one sign: so that texts that say the same are embedded once. The vector is that of the
piece as it is here, and its key is the piece's; nothing else about an entry plays a part.

Of a very long text not all is embedded; the text index has every word of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from recollect.values.ids import name_key
from recollect.values.records import HIDDEN, Entry, Kind

if TYPE_CHECKING:
    from recollect.store.contract import Array, View

PIECE_CHARS = 1500
OVERLAP_CHARS = 200
PIECES_MAX = 8  # of one entry: its first ones and its last; one in sixty entries is longer

KINDS = frozenset({Kind.PROMPT, Kind.ANSWER, Kind.THOUGHT, Kind.CALL, Kind.RESULT, Kind.SUMMARY, Kind.NOTE})


def pieces_of(entry: Entry) -> list[str]:
    """What of an entry is embedded, each piece once; nothing of copies and of what we said ourselves."""
    if entry.kind not in KINDS or entry.flags & HIDDEN:
        return []
    return list(filter(None, dict.fromkeys(map(_plain, _cut(entry.text)))))


def piece_keys(view: View) -> Array:
    """The keys of all vectors that the entries of a store may have."""
    entries = view.entry_range(0, view.info().rows_end)
    return np.fromiter({name_key(text) for each in entries for text in pieces_of(each.entry)}, "<u8")


def _plain(piece: str) -> str:
    return _NUMBER.sub("0", " ".join(piece.split()))


# Six signs or more, from a digit on: 2026-11-15T10:00, 0x7ffe12, 127.0.0.1, 3f2a0000-aaaa, 1700000000.
_NUMBER = re.compile(r"[0-9][0-9a-fA-FxT:.-]{5,}(?![0-9A-Za-z])")


def _cut(text: str) -> list[str]:
    if len(text) <= PIECE_CHARS:
        return [text]
    found: list[str] = []
    start = 0
    while len(found) < PIECES_MAX - 1 and len(text) - start > PIECE_CHARS:
        stop = _end(text, start + PIECE_CHARS // 2, start + PIECE_CHARS)
        found.append(text[start:stop])
        start = _start(text, stop - OVERLAP_CHARS, stop)
    if len(text) - start > PIECE_CHARS:
        start = _start(text, len(text) - PIECE_CHARS, len(text) - PIECE_CHARS // 2)
    return [*found, text[start:]]


def _end(text: str, low: int, high: int) -> int:
    """Where to end a piece: behind a line, else a sentence, else a word."""
    for mark in ("\n", ". ", " "):
        if (at := text.rfind(mark, low, high)) >= 0:
            return at + len(mark)
    return high


def _start(text: str, low: int, high: int) -> int:
    """Where to begin the next one, overlap included."""
    for mark in ("\n", ". ", " "):
        if 0 <= (at := text.find(mark, low, high)) < high - len(mark):
            return at + len(mark)
    return low

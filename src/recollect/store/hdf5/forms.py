"""Where an entry's text is: usually inside its own line, so that it is stored only once.

An entry's text is a JSON string (or the raw JSON of a tool's input) that stands in the
line word for word. Keeping the place instead of a copy saves a quarter of the store. What
cannot be pointed at (joined texts, unusual escapes) goes into the `texts` stream.
"""

from __future__ import annotations

import enum
import json

import orjson

from recollect.store.hdf5.frames import Damaged
from recollect.values.records import Kind


class TextForm(enum.IntEnum):
    """How `at` and `length` of an entry lead to its text."""

    NONE = 0  # the text is empty
    LITERAL = 1  # a JSON string in the line, quotes included: decode it
    SLICE = 2  # UTF-8 in the line, as it stands
    STORED = 3  # UTF-8 in the stream `texts`; lone surrogates as three bytes each


def find(text: str, kind: Kind, line: bytes, start: int) -> tuple[TextForm, int, int] | None:
    """The place of a text in its line, looking from `start` first; None when it is not there."""
    if not text:
        return TextForm.NONE, 0, 0
    if kind == Kind.CALL or kind == Kind.RESULT:
        at = _find(line, as_bytes(text), start) if text[0] in "{[" or len(line) == len(text) else -1
        if at >= 0:
            return TextForm.SLICE, at, len(as_bytes(text))
    for literal in _literals(text):
        at = _find(line, literal, start)
        if at >= 0:
            return TextForm.LITERAL, at, len(literal)
    return None


def text_of(form: int, piece: bytes) -> str:
    """The text that `find` or a stored copy stands for; `Damaged` if it can be neither's."""
    try:
        if form != TextForm.LITERAL:
            return piece.decode("utf-8", "surrogatepass")
        if not piece.startswith(b'"'):  # nothing else is parsed: what nests is dear
            raise Damaged("a text is not where its entry says")
        try:
            value = orjson.loads(piece)
        except orjson.JSONDecodeError:
            value = json.loads(piece)
    except ValueError as error:
        raise Damaged(f"a text does not read: {error}") from error
    assert isinstance(value, str)
    return value


def as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _literals(text: str) -> list[bytes]:
    """A string as JavaScript writes it, then as Python's json does."""
    try:
        plain = orjson.dumps(text)
    except orjson.JSONEncodeError:
        return [json.dumps(text).encode("ascii")]
    return [plain] if text.isascii() else [plain, json.dumps(text).encode("ascii")]


def _find(line: bytes, piece: bytes, start: int) -> int:
    at = line.find(piece, start)
    return at if at >= 0 or not start else line.find(piece)

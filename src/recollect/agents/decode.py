"""One line of a log as a JSON value, with the digits of its long numbers."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import orjson

# From 2**64 on, a number of 20 digits, orjson makes a float of an integer and its digits are lost.
_LONG_NUMBER = b"0" * 20
_decoder = json.JSONDecoder()

# Of a spliced line: each try may read all of it.
_SPLICED_BYTES_MAX = 16 << 20
_TRIED_MAX = 256

_DIGITS = bytes(ord("0") if chr(byte).isdecimal() and byte < 128 else 0 for byte in range(256))


class BadLine(Exception):
    """A line that no JSON parser takes; the argument says why in a word or two."""


def decode(data: bytes) -> tuple[Any, bool]:
    """The value of a line, and whether only the forgiving parser took it."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    else:
        if _LONG_NUMBER in data.translate(_DIGITS):
            with contextlib.suppress(ValueError, RecursionError):
                value = json.loads(data)
        return value, False
    try:
        return json.loads(data.decode("utf-8-sig", "strict")), True
    except UnicodeDecodeError:
        raise BadLine("invalid UTF-8") from None
    except RecursionError:
        raise BadLine("nested too deeply") from None
    except ValueError as error:
        raise BadLine(_reason(data, str(error))) from None


def records_inside(data: bytes) -> list[dict[str, Any]]:
    """The complete records in a line that as a whole is none.

    Two writers, or a power cut, leave such lines: a record that was cut and another one behind it, two in a
    row, NULs before one. An object counts if the line ends behind it, or another object or NULs follow: what
    is only a part of a cut record is followed by the rest of that.
    """
    text = data.decode("utf-8", "replace")
    found: list[dict[str, Any]] = []
    at, tried = text.find("{"), 0
    while at >= 0 and tried < _TRIED_MAX and len(data) <= _SPLICED_BYTES_MAX:
        tried += 1
        try:
            value, end = _decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        rest = text[end : end + 2].lstrip(" \t\r")
        if isinstance(value, dict) and rest[:1] in ("", "{", "\0"):
            found.append(value)
            at = text.find("{", end)
        else:
            at = text.find("{", at + 1)
    return found


def _reason(data: bytes, complaint: str) -> str:
    if b"\0" in data:
        return "NUL bytes"
    if complaint.startswith("Extra data"):
        return "more than one record"
    if "integer string conversion" in complaint:
        return "number too long"
    return "not JSON"

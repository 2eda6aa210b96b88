"""Lines of a session file, whichever agent reads it: JSON objects, whole, in clean text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from recollect.light.sources import is_uuid

_LONE = re.compile("[\ud800-\udfff]")


def line_of(record: dict[str, Any]) -> bytes:
    """A record as a line; half of a character, which no file may hold, is replaced."""
    return _LONE.sub("\ufffd", plain_json(record)).encode() + b"\n"


def plain_json(value: object) -> str:
    """JSON as every reader takes it: logs hold numbers that are none."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        return plain_json(json.loads(json.dumps(value), parse_constant=lambda _: None))


def stamp(time_ms: int) -> str:
    """A time as JavaScript writes it."""
    moment = datetime.fromtimestamp(time_ms // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{time_ms % 1000:03}Z"


def is_stamp(value: object) -> bool:
    try:
        return type(value) is str and bool(datetime.strptime(value, "%Y-%m-%dT%H:%M:%S.%fZ"))
    except ValueError:
        return False


def file_problems(data: bytes, session_id: str, is_record: Callable[[dict[str, Any]], bool]) -> Iterator[str]:
    """What is wrong with a file before any record is looked into."""
    if not is_uuid(session_id):
        yield f"{session_id!r} is no UUID"
    if not data.endswith(b"\n"):
        yield "the file does not end with a newline"
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        try:
            value = json.loads(line.decode("utf-8"), parse_constant=_no_number)
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeError:
            yield f"line {number}: half of a character"
        except (ValueError, RecursionError):
            yield f"line {number}: no JSON"
        else:
            if type(value) is not dict or not is_record(value):
                yield f"line {number}: no record"


def _no_number(name: str) -> None:
    raise ValueError(name)

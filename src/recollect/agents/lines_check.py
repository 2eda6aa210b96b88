"""What holds for every session file, whichever agent reads it: whole lines of JSON objects, in clean text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from recollect.light.paths import is_uuid


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

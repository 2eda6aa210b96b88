"""What the values of a stranger's columns say: a text, a moment, tags, a vector; None where they say none."""

from __future__ import annotations

import base64
import datetime
import json
import math
from collections.abc import Mapping
from typing import Any, Final

from recollect.values.notes import DIMS_MAX, NAME_CHARS_MAX, TAG_CHARS_MAX, TAGS_MAX

_SECONDS_MAX: Final = 253_402_300_800.0  # the year 10,000
_MILLISECONDS, _MICROSECONDS = 1e11, 1e14  # what is larger is counted in these
_DEPTH_CHARS: Final = 4 << 20  # of JSON that is read


def text_of(value: Any) -> str | None:
    """A text; bytes that are one, too."""
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return None
    if isinstance(value, int | float):
        return str(value)
    return value if isinstance(value, str) else None


def name_of(value: Any, chars_max: int = NAME_CHARS_MAX) -> str | None:
    """A name that can be typed and shown."""
    text = text_of(value)
    return text if text and len(text) <= chars_max and text.isprintable() else None


def seconds_of(value: Any) -> float | None:
    """A moment as seconds since 1970: a number of seconds, milli- or microseconds, or as ISO 8601 has it."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        seconds = float(value) if abs(value) < 2**1000 else math.inf
        if seconds >= _MICROSECONDS:
            seconds /= 1e6
        elif seconds >= _MILLISECONDS:
            seconds /= 1e3
        return seconds if math.isfinite(seconds) and 0 <= seconds < _SECONDS_MAX else None
    try:
        moment = datetime.datetime.fromisoformat(str(text_of(value)).strip())
        moment = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
        seconds = moment.timestamp()
    except (ValueError, OverflowError):
        return None
    return seconds if 0 <= seconds < _SECONDS_MAX else None


def tags_of(value: Any) -> tuple[list[str], bool]:
    """The tags that a column lists, with commas or as JSON; and whether that is all of what it says."""
    if value is None or value == "":
        return [], True
    listed = list_of(value)
    text = text_of(value)
    if listed is None and text is None:
        return [], False
    words = listed if listed is not None else [each.strip() for each in str(text).split(",")]
    words = [each for each in words if each != ""]
    found = list(dict.fromkeys(filter(None, (name_of(each, TAG_CHARS_MAX) for each in words))))
    whole = all(name_of(each, TAG_CHARS_MAX) for each in words)
    return found[:TAGS_MAX], whole and len(found) <= TAGS_MAX


def floats_of(value: Any) -> bytes | None:
    """A vector of float32, as bytes."""
    import numpy as np

    if not isinstance(value, bytes) or not 0 < len(value) <= DIMS_MAX * 4 or len(value) % 4:
        return None
    return value if bool(np.isfinite(np.frombuffer(value, "<f4")).all()) else None


def object_of(value: Any) -> dict[str, Any] | None:
    """The object that a column of JSON holds."""
    made = value if isinstance(value, dict) else _decoded(value)
    return made if isinstance(made, dict) else None


def list_of(value: Any) -> list[Any] | None:
    """The list that a column of JSON holds, or that was found elsewhere."""
    made = value if isinstance(value, list) else _decoded(value, "[")
    return made if isinstance(made, list) else None


def json_of(value: Any) -> Any:
    """A value as JSON can say it, and as it can be read back."""
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, Mapping):
        return {str(name): json_of(each) for name, each in value.items()}
    return [json_of(each) for each in value] if isinstance(value, list) else value


def _decoded(value: Any, begins: str = "{") -> Any:
    text = text_of(value)
    if text is None or len(text) > _DEPTH_CHARS or not text.lstrip().startswith(begins):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None

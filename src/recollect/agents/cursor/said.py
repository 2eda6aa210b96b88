"""What the client sends in a person's place: what they typed stands in a tag, the rest around it."""

from __future__ import annotations

from recollect.agents.fields import META
from recollect.values.records import Entry, Kind

_OPEN, _CLOSE = "<user_query>", "</user_query>"


def person_in(text: str, time_ms: int, *, alone: Kind = Kind.PROMPT) -> list[Entry]:
    """What a person typed, and what the client put around it; `alone` is what a text without the tag is."""
    if _OPEN not in text:
        flags = 0 if alone is Kind.PROMPT else META
        return [Entry(alone, text, flags, time_ms)] if text.strip() else []
    found = []
    while _OPEN in text:
        before, _, rest = text.partition(_OPEN)
        typed, _, text = rest.partition(_CLOSE)
        found += _around(before, time_ms)
        found.append(Entry(Kind.PROMPT, typed.strip("\r\n"), 0, time_ms))
    return found + _around(text, time_ms)


def _around(text: str, time_ms: int) -> list[Entry]:
    return [Entry(Kind.CONTEXT, text.strip("\r\n"), META, time_ms)] if text.strip() else []

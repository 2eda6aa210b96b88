"""Session ids as people type them: the shortest beginning that names one session."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SHORT_MIN = 8
_UUID = re.compile(
    r"([0-9a-f]{8}-[0-9a-f]{4})-[0-9a-f-]{22}"
)  # some begin with a time: 8 letters may be the same


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """Each id's shortest unique prefix, at least `SHORT_MIN` long, so that lists look even."""
    ordered = sorted(set(ids))
    short: dict[str, str] = {}
    for n, each in enumerate(ordered):
        shared = max(
            (_shared(each, ordered[near]) for near in (n - 1, n + 1) if 0 <= near < len(ordered)), default=0
        )
        short[each] = each[: max(shared + 1, SHORT_MIN)]
    return short


def short_id(id_: str) -> str:
    """An id on its own, without looking at others: of a UUID its beginning, of any other all."""
    return match[1] if (match := _UUID.fullmatch(id_)) else id_


def _shared(one: str, other: str) -> int:
    """How many characters two ids have in common from their start."""
    length = min(len(one), len(other))
    return next((n for n in range(length) if one[n] != other[n]), length)

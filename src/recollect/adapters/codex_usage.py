"""Codex token counts: cumulative, repeated, and replayed into forks.

A `token_count` event carries the running total of the thread and the numbers of the last
request. A fork's file begins with its parent's events, stamped anew, so a request is known
by the total it led to and by the thread at the start of the chain of forks: a replayed
event gets the key it had in the parent's file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from recollect.adapters.fields import count_of, dict_of
from recollect.records import Usage

_FIELDS = (
    "input_tokens",
    "cached_input_tokens",
    "output_tokens",
    "reasoning_output_tokens",
    "total_tokens",
    "cache_write_input_tokens",
)


class Meter:
    """Turns one session's token counts into usage, one for each request."""

    __slots__ = ("_total",)

    def __init__(self, total: Iterable[int]) -> None:
        self._total = tuple(total)  # the last total seen; () before the first

    def read(self, payload: dict[str, Any], root: str, model: str, time_ms: int) -> Usage | None:
        """The usage a `token_count` tells of; None when it repeats the total before."""
        info = dict_of(payload.get("info"))
        if type(info.get("total_token_usage")) is not dict:
            return None
        total, before = _numbers(info["total_token_usage"]), self._total
        if total == before:
            return None
        self._total = total
        if type(info.get("last_token_usage")) is dict:
            last = _numbers(info["last_token_usage"])
        else:
            last = tuple(map(_grown, total, before or (0,) * len(total)))
        key = f"codex:{root}:{':'.join(map(str, total))}"
        return _usage(key, last, model, time_ms)

    def state(self) -> list[int]:
        return list(self._total)


def _numbers(usage: dict[str, Any]) -> tuple[int, ...]:
    return tuple(count_of(usage.get(name)) for name in _FIELDS)


def _grown(now: int, before: int) -> int:
    return now - before if now >= before else now


def _usage(key: str, numbers: tuple[int, ...], model: str, time_ms: int) -> Usage | None:
    asked, cached, output, reasoning, total, written = numbers
    if not (asked or cached or output or written):
        return None
    cached = min(cached, asked) if asked else cached
    fresh = max(0, asked - cached)
    # `input_tokens` counts what was written to the cache too, unless the total says otherwise.
    if written and total != asked + output + written:
        fresh = max(0, fresh - written)
    return Usage(
        key,
        model,
        time_ms,
        input=fresh,
        output=output,
        cache_read=cached,
        cache_write_5m=written,
        reasoning=min(reasoning, output),
    )

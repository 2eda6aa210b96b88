"""Codex token counts: cumulative, repeated, and replayed into forks.

A `token_count` event carries the running total of the thread and the numbers of the last
request. A fork's file begins with its parent's events, stamped anew, so a request is known
by the total it led to and by the thread at the start of the chain of forks: a replayed
event gets the key it had in the parent's file.

Newer clients (seen: 0.166) also write a `token_usage_record` as soon as a response ends. It
names its thread, and it is there when the client died before the event; after that the
events' total lacks the response, so a file that has records is counted by them alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from recollect.agents.fields import count_of, dict_of, text_of
from recollect.values.records import Usage

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

    __slots__ = ("_total", "recorded")

    def __init__(self, total: Iterable[int], *, recorded: bool) -> None:
        self._total = tuple(total)  # the last total seen; () before the first
        self.recorded = recorded  # a `token_usage_record` was read: events tell nothing new

    def read(self, payload: dict[str, Any], root: str, model: str, time_ms: int) -> Usage | None:
        """The usage a `token_count` tells of; None when it repeats the total before."""
        info = dict_of(payload.get("info"))
        if self.recorded or type(info.get("total_token_usage")) is not dict:
            return None
        total, before = _numbers(info["total_token_usage"]), self._total
        if total == before:
            return None
        self._total = total
        if type(info.get("last_token_usage")) is dict:
            last = _numbers(info["last_token_usage"])
        else:
            last = tuple(map(_grown, total, before or (0,) * len(total)))
        return _usage(_key(root, total), last, model, time_ms)

    def record(self, payload: dict[str, Any], thread: str, model: str, time_ms: int) -> Usage | None:
        """The usage of the one response a `token_usage_record` tells of."""
        if type(payload.get("usage")) is not dict:
            return None
        self.recorded = True
        thread = text_of(payload.get("thread_id")) or thread
        if type(payload.get("thread_token_usage")) is dict:
            key = _key(thread, _numbers(payload["thread_token_usage"]))
        else:
            key = f"codex:{thread}:{text_of(payload.get('response_id'))}"
        return _usage(key, _numbers(payload["usage"]), model, time_ms)

    def state(self) -> list[int]:
        return list(self._total)


def _key(thread: str, total: tuple[int, ...]) -> str:
    return f"codex:{thread}:{':'.join(map(str, total))}"


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

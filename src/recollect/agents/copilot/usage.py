"""Tokens, each counted once, of three eras that overlap in one file.

Newer clients (seen: 1.0.102) write a `session.usage_record` for each response. Older ones (1.0.6x) tell with
each message only what was put out, and at the end of a run the totals of the session up to then, in all of
its runs: of these counts what was not counted before. Input holds what the cache held and what was written to
it; output what was thought.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from recollect.agents.fields import NAME_CHARS_MAX, count_of, dict_of, text_of
from recollect.values.records import Usage

_FIELDS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens")
_MODELS_MAX = 20

Numbers = list[int]


class Meter:
    """What was counted of one session, by model."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._counted: dict[str, Numbers] = dict(state.get("counted", {}))
        self._last: str = state.get("last", "")  # the response of the message before

    def state(self) -> dict[str, Any]:
        return {"counted": dict(self._counted), "last": self._last}

    def record(self, told: dict[str, Any], session: str, id_: str, time_ms: int) -> Usage | None:
        """One response: `session.usage_record`. A fork of the session keeps whose it was."""
        who = dict_of(told.get("accounting"))
        source = text_of(who.get("sourceSessionId")) or session
        response = text_of(who.get("usageId")) or text_of(told.get("apiCallId")) or id_
        return self._count(f"copilot:{source}:{response}", _model(told), _numbers(told), time_ms)

    def message(self, told: dict[str, Any], session: str, id_: str, time_ms: int) -> Usage | None:
        """What a message put out, where it says so; the pieces of one response all say the same."""
        response = text_of(told.get("apiCallId")) or text_of(told.get("messageId")) or id_
        if response == self._last:
            return None
        self._last = response
        numbers = [0, count_of(told.get("outputTokens")), 0, 0, 0]
        return self._count(f"copilot:{session}:{response}", _model(told), numbers, time_ms)

    def compaction(self, told: dict[str, Any], session: str, id_: str, time_ms: int) -> Usage | None:
        """What a summary took, which the client's own totals leave out."""
        used = dict_of(told.get("compactionTokensUsed"))
        attempt = text_of(told.get("compactionAttemptId")) or id_
        model = _model(used) or _model(told)
        return self._count(f"copilot:{session}:{attempt}", model, _numbers(used), time_ms)

    def totals(self, told: dict[str, Any], session: str, id_: str, time_ms: int) -> Iterator[Usage]:
        """What the session took by now and was not counted before, by model."""
        models = dict_of(told.get("modelMetrics")) or dict_of(
            dict_of(told.get("accountingSnapshot")).get("modelMetrics")
        )
        for model, metrics in models.items():
            model = model[:NAME_CHARS_MAX]
            before = self._counted.get(model, [0] * len(_FIELDS))
            total = _numbers(dict_of(dict_of(metrics).get("usage")))
            rest = [max(0, now - then) for now, then in zip(total, before, strict=True)]
            found = self._count(f"copilot:{session}:{id_}:{model}", model, rest, time_ms)
            if found is not None:
                yield found

    def _count(self, key: str, model: str, numbers: Numbers, time_ms: int) -> Usage | None:
        if not any(numbers):
            return None
        if model in self._counted or len(self._counted) < _MODELS_MAX:
            before = self._counted.setdefault(model, [0] * len(_FIELDS))
            self._counted[model] = [then + now for then, now in zip(before, numbers, strict=True)]
        asked, output, read, written, thought = numbers
        return Usage(
            key,
            model,
            time_ms,
            input=max(0, asked - read - written),
            output=output,
            cache_read=read,
            cache_write_5m=written,
            reasoning=thought,
        )


def _model(told: dict[str, Any]) -> str:
    return text_of(told.get("model"))[:NAME_CHARS_MAX]


def _numbers(told: dict[str, Any]) -> Numbers:
    return [count_of(told.get(name)) for name in _FIELDS]

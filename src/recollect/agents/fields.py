"""Reading decoded JSON of which nothing is certain.

Every accessor takes any value and answers with the type it is named for, empty where
the value is something else. This is what lets `parse` promise never to raise.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from recollect.agents.injected import is_own, own_answer
from recollect.values.records import HIDDEN, Entry, Flag, Kind, Parsed, Relation, SessionFacts
from recollect.values.titles import TITLE_STRANGER, first_sentence

CALLS_OPEN_MAX: Final = 200
NAME_CHARS_MAX: Final = 100
_COUNT_MAX: Final = 2**53  # what JavaScript can count to; anything above is damage

# The flags as plain numbers: what they are combined from and what an entry holds are ints.
ERROR: Final = int(Flag.ERROR)
SIDECHAIN: Final = int(Flag.SIDECHAIN)
META: Final = int(Flag.META)
COPY: Final = int(Flag.COPY)
INJECTED: Final = int(Flag.INJECTED)
BOUNDARY: Final = int(Flag.BOUNDARY)
SPILLED: Final = int(Flag.SPILLED)
EXPORTED: Final = int(Flag.EXPORTED)

_EMPTY: Final[dict[str, Any]] = {}
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def text_of(value: Any) -> str:
    return value if type(value) is str else ""


def dict_of(value: Any) -> dict[str, Any]:
    return value if type(value) is dict else _EMPTY


def list_of(value: Any) -> list[Any]:
    return value if type(value) is list else []


def count_of(value: Any) -> int:
    """A token count: 0 for anything that cannot be one."""
    if type(value) is int:
        return value if 0 <= value <= _COUNT_MAX else 0
    if type(value) is float and 0 <= value <= _COUNT_MAX:
        return int(value)
    return 0


def time_of(value: Any) -> int:
    """Milliseconds since 1970 of an ISO 8601 string (UTC unless it says otherwise), else 0."""
    if type(value) is not str:
        return 0
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return max(0, round(moment.timestamp() * 1000))
    except (ValueError, OverflowError):
        return 0


def json_of(value: Any) -> str:
    """Compact JSON as JavaScript writes it, so that it is found in the raw line; "" for null."""
    if value is None:
        return ""
    try:
        return _encode(value)
    except (RecursionError, ValueError, TypeError):
        return ""


def lines_of(values: Any, key: str = "text") -> str:
    """The strings of a list, and `key` of the objects in it, one below the other."""
    parts = [value if type(value) is str else text_of(dict_of(value).get(key)) for value in list_of(values)]
    return "\n".join(part for part in parts if part)


def has_said(entries: Iterable[Entry]) -> bool:
    """Whether somebody speaks here who has not spoken elsewhere: a copy that has this is gone on in."""
    return any(
        entry.kind in (Kind.PROMPT, Kind.ANSWER) and not entry.flags & (META | HIDDEN | EXPORTED)
        for entry in entries
    )


def note_answers(facts: SessionFacts, entries: Iterable[Entry]) -> None:
    """Let what was answered be the title while no prompt says what it is about."""
    for entry in entries:
        if entry.kind is Kind.ANSWER and not entry.flags & (ERROR | COPY | EXPORTED):
            facts.title_from(first_sentence(entry.text), TITLE_STRANGER)


def facts_state(facts: SessionFacts) -> dict[str, Any]:
    return {**asdict(facts), "relation": int(facts.relation)}


def facts_restored(state: Mapping[str, Any]) -> SessionFacts:
    return SessionFacts(**{**state, "relation": Relation(state["relation"])})


def unknown(name: str, time_ms: int = 0, text: str = "", *, uuid: str = "") -> Parsed:
    """What `parse` answers for a record of a type it does not know."""
    entry = Entry(Kind.UNKNOWN, text, 0, time_ms)
    return Parsed(name[:NAME_CHARS_MAX], (entry,), known=False, uuid=uuid)


def not_an_object(value: Any) -> Parsed:
    """What `parse` answers for a line that is valid JSON but no object."""
    return unknown(f"json/{type(value).__name__}", text=text_of(value))


class OpenCalls:
    """The tools of calls not answered yet, so that a result can name its tool and say whether it is ours.

    Holds at most CALLS_OPEN_MAX: calls a crash left open must not pile up in the state.
    """

    __slots__ = ("_own", "_tools")

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._tools: dict[str, str] = dict(state.get("calls", {}))
        self._own: dict[str, int] = dict(state.get("own", {}))  # only those of Recollect itself

    def opened(self, call: str, tool: str, given: Any) -> int:
        """A call was made; `given` is what the tool was given, as the log has it.

        INJECTED when it asks Recollect itself: the echo of a question would be found before its answer.
        """
        own = own_answer(tool, given)
        if not call:
            return INJECTED if own else 0
        self._tools[call] = tool
        if len(self._tools) > CALLS_OPEN_MAX:
            oldest = next(iter(self._tools))
            del self._tools[oldest]
            self._own.pop(oldest, None)
        self._own.pop(call, None)
        if own:
            self._own[call] = own
        return INJECTED if own else 0

    def __contains__(self, call: str) -> bool:
        return call in self._tools

    def answered(self, call: str, text: str = "") -> tuple[str, int]:
        """The tool that gives this text, and INJECTED when the text is Recollect's own."""
        own = is_own(self._own.pop(call, 0), text)
        return self._tools.pop(call, ""), INJECTED if own else 0

    def state(self) -> dict[str, Any]:
        return {"calls": dict(self._tools), "own": dict(self._own)}

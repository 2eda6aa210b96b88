"""A session as exchanges of steps: what a person asked, each call with its result, what was said.

Pure: from a session's entries in order. What a harness shows of a run that goes on in the background is
joined to the call that started it, and what subagents did inside the same session counts as work of the
exchange, never as something said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import TypeVar

import orjson

from recollect.agents.registry import all_signs, all_tools
from recollect.insight.commands import IDLE, command_of, is_reading
from recollect.insight.shell import Simple, simple_commands
from recollect.values.records import HIDDEN, Flag, Kind
from recollect.values.stored import StoredEntry

S = TypeVar("S")
T = TypeVar("T")

_FOLLOWED_MAX = 64  # runs in the background that are remembered
_STARTED_CHARS = 600  # of a result, in which a run's number is looked for


class Step:
    """A call and what came of it."""

    def __init__(self, call: StoredEntry) -> None:
        self.call = call
        self.results: list[StoredEntry] = []
        self.tool = call.entry.tool.lower()
        self.is_refused = False  # by the person

    @cached_property
    def command(self) -> str:
        """What a shell was told, "" for another tool."""
        return command_of(self.call.entry) if self.tool in all_tools().run else ""

    @cached_property
    def parts(self) -> tuple[Simple, ...]:
        return tuple(simple_commands(self.command)) if self.command else ()

    @cached_property
    def only_reads(self) -> bool:
        """Whether a shell was told to show something and change nothing."""
        work = [part for part in self.parts if part.program not in IDLE]
        return bool(work) and all(not part.writes and is_reading(part.words[:2]) for part in work)

    @property
    def output(self) -> str:
        """The text of all results, as far as they are told."""
        return "\n".join([_told(each.entry.text) for each in self.results])

    @property
    def is_ended(self) -> bool:
        """Whether it gave something back."""
        return bool(self.results)

    @property
    def has_failed(self) -> bool:
        """Whether it came to an error of its own: not one that a person refused."""
        return bool(self.results and self.results[-1].entry.flags & Flag.ERROR and not self.is_refused)

    @property
    def is_trifle(self) -> bool:
        """Whether it failed because it was put wrongly, and nothing was tried."""
        return self.has_failed and self.results[-1].entry.text.startswith(all_signs().trifles)

    def take(self, result: StoredEntry) -> None:
        self.results.append(result)
        self.is_refused = self.is_refused or result.entry.text.startswith(all_signs().refused)


def once(work: Callable[[S], T]) -> Callable[[S], T]:
    """The same, worked out once for each step or exchange: several parts of a digest ask for it."""
    name = f"{work.__module__}.{work.__name__}"

    @wraps(work)
    def known(asked: S) -> T:
        if name not in asked.__dict__:
            asked.__dict__[name] = work(asked)
        found: T = asked.__dict__[name]
        return found

    return known


@dataclass(eq=False)
class Exchange:
    """What a person asked, or typed as a command, and what came of it; `prompt` is None before the first.

    `said` are answers, in order; `stops` are interrupts, `errors` the agent's own: a limit, a login.
    """

    prompt: StoredEntry | None = None
    is_command: bool = False
    steps: list[Step] = field(default_factory=list)
    said: list[StoredEntry] = field(default_factory=list)
    stops: list[StoredEntry] = field(default_factory=list)
    errors: list[StoredEntry] = field(default_factory=list)
    last: StoredEntry | None = None  # the last thing that happened, an interrupt included
    worked: int = -1  # the row of the last call or result
    is_over: bool = False  # the agent's client said so

    @property
    def has_begun(self) -> bool:
        return bool(self.said or self.steps)

    @property
    def has_work(self) -> bool:
        return bool(self.said or any(step.is_ended and not step.is_refused for step in self.steps))

    @property
    def closing(self) -> StoredEntry | None:
        """The answer behind all calls, None where the exchange ends otherwise."""
        if not self.said:
            return None
        return self.said[-1] if self.said[-1].row > self.worked else None

    @property
    def asked(self) -> str:
        return self.prompt.entry.text if self.prompt else ""


def exchanges(entries: Iterable[StoredEntry]) -> list[Exchange]:
    """The exchanges of a session, the one before anybody said something first, if anything is in it."""
    return _Walk(entries).made


class _Walk:
    """One pass over a session's entries."""

    def __init__(self, entries: Iterable[StoredEntry]) -> None:
        self.made: list[Exchange] = []
        self._open: dict[str, Step] = {}
        self._running: dict[str, Step] = {}
        self._now = Exchange()
        listed = [each for each in entries if not each.entry.flags & HIDDEN]
        # A subagent's own session is inside from its first entry to its last.
        self._side = 0 if _is_inside(listed) else int(Flag.SIDECHAIN)
        for stored in listed:
            self._take(stored)
        self._close()

    def _take(self, stored: StoredEntry) -> None:
        entry = stored.entry
        if entry.kind == Kind.CALL:
            self._call(stored)
        elif entry.kind == Kind.RESULT:
            self._result(stored)
        elif entry.flags & self._side:
            return
        elif entry.kind == Kind.ANSWER:
            self._answer(stored)
        elif entry.is_said:
            self._begin(stored)
        elif entry.kind == Kind.CONTEXT and not self._side and not self.made and not self._now.has_begun:
            self._now = Exchange(stored, last=stored)  # what a subagent was told comes last before it works
        elif entry.kind in (Kind.EVENT, Kind.CONTEXT):
            self._notice(stored)

    def _begin(self, stored: StoredEntry, *, is_command: bool = False) -> None:
        self._close()
        self._now = Exchange(stored, is_command, last=stored)

    def _close(self) -> None:
        if self._now.prompt or self._now.steps or self._now.said:
            self.made.append(self._now)

    def _call(self, stored: StoredEntry) -> None:
        step = Step(stored)
        self._now.steps.append(step)
        self._now.last, self._now.worked = stored, stored.row
        if stored.entry.call:
            self._open[stored.entry.call] = step

    def _result(self, stored: StoredEntry) -> None:
        step = self._open.get(stored.entry.call)
        if step is None:
            return
        step.take(stored)
        self._now.last, self._now.worked = stored, stored.row
        if step.tool in all_tools().follow:
            for number in _NUMBERS.findall(step.call.entry.text[:_STARTED_CHARS]):
                if number in self._running:
                    self._running[number].take(stored)
                    break
        elif step.tool in all_tools().run and "ID" in (begin := stored.entry.text[:_STARTED_CHARS]):
            if not (found := _STARTED.search(begin)):
                return
            if len(self._running) >= _FOLLOWED_MAX:
                self._running.pop(next(iter(self._running)))
            self._running[found[1]] = step

    def _answer(self, stored: StoredEntry) -> None:
        if stored.entry.flags & Flag.ERROR:
            self._now.errors.append(stored)
        elif stored.entry.text.strip():
            self._now.said.append(stored)
        self._now.last = stored

    def _notice(self, stored: StoredEntry) -> None:
        entry = stored.entry
        if entry.text.startswith(all_signs().interrupted):
            self._now.stops.append(stored)
            self._now.last = stored
        elif entry.text.startswith(all_signs().commanded):
            self._begin(stored, is_command=True)
        elif entry.flags & Flag.ERROR and stored.type in all_signs().failing:
            self._now.errors.append(stored)
        elif stored.type in all_signs().closing:
            self._now.is_over = True


def _is_inside(entries: Sequence[StoredEntry]) -> bool:
    spoken = [each for each in entries if each.entry.kind in (Kind.CALL, Kind.ANSWER)]
    return bool(spoken) and all(each.entry.flags & Flag.SIDECHAIN for each in spoken)


def _told(text: str) -> str:
    """What a run printed: some clients wrap it in JSON."""
    if not text.startswith('{"output":'):
        return text
    try:
        told = orjson.loads(text)["output"]
    except (ValueError, KeyError):
        return text
    return told if isinstance(told, str) else text


_STARTED = re.compile(r"(?:session|in background with|shell) ID:?\s{0,3}([\w-]{1,40})")
_NUMBERS = re.compile(r":\s{0,3}\"?([\w-]{1,40})")

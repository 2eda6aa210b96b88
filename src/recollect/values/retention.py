"""How much of what was said may be kept word for word, and what a sweep does about the rest.

`RetentionSettings` is the table `[retention]` of the config file. Everything else is plain values: what a
sweep is planned from, the steps of a plan, and what was done.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from recollect.values.errors import UsageError
from recollect.values.stored import Session

CADENCES = ("daily", "weekly", "on-settle")
READ_DAYS = 14  # since it was last read: as long a session counts as recently read

_BYTES_MAX = 1 << 60
_DAYS_MAX = 36_500
_DAY_MS = 86_400_000
_EVERY_MS = {"daily": _DAY_MS, "weekly": 7 * _DAY_MS, "on-settle": 0}


@dataclass(frozen=True, slots=True)
class RetentionSettings:
    """The budget. A cap or an age that is not set is no limit; without a cadence only a person sweeps."""

    raw_soft_cap_bytes: int | None = None
    raw_hard_cap_bytes: int | None = None
    raw_max_age_days: int | None = None
    digest_cap_bytes: int | None = None
    cadence: str = ""

    @classmethod
    def from_table(cls, table: Any) -> RetentionSettings | None:
        """The settings of a config file's table, None where it has none; UsageError names a bad key."""
        if table is None:
            return None
        if not isinstance(table, Mapping):
            raise UsageError("retention: is no table", hint="write [retention] in a line of its own")
        for key in table:
            if key not in cls.__slots__:
                raise _refused(key, f"there is no such key; there are {', '.join(cls.__slots__)}")
        soft = _number(table, "raw_soft_cap_bytes", _BYTES_MAX)
        hard = _number(table, "raw_hard_cap_bytes", _BYTES_MAX)
        if soft is not None and hard is not None and soft > hard:
            raise _refused("raw_soft_cap_bytes", f"{soft:,} is more than raw_hard_cap_bytes, {hard:,}")
        cadence = table.get("cadence", "")
        if "cadence" in table and cadence not in CADENCES:
            raise _refused("cadence", f"{cadence!r} is none of {', '.join(CADENCES)}")
        days = _number(table, "raw_max_age_days", _DAYS_MAX)
        return cls(soft, hard, days, _number(table, "digest_cap_bytes", _BYTES_MAX), cadence)

    @property
    def soft_bytes(self) -> int | None:
        """What a sweep comes down to: without a soft cap the hard one."""
        return self.raw_hard_cap_bytes if self.raw_soft_cap_bytes is None else self.raw_soft_cap_bytes

    @property
    def has_limit(self) -> bool:
        """Whether anything could ever have to go."""
        return self.soft_bytes is not None or self.raw_max_age_days is not None

    def is_due(self, swept_ms: int, now_ms: int) -> bool:
        """Whether a sweep is to be carried out by itself now; a clock that went back makes it so."""
        every = _EVERY_MS.get(self.cadence)
        return every is not None and self.has_limit and not 0 <= now_ms - swept_ms < every


def _number(table: Mapping[str, Any], key: str, most: int) -> int | None:
    value = table.get(key)
    if value is None:
        return None
    if type(value) is not int or not 0 < value <= most:
        raise _refused(key, f"{value!r} is no whole number from 1 to {most:,}")
    return value


def _refused(key: str, why: str) -> UsageError:
    return UsageError(
        f"retention.{key}: {why}", hint="mend it in the config file; docs/config.md has all keys"
    )


class SessionName(NamedTuple):
    """What a session is called in every store: by its agent, its host and its own id."""

    agent: str
    host: str
    id: str


@dataclass(frozen=True, slots=True)
class HeldSession:
    """What a sweep needs to know of a session. `bytes` is what its own lines take, which no other has."""

    name: SessionName
    bytes: int
    ended_ms: int
    is_digested: bool
    is_pinned: bool = False
    read_ms: int = 0


class SharedLines(NamedTuple):
    """What the lines take that exactly these sessions have: it goes with the last of them."""

    names: tuple[SessionName, ...]
    bytes: int


class Why(enum.StrEnum):
    """Why a session goes, in the order in which a sweep looks."""

    AGE = "age"  # older than the age limit, and digested
    BUDGET = "budget"  # over a cap, and digested
    DATA_LOSS = "data_loss"  # over the hard cap, and nothing that is digested is left


class Eviction(NamedTuple):
    """A session that goes, and why. `bytes`: its own, and its part of what goes with it and others."""

    name: SessionName
    why: Why
    bytes: int


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """What is to be done, in this order: evict, then digest what is in `digest` and plan again.

    `waiting` would go for its age, or to come down to the soft cap, and stays because it has no digest.
    """

    evict: tuple[Eviction, ...]
    digest: tuple[SessionName, ...]
    used_bytes: int
    final_bytes: int
    is_over_hard_cap: bool
    waiting: tuple[SessionName, ...] = ()

    @property
    def freed_bytes(self) -> int:
        return self.used_bytes - self.final_bytes


class Elsewhere(enum.StrEnum):
    """Whether what a session's logs said still is where its agent wrote it."""

    THERE = "there"  # every file is as it was taken, or went on since
    CHANGED = "changed"  # a file is there, and not what it was
    GONE = "gone"  # a file is not there any more: it is only here
    UNKNOWN = "unknown"  # on another machine, or it cannot be looked at


@dataclass(frozen=True, slots=True)
class SessionLeaving:
    """A session that a sweep evicts, as people are told of it."""

    name: SessionName
    title: str
    project: str
    ended_ms: int
    bytes: int
    why: Why
    elsewhere: Elsewhere
    path: str


@dataclass(frozen=True, slots=True)
class SweepReport:
    """What a sweep did, or would do; the first eight are those of system 004.

    `sessions` are those that went, in the order in which they were chosen. The sizes of the file are 0 where
    nothing was written. `waiting_for_digest`: how many would go, and stay because they have none.
    """

    backstop_evicted: int = 0
    budget_evicted: int = 0
    overflow_analyzed: int = 0
    overflow_data_loss: int = 0
    bytes_freed: int = 0
    final_usage_bytes: int = 0
    over_hard_cap: bool = False
    tier2_over_cap: bool = False
    used_bytes: int = 0
    digest_bytes: int = 0
    file_bytes_before: int = 0
    file_bytes_after: int = 0
    waiting_for_digest: int = 0
    sessions: tuple[SessionLeaving, ...] = ()


@dataclass(frozen=True, slots=True)
class EvictedSession:
    """What was evicted of a session, and when last. `loss`: before anything had digested it.

    Where only the lines came, in a part or from another's store, it is 0 when that was.
    """

    name: SessionName
    time_ms: int
    lines: int
    entries: int
    bytes: int
    loss: bool


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """A session that is whole again, how many lines were read for it, and from which files."""

    session: Session
    lines: int
    paths: tuple[str, ...]

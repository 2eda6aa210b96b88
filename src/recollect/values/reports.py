"""What work on a store did or found: an ingest, a rewrite, a repair, a check, a look at the logs on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

Progress = Callable[[str, int, int], None]  # of what, how much is done, how much in all


@dataclass(slots=True)
class Report:
    """What an ingest did. `lines` is the sum of the five counts behind it.

    `erased` are those that were left where they are, because they were erased once.
    """

    sources: int = 0
    unchanged: int = 0
    changed: int = 0
    restarted: int = 0
    bytes_source: int = 0
    bytes_parsed: int = 0
    lines: int = 0
    taken: int = 0
    duplicate: int = 0
    bad: int = 0
    blank: int = 0
    waiting: int = 0
    entries: int = 0
    lenient: int = 0
    erased: int = 0
    bad_reasons: Counter[str] = field(default_factory=Counter)
    bad_places: list[str] = field(default_factory=list)
    unknown_types: Counter[str] = field(default_factory=Counter)
    failed: dict[str, str] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class ReparseReport:
    """What deriving again gave."""

    lines: int = 0
    entries_before: int = 0
    entries_after: int = 0
    unknown_types: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class MergeReport(ReparseReport):
    """What merging gave. `sources` came new, `grown` ones are longer than they were here, of `versioned`
    ones there is another version, `marked` ones count as own now; those kept `apart` would have changed own
    logs.
    """

    sources: int = 0
    grown: int = 0
    versioned: int = 0
    marked: int = 0
    apart: int = 0
    vectors: int = 0
    sessions_before: int = 0
    sessions_after: int = 0

    @property
    def is_nothing(self) -> bool:
        """Whether all sources were here already, just so."""
        return not (self.sources or self.grown or self.versioned or self.marked or self.apart)


@dataclass(frozen=True, slots=True)
class SplitReport:
    """What went into a store of its own, and how many secrets of each kind were masked in it."""

    sessions: int
    sources: int
    lines: int
    entries: int
    masked: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class CompactReport:
    """What a rewrite saved."""

    bytes_before: int
    bytes_after: int


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What a repair could keep, what it could not, and where the damaged store is now."""

    kept_lines: int
    lost_lines: int
    lost: list[str]
    moved_to: str


@dataclass(frozen=True, slots=True)
class Doomed:
    """A log that its agent will delete. `days_left` is 0 when its next start may do it."""

    agent: str  # its title
    path: str
    session: str
    modified_ms: int
    days_left: int


@dataclass(frozen=True, slots=True)
class Standing:
    """How the stored sources stand on this machine's disk.

    `oldest` is the log that will be deleted first, `cleanup_days` after its last change; without one,
    that is what the strictest agent grants, None where none deletes anything. `soon` sessions have at most
    a week left. `gone` sessions are only in the store. `changed` sources have
    something new, or were rewritten, since they were last read.
    """

    cleanup_days: int | None
    oldest: Doomed | None = None
    soon: int = 0
    gone: int = 0
    changed: int = 0
    newest_ms: int = 0


@dataclass(frozen=True, slots=True)
class Estimate:
    """What embedding would take; `dollars` is None where it costs nothing, or nobody knows."""

    embedder: str
    pieces: int
    tokens: int
    dollars: float | None


class LeftOut(RuntimeWarning):
    """Something in a log could not be understood, and is left out of what is derived."""


class Stop(Protocol):
    """Asked twice a second."""

    def is_set(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Batch:
    """Files that changed and folders that appeared; with neither, a tick to do other things at.

    All are below a followed folder and none is reached through a link. `trouble` says, once,
    why the kernel is not asked any more.
    """

    BURST_MAX: ClassVar = 500  # paths; beyond, a look at everything is cheaper

    paths: tuple[Path, ...] = ()
    everything: bool = False
    trouble: str = ""

"""What a sweep costs and gives back, on a store of real logs that is swept down to half."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from benchmarks.report import Row
from benchmarks.upkeep_lab import Lab
from recollect import Memory
from recollect.values.retention import Elsewhere, RetentionSettings

CAP_MOST = 1.02
T = TypeVar("T")


def retention(lab: Lab) -> Iterator[Row]:
    """Looking, sweeping, indexing again, and taking a session back."""
    with lab.copy() as memory:
        with memory.view() as view:
            used, rows = view.raw_sizes().total, view.info().lines
        cap = used // 2
        _limit(memory, RetentionSettings(raw_soft_cap_bytes=cap, cadence="weekly"))
        size, tokens = memory.footprint().bytes, _tokens(memory)
        of = f"{size / 1e6:.0f} MB, {rows:,} lines"
        seconds, _ = _timed(memory.retention)
        yield Row(f"looking at what would go ({of})", f"{seconds:.2f} s", "", None)
        seconds, report = _timed(memory.sweep)
        yield Row(
            f"sweep to half: {len(report.sessions)} of {len(memory.sessions())} sessions",
            f"{seconds:.1f} s, {size / 1e6 / seconds:.0f} MB/s of store",
            "",
            None,
            detail={"sessions": len(report.sessions), "seconds": seconds, "file_bytes": size},
        )
        given = size - report.file_bytes_after
        yield Row(
            "room given back, of what lines took",
            f"{given / 1e6:.1f} of {report.bytes_freed / 1e6:.1f} MB: {given / report.bytes_freed:.0%}",
            ">= 100%",
            given >= report.bytes_freed,
        )
        share = report.final_usage_bytes / cap
        yield Row("what is left, of the cap", f"{share:.1%}", f"<= {CAP_MOST:.0%}", share <= CAP_MOST)
        memory.compact()
        with memory.view() as view:
            share = view.raw_sizes().total / cap
        yield Row("the same after compact", f"{share:.1%}", f"<= {CAP_MOST:.0%}", share <= CAP_MOST)
        same = _tokens(memory) == tokens
        yield Row("tokens of all responses", "the same" if same else "others", "the same", same)
        seconds, _ = _timed(memory.index)
        yield Row("indexing what is left", f"{seconds:.1f} s", "", None)
        seconds, _ = _timed(memory.sweep_if_due)
        yield Row("a sweep that is not due", f"{seconds * 1e3:.2f} ms", "", None)
        there = [each for each in report.sessions if each.elsewhere is Elsewhere.THERE]
        largest = max(there, key=lambda each: each.bytes)
        seconds, back = _timed(lambda: memory.restore(largest.name.id))
        yield Row(f"taking back the largest, {back.lines:,} lines", f"{seconds:.2f} s", "", None)


def _limit(memory: Memory, settings: RetentionSettings) -> None:
    memory.config = replace(memory.config, retention=settings)


def _tokens(memory: Memory) -> int:
    return sum(row.tokens for row in memory.usage("day").rows)


def _timed(deed: Callable[[], T]) -> tuple[float, T]:
    began = time.monotonic()
    done = deed()
    return time.monotonic() - began, done

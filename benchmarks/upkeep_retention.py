"""What a sweep costs and gives back, on a store of real logs that is swept down to half."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from benchmarks.report import Row
from benchmarks.upkeep_lab import Lab, timed
from recollect import Memory
from recollect.values.retention import Elsewhere, RetentionSettings

CAP_MOST = 1.02


def retention(lab: Lab) -> Iterator[Row]:
    """Looking, sweeping, indexing again, and taking a session back; at each size."""
    for size in lab.sizes:
        yield from _retention(lab, size)


def _retention(lab: Lab, logs: int) -> Iterator[Row]:
    with lab.copy(logs) as memory:
        with memory.view() as view:
            used, rows = view.raw_sizes().total, view.info().lines
        cap = used // 2
        _limit(memory, RetentionSettings(raw_soft_cap_bytes=cap, cadence="weekly"))
        size, tokens = memory.footprint().bytes, _tokens(memory)
        of = f"{logs / 1e6:.0f} MB of logs, file {size / 1e6:.0f} MB, {rows:,} lines"
        spent, _ = timed(memory.retention)
        yield Row(f"looking at what would go ({of})", str(spent), "", None)
        spent, report = timed(memory.sweep)
        yield Row(
            f"sweep to half: {len(report.sessions)} of {len(memory.sessions())} sessions",
            str(spent),
            "",
            None,
            detail={
                "sessions": len(report.sessions),
                "seconds": spent.seconds,
                "cpu": spent.cpu,
                "file_bytes": size,
            },
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
        spent, _ = timed(memory.index)
        yield Row("indexing what is left", str(spent), "", None)
        spent, _ = timed(memory.sweep_if_due)
        yield Row("a sweep that is not due", f"{spent.seconds * 1e3:.2f} ms", "", None)
        there = [each for each in report.sessions if each.elsewhere is Elsewhere.THERE]
        largest = max(there, key=lambda each: each.bytes)
        spent, back = timed(lambda: memory.restore(largest.name.id))
        yield Row(f"taking back the largest, {back.lines:,} lines", str(spent), "", None)


def _limit(memory: Memory, settings: RetentionSettings) -> None:
    memory.config = replace(memory.config, retention=settings)


def _tokens(memory: Memory) -> int:
    return sum(row.tokens for row in memory.usage("day").rows)

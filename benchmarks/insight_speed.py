"""What understanding costs: `python -m benchmarks.insight speed --corpus DIR`.

A part of the logs is taken in and indexed, and taken in, indexed and understood, by turns and in the same
minutes, each time into a store of its own; told are the best times of each, on the clock and of processors.
"""

from __future__ import annotations

import bisect
import hashlib
import itertools
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from recollect import Memory
from recollect.config import load_config
from recollect.insight.derive import INSIGHTS

BYTES = 70_000_000
SHARE_MOST, TABLES_MOST = 0.40, 0.06
ROUNDS = 3

Times = tuple[float, float]  # on the clock, of processors


def speed(corpus: Path, size: int = BYTES) -> int:
    """Print what derived tables cost; 0 where the marks are met."""
    picked = _picked(corpus, size)
    plain, understood = [], []
    for _ in range(ROUNDS):
        with _scratch() as memory:
            plain.append(_seconds(lambda: memory.ingest(picked), memory.indexes.catch_up))
        with _scratch() as memory:
            understood.append(_seconds(lambda: memory.ingest(picked), memory.index))
            info, tables = memory.info(), _table_bytes(memory)
    print(f"\n{info.line_bytes / 1e6:.0f} MB, {info.entries:,} entries, {info.sessions:,} sessions")
    shares = []
    for place, name in enumerate(("clock", "processors")):
        before, after = (min(times[place] for times in all_times) for all_times in (plain, understood))
        shares.append(after / before - 1)
        print(f"{name:10}  ingest and index {before:5.1f} s, understood {after:5.1f} s: {shares[-1]:+.0%}")
    print(f"tables      {tables / 1e6:.2f} MB: {tables / info.line_bytes:.1%} of the logs")
    return 0 if shares[0] <= SHARE_MOST and tables <= TABLES_MOST * info.line_bytes else 1


def _picked(corpus: Path, size: int) -> list[Path]:
    """Logs drawn by chance, the same every time, of about that many bytes."""
    drawn = sorted(corpus.glob("*/**/*.jsonl"), key=lambda path: hashlib.sha256(path.name.encode()).digest())
    sizes = list(itertools.accumulate(path.stat().st_size for path in drawn))
    return drawn[: bisect.bisect(sizes, size)]


class _scratch:  # noqa: N801 - used as a function
    """A memory of its own, gone afterwards."""

    def __enter__(self) -> Memory:
        self._folder = tempfile.TemporaryDirectory()
        config = load_config(f"{self._folder.name}/memory.h5")
        self._memory = Memory.open(config=replace(config, cache=Path(self._folder.name)))
        return self._memory

    def __exit__(self, *_: object) -> None:
        self._memory.close()
        self._folder.cleanup()


def _table_bytes(memory: Memory) -> int:
    """How much smaller the store is without what is derived, both compacted."""
    memory.compact()
    memory.index()
    full = Path(memory.name).stat().st_size
    with memory._store.writer() as writer:
        for insight in INSIGHTS:
            for table in insight.tables:
                writer.drop_derived(table)
        writer.commit()
    memory.compact()
    return full - Path(memory.name).stat().st_size


def _seconds(*works: Callable[[], object]) -> Times:
    clock, before = time.perf_counter(), os.times()
    for work in works:
        work()
    return time.perf_counter() - clock, sum(os.times()[:4]) - sum(before[:4])

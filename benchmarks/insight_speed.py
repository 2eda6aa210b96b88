"""What understanding costs.

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
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.insight_lab import Lab
from benchmarks.report import Row
from recollect import Memory
from recollect.config import load_config
from recollect.insight.derive import INSIGHTS

BYTES = 70_000_000
SHARE_MOST, TABLES_MOST = 0.40, 0.06
ROUNDS = 3

Times = tuple[float, float]  # on the clock, of processors


def speed(lab: Lab) -> Iterator[Row]:
    """What derived tables cost."""
    picked = _picked(lab.corpus, BYTES)
    plain, understood = [], []
    for _ in range(ROUNDS):
        with _scratch() as memory:
            plain.append(_seconds(lambda: memory.ingest(picked), memory.indexes.catch_up))
        with _scratch() as memory:
            understood.append(_seconds(lambda: memory.ingest(picked), memory.index))
            info, tables = memory.info(), _table_bytes(memory)
    for place, name in enumerate(("on the clock", "of processors")):
        before, after = (min(times[place] for times in all_times) for all_times in (plain, understood))
        is_marked = place == 0
        yield Row(
            what=f"understanding, {name} ({info.line_bytes / 1e6:.0f} MB)",
            ours=f"{after / before - 1:+.0%}  {after:.1f} s",
            peer=f"{before:.1f} s: ingest and index alone",
            mark=f"<= +{SHARE_MOST:.0%}" if is_marked else "",
            met=after / before - 1 <= SHARE_MOST if is_marked else None,
        )
    yield Row(
        what="tables beside the logs",
        ours=f"{tables / info.line_bytes:.1%}  {tables / 1e6:.2f} MB",
        mark=f"<= {TABLES_MOST:.0%}",
        met=tables <= TABLES_MOST * info.line_bytes,
    )


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

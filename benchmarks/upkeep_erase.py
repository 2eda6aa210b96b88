"""What it costs to erase one session of a store of real logs, beside copying that store's file."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from benchmarks.report import Row
from benchmarks.upkeep_lab import Lab
from recollect import Wanted

T = TypeVar("T")


def erase(lab: Lab) -> Iterator[Row]:
    """Looking at what would go, erasing it with its receipt, verifying that, indexing what is left."""
    with lab.copy() as memory:
        path = Path(memory.config.store)
        size = memory.footprint().bytes
        by_size = sorted(memory.sessions(), key=lambda each: each.entries)
        session = by_size[len(by_size) * 9 // 10]  # a large one, not the largest
        wanted = Wanted(session=session.facts.id)
        copied, _ = _timed(lambda: shutil.copy(path, path.with_suffix(".copy")))
        yield Row(f"copying the file ({size / 1e6:.0f} MB)", f"{copied:.2f} s", "", None)
        seconds, _ = _timed(lambda: memory.erasable(wanted))
        yield Row(f"looking at what would go, {session.entries:,} entries", f"{seconds:.2f} s", "", None)
        seconds, (_, receipt) = _timed(lambda: memory.erase(wanted))
        yield Row("erasing it, receipt included", f"{seconds:.1f} s, {seconds / copied:.0f} copies", "", None)
        seconds, _ = _timed(lambda: memory.verify_erasure(receipt))
        yield Row("verifying the receipt again", f"{seconds:.1f} s", "", None)
        seconds, _ = _timed(memory.index)
        yield Row("indexing what is left", f"{seconds:.1f} s", "", None)


def _timed(deed: Callable[[], T]) -> tuple[float, T]:
    began = time.monotonic()
    done = deed()
    return time.monotonic() - began, done

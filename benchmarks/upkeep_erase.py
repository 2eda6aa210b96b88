"""What it costs to erase one session of a store, beside copying that store's file and beside a compact."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from benchmarks.report import Row
from benchmarks.upkeep_lab import Lab, Spent, timed
from recollect import Wanted


def erase(lab: Lab) -> Iterator[Row]:
    """Looking at what would go, erasing it with its receipt, verifying that; at each size."""
    for size in lab.sizes:
        yield from _erase(lab, size)


def _erase(lab: Lab, size: int) -> Iterator[Row]:
    with lab.copy(size) as memory:
        path = Path(memory.config.store)
        by_size = sorted(memory.sessions(), key=lambda each: each.entries)
        session = by_size[len(by_size) * 9 // 10]  # a large one, not the largest
        wanted = Wanted(session=session.facts.id)
        copied, _ = timed(lambda: shutil.copy(path, path.with_suffix(".copy")))
        path.with_suffix(".copy").unlink()
        compacted, _ = timed(memory.compact)
        of = f"of {size / 1e6:.0f} MB of logs, file {memory.footprint().bytes / 1e6:.0f} MB"
        looked, _ = timed(lambda: memory.erasable(wanted))
        erased, (_, receipt) = timed(lambda: memory.erase(wanted))
        verified, again = timed(lambda: memory.verify_erasure(receipt))
        yield Row(f"erase, {of}: copying the file", str(copied), "", None)
        yield Row(f"erase, {of}: a compact", str(compacted), "", None)
        yield Row(f"looking at what would go, {session.entries:,} entries", str(looked), "", None)
        yield Row(
            "erasing it, receipt included",
            f"{erased}, {erased.cpu / compacted.cpu:.1f} compacts",
            "",
            None,
            peer=f"{again['bytes'] / 1e6:.0f} MB searched",
            detail=_detail(
                size, copied=copied, compact=compacted, look=looked, erase=erased, verify=verified
            ),
        )
        yield Row("verifying the receipt again", str(verified), "nothing found", not again["found"])


def _detail(size: int, **spent: Spent) -> dict[str, object]:
    return {"logs": size} | {name: {"seconds": s.seconds, "cpu": s.cpu} for name, s in spent.items()}

"""What merging costs beside ingest.

The logs, drawn by a hash into two halves, become two stores; these are merged in both orders, and the result
is compared with a store of all the logs. Ingest and merge are timed one after the other, so that whatever
else the machine does meets both; the mark is on their ratio.
"""

from __future__ import annotations

import hashlib
import resource
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.report import Row
from benchmarks.upkeep_lab import HOST, Lab, Spent, timed
from recollect import Memory
from recollect.config import Config
from recollect.values.stored import source_bytes

RATIO_LEAST = 0.5
ROUNDS = 2  # of ingest and merge by turns; the faster one of each counts


def merge(lab: Lab) -> Iterator[Row]:
    """Two halves merged, in both orders and again, beside an ingest of all the logs; at each size."""
    for size in lab.sizes:
        yield from _measured(lab, size)


def _measured(lab: Lab, bytes_max: int) -> Iterator[Row]:
    files = lab.logs(bytes_max)
    halves = [[path for path in files if lab.half(path) is half] for half in (False, True)]
    with tempfile.TemporaryDirectory(prefix="recollect-bench-merge-") as name:
        folder = Path(name)
        for half, paths in zip("ab", halves, strict=True):
            with _memory(folder / f"{half}.h5") as memory:
                memory.ingest(paths)
        rounds = []
        for _ in range(ROUNDS):
            for made in ("all.h5", "ab.h5"):
                (folder / made).unlink(missing_ok=True)
            ingest, size = _ingest(folder / "all.h5", files)
            rounds.append((ingest, _merge(folder / "ab.h5", [folder / "a.h5", folder / "b.h5"])))
        ingest, both = (min(each, key=lambda spent: spent.seconds) for each in zip(*rounds, strict=True))
        with _memory(folder / "ba.h5") as memory:
            memory.merge([folder / "b.h5"])
        added = _merge(folder / "ba.h5", [folder / "a.h5"])
        again = _merge(folder / "ba.h5", [folder / "a.h5"])
        told = [_told(folder / f"{each}.h5") for each in ("all", "ab", "ba")]
    of = f"merge, {size / 1e6:.0f} MB of logs"
    yield _rate(f"{of}: two halves into a new store", size, both, ingest)
    yield Row(f"{of}: one half into the other, all is written anew", str(added), "", None)
    yield Row(f"{of}: the same half again", str(again), "", None)
    yield Row(
        what=f"{of}: both orders are what one ingest gives",
        ours="equal" if told[0] == told[1] == told[2] else "different",
        mark="equal",
        met=told[0] == told[1] == told[2],
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    yield Row(f"{of}: most memory of the process so far", f"{peak / 1e6:.0f} MB", "", None)


def _rate(what: str, size: int, spent: Spent, ingest: Spent) -> Row:
    """On a machine with other work the clock is that work's; processor time is told beside it."""
    ratio = ingest.seconds / spent.seconds
    return Row(
        what=what,
        ours=f"{size / 1e6 / spent.seconds:.1f} MB/s, {ratio:.2f} of ingest's; {spent}",
        mark=f">= {RATIO_LEAST} of ingest's",
        met=ratio >= RATIO_LEAST,
        peer=f"ingest {ingest}: {ingest.cpu / spent.cpu:.2f} by processor time",
        detail={"bytes": size, "merge": asdict(spent), "ingest": asdict(ingest)},
    )


def _memory(path: Path) -> Memory:
    return Memory.open(config=Config(path, HOST, cache=path.parent / "cache"))


def _ingest(path: Path, files: Sequence[Path]) -> tuple[Spent, int]:
    with _memory(path) as memory:
        spent, taken = timed(lambda: memory.ingest(files))
    return spent, taken.bytes_source


def _merge(path: Path, others: Sequence[Path]) -> Spent:
    with _memory(path) as memory:
        return timed(lambda: memory.merge(others))[0]


def _told(path: Path) -> tuple[Any, ...]:
    """Entries, tokens and the bytes of all sources, as one value."""
    with _memory(path) as memory, memory.view() as view:
        shown = {
            (each.facts.agent, each.host, each.facts.id): hashlib.sha256(
                "\0".join(f"{e.id} {e.entry.kind} {e.session}" for e in view.entries(each)).encode()
            ).digest()
            for each in view.sessions()
        }
        usage = view.usage()
        charged = sorted(
            (usage.sessions[session].facts.id, *tokens)
            for session, *tokens in zip(
                usage.session.tolist(), usage.input.tolist(), usage.output.tolist(), strict=True
            )
        )
        raw = {}
        for source in view.sources():
            total = hashlib.sha256()
            for piece in source_bytes(source, view.lines(source)):
                total.update(piece)
            raw[source.host, source.file.path, source.superseded] = total.digest()
    return shown, charged, raw

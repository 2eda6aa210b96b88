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
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import Row
from benchmarks.upkeep_lab import HOST, QUICK_BYTES, Lab
from recollect import Memory
from recollect.config import Config
from recollect.values.stored import source_bytes

RATIO_LEAST = 0.5


def merge(lab: Lab) -> Iterator[Row]:
    """Two halves of the logs merged, in both orders and again, beside an ingest of all of them."""
    files = _drawn(lab.corpus, lab.quick)
    halves = [[path for path, odd in files if odd == half] for half in (False, True)]
    with tempfile.TemporaryDirectory(prefix="recollect-bench-merge-") as name:
        folder = Path(name)
        for half, paths in zip("ab", halves, strict=True):
            with _memory(folder / f"{half}.h5") as memory:
                memory.ingest(paths)
        ingest, size = _ingest(folder / "all.h5", [path for path, _ in files])
        both = _merge(folder / "ab.h5", [folder / "a.h5", folder / "b.h5"])
        with _memory(folder / "ba.h5") as memory:
            memory.merge([folder / "b.h5"])
        added = _merge(folder / "ba.h5", [folder / "a.h5"])
        again = _merge(folder / "ba.h5", [folder / "a.h5"])
        told = [_told(folder / f"{each}.h5") for each in ("all", "ab", "ba")]
    yield _rate("merge, two halves into a new store", size, both, ingest)
    with_all = f"{size / 1e6 / added:.1f} MB/s of both; ingest {size / 1e6 / ingest:.1f} MB/s"
    yield Row("merge, one half into the other: all is written anew", f"{added:.1f} s, {with_all}", "", None)
    yield Row("merge, the same half again", f"{again:.2f} s", "", None)
    yield Row(
        what="merge, both orders are what one ingest gives",
        ours="equal" if told[0] == told[1] == told[2] else "different",
        mark="equal",
        met=told[0] == told[1] == told[2],
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    yield Row("merge, most memory of the process so far", f"{peak / 1e6:.0f} MB", "", None)


def _rate(what: str, size: int, seconds: float, ingest: float) -> Row:
    ratio = ingest / seconds
    return Row(
        what=what,
        ours=f"{size / 1e6 / seconds:.1f} MB/s, {ratio:.2f} of ingest's",
        mark=f">= {RATIO_LEAST} of ingest's",
        met=ratio >= RATIO_LEAST,
    )


def _drawn(corpus: Path, quick: bool) -> list[tuple[Path, bool]]:
    """Logs in an order that a hash gives, each with the half it is in."""
    found = []
    for path in (each for each in corpus.rglob("*") if each.is_file()):
        digest = hashlib.sha256(str(path.relative_to(corpus)).encode("utf-8", "surrogateescape")).digest()
        found.append((digest, path))
    left, drawn = QUICK_BYTES if quick else sys.maxsize, []
    for digest, path in sorted(found):
        left -= path.stat().st_size
        if left >= 0:
            drawn.append((path, digest[-1] % 2 == 1))
    return drawn


def _memory(path: Path) -> Memory:
    return Memory.open(config=Config(path, HOST, cache=path.parent / "cache"))


def _ingest(path: Path, files: Sequence[Path]) -> tuple[float, int]:
    with _memory(path) as memory:
        began = time.monotonic()
        taken = memory.ingest(files)
        return time.monotonic() - began, taken.bytes_source


def _merge(path: Path, others: Sequence[Path]) -> float:
    with _memory(path) as memory:
        began = time.monotonic()
        memory.merge(others)
        return time.monotonic() - began


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

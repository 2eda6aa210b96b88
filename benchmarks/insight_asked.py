"""How long it takes to ask what is derived, of a large store, in a process that has asked something before.

The store is the one of 300,000 entries of `benchmarks.search`, or one that is given. Each question is asked
of many things in turn, each of them once before; what a thread takes when it is first asked for stands apart.
"""

from __future__ import annotations

import datetime
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.insight_lab import Lab
from benchmarks.measure import spread
from benchmarks.report import Row
from benchmarks.search_lab import Effort, SearchLab
from recollect import Memory
from recollect.config import Config

MS_MOST = 50.0
ENTRIES = 300_000
THINGS = 30  # that are asked about, of each kind
ROUNDS = 5

Asked = Sequence[Callable[[], object]]


def asked(lab: Lab) -> Iterator[Row]:
    """Each question to an open memory."""
    with tempfile.TemporaryDirectory() as scratch:
        store = lab.store or _stocked(lab, Path(scratch))
        config = Config(store, "here", cache=Path(scratch, "cache"))
        with Memory.open(config=config, create=False) as memory:
            yield from _rows(memory)


def _rows(memory: Memory) -> Iterator[Row]:
    entries = f"{memory.info().entries:,} entries"
    threads = memory.threads()
    drawn = [each.id for each in threads[:: max(len(threads) // THINGS, 1)]]
    largest = max(threads, key=lambda each: each.entries)
    memory.thread(drawn.pop())  # what all threads need is there from here on
    yield _row(
        f"a thread, first asked for ({entries})", [partial(memory.thread, each) for each in drawn], 0, 1
    )
    last = datetime.datetime.fromtimestamp(memory.sessions()[-1].facts.ended_ms / 1000).date()
    for what, works, most in _questions(memory, drawn, last):
        yield _row(f"{what} ({entries})", works, most)
    what = f"the largest thread, {largest.entries:,} entries in {len(largest.sessions)} sessions"
    yield _row(what, [lambda: memory.thread(largest.id)], MS_MOST)


def _questions(
    memory: Memory, threads: Sequence[str], last: datetime.date
) -> Iterator[tuple[str, Asked, float]]:
    """What is asked, of what, and the most milliseconds that it may take, 0 for no mark."""
    things = [each.name for each in memory.entities(limit=THINGS).entities]
    yield "profile of an entity", [partial(memory.entity, each) for each in things], MS_MOST
    yield "profile by a bare file name", [lambda: memory.entity("README.md")], MS_MOST
    yield "thread", [partial(memory.thread, each) for each in threads], MS_MOST
    yield "digest", [partial(memory.digest, each) for each in threads], MS_MOST
    for kind in ("trending", "fading", "unusual"):
        yield kind, [partial(memory.momentum, kind, limit=20)], MS_MOST
    yield "entities", [lambda: memory.entities(limit=20)], 0
    yield "threads", [memory.threads], 0
    yield "today", [lambda: memory.today(last)], 0
    yield "week", [lambda: memory.week(last)], 0
    yield "activity", [memory.activity], 0
    yield "dangerous operations", [memory.dangers], 0
    yield "digests by words", [lambda: memory.search_digests("deploy failed")], 0


def _row(what: str, works: Asked, most: float, rounds: int = ROUNDS) -> Row:
    if rounds > 1:
        for work in works:
            work()
    seconds = [_seconds(work) for _ in range(rounds) for work in works]
    spent, middle = spread(seconds), statistics.median(seconds) * 1e3
    return Row(
        what=f"{what}, p50 / p95",
        ours=f"{middle:.1f} / {spent['p95_ms']:.1f} ms",
        mark=f"<= {most:.0f} ms" if most else "",
        met=middle <= most if most else None,
        detail=spent,
    )


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _stocked(lab: Lab, scratch: Path) -> Path:
    lab.keep.mkdir(parents=True, exist_ok=True)
    return SearchLab(lab.corpus, lab.keep, scratch, Effort(sizes=(ENTRIES,))).largest.store

"""Rows that no other system has anything beside: migration, the graph, the gate and activation."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from benchmarks import product
from benchmarks.measure import run, spread
from benchmarks.memory_lab import Lab
from benchmarks.report import Row

MIGRATION_SECONDS_MAX = 60
MIGRATED_ROWS = 100_000


def migrate(lab: Lab) -> Iterator[Row]:
    """`recollect migrate`, a new process, of the tables that system 001 migrates from."""
    rows, folder = lab.effort.migrated, lab.folder("migrate")
    store, database = folder / "home" / "memory.h5", str(folder / "old.db")
    words = [database, rows, lab.subject(min(lab.effort.sizes))]
    made = [sys.executable, "-m", "benchmarks.memory_old", *map(str, words)]
    run(made, env=product.environment(lab.scratch), cwd=product.REPOSITORY).checked()
    ran = product.command(store, "migrate", database, "--json")
    again = product.command(store, "migrate", database, "--json")
    yield Row(
        what=f"recollect migrate of {rows:,} chunks with 384-d vectors",
        ours=f"{ran.seconds:.1f} s, {ran.rss_mb:.0f} MB",
        peer=f"once more, nothing new: {again.seconds:.1f} s",
        mark=f"<= {MIGRATION_SECONDS_MAX} s of {MIGRATED_ROWS:,}",
        met=ran.seconds <= MIGRATION_SECONDS_MAX if rows == MIGRATED_ROWS else None,
        detail={"report": json.loads(ran.stdout), "cpu_seconds": ran.cpu_seconds},
    )


def graph(lab: Lab) -> Iterator[Row]:
    with lab.crew(("ours",), lab.subject(min(lab.effort.sizes))) as crew:
        taken = crew.ours.do("graph", entities=lab.effort.entities)
    relate, asked = spread(taken["relate"]["seconds"]), taken["asked"]
    what = f"graph, {lab.effort.entities:,} entities, {taken['relations']:,} relations"
    yield Row(f"{what}: relate, durable, p50 / p95", _both(relate), "", None, "", taken)
    yield Row(f"{what}: all in one write", f"{taken['added_s']:.2f} s", "", None)
    yield Row(f"{what}: the first question", f"{taken['first_s']:.2f} s", "", None)
    told = {name: spread(each["seconds"])["p50_ms"] for name, each in asked.items()}
    ours = ", ".join(f"{name} {time:.2f} ms" for name, time in told.items())
    yield Row(f"{what}: neighbours 2 deep, path, activation, p50", ours, "", None)


def optional(lab: Lab) -> Iterator[Row]:
    """The gate in front of `save`, and activation of what is recalled: what each costs."""
    size = min(lab.effort.sizes)
    with lab.crew(("ours",), lab.subject(size)) as crew:
        crew.ours.do("load", count=size // 2, vectors=False)
        crew.ours.do("settle_words")
        gate = crew.ours.do("gate", count=100)
        activation = crew.ours.do("activation")
    times = spread(gate["seconds"])
    refused = f"refuses {gate['refused']:.0%} of new notes, {gate['stock_refused']:.0%} of stock phrases"
    ours = f"{times['p50_ms']:.2f} ms, {refused}"
    yield Row(f"save(gate=True): the question before, {size // 2:,} notes, p50", ours, "", None, "", gate)
    without, with_it, tick = (spread(activation[name]["seconds"]) for name in ("without", "with", "tick"))
    ours = f"{with_it['p50_ms']:.2f} ms; a tick {tick['p50_ms']:.2f} ms"
    told = f"without {without['p50_ms']:.2f} ms; EdgeHDF5's tick of 10,000: 90 ms"
    yield Row("search(activated=True), p50", ours, "", None, told, activation)


def _both(times: dict[str, float]) -> str:
    return f"{times['p50_ms']:.2f} / {times['p95_ms']:.2f} ms"

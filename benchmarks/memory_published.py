"""What two other systems publish about themselves, beside ours on their workloads.

Theirs ran on other machines and sync nothing, or not before their last write; ours are durable when they
return. So no row here has a mark: the same workloads, side by side. Sections 000.4 and 001.4 of the
description of those systems have the figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.measure import spread
from benchmarks.memory_lab import Lab
from benchmarks.memory_replay import PROJECTS
from benchmarks.report import Row

SESSION_TURNS = {  # turns/s and last-20 in ms, by turns with arrays and batch size
    (False, 1): "414/s, 1.76 ms",
    (False, 100): "25,870/s, 1.76 ms",
    (True, 1): "174/s, 2.23 ms",
    (True, 100): "424/s",
}
UPSERTS = {
    1: "SQLite 6,842-7,847/s, HDF5 36-39/s, Chroma 40/s",
    1000: "SQLite 25,019-26,428/s, HDF5 3,504-6,529/s, Chroma 2,140/s",
}
FILTERS = {"none": "", "project": f"project:{PROJECTS[0]}"}
FILTERS["project and type"] = f"{FILTERS['project']} tag:observation"
QUERIES = {  # p50 in ms: SQLite, HDF5 (the best layout), Chroma; by size and filter
    (1_000, "none"): (4.3, 4.4, 1.7),
    (1_000, "project"): (1.1, 7.1, 2.2),
    (1_000, "project and type"): (0.8, 6.1, 2.5),
    (10_000, "none"): (84, 55, 3.1),
    (10_000, "project"): (25, 53, 11.7),
    (10_000, "project and type"): (19, 53, 13.7),
    (100_000, "none"): (669, 538, 7.8),
    (100_000, "project"): (208, 458, 108),
    (100_000, "project and type"): (176, 456, 133),
}
RANDOM_ROWS = {  # EdgeHDF5: its table (M3 Max), its repository (i7-12650H)
    1_000: "SIMD 0.018 ms, cblas 0.015 ms; flat 0.054 ms",
    10_000: "SIMD 0.175 ms, cblas 0.157 ms, IVF-PQ 0.850 ms; flat 0.753 ms",
    100_000: "SIMD 1.7 ms, cblas 1.5 ms, IVF-PQ 0.380 ms; flat 11.4 ms",
}
HDF5 = "agentic-conversations-hdf5"
EDGE = "EdgeHDF5"


def published(lab: Lab) -> Iterator[Row]:
    subject = lab.subject(min(lab.effort.sizes))
    for (arrays, batch), theirs in SESSION_TURNS.items():
        yield from _session(lab, subject, arrays, batch, theirs)
    yield from _vectors(lab, subject)
    yield from _edge(lab, subject)


def _session(lab: Lab, subject: Any, arrays: bool, batch: int, theirs: str) -> Iterator[Row]:
    """5,000 turns of one session; their writer runs here too, synced after every batch."""
    count = lab.effort.turns
    with lab.crew(("ours", "hdf5"), subject) as crew:
        done = crew.all_do("turns", count=count, batch=batch, arrays=arrays)
        sizes = crew.all_do("weigh")
        told = {
            name: f"{count / sum(answer['saved']['seconds']):,.0f}/s, "
            f"{spread(answer['read']['seconds'])['p50_ms']:.2f} ms, {sizes[name]['bytes'] / 1e3:,.0f} kB"
            for name, answer in done.items()
        }
    kind = "1,536-d vector and 1,000 floats each" if arrays else "text"
    what = f"{HDF5}: {count:,} turns, {kind}, batches of {batch}; last 20; file"
    yield Row(what, told["ours"], "", None, f"{theirs}; here {told.get('hdf5', '-')}", done)


def _vectors(lab: Lab, subject: Any) -> Iterator[Row]:
    """Its study of vectors: documents of 384 numbers, made by a hash."""
    for size, theirs in UPSERTS.items():
        with lab.crew(("ours",), subject) as crew:
            taken = crew.ours.do("upsert", count=lab.effort.upserts, size=size)
        rate = lab.effort.upserts / sum(taken["seconds"])
        what = f"{HDF5}: {lab.effort.upserts:,} documents, 384-d, batches of {size:,}"
        yield Row(what, f"{rate:,.0f}/s", "", None, theirs, spread(taken["seconds"]))
    for size in (1_000, *lab.effort.sizes):
        with lab.crew(("ours",), subject) as crew:
            crew.ours.do("stock", count=size)
            for name, filters in FILTERS.items():
                times = spread(crew.ours.do("filtered", filters=filters)["seconds"])
                known = QUERIES.get((size, name))
                theirs = "SQLite {} ms, HDF5 {} ms, Chroma {} ms".format(*known) if known else ""
                what = f"{HDF5}: nearest 20 of {size:,}, filter {name}, p50"
                yield Row(what, f"{times['p50_ms']:.2f} ms", "", None, theirs, times)


def _edge(lab: Lab, subject: Any) -> Iterator[Row]:
    with lab.crew(("ours",), subject) as crew:
        for size in (1_000, *lab.effort.sizes):
            taken = crew.ours.do("strategy", count=size, asked=50)
            times = spread(taken["seconds"])
            ours = f"{times['p50_ms']:.3f} ms, {taken['name']}, recall {taken['recall']:.2f}"
            what = f"{EDGE}: nearest 10 of {size:,} random 384-d vectors, by itself, p50"
            yield Row(what, ours, "", None, RANDOM_ROWS.get(size, "") + ", recall not told", times)
    with lab.crew(("ours",), subject) as crew:
        for size, theirs in ((1_000, "0.198 ms (by RRF 0.222)"), (10_000, "2.04 ms; BM25 alone 0.583 ms")):
            size = min(size, min(lab.effort.sizes))
            crew.ours.do("load", count=size, vectors=True)
            crew.ours.do("settle")
            hybrid = spread(crew.ours.do("ask", way="search")["seconds"])
            words = spread(crew.ours.do("by_words")["seconds"])
            ours = f"{hybrid['p50_ms']:.2f} ms; words alone {words['p50_ms']:.2f} ms"
            what = f"{EDGE}: hybrid search of {size:,}, hits with snippets, p50"
            yield Row(what, ours, "", None, theirs, {"hybrid": hybrid, "words": words})
        taken = spread(crew.ours.do("save", count=200, vectors=True)["seconds"])
        theirs = "0.091 ms, 0.134 ms with its log; not synced"
        yield Row(f"{EDGE}: one save, p50", f"{taken['p50_ms']:.3f} ms", "", None, theirs, taken)
        taken = spread(crew.ours.do("batch", count=10, size=1000, vectors=True)["seconds"])
        theirs = "6.2 ms; not synced"
        yield Row(f"{EDGE}: a batch of 1,000, p50", f"{taken['p50_ms']:.1f} ms", "", None, theirs, taken)
    if "artifact" in lab.known:
        ours = f"{lab.known['artifact']['p50_ms']:.2f} ms"
        yield Row(f"{HDF5}: artifact there and back, p50", ours, "", None, "about 0.34 ms; not synced")

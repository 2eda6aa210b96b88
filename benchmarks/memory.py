"""Saving and recalling from code: `python -m benchmarks.memory --corpus DIR`.

    save       one durable write a note; `batch`: 100 notes a write
    search     by words and own vectors at 10,000 and 100,000 notes; last-20 reads; sizes on disk
    artifact   an array of 500 x 200 f4, kept and read
    published  what two systems publish about themselves, beside ours on their workloads
    migrate    an SQLite memory of 100,000 rows
    graph      relations said and asked; `optional`: the gate of `save`, and activation

Every memory is a process of its own and they take turns, so one that is not installed is told and left out.
Exit status: 0 all marks met, 1 some missed, 2 some rows could not be measured.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks import report
from benchmarks.measure import machine
from benchmarks.memory_extras import graph, migrate, optional
from benchmarks.memory_lab import Effort, Lab
from benchmarks.memory_published import published
from benchmarks.memory_rows import artifact, batch, save, search

ROWS = {
    "save": save,
    "batch": batch,
    "search": search,
    "artifact": artifact,
    "published": published,
    "migrate": migrate,
    "graph": graph,
    "optional": optional,
}


def main(argv: Sequence[str] | None = None) -> int:
    parser = report.corpus_parser("memory", "Measure saving and recalling from code.", ROWS)
    parser.add_argument("--sizes", nargs="+", type=int, metavar="N", help="notes that are searched among")
    arguments = parser.parse_args(argv)
    if arguments.corpus is None:
        print("give the unpacked corpus: --corpus DIR, or RECOLLECT_CORPUS", file=sys.stderr)
        return 2
    effort = Effort.quick() if arguments.quick else Effort()
    effort = replace(effort, sizes=tuple(arguments.sizes or effort.sizes))
    arguments.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="scratch-", dir=arguments.keep) as scratch:
        lab = Lab(arguments.corpus.resolve(), arguments.keep.resolve(), Path(scratch), effort)
        conditions = machine(Path(scratch))
        rows = list(report.measured(ROWS, lab, arguments.only or list(ROWS)))
    print(report.table([row for _, row in rows]))
    print(f"load of the machine: {conditions['load_1m']} before, {machine(arguments.keep)['load_1m']} after")
    conditions |= {"systems": lab.seen}
    report.write(arguments.json, "recollect.benchmarks.memory", rows, conditions, asdict(effort))
    return report.status(rows)


if __name__ == "__main__":
    sys.exit(main())

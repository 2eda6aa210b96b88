"""Saving and recalling from code, beside what else keeps an agent's notes: `python -m benchmarks.memory --corpus DIR`.

    save       one durable write a note, and in batches of 100 (`batch`)
    search     by words and own vectors at 10,000 and 100,000 notes; last-20 reads; file sizes
    artifact   an array of 500 x 200 f4, kept and read

Every memory is a process of its own and they take turns, so one that is not installed is told and left out.
Exit status: 0 all marks met, 1 some missed, 2 some rows could not be measured.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks import report
from benchmarks.measure import machine
from benchmarks.memory_lab import Effort, Lab
from benchmarks.memory_rows import ROWS


def main(argv: Sequence[str] | None = None) -> int:
    parser = report.corpus_parser("memory", "Measure saving and recalling from code.", ROWS)
    arguments = parser.parse_args(argv)
    if arguments.corpus is None:
        print("give the unpacked corpus: --corpus DIR, or RECOLLECT_CORPUS", file=sys.stderr)
        return 2
    effort = Effort.quick() if arguments.quick else Effort()
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

"""The store's marks, measured: `python -m benchmarks.store --corpus DIR`.

Prints one table and writes the figures behind it as JSON.
Exit status: 0 all marks met, 1 some missed, 2 some rows could not be measured.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks import peers, report
from benchmarks.lab import Effort, Lab
from benchmarks.measure import machine, own_rss_mb
from benchmarks.rows import ROWS


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    if arguments.corpus is None:
        print("give the unpacked corpus: --corpus DIR, or RECOLLECT_CORPUS", file=sys.stderr)
        return 2
    effort = Effort.quick() if arguments.quick else Effort.full() if arguments.full else Effort()
    with tempfile.TemporaryDirectory(prefix="recollect-bench-", dir=arguments.scratch) as scratch:
        conditions = machine(Path(scratch)) | {"peers": peers.versions()}
        lab = Lab(arguments.corpus.resolve(), Path(scratch), effort)
        rows = list(report.measured(ROWS, lab, arguments.only or list(ROWS)))
    print(report.table([row for _, row in rows]))
    conditions |= {"measuring_process_rss_mb": own_rss_mb()}
    report.write(arguments.json, "recollect.benchmarks.store", rows, conditions, asdict(effort))
    return report.status(rows)


def _parser() -> argparse.ArgumentParser:
    parser = report.parser(
        "store",
        "Measure the store's marks.",
        ROWS,
        folder="--corpus",
        variable="RECOLLECT_CORPUS",
        holds="unpacked real logs",
    )
    depth = parser.add_mutually_exclusive_group()
    depth.add_argument("--quick", action="store_true", help="small samples, no long file: does it run at all")
    depth.add_argument("--full", action="store_true", help="a 4 GB file instead of 1 GB, more rounds")
    parser.add_argument("--scratch", type=Path, metavar="DIR", help="a folder on the disk to measure")
    return parser


if __name__ == "__main__":
    sys.exit(main())

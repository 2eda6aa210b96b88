"""The marks of search, measured: `python -m benchmarks.search --corpus DIR`.

Prints one table, ours and the peers side by side, and writes the figures behind it as JSON. The stores it
makes are kept (`--keep DIR`), so that a second run only measures.
Exit status: 0 all marks met, 1 some missed, 2 some rows could not be measured.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks import report
from benchmarks.measure import machine, own_rss_mb
from benchmarks.search_lab import Effort, SearchLab
from benchmarks.search_rows import ROWS


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    if arguments.corpus is None:
        print("give the unpacked corpus: --corpus DIR, or RECOLLECT_CORPUS", file=sys.stderr)
        return 2
    effort = Effort.quick() if arguments.quick else Effort()
    if arguments.sizes:
        effort = replace(effort, sizes=tuple(arguments.sizes))
    arguments.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="scratch-", dir=arguments.keep) as scratch:
        lab = SearchLab(arguments.corpus.resolve(), arguments.keep.resolve(), Path(scratch), effort)
        conditions = machine(Path(scratch))
        rows = list(report.measured(ROWS, lab, arguments.only or list(ROWS)))
    print(report.table([row for _, row in rows]))
    print(f"load of the machine: {conditions['load_1m']} before, {machine(arguments.keep)['load_1m']} after")
    conditions |= {"measuring_process_rss_mb": own_rss_mb()}
    report.write(arguments.json, "recollect.benchmarks.search", rows, conditions, asdict(effort))
    return report.status(rows)


def _parser() -> argparse.ArgumentParser:
    parser = report.corpus_parser("search", "Measure the marks of search.", ROWS)
    parser.add_argument("--sizes", nargs="+", type=int, metavar="N", help="entries in the stores")
    return parser


if __name__ == "__main__":
    sys.exit(main())

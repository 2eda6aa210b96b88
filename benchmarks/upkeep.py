"""Forgetting and joining measured: `python -m benchmarks.upkeep --corpus DIR`.

    retention  a sweep down to half of what is kept, looking at what would go, and taking one session back
    erase      one session goes for good, beside copying the store's file
    merge      two halves of the logs become one store, beside ingesting them
    fleet      1,000 sources of another machine, over a real sshd on loopback

Each part is a function that yields rows, in a file of its own; a new one is named in `ROWS`. All of them work
on copies of one store (`benchmarks.upkeep_lab`). Exit status: 0 all marks met, 1 some missed, 2 some not
measured.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks import report
from benchmarks.upkeep_erase import erase
from benchmarks.upkeep_fleet import fleet
from benchmarks.upkeep_lab import Lab
from benchmarks.upkeep_merge import merge
from benchmarks.upkeep_retention import retention

ROWS = {"retention": retention, "erase": erase, "merge": merge, "fleet": fleet}


def main(argv: Sequence[str] | None = None) -> int:
    parser = report.corpus_parser("upkeep", "Measure what forgetting and joining cost.", ROWS)
    arguments = parser.parse_args(argv)
    if arguments.corpus is None:
        print("give the logs: --corpus DIR", file=sys.stderr)
        return 2
    lab = Lab(arguments.corpus.resolve(), arguments.keep.resolve(), arguments.quick)
    rows = list(report.measured(ROWS, lab, arguments.only or list(ROWS)))
    print(report.table([row for _, row in rows]))
    report.write(arguments.json, "recollect.benchmarks.upkeep", rows, {"quick": arguments.quick}, {})
    return report.status(rows)


if __name__ == "__main__":
    sys.exit(main())

"""Understanding measured: `python -m benchmarks.insight --corpus DIR --evaldata DIR`.

    entities   what entries mention, of 22 types
    outcomes   how sessions ended, active time, commits, files and tests
    patterns   which of eleven classes an exchange is of
    titles     whether a title says what a session was about
    threads    whether sessions that are one piece of work are one thread
    projects   which repository a folder belongs to
    speed      what all of it costs beside ingest and indexing, and how large its tables are
    asked      how long questions take at 300,000 entries (the store of `benchmarks.search`, or `--store`)

EVALDATA/labels has hand-made labels, the rules they were made by and their scorers, which count here too.
About half of the labels, by a hash, was tuned on; `--half` scores either alone. Exit status: 0 all marks met,
1 some missed, 2 some not measured.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import report
from benchmarks.insight_asked import asked
from benchmarks.insight_entities import entities
from benchmarks.insight_lab import HELD, TUNED, Lab
from benchmarks.insight_projects import projects
from benchmarks.insight_sessions import outcomes, patterns, titles
from benchmarks.insight_speed import speed
from benchmarks.insight_threads import threads

ROWS = {
    "entities": entities,
    "outcomes": outcomes,
    "patterns": patterns,
    "titles": titles,
    "threads": threads,
    "projects": projects,
    "speed": speed,
    "asked": asked,
}


def main(argv: Sequence[str] | None = None) -> int:
    parser = report.parser(
        "insight",
        "Measure whether what is told of sessions is so, and what it costs.",
        ROWS,
        folder="--corpus",
        variable="RECOLLECT_CORPUS",
        holds="unpacked real logs",
    )
    given = os.environ.get("RECOLLECT_EVALDATA")
    parser.add_argument("--evaldata", type=Path, default=Path(given) if given else None, metavar="DIR")
    parser.add_argument("--half", choices=("all", TUNED, HELD), default="all")
    parser.add_argument("--keep", type=Path, default=report.KEPT, metavar="DIR", help="where stores stay")
    parser.add_argument("--store", type=Path, metavar="FILE", help="a store that is asked, and only read")
    arguments = parser.parse_args(argv)
    if arguments.evaldata is None or arguments.corpus is None:
        print("give the logs and the labels: --corpus DIR --evaldata DIR", file=sys.stderr)
        return 2
    lab = Lab(
        arguments.corpus.resolve(),
        arguments.evaldata.resolve() / "labels",
        arguments.half,
        arguments.keep.resolve(),
        arguments.store,
    )
    rows = list(report.measured(ROWS, lab, arguments.only or list(ROWS)))
    print(report.table([row for _, row in rows]))
    report.write(arguments.json, "recollect.benchmarks.insight", rows, {"half": arguments.half}, {})
    return report.status(rows)


if __name__ == "__main__":
    sys.exit(main())

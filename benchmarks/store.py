"""The store's marks, measured: `python -m benchmarks.store --corpus DIR`.

Prints one table and writes the figures behind it as JSON.
Exit status: 0 all marks met, 1 some missed, 2 some rows could not be measured.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks import peers
from benchmarks.lab import Effort, Lab
from benchmarks.measure import machine, own_rss_mb
from benchmarks.rows import ROWS, Row

RESULTS = Path(__file__).parent / "results" / "store.json"


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    if arguments.corpus is None:
        print("give the unpacked corpus: --corpus DIR, or RECOLLECT_CORPUS", file=sys.stderr)
        return 2
    effort = Effort.quick() if arguments.quick else Effort.full() if arguments.full else Effort()
    with tempfile.TemporaryDirectory(prefix="recollect-bench-", dir=arguments.scratch) as scratch:
        conditions = machine(Path(scratch)) | {"peers": peers.versions()}
        lab = Lab(arguments.corpus.resolve(), Path(scratch), effort)
        rows = list(measured(lab, arguments.only or list(ROWS)))
    print(table([row for _, row in rows]))
    report = {
        "schema": "recollect.benchmarks.store",
        "version": 1,
        "taken_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": conditions | {"measuring_process_rss_mb": own_rss_mb()},
        "effort": asdict(effort),
        "rows": [{"name": name} | asdict(row) for name, row in rows],
    }
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(report, indent=1) + "\n")
    if any("error" in row.detail for _, row in rows):
        return 2
    return 1 if any(row.met is False for _, row in rows) else 0


def measured(lab: Lab, names: Sequence[str]) -> Iterator[tuple[str, Row]]:
    """The rows asked for; one that fails says so and does not stop the others."""
    for name in names:
        start = time.monotonic()
        print(f"{name} ...", end="", file=sys.stderr, flush=True)
        try:
            for row in ROWS[name](lab):
                yield name, row
        except (RuntimeError, OSError, ValueError, LookupError, AssertionError) as error:
            failed = {"error": f"{name}: {type(error).__name__}: {error}"}
            yield name, Row(what=f"{name} (not measured)", ours="failed", mark="", met=None, detail=failed)
        print(f" {time.monotonic() - start:.0f} s", file=sys.stderr)


def table(rows: Sequence[Row]) -> str:
    """The rows as text, columns aligned; what went wrong below."""
    lines = [("what", "ours", "peer or reference", "mark", "met?")]
    lines += [(row.what, row.ours, row.peer, row.mark, _verdict(row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ("-" * widths[0], "-" * widths[1], "-" * widths[2], "-" * widths[3], "-" * widths[4]))
    text = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    return "\n".join([*text, *(row.detail["error"] for row in rows if "error" in row.detail)])


def _verdict(row: Row) -> str:
    if "error" in row.detail:
        return "FAILED"
    return "-" if row.met is None else "yes" if row.met else "NO"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.store", description="Measure the store's marks."
    )
    default = os.environ.get("RECOLLECT_CORPUS")
    parser.add_argument(
        "--corpus",
        type=Path,
        default=Path(default) if default else None,
        metavar="DIR",
        help="unpacked real logs (default: RECOLLECT_CORPUS)",
    )
    parser.add_argument("--only", nargs="+", choices=ROWS, metavar="NAME", help=f"of: {', '.join(ROWS)}")
    depth = parser.add_mutually_exclusive_group()
    depth.add_argument("--quick", action="store_true", help="small samples, no long file: does it run at all")
    depth.add_argument("--full", action="store_true", help="a 4 GB file instead of 1 GB, more rounds")
    parser.add_argument("--scratch", type=Path, metavar="DIR", help="a folder on the disk to measure")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="FILE", help=f"default: {RESULTS.name}")
    return parser


if __name__ == "__main__":
    sys.exit(main())

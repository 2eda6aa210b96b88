"""A table of rows, each with its mark and a verdict; the figures behind it as JSON.

A benchmark is a dictionary of functions that yield rows. One that fails says so in the table and does not
stop the others. Exit status: 0 all marks met, 1 some missed, 2 some rows could not be measured.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

LabT = TypeVar("LabT")
RESULTS = Path(__file__).parent / "results"
KEPT = Path(tempfile.gettempdir()) / "recollect-bench-search"


@dataclass(frozen=True)
class Row:
    """One line of the table; `met` is None where there is no mark, or nothing to judge it by."""

    what: str
    ours: str
    mark: str
    met: bool | None
    peer: str = ""
    detail: dict[str, Any] = field(default_factory=dict)


def parser(
    name: str, about: str, rows: Mapping[str, object], *, folder: str, variable: str, holds: str
) -> argparse.ArgumentParser:
    """What every benchmark takes: the folder it reads, which rows, and where the figures go."""
    made = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=about)
    default, results = os.environ.get(variable), RESULTS / f"{name}.json"
    made.add_argument(
        folder,
        type=Path,
        default=Path(default) if default else None,
        metavar="DIR",
        help=f"{holds} (default: {variable})",
    )
    made.add_argument("--only", nargs="+", choices=rows, metavar="NAME", help=f"of: {', '.join(rows)}")
    made.add_argument("--json", type=Path, default=results, metavar="FILE", help=f"default: {results.name}")
    return made


def corpus_parser(name: str, about: str, rows: Mapping[str, object]) -> argparse.ArgumentParser:
    """The same for what is measured on real logs, and on stores made of them that are kept between runs."""
    made = parser(
        name, about, rows, folder="--corpus", variable="RECOLLECT_CORPUS", holds="unpacked real logs"
    )
    made.add_argument("--quick", action="store_true", help="small stores, few rounds: does it run at all")
    made.add_argument("--keep", type=Path, default=KEPT, metavar="DIR", help="where the stores stay")
    return made


def measured(
    rows: Mapping[str, Callable[[LabT], Iterator[Row]]], lab: LabT, names: Sequence[str]
) -> Iterator[tuple[str, Row]]:
    """The rows asked for; one that fails says so and does not stop the others."""
    for name in names:
        start = time.monotonic()
        print(f"{name} ...", end="", file=sys.stderr, flush=True)
        try:
            for row in rows[name](lab):
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


def write(
    target: Path,
    schema: str,
    rows: Sequence[tuple[str, Row]],
    conditions: Mapping[str, object],
    effort: Mapping[str, object],
) -> None:
    """Everything that was measured, and under which conditions."""
    report = {
        "schema": schema,
        "version": 1,
        "taken_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": dict(conditions),
        "effort": dict(effort),
        "rows": [{"name": name} | asdict(row) for name, row in rows],
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(report, indent=1) + "\n")


def status(rows: Sequence[tuple[str, Row]]) -> int:
    """The exit status that the rows amount to."""
    if any("error" in row.detail for _, row in rows):
        return 2
    return 1 if any(row.met is False for _, row in rows) else 0


def _verdict(row: Row) -> str:
    if "error" in row.detail:
        return "FAILED"
    return "-" if row.met is None else "met" if row.met else "MISSED"

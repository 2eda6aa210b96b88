"""The text index alone, over a store that exists: `python -m benchmarks.textindex STORE`.

Prints what building it costs, where the time goes, how big it is beside the lines it was made of, and
what opening, asking and adding a little cost then. The processor's seconds are printed beside the
clock's: on a busy machine only the former mean anything.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tantivy

from recollect.search.text.fields import body_of, is_indexed
from recollect.search.text.index import TextIndex
from recollect.store.contract import View
from recollect.store.hdf5.engine import Hdf5Store
from recollect.values.stored import StoreInfo

HELD_BACK_ROWS = 100  # about one session, added to the finished index
QUESTIONS = (
    "why does the build fail on windows",
    "refresh token expiry",
    "git worktree remove branch",
    "prompt template parser error",
    "publish docker image workflow",
    "failing test ring buffer",
    "chrome extension side panel reconnect",
    "schema migration plan",
    "session details webview",
)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.textindex", description="Measure the text index."
    )
    parser.add_argument("store", type=Path, help="a store, which is only read")
    parser.add_argument("--scratch", type=Path, metavar="DIR", help="where the index is built")
    arguments = parser.parse_args(argv)
    with (
        tempfile.TemporaryDirectory(prefix="recollect-bench-", dir=arguments.scratch) as scratch,
        Hdf5Store.open(arguments.store) as store,
        store.view() as view,
    ):
        for name, figure in measured(Path(scratch), view).items():
            print(f"{name:<42}{figure}")
    return 0


def measured(folder: Path, view: View) -> dict[str, str]:
    """Each figure by its name."""
    info = view.info()
    entries = (each.entry for each in view.entry_range(0, info.rows_end) if is_indexed(each.entry))
    text_mb = sum(len(body_of(entry).encode()) for entry in entries) / 1e6
    index = TextIndex.open(folder, info.id, info.epoch)
    building = timed(lambda: index.catch_up(Shortened(view, info.rows_end - HELD_BACK_ROWS)))  # type: ignore[arg-type]
    size_mb = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
    adding = timed(lambda: index.catch_up(view))
    opening = [timed(lambda: TextIndex.open(folder, info.id, info.epoch)) for _ in range(9)]
    asking = [timed(lambda q=q: index.search(any_of(index, q), 10)) for q in QUESTIONS * 20]  # type: ignore[misc]
    wall, cpu = building
    return {
        "entries": f"{info.entries:,}",
        "text": f"{text_mb:.1f} MB",
        "building": f"{wall:.1f} s ({cpu:.1f} s of processor)",
        "building, text by the second": f"{text_mb / wall:.1f} MB/s",
        "the same with two processors to itself": f"at most {text_mb / (cpu / 2):.1f} MB/s",
        "size": f"{size_mb:.1f} MB, {size_mb * 1e8 / info.line_bytes:.1f} % of the lines",
        f"adding {HELD_BACK_ROWS} entries": milliseconds([adding]),
        "opening": milliseconds(opening),
        "best 10 for a question": milliseconds(asking),
    }


class Shortened:
    """A view without its last rows."""

    def __init__(self, view: View, rows_end: int) -> None:
        self._view, self._rows_end = view, rows_end
        self.entry_range, self.replaced = view.entry_range, view.replaced

    def info(self) -> StoreInfo:
        return replace(self._view.info(), rows_end=self._rows_end)


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds by the clock, and of the processor in all threads."""
    before, start = os.times(), time.perf_counter()
    work()
    seconds, after = time.perf_counter() - start, os.times()
    return seconds, after.user + after.system - before.user - before.system


def any_of(index: TextIndex, question: str) -> tantivy.Query:
    terms = [tantivy.Query.term_query(index.schema, "body", term) for term in index.analyze("body", question)]
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])


def milliseconds(runs: Sequence[tuple[float, float]]) -> str:
    wall = sorted(seconds * 1e3 for seconds, _ in runs)
    return f"{statistics.median(wall):.2f} ms" + (
        f", p95 {wall[len(wall) * 95 // 100]:.2f}" if wall[1:] else ""
    )


if __name__ == "__main__":
    raise SystemExit(main())

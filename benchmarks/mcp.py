"""The marks of the MCP server, measured: `python -m benchmarks.mcp --corpus DIR`.

The server runs as an agent runs it: a process, asked over pipes, one line a message. Start-up takes turns
with `python -c "import mcp"`, which is what any server on that SDK pays before it can say a word. The store
of 300,000 entries is the one of `benchmarks.search`, and is kept like it (`--keep DIR`).
Exit status: 0 all marks met, 1 some missed, 2 some rows could not be measured.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks import product, report
from benchmarks.measure import interleaved, machine, run, spread
from benchmarks.report import Row
from benchmarks.search_lab import Effort as SearchEffort
from benchmarks.search_lab import SearchLab, Stocked

START_FACTOR_MAX = 1.5
SEARCH_MS_MAX = 25.0
MARKED_SIZE = 300_000
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


@dataclass(frozen=True)
class Effort:
    """How much of everything is measured."""

    entries: int = MARKED_SIZE
    starts: int = 15
    questions: int = 200

    @classmethod
    def quick(cls) -> Effort:
        """Does it run at all."""
        return cls(entries=10_000, starts=3, questions=20)


@dataclass(frozen=True)
class Lab:
    """Where rows are measured."""

    effort: Effort
    search: SearchLab

    @property
    def stocked(self) -> Stocked:
        return self.search.stocked(self.effort.entries)


# -- rows ------------------------------------------------------------------------------------------


def start(lab: Lab) -> Iterator[Row]:
    """A new process to its first answers, beside the bare import of the SDK."""
    stocked, listed = lab.stocked, []

    def ours() -> float:
        began = time.perf_counter()
        with _served(stocked) as ask:
            ask("initialize", HELLO)
            answered = time.perf_counter() - began
            ask("tools/list", {})
            listed.append(time.perf_counter() - began)
        return answered

    def bare() -> float:
        argv = [sys.executable, "-c", "import mcp"]
        return run(argv, env=product.environment(stocked.home)).checked().seconds

    ours()  # Byte code is on disk from here on, for both.
    bare()
    listed.clear()
    taken, imports = interleaved(lab.effort.starts, ours, bare)
    for what, seconds in (("the handshake", taken), ("the list of tools", listed)):
        factor = statistics.median(seconds) / statistics.median(imports)
        yield Row(
            what=f"start to {what}, p50 / p95",
            ours=f"{_both(seconds)}, {factor:.2f}x",
            peer=f"import mcp: {_both(imports)}",
            mark=f"<= {START_FACTOR_MAX}x",
            met=factor <= START_FACTOR_MAX,
            detail={"ours": spread(seconds), "import": spread(imports), "factor": factor},
        )


def first(lab: Lab) -> Iterator[Row]:
    """A new process to the first hits: the store, its indexes and numpy included."""
    questions = iter(_questions(lab))

    def asked() -> float:
        began = time.perf_counter()
        with _served(lab.stocked) as ask:
            ask("initialize", HELLO)
            _call(ask, "search_memory", query=next(questions))
        return time.perf_counter() - began

    seconds = [asked() for _ in range(lab.effort.starts)]
    what = f"start to the first hits, {lab.stocked.facts['entries']:,} entries, p50 / p95"
    yield Row(what=what, ours=_both(seconds), mark="", met=None, detail=spread(seconds))


def search(lab: Lab) -> Iterator[Row]:
    """Questions to a server that is warm, as an agent asks them."""
    yield _asked(lab, "search_memory", f"<= {SEARCH_MS_MAX:.0f} ms", lambda question: {"query": question})


def recall(lab: Lab) -> Iterator[Row]:
    """Walls of excerpts, of the default size."""
    yield _asked(
        lab, "recall_context", "", lambda question: {"search_terms": question.split(), "question": question}
    )


ROWS: dict[str, Callable[[Lab], Iterator[Row]]] = {
    "start": start,
    "first": first,
    "search": search,
    "recall": recall,
}


# -- how -------------------------------------------------------------------------------------------

Ask = Callable[[str, dict[str, Any]], dict[str, Any]]


@contextmanager
def _served(stocked: Stocked) -> Iterator[Ask]:
    """A server on a store, and how to ask it; its end is no part of what is measured inside."""
    argv = [sys.executable, "-m", "recollect", "--store", str(stocked.store), "mcp"]
    process = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=product.environment(stocked.home)
    )
    assert process.stdin is not None
    assert process.stdout is not None
    incoming, outgoing = process.stdin, process.stdout

    def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        incoming.write(json.dumps(message).encode() + b"\n")
        incoming.flush()
        answer: dict[str, Any] = json.loads(outgoing.readline())
        if "result" not in answer:
            raise RuntimeError(f"{method}: {answer}")
        result: dict[str, Any] = answer["result"]
        return result

    try:
        yield ask
    finally:
        incoming.close()
        process.wait()
        outgoing.close()


def _call(ask: Ask, tool: str, **arguments: Any) -> str:
    result = ask("tools/call", {"name": tool, "arguments": arguments})
    text: str = result["content"][0]["text"]
    if result.get("isError"):
        raise RuntimeError(f"{tool}: {text}")
    return text


def _asked(lab: Lab, tool: str, mark: str, arguments: Callable[[str], dict[str, Any]]) -> Row:
    """One tool's time over the pipe; half as many questions warm it up."""
    questions = _questions(lab)
    seconds, empty = [], 0
    with _served(lab.stocked) as ask:
        ask("initialize", HELLO)
        for question in questions[: len(questions) // 2]:
            _call(ask, tool, **arguments(question))
        for question in questions:
            began = time.perf_counter()
            text = _call(ask, tool, **arguments(question))
            seconds.append(time.perf_counter() - began)
            empty += not text.startswith("<recollect-memory") or "nothing found" in text
    if empty * 2 > len(questions):
        raise RuntimeError(f"{empty} of {len(questions)} questions found nothing: no measurement")
    entries, p50 = lab.stocked.facts["entries"], statistics.median(seconds) * 1e3
    judged = bool(mark) and lab.effort.entries >= MARKED_SIZE
    return Row(
        what=f"{tool}, {entries:,} entries, p50 / p95",
        ours=_both(seconds),
        mark=mark,
        met=p50 <= SEARCH_MS_MAX if judged else None,
        detail={**spread(seconds), "without_hits": empty},
    )


def _questions(lab: Lab) -> list[str]:
    return [product.plain_words(each) for each in lab.stocked.questions()[: lab.effort.questions]]


def _both(seconds: Sequence[float]) -> str:
    spent = spread(seconds)
    return f"{spent['p50_ms']:.1f} / {spent['p95_ms']:.1f} ms"


# -- command line ----------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    arguments = report.corpus_parser("mcp", "Measure the marks of the MCP server.", ROWS).parse_args(argv)
    if arguments.corpus is None:
        print("give the unpacked corpus: --corpus DIR, or RECOLLECT_CORPUS", file=sys.stderr)
        return 2
    effort = Effort.quick() if arguments.quick else Effort()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="scratch-", dir=arguments.keep) as scratch:
        stores = SearchEffort(sizes=(effort.entries,))
        kept = SearchLab(arguments.corpus.resolve(), arguments.keep.resolve(), Path(scratch), stores)
        conditions = machine(Path(scratch))
        rows = list(report.measured(ROWS, Lab(effort, kept), arguments.only or list(ROWS)))
    print(report.table([row for _, row in rows]))
    report.write(arguments.json, "recollect.benchmarks.mcp", rows, conditions, asdict(effort))
    return report.status(rows)


if __name__ == "__main__":
    sys.exit(main())

"""Retrieval quality by the product's own path: `python -m benchmarks.retrieval --data DIR`.

DIR (or RECOLLECT_EVALDATA) holds public sets and their harness, `memory_eval.py`; nothing of it is copied.
Every question is asked of Recollect as it is installed, of BM25 and of the default embedder alone.
Prints one table against the marks. Exit status: 0 all met, 1 some missed, 2 some sets not measured.
"""

from __future__ import annotations

import argparse
import importlib
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.report import Row
from recollect.search.embed.static import StaticEmbedder

ENGINES = {
    "ours": "recollect.testing.retriever:Engine",
    "BM25": "bm25",
    "static": "benchmarks.retrieval:StaticAlone",
}


@dataclass(frozen=True)
class Mark:
    """A measure that must reach so many percent; None: what the default embedder reaches alone."""

    level: str
    measure: str
    least: float | None


MARKS: dict[str, tuple[Mark, ...]] = {
    "locomo": (
        Mark("session", "hit@1", 71),
        Mark("session", "hit@5", 93),
        Mark("turn", "R@5", 67),
        Mark("turn", "R@10", 76),
    ),
    "lme-s48": (Mark("session", "hit@1", 90), Mark("session", "hit@5", 98), Mark("session", "all@5", 92)),
    "devmembench": (Mark("session", "hit@1", 85), Mark("session", "R@5", 92)),
    "swepatch": (Mark("session", "hit@1", 73), Mark("session", "hit@5", 87)),
    "cosqa": (Mark("session", "hit@1", None), Mark("session", "R@10", None)),
}


class StaticAlone:
    """The default embedder and nothing else: one vector a document, an exact scan."""

    def index(self, docs: Sequence[Mapping[str, str]]) -> None:
        self._ids = [doc["id"] for doc in docs]
        self._embedder = StaticEmbedder.load()
        self._matrix = self._embedder.encode([doc["text"] for doc in docs])

    def query(self, text: str, k: int) -> list[str]:
        scores = self._matrix @ self._embedder.encode_query(text)
        return [self._ids[n] for n in np.argsort(-scores, kind="stable")[:k]]


@dataclass
class Study:
    """The harness, and what it measured so far."""

    data: Path
    engines: Sequence[str]
    limit: int | None = None
    details: dict[str, Any] = field(default_factory=dict)

    def measured(self, set_: str, engine: str) -> dict[str, dict[str, float]]:
        """Every measure in percent, by level."""
        harness = importlib.import_module("memory_eval")
        # What the harness's own command line would say.
        options = SimpleNamespace(
            data=str(self.data),
            dataset=set_,
            retriever=ENGINES[engine],
            unit="turn",
            split="all",
            category=None,
            limit=self.limit,
            speaker=True,
            date_prefix=False,
            user_only=False,
            abstention=False,
            locomo_fixes=False,
        )
        result = harness.evaluate(options)
        tables = {level: harness.summarize(result, level) for level in ("session", "turn")}
        self.details[f"{set_}/{engine}"] = {
            "questions": result["questions"],
            "documents": result["documents"],
            "corpora": result["corpora"],
            "index_s": result["index_s"],
            "p50_ms": result["query_ms_p50"],
            "p95_ms": result["query_ms_p95"],
            "levels": tables,
        }
        return {level: _percent(table[-1][2]) for level, table in tables.items() if table}


def rows_of(study: Study, set_: str) -> Iterator[Row]:
    found = {engine: study.measured(set_, engine) for engine in study.engines}
    asked = study.details[f"{set_}/{study.engines[0]}"]
    for mark in MARKS[set_]:
        values = {engine: levels[mark.level][mark.measure] for engine, levels in found.items()}
        ours, least = values.get("ours"), values.get("static") if mark.least is None else mark.least
        others = [f"{engine} {value:.1f}" for engine, value in values.items() if engine != "ours"]
        yield Row(
            what=f"{set_}, {mark.level} {mark.measure} ({asked['questions']} questions)",
            ours="-" if ours is None else f"{ours:.1f}",
            peer=" · ".join(others),
            mark="as static" if mark.least is None else f">= {mark.least:.0f}",
            met=None if ours is None or least is None else round(ours, 1) >= round(least, 1),
            detail=values | {"p50_ms": asked["p50_ms"], "index_s": asked["index_s"]},
        )


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    if arguments.data is None:
        print("give the evaluation sets: --data DIR, or RECOLLECT_EVALDATA", file=sys.stderr)
        return 2
    sys.path.insert(0, str(arguments.data.resolve()))
    study = Study(arguments.data.resolve(), arguments.engines, arguments.limit)
    sets = {name: lambda lab, name=name: rows_of(lab, name) for name in MARKS}
    start = datetime.now()
    rows = list(report.measured(sets, study, arguments.only or list(MARKS)))
    print(report.table([row for _, row in rows]))
    conditions = {"python": platform.python_version(), "embedder": StaticEmbedder.load().revision}
    effort = {"seconds": (datetime.now() - start).total_seconds(), "sets": study.details}
    report.write(arguments.json, "recollect.benchmarks.retrieval", rows, conditions, effort)
    return report.status(rows)


def _percent(measures: Mapping[str, float]) -> dict[str, float]:
    return {name: 100 * value for name, value in measures.items()}


def _parser() -> argparse.ArgumentParser:
    parser = report.parser(
        "retrieval",
        "Measure retrieval quality on public sets.",
        MARKS,
        folder="--data",
        variable="RECOLLECT_EVALDATA",
        holds="the sets and their harness",
    )
    known = list(ENGINES)
    parser.add_argument(
        "--engines", nargs="+", choices=known, default=known, metavar="E", help=f"of: {', '.join(known)}"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N questions of each set")
    return parser


if __name__ == "__main__":
    sys.exit(main())

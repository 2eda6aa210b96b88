"""Real questions over real logs: `python -m benchmarks.realq --corpus DIR --evaldata DIR`.

Three things are measured on one store made of the corpus, with one set of defaults:

    RealQ        questions a developer asked of these logs, answers known; EVALDATA/realq has them
    brief        the same questions, answered in three sentences
    known items  questions drawn from the logs by script, each with one right answer

Plain BM25 over the same entries is asked RealQ in the same minute. Prints one table against the marks.
Exit status: 0 all met, 1 some missed, 2 some not measured.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks import report
from benchmarks.known_items import items
from benchmarks.report import Row
from recollect import Memory
from recollect.config import load_config

MARKS: dict[str, dict[str, tuple[int, ...]]] = {
    "project": {
        "recall@1000 2000 4000": (50, 68, 80),
        "entry@1 3 10": (45, 62, 76),
        "snippet@10": (55,),
        "session@1 10": (70, 88),
    },
    "open": {"recall@1000 2000 4000": (45, 62, 75)},
}
KNOWN = {"error": 98, "error less": 55, "verb file": 60, "paraphrase": 88, "identifier": 98, "rare words": 80}


@dataclass(frozen=True)
class Lab:
    """The store, and the harness that asks it."""

    memory: Memory
    harness: ModuleType
    data: Path


def asked(lab: Lab) -> Iterator[Row]:
    """RealQ, for us and for BM25."""
    harness, questions = lab.harness, _questions(lab)
    systems = {name: harness.SYSTEMS[name](lab.memory) for name in ("product", "bm25")}
    shares = {
        name: harness.summed(harness.score(system, questions, note=lambda told: None))
        for name, system in systems.items()
    }
    for way, marks in MARKS.items():
        for measure, least in marks.items():
            name, _, depths = measure.partition("@")
            names = [f"{way}.{name}@{depth}" for depth in depths.split()]
            ours, peer = ([_percent(shares[who][each]) for each in names] for who in systems)
            yield Row(
                what=f"{way} given, {measure}" if way == "project" else f"no project, {measure}",
                ours=" / ".join(map(str, ours)),
                peer="BM25 " + " / ".join(map(str, peer)),
                mark=" / ".join(map(str, least)),
                met=all(got >= wanted for got, wanted in zip(ours, least, strict=True)),
                detail={"questions": len(questions), "ours": ours, "bm25": peer},
            )


def brief(lab: Lab) -> Iterator[Row]:
    """Whether the three sentences of `recall --brief` hold the answer."""
    for way, named in (("project given", True), ("no project", False)):
        questions = _questions(lab)
        good = letters = 0
        for question in questions:
            project = question.project if named else ""
            found = lab.memory.brief([], question.text, project=project, now=question.now)
            text = "\n".join(said.text for said in found.sentences)
            good += question.answered(text)
            letters += len(text)
        yield Row(
            what=f"{way}, three sentences of recall --brief",
            ours=str(round(100 * good / len(questions))),
            peer=f"{letters // len(questions)} letters",
            mark="",
            met=None,
        )


def known(lab: Lab) -> Iterator[Row]:
    """What stands first where one entry is meant."""
    for kind, drawn in items(lab.memory).items():
        good = 0
        for item in drawn:
            hits = lab.memory.search(item.query, plain=True, limit=1, seconds=600.0).hits
            good += bool(hits) and item.answers(hits[0].stored)
        share = round(100 * good / max(len(drawn), 1))
        yield Row(
            what=f"{kind}, hit@1 ({len(drawn)} questions)",
            ours=str(share),
            mark=f">= {KNOWN[kind]}",
            met=share >= KNOWN[kind],
        )


ROWS = {"realq": asked, "brief": brief, "known": known}


def main(argv: Sequence[str] | None = None) -> int:
    parser = report.parser(
        "realq",
        "Measure whether the answer is on the first screen.",
        ROWS,
        folder="--corpus",
        variable="RECOLLECT_CORPUS",
        holds="unpacked real logs",
    )
    given = os.environ.get("RECOLLECT_EVALDATA")
    parser.add_argument("--evaldata", type=Path, default=Path(given) if given else None, metavar="DIR")
    parser.add_argument("--store", type=Path, metavar="FILE", help="a store made of the logs before")
    arguments = parser.parse_args(argv)
    if arguments.evaldata is None or (arguments.corpus is None and arguments.store is None):
        print("give the logs and the questions: --corpus DIR --evaldata DIR", file=sys.stderr)
        return 2
    data = arguments.evaldata.resolve() / "realq"
    sys.path.insert(0, str(data))
    with tempfile.TemporaryDirectory() as scratch:
        if arguments.store is None:
            os.environ["RECOLLECT_CACHE"] = f"{scratch}/cache"
        store = arguments.store or Path(scratch) / "memory.h5"
        with Memory.open(store, config=load_config(str(store))) as memory:
            if arguments.store is None:
                memory.ingest([arguments.corpus])
            memory.index()
            lab = Lab(memory, importlib.import_module("realq"), data)
            rows = list(report.measured(ROWS, lab, arguments.only or list(ROWS)))
    print(report.table([row for _, row in rows]))
    report.write(arguments.json, "recollect.benchmarks.realq", rows, {}, {})
    return report.status(rows)


def _questions(lab: Lab) -> list[Any]:
    lines = (lab.data / "dev.jsonl").read_text("utf-8").splitlines()
    return [lab.harness.Question(json.loads(line)) for line in lines if line.strip()]


def _percent(share: dict[str, Any]) -> int:
    return round(100 * float(share["share"]))


if __name__ == "__main__":
    sys.exit(main())

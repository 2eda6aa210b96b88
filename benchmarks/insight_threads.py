"""Which sessions are one piece of work: `python -m benchmarks.insight_threads --corpus DIR --evaldata DIR`.

    pairs   F1 of labelled pairs of sessions: all, those that rules were set on, those held back
    whole   all threads of the logs: how many, the largest, what they take to tie and to join

EVALDATA/labels/threads.jsonl has the pairs and SESSIONS.md the rules they were labelled by; every second
pair, from the first on, was tuned on. The logs are taken in as a whole, because what is rare in a project is
known from all its sessions. Beside ours stands the plain rule: the same id, parent or slug. Exit status: 0
all marks met, 1 some missed, 2 some not measured.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.report import Row
from recollect import Memory
from recollect.config import Config
from recollect.insight.tying import catch_up_ties
from recollect.search.joining import joined
from recollect.search.ties import kept_ties
from recollect.values.history import JOINED
from recollect.values.records import Relation
from recollect.values.stored import Session

F1_LEAST = 0.80
RESAMPLES = 1_000
Pair = dict[str, Any]


@dataclass(frozen=True)
class Lab:
    """Labelled pairs, and a memory of all logs."""

    pairs: Sequence[Pair]
    memory: Memory
    tying_seconds: float

    def threads(self, *, tied: bool) -> tuple[dict[int, Session], dict[int, int]]:
        with self.memory.view() as view:
            sessions = dict(view.session_rows().items())
            return sessions, (joined(sessions, kept_ties(view)) if tied else joined(sessions)).threads


def pairs(lab: Lab) -> Iterator[Row]:
    halves = {"all": lab.pairs, "tuned": lab.pairs[::2], "held": lab.pairs[1::2]}
    ours, plain = (_found(lab, tied=tied) for tied in (True, False))
    for name, chosen in halves.items():
        draw = random.Random(len(chosen))
        drawn = sorted(_f1(draw.choices(chosen, k=len(chosen)), ours)[0] for _ in range(RESAMPLES))
        low, high = drawn[RESAMPLES // 40], drawn[-RESAMPLES // 40 - 1]
        value, precision, recall = _f1(chosen, ours)
        beside = _f1(chosen, plain)[0]
        yield Row(
            what=f"threads, F1 of {name} ({len(chosen)} pairs)",
            ours=f"{value:.3f} [{low:.3f}, {high:.3f}], precision {precision:.3f}, recall {recall:.3f}",
            peer=f"{beside:.3f}",
            mark=f">= {F1_LEAST:.2f}",
            met=value >= F1_LEAST,
            detail={"value": value, "interval": [low, high], "plain": beside},
        )


def whole(lab: Lab) -> Iterator[Row]:
    begun = time.perf_counter()
    sessions, threads = lab.threads(tied=True)
    seconds = time.perf_counter() - begun
    main = [row for row, session in sessions.items() if session.facts.relation != Relation.SUBAGENT]
    counts = Counter(threads[row] for row in main)
    plain = Counter(lab.threads(tied=False)[1][row] for row in main)
    yield _told("sessions that are no subagents", len(main))
    yield _told("threads", len(counts), len(plain))
    yield _told(
        "threads of several sessions", *(sum(n > 1 for n in each.values()) for each in (counts, plain))
    )
    yield _told("sessions of the largest", *(max(each.values()) for each in (counts, plain)))
    with lab.memory.view() as view:
        guessed = [each for each in joined(sessions, kept_ties(view)).joints if each.confidence < 1]
    yield _told("ties that are not certain, joined", sum(each.confidence >= JOINED for each in guessed))
    yield _told("told only", sum(each.confidence < JOINED for each in guessed))
    yield _told("sessions read and joined, ms", round(seconds * 1000))
    yield _told("all sessions tied, ms", round(lab.tying_seconds * 1000))


def _told(what: str, ours: int, plain: int | None = None) -> Row:
    return Row(what=what, ours=f"{ours:,}", peer="" if plain is None else f"{plain:,}", mark="", met=None)


def _found(lab: Lab, *, tied: bool) -> dict[str, bool]:
    """For each pair whether both are one thread; a session that is not there is of none."""
    sessions, threads = lab.threads(tied=tied)
    rows = {session.facts.id: row for row, session in sessions.items()}
    found = {}
    for pair in lab.pairs:
        one, other = (threads.get(rows.get(pair[side]["session"], -1)) for side in "ab")
        found[pair["id"]] = one is not None and one == other
    return found


def _f1(chosen: Sequence[Pair], found: dict[str, bool]) -> tuple[float, float, float]:
    right = sum(pair["same"] and found[pair["id"]] for pair in chosen)
    said, true = sum(found[pair["id"]] for pair in chosen), sum(pair["same"] for pair in chosen)
    return 2 * right / max(said + true, 1), right / max(said, 1), right / max(true, 1)


ROWS = {"pairs": pairs, "whole": whole}


def main(argv: Sequence[str] | None = None) -> int:
    parser = report.parser(
        "insight_threads",
        "Measure whether sessions that are one piece of work are one thread.",
        ROWS,
        folder="--corpus",
        variable="RECOLLECT_CORPUS",
        holds="unpacked real logs",
    )
    given = os.environ.get("RECOLLECT_EVALDATA")
    parser.add_argument("--evaldata", type=Path, default=Path(given) if given else None, metavar="DIR")
    arguments = parser.parse_args(argv)
    if arguments.evaldata is None or arguments.corpus is None:
        print("give the logs and the labels: --corpus DIR --evaldata DIR", file=sys.stderr)
        return 2
    lines = (arguments.evaldata / "labels" / "threads.jsonl").read_text("utf-8").splitlines()
    labels = [json.loads(line) for line in lines if line.strip()]
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "memory.h5"
        with Memory.open(store, config=Config(store, "bench", cache=Path(folder) / "cache")) as memory:
            memory.ingest([arguments.corpus / name for name in ("claude", "codex")])
            begun = time.perf_counter()
            with memory._store.writer() as writer:
                catch_up_ties(writer)
            lab = Lab(labels, memory, time.perf_counter() - begun)
            rows = list(report.measured(ROWS, lab, arguments.only or list(ROWS)))
    print(report.table([row for _, row in rows]))
    report.write(arguments.json, "recollect.benchmarks.insight_threads", rows, {}, {})
    return report.status(rows)


if __name__ == "__main__":
    sys.exit(main())

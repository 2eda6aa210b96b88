"""What the measures of understanding share: logs, labels and their scorers, and rows with intervals."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import math
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from benchmarks.report import Row
from recollect import Memory
from recollect.agents.decode import BadLine, decode
from recollect.agents.registry import agent_of
from recollect.config import Config
from recollect.values.records import SessionFacts, SourceFile
from recollect.values.stored import StoredEntry

TUNED, HELD = "tuned", "held"
RESAMPLES = 1_000
Z = 1.96
T = TypeVar("T")
Label = dict[str, Any]
Talk = tuple[list[StoredEntry], SessionFacts]


@dataclass(frozen=True)
class Lab:
    """The logs, the labels with their scorers, and which half of the labels counts.

    `keep` is where large stores stay; `store` is one that is there already.
    """

    corpus: Path
    labels: Path
    half: str
    keep: Path
    store: Path | None = None

    def rows(self, name: str, halves: Callable[[Label], str] | None = None) -> list[Label]:
        """The labels of a set that count, by a hash of the file's name unless told otherwise."""
        halves = halves or (lambda row: half_of(row["file"]))
        lines = (self.labels / f"{name}.jsonl").read_text("utf-8").splitlines()
        found = [json.loads(line) for line in lines if line.strip()]
        return [row for row in found if self.half in ("all", halves(row))]

    def scorer(self, name: str) -> ModuleType:
        sys.path.insert(0, str(self.labels))
        return importlib.import_module(name)


@contextlib.contextmanager
def memory_of(logs: Sequence[Path]) -> Iterator[Memory]:
    """Some logs in a store of their own, indexed and understood; gone afterwards."""
    with tempfile.TemporaryDirectory() as scratch:
        config = Config(Path(scratch, "memory.h5"), "here", cache=Path(scratch, "cache"))
        with Memory.open(config=config) as memory:
            memory.ingest(logs)
            memory.index()
            yield memory


def half_of(file: str) -> str:
    """Which half of the labels a file's are in, by its name alone."""
    return HELD if hashlib.sha1(file.encode()).digest()[0] & 1 else TUNED


@cache
def talk_of(corpus: Path, file: str) -> Talk:
    """A log's entries as its agent's parser has them; the id of each is its line's number."""
    agent = file.partition("/")[0]
    parser = agent_of(agent).parser(SourceFile(agent, file, session=Path(file).stem), {})
    entries: list[StoredEntry] = []
    for number, line in enumerate((corpus / file).read_bytes().split(b"\n"), 1):
        try:
            parsed = parser.parse(decode(line)[0])
        except BadLine:
            continue
        for entry in parsed.entries:
            entries.append(StoredEntry(str(number), parser.facts.id, parsed.type, entry, len(entries)))
    return entries, parser.facts


# -- rows ----------------------------------------------------------------------------------------


def share(what: str, good: Sequence[bool], least: float = 0.0, plain: Sequence[float] = ()) -> Row:
    """A share of labels, with Wilson's interval."""
    count, value = len(good), sum(good) / max(len(good), 1)
    spread = Z * math.sqrt(value * (1 - value) / max(count, 1) + Z * Z / (4 * max(count, 1) ** 2))
    scale = 1 + Z * Z / max(count, 1)
    middle = value + Z * Z / (2 * max(count, 1))
    return _row(what, count, value, (middle - spread) / scale, (middle + spread) / scale, least, plain)


def drawn(
    what: str,
    labels: Sequence[T],
    measure: Callable[[Sequence[T]], float],
    least: float = 0.0,
    plain: Sequence[float] = (),
) -> Row:
    """A measure with the interval that 95 of 100 draws of as many labels fall into."""
    draw = random.Random(len(labels))
    found = sorted(measure(draw.choices(labels, k=len(labels))) for _ in range(RESAMPLES))
    edge = RESAMPLES // 40
    return _row(what, len(labels), measure(labels), found[edge], found[-edge - 1], least, plain)


def _row(
    what: str, count: int, value: float, low: float, high: float, least: float, plain: Sequence[float]
) -> Row:
    return Row(
        what=f"{what} ({count})",
        ours=f"{value:.3f} [{low:.3f}, {high:.3f}]",
        peer=" / ".join(f"{each:.3f}" for each in plain),
        mark=f">= {least:.2f}" if least else "",
        met=value >= least if least else None,
        detail={"value": value, "interval": [low, high], "plain": list(plain)},
    )

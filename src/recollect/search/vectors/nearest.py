"""The rows nearest to a query: one promise, four strategies, and which of them to use.

    exact      scans every row                                  nothing to build
    fastscan   faiss: 4-bit codes of every row, then exact      a file, and a tail that is scanned
    ivfpq      faiss: the same in the nearest lists only        a file, and a tail that is scanned
    gpu        every row on a CUDA device, then exact           nothing to build; seconds to load

Whatever the strategy, scores are exact and hits come best first, the lower row first where scores are
equal; fastscan and ivfpq may miss a row (`recall` in `MEASURED`). `choose` rests on that table, which
`python -m benchmarks.vectors` prints.

Among strategies that are quick enough, the one that answers first in a new process is chosen, not the
fastest. Most searches are one command. The GPU is used where it is asked for, never by choice: of a whole
search it takes 4 % off at 300,000 rows (`python -m benchmarks.gpu`), and seconds to load.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from recollect.search.embed.contract import Vectors
from recollect.search.vectors.scan import Exact, Ids, Matrix, Scores
from recollect.values.errors import UsageError
from recollect.values.vocabulary import AUTO, STRATEGIES

P50_MS_MAX = 3.0
RECALL_MIN = 0.97
MEASURED_DIMS = 256


class Nearest(Protocol):
    """Rows to search in. They are those that `load` was given: load again when there are more."""

    @property
    def name(self) -> str: ...

    def search(self, query: Vectors, k: int) -> tuple[Ids, Scores]:
        """The k best rows and their exact scores, best first, the lower number first where they are equal."""
        ...

    def shortlist(self, query: Vectors, count: int) -> Ids:
        """About the best rows and perhaps more, in any order and without scores: to choose from."""
        ...

    def stale(self, count: int) -> bool:
        """Whether `build` over so many rows would make searches faster."""
        ...


@dataclass(frozen=True, slots=True)
class Measured:
    """A strategy over so many rows. `first_ms`: a new process's first search, importing numpy left out."""

    strategy: str
    rows: int
    p50_ms: float
    first_ms: float
    recall: float


# Taken on 2026-11-15 by `python -m benchmarks.vectors`, on 2 cores of an AMD EPYC with AVX-512 and, for gpu,
# an NVIDIA H200 through CuPy. Times are processor time, for the machine was shared; gpu: wall time, its
# first search being CuPy's start (2.1 s; PyTorch's: 6.9 s) and the copy of the rows.
MEASURED = (
    Measured("exact", 10_000, 0.48, 6, 1.000),
    Measured("fastscan", 10_000, 0.26, 35, 1.000),
    Measured("ivfpq", 10_000, 0.29, 35, 0.969),
    Measured("gpu", 10_000, 0.47, 2140, 1.000),
    Measured("exact", 30_000, 1.99, 17, 1.000),
    Measured("fastscan", 30_000, 0.51, 39, 1.000),
    Measured("ivfpq", 30_000, 0.53, 37, 0.974),
    Measured("gpu", 30_000, 0.50, 2140, 1.000),
    Measured("exact", 100_000, 15.33, 18, 1.000),
    Measured("fastscan", 100_000, 0.53, 39, 0.998),
    Measured("ivfpq", 100_000, 0.59, 46, 0.971),
    Measured("gpu", 100_000, 0.48, 2200, 1.000),
    Measured("exact", 300_000, 45.93, 47, 1.000),
    Measured("fastscan", 300_000, 1.34, 49, 0.999),
    Measured("ivfpq", 300_000, 1.22, 60, 0.978),
    Measured("gpu", 300_000, 0.60, 2480, 1.000),
    Measured("exact", 1_000_000, 140.14, 152, 1.000),
    Measured("fastscan", 1_000_000, 3.27, 74, 0.995),
    Measured("ivfpq", 1_000_000, 2.15, 101, 0.977),
    Measured("gpu", 1_000_000, 0.54, 2790, 1.000),
)


def choose(count: int, dims: int) -> str:
    """The strategy for so many rows."""
    size = count * dims / MEASURED_DIMS
    steps = sorted({row.rows for row in MEASURED})
    step = next((rows for rows in steps if rows >= size), steps[-1])
    share = (
        size / step
    )  # all of them are taken to grow with the rows, between the table's steps and past its end
    needs = {"exact": True, "fastscan": _has_faiss(), "ivfpq": _has_faiss(), "gpu": False}
    good = [row for row in MEASURED if row.rows == step and needs[row.strategy] and row.recall >= RECALL_MIN]
    quick = [row for row in good if row.p50_ms * share <= P50_MS_MAX]
    if not quick:
        return min(good, key=lambda row: row.p50_ms).strategy
    return min(quick, key=lambda row: row.first_ms).strategy


def _has_faiss() -> bool:
    return sys.modules.get("faiss", ...) is not None and _finds_faiss()  # None: switched off


@cache
def _finds_faiss() -> bool:
    return find_spec("faiss") is not None


def build(name: str, vectors: Matrix, folder: Path) -> None:
    """Bring what a strategy keeps in the folder up to these rows; quick where nothing is to be done."""
    if _known(name) in ("fastscan", "ivfpq"):
        from recollect.search.vectors import quantised

        quantised.build(name, vectors, folder)


def load(name: str, vectors: Matrix, folder: Path) -> Nearest:
    """Ready to search in these rows, however many of them `build` has seen."""
    if _known(name) == "exact":
        return Exact(vectors)
    if name == "gpu":
        from recollect.search.vectors import gpu

        return gpu.load(vectors)
    from recollect.search.vectors import quantised

    return quantised.load(name, vectors, folder)


def _known(name: str) -> str:
    if name not in STRATEGIES:
        raise UsageError(f"there is no strategy {name!r}", hint=f"one of: {AUTO}, {', '.join(STRATEGIES)}")
    return name

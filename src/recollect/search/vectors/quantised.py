"""Strategies on faiss: four bits for every two dimensions find candidates, the float16 rows decide.

`fastscan` looks at the code of every row, `ivfpq` at the codes in the lists nearest to the query. Both turn
vectors by a fixed random rotation first, so that no dimension matters more than others, and both score a
few hundred candidates exactly. A score is therefore always exact; what may be missing is a row.

What is built is a pure function of the rows: it covers a multiple of `STEP_ROWS`, and is trained on a sample
of the first power of two of them. So an index that was extended is, byte for byte, one built at once.
Rows behind it are scanned, and an index that is missing, torn or another's is one that covers none.

faiss builds on one thread. With more, they wait for each other thousands of times, spinning; on a machine
that is busy a build took 155 s on two, and 2 s on one. For one query it would use one anyway.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np

from recollect.light.own_files import open_own
from recollect.search.embed.contract import Vectors
from recollect.search.vectors.scan import Exact, Ids, Matrix, Scores, best, finite, floats, scores
from recollect.values.errors import UsageError

STEP_ROWS = 8192  # the tail that is scanned is shorter than this: 0.3 ms
BLOCK_ROWS = 8192
SAMPLE_ROWS_MAX = 1 << 14
LIST_SAMPLE_ROWS = 40  # per list of `ivfpq`; faiss complains on stderr below 39

NAMES = ("fastscan", "ivfpq")


class Quantised:
    """An index over the first `count` rows, candidates only, and a scan of the rest."""

    def __init__(self, name: str, vectors: Matrix, index: Any = None) -> None:
        self.name = name
        self.count: int = 0 if index is None else index.ntotal
        self._vectors = vectors
        self._tail = Exact(vectors, self.count)
        self._whole = index  # owns the two below
        if index is not None:
            self._rotation = _rotation(index)
            self._codes = _faiss().downcast_index(index.index)

    def search(self, query: Vectors, k: int) -> tuple[Ids, Scores]:
        """The k best rows and their exact scores, best first, the lower number first where they are equal."""
        query = finite(query)
        if not query.any():
            ids = np.arange(min(max(k, 0), len(self._vectors)), dtype=np.int64)
            return ids, np.zeros(len(ids), dtype=np.float32)
        last, last_scores = self._tail.search(query, k)
        ids = self._candidates(query, k)
        both = np.concatenate((ids, last)), np.concatenate((scores(self._vectors, query, ids), last_scores))
        return best(*both, k)

    def shortlist(self, query: Vectors, count: int) -> Ids:
        """The best rows by their codes alone, and the best of the rest."""
        query = finite(query)
        return np.concatenate((self._by_code(query, count), self._tail.search(query, count)[0]))

    def stale(self, count: int) -> bool:
        """Whether `build` over so many rows would change the index."""
        return covered(count) != self.count

    def _candidates(self, query: Vectors, k: int) -> Ids:
        return self._by_code(query, candidates(k) if k > 0 else 0)

    def _by_code(self, query: Vectors, count: int) -> Ids:
        if not self.count or count <= 0:
            return np.empty(0, dtype=np.int64)
        turned = np.einsum("ij,j->i", self._rotation, query)
        found: Ids = self._codes.search(turned[np.newaxis], min(count, self.count))[1][0]
        return found[found >= 0]


def load(name: str, vectors: Matrix, folder: Path) -> Quantised:
    """The index that was built for these rows, or one that covers none of them."""
    index = _read(folder / f"{name}.faiss", vectors)
    return Quantised(name, vectors, index)


def build(name: str, vectors: Matrix, folder: Path) -> None:
    """Make the index in the folder cover these rows: extend it where that is the same, else train anew."""
    path = folder / f"{name}.faiss"
    goal = covered(len(vectors))
    index = _read(path, vectors)
    have = 0 if index is None else index.ntotal
    if have == goal:
        return
    if not goal:
        path.unlink(missing_ok=True)
        return
    with _one_thread():
        if index is None or have > goal or trained_on(have) != trained_on(goal):
            index = _trained(name, vectors, goal)
        for block in _blocks(vectors, index.ntotal, goal):
            index.add(block)
    _write(path, index)


def candidates(k: int) -> int:
    """How many rows are scored exactly for k hits: what it takes to find 97 % of them, from 10 to 20,000."""
    return min(200 + 5 * k, 2000 + 2 * k)


def probes(lists: int) -> int:
    """How many lists `ivfpq` looks at: a short query's hits are in many, but in a smaller share of more."""
    return min(lists // 4, 256 + lists // 16)


def covered(count: int) -> int:
    """How many of so many rows an index covers."""
    return count // STEP_ROWS * STEP_ROWS


def trained_on(count: int) -> int:
    """How many of the rows an index covers its training sample is drawn from."""
    return 1 << count.bit_length() >> 1


def _trained(name: str, vectors: Matrix, goal: int) -> Any:
    """An empty index of this kind, trained on rows spread evenly over those it may learn from."""
    faiss = _faiss()
    dims = vectors.shape[1]
    turned = max(4, -(-dims // 4) * 4)  # more dimensions than there are keep the inner products as they were
    lists = min(4 * isqrt(trained_on(goal)), trained_on(goal) // LIST_SAMPLE_ROWS)
    inverted = f"IVF{lists}," if name == "ivfpq" else ""
    index = faiss.index_factory(dims, f"RR{turned},{inverted}PQ{turned // 2}x4fs", faiss.METRIC_INNER_PRODUCT)
    sample_rows = SAMPLE_ROWS_MAX
    if inverted:
        codes = faiss.downcast_index(index.index)
        codes.nprobe = probes(lists)
        codes.cp.niter = 6
        sample_rows = LIST_SAMPLE_ROWS * lists
    apart = max(1, trained_on(goal) // sample_rows)
    index.train(floats(vectors[: trained_on(goal) : apart]))
    return index


def _blocks(vectors: Matrix, start: int, stop: int) -> Iterator[Vectors]:
    for at in range(start, stop, BLOCK_ROWS):
        yield floats(vectors[at : min(at + BLOCK_ROWS, stop)])


def _rotation(index: Any) -> Vectors:
    """The matrix that a query is turned by. faiss would do it with BLAS, and threads."""
    faiss = _faiss()
    transform = faiss.downcast_VectorTransform(index.chain.at(0))
    matrix: Vectors = faiss.vector_to_array(transform.A).reshape(transform.d_out, transform.d_in)
    return matrix


def _read(path: Path, vectors: Matrix) -> Any:
    """The index in a file, None where there is none that fits these rows."""
    faiss = _faiss()
    try:
        index = faiss.read_index(str(path))
    except (RuntimeError, MemoryError):  # absent, torn, or not an index
        return None
    fits = isinstance(index, faiss.IndexPreTransform) and index.d == vectors.shape[1]
    return index if fits and index.ntotal <= len(vectors) else None


def _write(path: Path, index: Any) -> None:
    """All of it or nothing, and for the owner alone; OSError where the disk refuses."""
    for left in path.parent.glob(f"{path.stem}.*.new"):  # by a process that was killed
        left.unlink(missing_ok=True)
    new = path.with_suffix(f".{secrets.token_hex(6)}.new")
    descriptor = open_own(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        _faiss().write_index(index, str(new))
        os.fsync(descriptor)
        os.replace(new, path)
    except RuntimeError as error:
        raise OSError(errno.EIO, "could not be written", str(new)) from error
    finally:
        os.close(descriptor)
        new.unlink(missing_ok=True)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep faiss to the calling thread; the setting is that thread's own."""
    faiss = _faiss()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _faiss() -> Any:
    try:
        return import_module("faiss")
    except ImportError as error:
        raise UsageError(
            "the strategies fastscan and ivfpq need faiss",
            hint="pip install faiss-cpu, or use the strategy exact",
        ) from error

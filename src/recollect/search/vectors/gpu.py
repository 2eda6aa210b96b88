"""The strategy on a GPU: every row in half precision there, and the few that could be hits exactly here.

Rounding moves a score of unit vectors by less than half of `MARGIN`, so all rows that come within it of
the k-th score are scored again from the float16 rows: nothing is missed, and the same hits come in the same
order as from a scan without a GPU. CuPy is used where it has a device, else PyTorch.

Loading either takes seconds, so this is for processes that live long.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol

import numpy as np

from recollect.search.embed.contract import Vectors
from recollect.search.vectors.scan import Ids, Matrix, Scores, best, finite, scores
from recollect.values.errors import UsageError

MARGIN = 2.0**-8  # times the query's length
BLOCK_ROWS = 1 << 16


class Gpu:
    """All rows on the device."""

    name = "gpu"

    def __init__(self, vectors: Matrix, device: Device) -> None:
        self._vectors = vectors
        self._device = device

    def search(self, query: Vectors, k: int) -> tuple[Ids, Scores]:
        """The k best rows and their exact scores, best first, the lower number first where they are equal."""
        query = finite(query)
        k = min(k, len(self._vectors))
        if k <= 0:
            return best(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32), 0)
        length = float(np.sqrt(np.einsum("i,i->", query, query)))
        if not length:
            return np.arange(k, dtype=np.int64), np.zeros(k, dtype=np.float32)
        ids = self._device.within(query / np.float32(length), k, MARGIN)
        return best(ids, scores(self._vectors, query, ids), k)

    def shortlist(self, query: Vectors, count: int) -> Ids:
        """The best rows."""
        return self.search(query, count)[0]

    def stale(self, count: int) -> bool:
        """Never: what is on the device is what `load` was given."""
        return False


class Device(Protocol):
    """Rows on a device. `within`: those whose score is at most `margin` below the k-th best."""

    def within(self, query: Vectors, k: int, margin: float) -> Ids: ...


def load(vectors: Matrix) -> Gpu:
    """Copy the rows to a GPU, or say what is missing."""
    for device in (_cupy, _torch):
        if (found := device(vectors)) is not None:
            return Gpu(vectors, found)
    raise UsageError(
        "the strategy gpu needs a CUDA device and CuPy or PyTorch",
        hint="pip install cupy-cuda13x (or torch), or use the strategy auto",
    )


class _CupyDevice:
    def __init__(self, cupy: Any, vectors: Matrix) -> None:
        self._cupy = cupy
        self._rows = cupy.empty(vectors.shape, dtype=cupy.float16)
        for at in range(0, len(vectors), BLOCK_ROWS):
            self._rows[at : at + BLOCK_ROWS] = cupy.asarray(_clean(vectors[at : at + BLOCK_ROWS]))

    def within(self, query: Vectors, k: int, margin: float) -> Ids:
        found = self._rows @ self._cupy.asarray(query.astype(np.float16))
        last = self._cupy.partition(found, len(found) - k)[len(found) - k]
        ids: Ids = self._cupy.flatnonzero(found >= last - margin).get()
        return ids


class _TorchDevice:
    def __init__(self, torch: Any, vectors: Matrix) -> None:
        self._torch = torch
        self._rows = torch.empty(vectors.shape, dtype=torch.float16, device="cuda")
        for at in range(0, len(vectors), BLOCK_ROWS):
            self._rows[at : at + BLOCK_ROWS] = torch.from_numpy(_clean(vectors[at : at + BLOCK_ROWS]))

    def within(self, query: Vectors, k: int, margin: float) -> Ids:
        found = self._torch.mv(self._rows, self._torch.from_numpy(query.astype(np.float16)).to("cuda"))
        last = self._torch.topk(found, k).values[-1]
        ids: Ids = self._torch.nonzero(found >= last - margin).ravel().cpu().numpy()
        return ids


def _cupy(vectors: Matrix) -> Device | None:
    try:
        cupy = import_module("cupy")
        return _CupyDevice(cupy, vectors) if cupy.cuda.runtime.getDeviceCount() else None
    except Exception:  # not installed, no driver, one of another version: it has its own error for each
        return None


def _torch(vectors: Matrix) -> Device | None:
    try:
        torch = import_module("torch")
        return _TorchDevice(torch, vectors) if torch.cuda.is_available() else None
    except (ImportError, OSError, RuntimeError):
        return None


def _clean(rows: Matrix) -> Matrix:
    """A copy in which rows that are not all numbers are zeros."""
    rows = np.array(rows)
    rows[~np.isfinite(rows).all(axis=1)] = 0
    return rows

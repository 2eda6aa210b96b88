"""The vectors that callers gave with their notes: which entries have one, and which are nearest to another.

They stand in the lines of the notes; here is a copy, of length 1, that can be mapped into memory and is made
again where it is missing. It answers as `VectorIndex` does, so that a search by a caller's vector is one like
any other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from recollect.agents.decode import BadLine, decode
from recollect.agents.memory.records import note_of
from recollect.light.sources import MEMORY
from recollect.search.cache_folder import Bound, Place
from recollect.search.embed.contract import Vectors, unit_rows
from recollect.search.vectors import nearest as strategies
from recollect.search.vectors.arrays import Arrays
from recollect.search.vectors.scan import scores
from recollect.store.contract import Array, View

FORMAT = 1
ROUND_ROWS = 16_384  # entries that are looked at in one view of the store
COMPARED_EXACTLY = 6_000  # vectors that filters leave: fewer are compared one by one
SHORTLISTED = 4  # times the entries asked for: codes are inexact

Viewing = Callable[[], AbstractContextManager[View]]


class GivenVectors:
    """The vectors of one store that have so many numbers. Entries [0, `rows`) were looked at."""

    def __init__(self, place: Place, store: tuple[str, int], dims: int) -> None:
        self.dims = dims
        self._place, self._store = place, store
        self._arrays: Arrays | None = None
        self._near: tuple[str, int, strategies.Nearest] | None = None
        self.reload()

    @classmethod
    def open(cls, folder: Path, store_id: str, epoch: int, dims: int) -> GivenVectors:
        """The index in a store's cache folder; one of another store or epoch is not looked at."""
        bound: Bound = {"format": FORMAT, "store": store_id, "epoch": epoch, "dims": dims}
        return cls(Place(folder, f"given-{dims}", bound), (store_id, epoch), dims)

    @property
    def rows(self) -> int:
        return self._arrays.marks.get("rows", 0) if self._arrays is not None else 0

    def reload(self) -> None:
        """See what other processes did."""
        folder = self._place.current()
        if folder is None:
            self._arrays = None
        elif self._arrays is None or self._arrays.folder != folder:
            self._arrays = Arrays(folder, _shapes(self.dims))
        else:
            self._arrays.reload()
        self._near = None

    def catch_up(self, views: Viewing, *, deadline: float | None = None) -> None:
        """Add what the store has more of, until the deadline (of `time.monotonic`)."""
        with self._place.lock() as locked:
            self.reload()
            if not locked:
                return
            arrays = self._arrays
            if arrays is None or not arrays.marks:
                arrays = Arrays(self._place.begin(), _shapes(self.dims))
            while self._round(arrays, views) and (deadline is None or time.monotonic() < deadline):
                pass
            vectors = arrays["vectors"]
            if deadline is None and len(vectors):
                strategies.build(strategies.choose(*vectors.shape), vectors, arrays.folder)
        self.reload()

    def nearest(
        self, query: Vectors, k: int, strategy: str = "auto", allowed: Array | None = None
    ) -> tuple[Array, Array]:
        """The k entries nearest to a query, with scores; `allowed` says of every entry whether it may be."""
        if self._arrays is None or not len(self._arrays["owners"]):
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        vectors, owners = self._arrays["vectors"], self._arrays["owners"]
        if allowed is None:
            ids, found = self._loaded(self._arrays, strategy).search(query, k)
        else:
            ids = np.flatnonzero(allowed[np.minimum(owners, len(allowed) - 1)] & (owners < len(allowed)))
            if len(ids) > COMPARED_EXACTLY:
                wanted = int(SHORTLISTED * k * len(owners) / len(ids))
                short = self._loaded(self._arrays, strategy).shortlist(query, wanted)
                ids = np.intersect1d(short, ids)
            found = scores(vectors, query, ids)
        order = np.lexsort((-owners[ids].astype(np.int64), -found))[:k]
        return owners[ids][order].astype(np.int64), found[order]

    def scores(self, query: Vectors, rows: Array) -> Array:
        """How near each entry is, exactly; NaN for one without a vector."""
        found: Array = np.full(len(rows), np.nan, np.float32)
        if self._arrays is None or not len(self._arrays["owners"]):
            return found
        owners = self._arrays["owners"]
        at = np.minimum(np.searchsorted(owners, rows), len(owners) - 1)
        have = np.flatnonzero(owners[at] == rows)
        found[have] = scores(self._arrays["vectors"], query, at[have].astype(np.int64))
        return found

    def vector(self, row: int) -> Vectors:
        """The vector of an entry; zeros where it has none."""
        found: Vectors = np.zeros(self.dims, np.float32)
        if self._arrays is not None:
            at = int(np.searchsorted(self._arrays["owners"], row))
            if at < len(self._arrays["owners"]) and self._arrays["owners"][at] == row:
                found = self._arrays["vectors"][at].astype(np.float32)
        return found

    def explain(self) -> dict[str, Any]:
        """What the last search rests on."""
        told: dict[str, Any] = {"embedder": "given", "dims": self.dims, "embedded_entries": self.rows}
        if self._near is not None:
            told |= {"strategy": self._near[0], "vector_rows": self._near[1]}
        return told

    def _loaded(self, arrays: Arrays, strategy: str) -> strategies.Nearest:
        vectors = arrays["vectors"]
        name = strategies.choose(*vectors.shape) if strategy == "auto" else strategy
        if self._near is None or self._near[:2] != (name, len(vectors)):
            self._near = name, len(vectors), strategies.load(name, vectors, arrays.folder)
        return self._near[2]

    def _round(self, arrays: Arrays, views: Viewing) -> bool:
        """Look at some entries; False when there are no more."""
        with views() as view:
            info = view.info()
            start = arrays.marks.get("rows", 0)
            stop = min(start + ROUND_ROWS, info.rows_end)
            if (info.id, info.epoch) != self._store or start >= stop:
                return False
            found = list(_given(view, start, stop, self.dims))
        rows = np.array([row for row, _ in found], "<u4")
        vectors = np.stack([vector for _, vector in found]) if found else np.zeros((0, self.dims), "<f4")
        arrays.append({"owners": rows, "vectors": unit_rows(vectors).astype("<f2")}, {"rows": stop})
        return stop < info.rows_end


def _given(view: View, start: int, stop: int, dims: int) -> Iterator[tuple[int, Vectors]]:
    """The vectors that entries of some rows came with, by row."""
    notes = {row for row in view.sessions_in(start, stop) if view.session_rows()[row].facts.agent == MEMORY}
    if not notes:
        return
    rows = [each.row for each in view.entry_range(start, stop) if each.session_row in notes]
    lines = view.columns_at(rows, "line")["line"].tolist()
    for row, line in zip(rows, view.lines_at(lines), strict=True):
        try:
            note = note_of(decode(line.data)[0], "")
        except BadLine:
            continue
        if note is not None and len(note.vector) == 4 * dims:
            yield row, np.frombuffer(note.vector, "<f4")


def _shapes(dims: int) -> dict[str, tuple[str, int]]:
    return {"owners": ("<u4", 0), "vectors": ("<f2", dims)}

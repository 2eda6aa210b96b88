"""Finding rows by a 64-bit key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.store.contract import Array

if TYPE_CHECKING:
    from recollect.store.hdf5.read import Hdf5View


class KeyIndex:
    """Finds rows by a 64-bit key in one read of a column, without sorting or hashing it.

    Eight bytes a row are read once per writer: some 25 ms for 1.5 million lines, where a hash
    table in the file would dirty a page per new key.
    """

    def __init__(self, view: Hdf5View, table: str, column: str) -> None:
        self._view, self._table, self._column = view, table, column
        self._keys: Array | None = None  # with room behind the rows
        self._rows = 0

    def find(self, keys: Array) -> list[tuple[int, int]]:
        """(position in keys, row) of every match, rows rising."""
        if not len(keys):
            return []
        if self._keys is None:
            self._keys = self._view.table(self._table).read(self._column)
            self._rows = len(self._keys)
        marks = np.zeros(1 << 16, bool)
        marks[keys & np.uint64(0xFFFF)] = True
        rows = np.flatnonzero(marks[self._keys[: self._rows] & np.uint64(0xFFFF)])
        order = np.argsort(keys, kind="stable")
        low = np.searchsorted(keys[order], self._keys[rows], side="left")
        high = np.searchsorted(keys[order], self._keys[rows], side="right")
        return [
            (int(order[n]), int(rows[hit]))
            for hit in np.flatnonzero(high > low).tolist()
            for n in range(int(low[hit]), int(high[hit]))
        ]

    def added(self, keys: Array) -> None:
        """Rows with these keys were appended to the table."""
        if self._keys is None or not len(keys):
            return
        rows = self._rows + len(keys)
        if rows > len(self._keys):
            self._keys = np.concatenate([self._keys[: self._rows], np.zeros(rows, np.uint64)])
        self._keys[self._rows : rows] = keys
        self._rows = rows

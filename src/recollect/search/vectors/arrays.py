"""Arrays that only grow, each in a file that is mapped into memory, and a stamp that says how far they reach.

Rows are written behind the stamp's end first and the stamp after them, so a process that is killed
leaves rows that nobody looks at, and the next one writes over them. Nothing is synced: after a power
cut the files may be shorter than the stamp says, or end in other bytes, and then they count as empty.

One process writes, under a lock of its own, and any number read. A folder is never filled a second time.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from recollect.light.own_files import open_own
from recollect.search.cache_folder import read_stamp, write_stamp
from recollect.store.contract import Array

_STAMP = "reach.json"
_TAIL_BYTES = 4096


class Arrays:
    """Some arrays of one folder. `marks` are numbers that are kept with them.

    They are mapped at once and stay what they are, whatever becomes of the folder.
    """

    def __init__(self, folder: Path, shapes: Mapping[str, tuple[str, int]]) -> None:
        """`shapes`: for each array the type of its numbers, and how many a row has; 0 for a plain list."""
        self.folder = folder
        self.marks: dict[str, int] = {}
        self._shapes = {name: (np.dtype(kind), width) for name, (kind, width) in shapes.items()}
        self._mapped: dict[str, Array] = {}
        self.reload()

    def reload(self) -> None:
        """See what was added since."""
        stamp = read_stamp(self.folder / _STAMP)
        told = {name: count for name, count in stamp.items() if isinstance(count, int) and count >= 0}
        counts = {name: told.pop(name, -1) for name in self._shapes}
        tails = told.pop("tails", -1)
        try:
            mapped = {name: self._map(name, count) for name, count in counts.items()}
        except (OSError, ValueError, OverflowError):  # absent, or shorter than the stamp says
            mapped = {}
        whole = bool(mapped) and _tails(mapped) == tails
        self.marks = told if whole else {}
        self._mapped = mapped if whole else {name: self._map(name, 0) for name in self._shapes}

    def count(self, name: str) -> int:
        return len(self._mapped[name])

    def __getitem__(self, name: str) -> Array:
        """An array as it is in its file."""
        return self._mapped[name]

    def append(self, added: Mapping[str, Array], marks: Mapping[str, int]) -> None:
        """Add rows to some arrays and change some marks, together or not at all."""
        for name, rows in added.items():
            self._write(name, np.ascontiguousarray(rows, self._shapes[name][0]))
        mapped = {name: self._map(name, self.count(name) + len(rows)) for name, rows in added.items()}
        mapped = self._mapped | mapped
        marks = self.marks | dict(marks)
        counts = {name: len(rows) for name, rows in mapped.items()}
        write_stamp(self.folder / _STAMP, marks | counts | {"tails": _tails(mapped)})
        self._mapped, self.marks = mapped, marks

    def _write(self, name: str, rows: Array) -> None:
        fd = open_own(self.folder / name, os.O_WRONLY | os.O_CREAT)
        with os.fdopen(fd, "wb") as file:
            file.seek(self._mapped[name].nbytes)
            file.write(rows.tobytes())

    def _map(self, name: str, count: int) -> Array:
        kind, width = self._shapes[name]
        shape = (count, width) if width else (count,)
        if not count:
            return np.zeros(shape, kind)
        return np.asarray(np.memmap(self.folder / name, kind, "r", shape=shape))


def _tails(arrays: Mapping[str, Array]) -> int:
    """A checksum of the ends of all arrays."""
    crc = 0
    for rows in arrays.values():
        crc = zlib.crc32(rows.view("u1").reshape(-1)[-_TAIL_BYTES:].tobytes(), crc)
    return crc

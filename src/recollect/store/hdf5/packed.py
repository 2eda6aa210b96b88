"""A source's lines as they lie in the file: whole frames, and where the lines are in them.

To take them out costs little beside unpacking and cutting them, which another process can do. That process
needs no store: `PackedLines` is all it is handed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from recollect.store.contract import Array
from recollect.store.hdf5.frames import Damaged, decompress
from recollect.store.hdf5.layout import BLOCK_BYTES, TEXT_BYTES_MAX
from recollect.values.records import LineFlag
from recollect.values.stored import StoredLine

if TYPE_CHECKING:
    from recollect.store.hdf5.read import Hdf5View

_WORTH_BYTES = BLOCK_BYTES  # of a source: below that, a frame is mostly other sources' lines


@dataclass(frozen=True, slots=True)
class _Run:
    """Lines that lie one behind the other: `ends` are where they are in what the frames hold together."""

    frames: list[tuple[int, bytes]]
    ends: list[int]
    flags: list[int]
    types: list[str]

    def unpacked(self) -> list[StoredLine]:
        data = b"".join(decompress(frame, length) for length, frame in self.frames)
        told = zip(pairwise(self.ends), self.flags, self.types, strict=True)
        return [StoredLine(data[start:end], flags, type_) for (start, end), flags, type_ in told]


@dataclass(frozen=True, slots=True)
class PackedLines:
    """All lines of a source."""

    runs: list[_Run]
    size: int

    def unpacked(self) -> list[StoredLine] | None:
        """The lines; None where they do not read: whoever asks the store for them hears why."""
        try:
            return [line for run in self.runs for line in run.unpacked()]
        except Damaged:
            return None


def packed_lines(view: Hdf5View, row: int, bytes_max: int) -> PackedLines | None:
    """The lines of the source of a row, if they are enough to be worth it and below so many bytes."""
    intervals = view.intervals("spans", "sources", "span", row)
    ends = [_ends(view, first, count) for first, count in intervals]
    size = sum(int(each[-1] - each[0]) for each in ends)
    # Of a source in many places, most of each frame is other sources'.
    if not _WORTH_BYTES * len(intervals) <= size < bytes_max:
        return None
    runs = [_run(view, first, each) for (first, _), each in zip(intervals, ends, strict=True)]
    if any(flags & LineFlag.ALTERED for run in runs for flags in run.flags):
        return None  # such a line is known by more than its bytes
    return PackedLines(runs, size)


def _ends(view: Hdf5View, first: int, count: int) -> Array:
    """Where the line before some rows ends, and each of them."""
    table = view.table("lines")
    ends = table.read("end", max(first - 1, 0), first + count).astype(np.int64)
    ends = ends if first else np.concatenate([np.zeros(1, np.int64), ends])
    lengths = np.diff(ends)
    if len(ends) != count + 1 or ends[-1] > view.line_stream.end or np.any(ends < 0):
        raise Damaged("table /tables/lines: a line lies behind the last block")
    if np.any(lengths < 0) or np.any(lengths > TEXT_BYTES_MAX):
        raise Damaged("table /tables/lines: the places of lines do not fit the stream")
    return ends


def _run(view: Hdf5View, first: int, ends: Array) -> _Run:
    stream, table, count = view.line_stream, view.table("lines"), len(ends) - 1
    numbers = stream.blocks_of(int(ends[0]), int(ends[-1]))
    spans = [(number, *stream.block_span(number)) for number in numbers]
    frames = [(stop - start, stream.frame(number)) for number, start, stop in spans]
    base = spans[0][1] if spans else int(ends[0])
    types = [view.name(each) for each in table.read("type", first, first + count).tolist()]
    return _Run(frames, (ends - base).tolist(), table.read("flags", first, first + count).tolist(), types)

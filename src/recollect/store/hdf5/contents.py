"""All bytes of a store, as they stand and unpacked: for whoever looks whether something is gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from recollect.store.contract import LINES, TEXTS
from recollect.store.hdf5.read import Hdf5View
from recollect.store.hdf5.tables import Stream

_PIECE_BYTES = 4 << 20
_OVERLAP_BYTES = 1 << 16


def unpacked(view: Hdf5View) -> Iterator[tuple[str, bytes]]:
    """The blocks of every stream: of lines, of texts, of vectors and of derived tables."""
    streams = {LINES: view.line_stream, TEXTS: view.text_stream}
    streams |= {f"vectors of {model.name}": held.stream for model, held in view.vector_streams.items()}
    for table, rows in view.derived_groups.items():
        if rows.texts is not None:
            streams[f"derived table {table.name}"] = rows.texts
    for name, stream in streams.items():
        yield from _blocks(name, stream)


def _blocks(name: str, stream: Stream) -> Iterator[tuple[str, bytes]]:
    tail = b""
    for number in range(stream.blocks.rows):
        block = stream.block(number)
        yield name, tail + block
        tail = block[-_OVERLAP_BYTES:]


def file_pieces(path: Path) -> Iterator[tuple[str, bytes]]:
    """A file as it is, if it is there."""
    try:
        opened = path.open("rb")
    except FileNotFoundError:
        return
    with opened:
        tail = b""
        while piece := opened.read(_PIECE_BYTES):
            yield str(path), tail + piece
            tail = piece[-_OVERLAP_BYTES:]

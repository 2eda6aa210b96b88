"""Copying a store without what nothing refers to: dead lines, old texts, HDF5's free space.

Row order is kept, so every reference is mapped by counting what was kept before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from recollect.store.contract import Array, carry_vectors
from recollect.store.derived import REPLACED, carry_derived
from recollect.store.hdf5.check import references
from recollect.store.hdf5.forms import TextForm
from recollect.store.hdf5.frames import Damaged
from recollect.store.hdf5.layout import BLOCK_BYTES, LEVEL_DENSE, TABLES
from recollect.store.hdf5.read import Hdf5View
from recollect.store.hdf5.write import Hdf5Writer
from recollect.values.records import Flag

_ROWS_AT_ONCE = 8192
_COMMIT_BYTES = 64 << 20


def copy_store(old: Hdf5View, new: Hdf5Writer, commit: Callable[[], None]) -> None:
    """Fill an empty store with all that is alive in another one."""
    for finding in references(old):
        raise Damaged(finding.what)  # whoever follows them would stumble
    keep = _referenced(old)
    lines = np.cumsum(keep) - 1  # old row to new row, for kept rows
    entry_lines = old.table("entries").read("line")
    keep_entries = keep[entry_lines]
    entries = np.cumsum(keep_entries) - 1
    _copy_names(old, new)
    _copy_lines(old, new, keep, np.bincount(entry_lines, minlength=len(keep)), commit)
    _copy_entries(old, new, keep_entries, lines)
    usage = {c: old.table("usage").read(c) for c in TABLES["usage"]}
    usage["line"] = lines[usage["line"]]
    new.table("usage").append(usage)
    _copy_owners(old, new, "sessions", ("id", "title"), "extents", "extent", entries)
    _copy_owners(old, new, "sources", ("path", "state"), "spans", "span", lines)
    carry_vectors(old, new)
    carry_derived(old, new)
    replaced = np.flatnonzero(new.table("entries").read("flags") & Flag.REPLACED)
    if len(replaced):
        new.add_derived(REPLACED, {"entry": replaced}, built_to=new.table("entries").rows)
    new.line_stream.flush()
    new.text_stream.flush()


def _referenced(old: Hdf5View) -> Array:
    """Which lines belong to some source."""
    spans = old.table("spans")
    edges = np.zeros(old.table("lines").rows + 1, np.int64)
    first, count = spans.read("first").astype(np.int64), spans.read("count").astype(np.int64)
    np.add.at(edges, first, 1)
    np.add.at(edges, first + count, -1)
    return np.cumsum(edges[:-1]) > 0


def _copy_names(old: Hdf5View, new: Hdf5View) -> None:
    places = [_move(old, new, *place) for place in _places(old, "names", "at", "length")[1:]]
    new.table("names").append({"at": [at for at, _ in places], "length": [n for _, n in places]})


def _copy_lines(old: Hdf5View, new: Hdf5View, keep: Array, counts: Array, commit: Callable[[], None]) -> None:
    source, target = old.table("lines"), new.table("lines")
    block = bytearray()
    end = entry_end = uncommitted = 0
    for start in range(0, source.rows, _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, source.rows)
        kept = keep[start:stop]
        lengths = []
        for line, alive in zip(old.line_range(start, stop), kept.tolist(), strict=True):
            if alive:
                block += line.data
                lengths.append(len(line.data))
                if len(block) >= BLOCK_BYTES:
                    new.line_stream.add_block(block, LEVEL_DENSE)
                    uncommitted += len(block)
                    block = bytearray()
        columns = {c: source.read(c, start, stop)[kept] for c in TABLES["lines"]}
        columns["end"] = end + np.cumsum(lengths, dtype=np.uint64)
        columns["entries"] = entry_end + np.cumsum(counts[start:stop][kept], dtype=np.uint64)
        if len(lengths):
            end, entry_end = int(columns["end"][-1]), int(columns["entries"][-1])
        target.append(columns)
        if uncommitted > _COMMIT_BYTES:
            commit()
            uncommitted = 0
    if block:
        new.line_stream.add_block(block, LEVEL_DENSE)


def _copy_entries(old: Hdf5View, new: Hdf5View, keep: Array, lines: Array) -> None:
    source = old.table("entries")
    for start in range(0, source.rows, _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, source.rows)
        columns = {c: source.read(c, start, stop)[keep[start:stop]] for c in TABLES["entries"]}
        columns["line"] = lines[columns["line"]]
        for n in np.flatnonzero(columns["form"] == TextForm.STORED).tolist():
            columns["at"][n], _ = _move(old, new, int(columns["at"][n]), int(columns["length"][n]))
        new.table("entries").append(columns)


def _copy_owners(
    old: Hdf5View, new: Hdf5View, name: str, texts: Sequence[str], chain: str, link: str, rows: Array
) -> None:
    """Copy sessions or sources with their texts, and their chains onto the new rows."""
    columns = {c: old.table(name).read(c) for c in TABLES[name]}
    for text in texts:
        moved = [_move(old, new, *place) for place in _places(old, name, f"{text}_at", f"{text}_length")]
        columns[f"{text}_at"] = np.array([at for at, _ in moved], np.uint64)
    chained: dict[str, list[int]] = {c: [] for c in TABLES[chain]}
    for owner in range(old.table(name).rows):
        before = -1
        for first, count in old.intervals(chain, name, link, owner):
            if not count:
                continue
            row = len(chained["first"])
            for column, value in zip(chained, (owner, int(rows[first]), count, before), strict=True):
                chained[column].append(value)
            before = row
        columns[link][owner] = before
    new.table(chain).append(chained)
    new.table(name).append(columns)


def _places(old: Hdf5View, table: str, at: str, length: str) -> list[tuple[int, int]]:
    starts, lengths = old.table(table).read(at).tolist(), old.table(table).read(length).tolist()
    return list(zip(starts, lengths, strict=True))


def _move(old: Hdf5View, new: Hdf5View, at: int, length: int) -> tuple[int, int]:
    """Copy one text; returns its new place."""
    return (new.text_stream.append(old.text_stream.read(at, at + length)) if length else 0), length

"""Verifying a store: every block, every column, every reference, every line's own key.

Run as a program on a path it prints its findings as JSON. `Hdf5Store.check` does that in a child
process, because a damaged file can crash or hang the HDF5 library itself.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from recollect.light.aside import kept_aside
from recollect.light.journal import folded_through, gaps, journal_path
from recollect.light.store_header import PAGE_BYTES, is_whole
from recollect.store.contract import Array
from recollect.store.hdf5.frames import Damaged
from recollect.store.hdf5.layout import TABLES
from recollect.store.hdf5.read import Hdf5View
from recollect.store.hdf5.tables import Stream
from recollect.values.errors import RecollectError, StoreCorrupt
from recollect.values.ids import line_key
from recollect.values.records import LineFlag
from recollect.values.stored import Finding

if TYPE_CHECKING:
    from recollect.store.hdf5.engine import Hdf5Store

_ROWS_AT_ONCE = 8192


def check_path(path: Path) -> list[Finding]:
    """Everything that is wrong with the store at a path; reads only."""
    from recollect.store.hdf5.engine import Hdf5Store

    findings = [
        Finding("error", f"damaged bytes were found and kept in {each}; what they held is not in the store")
        for each in kept_aside(path)
    ]
    findings += _journal(path)
    try:
        with open(path, "rb") as file:
            page = file.read(PAGE_BYTES)
        if not all(is_whole(half) for half in (page[: PAGE_BYTES // 2], page[PAGE_BYTES // 2 :])):
            findings.append(Finding("error", "one of the two copies of the header fails its checksum"))
    except OSError as error:
        return [Finding("error", f"{path}: {error.strerror}")]
    try:
        with Hdf5Store.open(path) as store, store.view() as view:
            findings += list(check_view(view))
    except RecollectError as error:
        findings.append(Finding("error", str(error)))
    return findings


def _journal(path: Path) -> Iterator[Finding]:
    try:
        folded = folded_through(path)
    except RecollectError:
        folded = 0  # what is wrong with the store is said below
    found = gaps(journal_path(path), folded)
    damaged, torn = (
        sum(gap.stop - gap.start for gap in found if gap.damaged is bad) for bad in (True, False)
    )
    if damaged:
        yield Finding("error", f"{damaged} bytes of the journal are damaged; the rest of it is read")
    if torn:
        yield Finding("warning", f"the journal holds {torn} bytes of unfinished appends")


def verify(store: Hdf5Store) -> None:
    """Refuse a store with which anything at all is wrong."""
    with store.view() as view:
        for finding in check_view(view):
            raise StoreCorrupt(store.told_as, finding.what)


def check_view(view: Hdf5View) -> Iterator[Finding]:
    """Findings about one open store, cheap ones first."""
    columns_fine = True
    for finding in _columns(view):
        columns_fine = False
        yield finding
    wrong = list(references(view)) if columns_fine else []
    yield from wrong
    yield from _texts(view)
    yield from _lines(view, keyed=columns_fine and not wrong)
    for what in view.vector_damage():
        yield Finding("warning", f"vectors are damaged and will be made again: {what}")
    for what in view.derived_damage():
        yield Finding("warning", f"a derived table is damaged and will be made again: {what}")


def _columns(view: Hdf5View) -> Iterator[Finding]:
    for name, columns in TABLES.items():
        try:
            table = view.table(name)
            lengths = {len(table.read(column)) for column in columns}
        except Damaged as error:
            yield Finding("error", str(error))
            continue
        except (KeyError, OSError, RuntimeError) as error:
            yield Finding("error", f"table {name}: {error}")
            continue
        if len(lengths) > 1:
            yield Finding("error", f"table {name}: its columns differ in length")


def _texts(view: Hdf5View) -> Iterator[Finding]:
    for block in _blocks("texts", lambda: view.text_stream):
        if isinstance(block, Finding):
            yield block


def _lines(view: Hdf5View, *, keyed: bool) -> Iterator[Finding]:
    """Each block; and each line's bytes, up to the first damaged one, against the key of when it was read."""
    row, rest = 0, b""
    for block in _blocks("lines", lambda: view.line_stream):
        if isinstance(block, Finding):
            yield block
            keyed = False
        elif keyed:
            content = rest + block
            row, rest = yield from _keys(view, row, content)


def _blocks(name: str, stream_of: Callable[[], Stream]) -> Iterator[bytes | Finding]:
    """The blocks of a stream, each unpacked once; what is wrong in the place of one that does not read."""
    try:
        stream = stream_of()
        count = stream.blocks.rows
    except (Damaged, KeyError, OSError, RuntimeError) as error:
        yield Finding("error", f"stream {name}: {error}")
        return
    for number in range(count):
        try:
            yield stream.block(number)
        except Damaged as error:
            yield Finding("error", str(error))


def references(view: Hdf5View) -> Iterator[Finding]:
    rows = {name: view.table(name).rows for name in TABLES}
    ends = view.table("lines").read("end")
    entry_ends = view.table("lines").read("entries")
    if _falls(ends) or (len(ends) and int(ends[-1]) != view.line_stream.end):
        yield Finding("error", "table lines: the places of lines do not fit the stream")
    if _falls(entry_ends) or (len(entry_ends) and int(entry_ends[-1]) != rows["entries"]):
        yield Finding("error", "table lines: the numbers of entries do not add up")
    references = [
        ("lines", "type", "names"), ("entries", "model", "names"), ("sources", "older", "sources"),
        ("entries", "line", "lines"), ("entries", "session", "sessions"), ("entries", "tool", "names"),
        ("usage", "line", "lines"), ("usage", "session", "sessions"), ("usage", "model", "names"),
        ("sources", "session", "sessions"), ("sources", "span", "spans"), ("sessions", "extent", "extents"),
        ("spans", "source", "sources"), ("spans", "before", "spans"), ("extents", "before", "extents"),
        ("extents", "session", "sessions"),
    ]  # fmt: skip
    for table, column, target in references:
        values = view.table(table).read(column)
        if len(values) and int(values.max()) >= rows[target]:
            yield Finding("error", f"table {table}: {column} points behind the end of {target}")
    for table, name, target in (
        ("names", "", "texts"),
        ("sessions", "id_", "texts"),
        ("sessions", "title_", "texts"),
        ("sources", "path_", "texts"),
        ("sources", "state_", "texts"),
    ):
        starts, lengths = view.table(table).read(f"{name}at"), view.table(table).read(f"{name}length")
        if _reaches_over(starts, lengths, view.text_stream.end):
            yield Finding("error", f"table {table}: a text lies behind the end of {target}")
    for owners, counted, chain, owner in (
        ("sources", "lines", "spans", "source"),
        ("sessions", "entries", "extents", "session"),
    ):
        counts = view.table(chain).read("count").astype(np.int64)
        owned = view.table(chain).read(owner)
        if len(owned) and int(owned.max()) >= rows[owners]:
            continue  # said above
        summed = np.bincount(owned, counts, minlength=rows[owners])
        if np.any(summed.astype(np.int64) != view.table(owners).read(counted).astype(np.int64)):
            yield Finding("error", f"table {owners}: {counted} is not what its {chain} add up to")
    for chain, target in (("spans", "lines"), ("extents", "entries")):
        first, count = view.table(chain).read("first"), view.table(chain).read("count")
        if _reaches_over(first, count, rows[target]):
            yield Finding("error", f"table {chain}: reaches behind the end of {target}")
        if np.any(view.table(chain).read("before") >= np.arange(rows[chain])):
            yield Finding("error", f"table {chain}: a chain does not lead back")


def _keys(view: Hdf5View, row: int, content: bytes) -> Generator[Finding, None, tuple[int, bytes]]:
    """Compare the lines of some content, of which that of `row` is the first.

    Returns the row of the first line that goes on behind it, and what there is of that.
    """
    table = view.table("lines")
    base = table.one("end", row - 1) if row else 0
    held = memoryview(content)
    at = 0
    while row < table.rows:
        stop = min(row + _ROWS_AT_ONCE, table.rows)
        ends = table.read("end", row, stop).astype(np.int64) - base
        ends = ends[: np.searchsorted(ends, len(content), side="right")]
        lines = [held[start:end] for start, end in pairwise([at, *ends.tolist()])]
        found = np.frombuffer(b"".join(map(line_key, lines)), "<u8").reshape(-1, 2)
        told = [table.read(column, row, row + len(lines)) for column in ("key_a", "key_b")]
        altered = table.read("flags", row, row + len(lines)) & int(LineFlag.ALTERED) != 0
        # Of an altered one the key is that of what was here.
        wrong = ((found[:, 0] != told[0]) | (found[:, 1] != told[1])) & ~altered
        for n in np.flatnonzero(wrong).tolist():
            yield Finding("error", f"line {row + n} is not what was read from its source")
        row, at = row + len(lines), int(ends[-1]) if len(ends) else at
        if row < stop:
            break
    return row, content[at:]


def _reaches_over(starts: Array, lengths: Array, end: int) -> bool:
    """Whether any of these reaches over the end; numbers near 2^64 add up to small ones."""
    return bool(np.any(starts > end)) or bool(np.any(lengths > end - np.minimum(starts, end)))


def _falls(values: Array) -> bool:
    return bool(np.any(values[1:] < values[:-1]))


def main() -> None:
    json.dump([asdict(finding) for finding in check_path(Path(sys.argv[1]))], sys.stdout)


if __name__ == "__main__":
    main()

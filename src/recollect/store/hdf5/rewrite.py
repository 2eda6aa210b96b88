"""Copying a store without what nothing refers to: dead lines, old texts, HDF5's free space; and without what
is to be left out.

Blocks of which every line stays are copied as they are where something is left out, because to erase one
session should cost what copying the file costs; a plain rewrite packs them all anew, more densely.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from recollect.store.contract import REWRITING, Array, carry_vectors
from recollect.store.derived import REPLACED, carry_derived
from recollect.store.hdf5.check import references
from recollect.store.hdf5.forms import TextForm
from recollect.store.hdf5.frames import Damaged
from recollect.store.hdf5.layout import BLOCK_BYTES, LEVEL_DENSE, TABLES
from recollect.store.hdf5.read import Hdf5View, RowSource
from recollect.store.hdf5.staying import NAMED, Rows, Staying, staying
from recollect.store.hdf5.write import Hdf5Writer
from recollect.store.leaving import NOTHING, Leaving
from recollect.store.merge import FACT_NAMES
from recollect.values.records import Flag, LineFlag, SessionFacts, SourceFlag
from recollect.values.reports import Progress

_ROWS_AT_ONCE = 8192
_COMMIT_BYTES = 64 << 20


def copy_store(
    old: Hdf5View,
    new: Hdf5Writer,
    commit: Callable[[], None],
    leaving: Leaving = NOTHING,
    progress: Progress | None = None,
) -> None:
    """Fill an empty store with all that is alive in another one, without what is left out."""
    for finding in references(old):
        raise Damaged(finding.what)  # whoever follows them would stumble
    kept = staying(old, leaving)
    _copy_names(old, new, kept)
    if leaving.is_empty:
        _pack_lines(old, kept, _Blocks(old, new, commit, progress, LEVEL_DENSE))
    else:
        _copy_blocks(old, kept, _Blocks(old, new, commit, progress))
    _copy_line_rows(old, new, kept)
    _copy_entries(old, new, kept)
    _copy_usage(old, new, kept)
    sessions = _kept_columns(old, "sessions", kept, kept.sessions)
    _move_texts(old, new, "sessions", ("id", "title"), sessions, kept.sessions, leaving.facts)
    _copy_chains(old, new, "sessions", "extents", "extent", sessions, kept.sessions, kept.entries)
    _tell_facts(new, sessions, kept.sessions, leaving)
    new.table("sessions").append(sessions)
    sources = _kept_columns(old, "sources", kept, kept.sources)
    _move_texts(old, new, "sources", ("path", "state"), sources, kept.sources, _rows_of(leaving))
    _copy_chains(old, new, "sources", "spans", "span", sources, kept.sources, kept.lines)
    _mend_sources(old, new, sources, kept, leaving)
    new.table("sources").append(sources)
    carry_vectors(old, new, leaving.vectors)
    carry_derived(old, new, kept.told)
    replaced = np.flatnonzero(new.table("entries").read("flags") & Flag.REPLACED)
    if len(replaced):
        new.add_derived(REPLACED, {"entry": replaced}, built_to=new.table("entries").rows)
    new.line_stream.flush()
    new.text_stream.flush()


def _copy_names(old: Hdf5View, new: Hdf5View, kept: Staying) -> None:
    stays = kept.names.stays.tolist()
    places = [
        _move(old, new, *place)
        for place, stay in zip(_places(old, "names", "at", "length")[1:], stays[1:], strict=True)
        if stay
    ]
    new.table("names").append({"at": [at for at, _ in places], "length": [n for _, n in places]})


def _pack_lines(old: Hdf5View, kept: Staying, blocks: _Blocks) -> None:
    """Every line that stays, in new blocks."""
    rows = old.table("lines").rows
    for start in range(0, rows, _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, rows)
        stays = kept.lines.stays[start:stop].tolist()
        for line, alive in zip(old.line_range(start, stop), stays, strict=True):
            if alive:
                blocks.add(line.data)
    blocks.cut()


def _copy_blocks(old: Hdf5View, kept: Staying, blocks: _Blocks) -> None:
    """The blocks as they are; of those that lose something, what stays of them in new ones."""
    stream = old.line_stream
    ends = old.table("lines").read("end").astype(np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
    has_bytes = kept.lines.stays & ~kept.evicted
    dead = Rows.of(~has_bytes & (ends > starts))
    for number in range(stream.blocks.rows):
        base, end = stream.block_span(number)
        first, stop = int(np.searchsorted(ends, base, "right")), int(np.searchsorted(starts, end, "left"))
        if dead.before[first] == dead.before[stop]:
            blocks.copy(end - base, stream.frame(number))
            continue
        alive = np.flatnonzero(has_bytes[first:stop]) + first
        low, high = np.maximum(starts[alive], base) - base, np.minimum(ends[alive], end) - base
        block = stream.block(number) if np.any(low < high) else b""
        for begin, finish in zip(low.tolist(), high.tolist(), strict=True):
            blocks.add(block[begin:finish])
    blocks.cut()


class _Blocks:
    """Blocks on their way into a new store, committed now and then."""

    def __init__(
        self, old: Hdf5View, new: Hdf5View, commit: Callable[[], None], progress: Progress | None, *level: int
    ) -> None:
        self._stream, self._commit, self._level = new.line_stream, commit, level
        self._progress = progress or (lambda what, done, total: None)
        self._block, self._uncommitted = bytearray(), 0
        ends = old.table("lines").read("end")
        self._done, self._total = 0, int(ends[-1]) if len(ends) else 0

    def add(self, data: bytes) -> None:
        self._block += data
        if len(self._block) >= BLOCK_BYTES:
            self.cut()

    def copy(self, length: int, frame: bytes) -> None:
        self.cut()
        self._stream.add_frame(length, frame)
        self._note(length)

    def cut(self) -> None:
        if self._block:
            block, self._block = self._block, bytearray()
            self._stream.add_block(block, *self._level)
            self._note(len(block))

    def _note(self, length: int) -> None:
        self._uncommitted += length
        self._done += length
        self._progress(REWRITING, self._done, self._total)
        if self._uncommitted > _COMMIT_BYTES:
            self._commit()
            self._uncommitted = 0


def _copy_line_rows(old: Hdf5View, new: Hdf5View, kept: Staying) -> None:
    columns = _kept_columns(old, "lines", kept, kept.lines)
    ends = old.table("lines").read("end").astype(np.int64)
    lengths = np.diff(ends, prepend=0)
    lengths[kept.evicted] = 0
    counts = np.diff(old.table("lines").read("entries").astype(np.int64), prepend=0)
    counts[kept.evicted] = 0
    columns["end"] = np.cumsum(lengths[kept.lines.stays])
    columns["entries"] = np.cumsum(counts[kept.lines.stays])
    columns["flags"][kept.evicted[kept.lines.stays]] |= int(LineFlag.ALTERED)
    new.table("lines").append(columns)


def _copy_entries(old: Hdf5View, new: Hdf5View, kept: Staying) -> None:
    source = old.table("entries")
    for start in range(0, source.rows, _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, source.rows)
        stays = kept.entries.stays[start:stop]
        columns = {c: source.read(c, start, stop)[stays] for c in TABLES["entries"]}
        columns["line"] = kept.lines.before[columns["line"]]
        columns["session"] = kept.sessions.before[kept.entry_owner[start:stop][stays]]
        for name in NAMED["entries"]:
            columns[name] = kept.names.before[columns[name]]
        for n in np.flatnonzero(columns["form"] == TextForm.STORED).tolist():
            columns["at"][n], _ = _move(old, new, int(columns["at"][n]), int(columns["length"][n]))
        new.table("entries").append(columns)


def _copy_usage(old: Hdf5View, new: Hdf5View, kept: Staying) -> None:
    columns = _kept_columns(old, "usage", kept, kept.usage)
    columns["line"] = kept.lines.before[columns["line"]]
    columns["session"] = kept.sessions.before[kept.usage_owner[kept.usage.stays]]
    new.table("usage").append(columns)


def _kept_columns(old: Hdf5View, table: str, kept: Staying, rows: Rows) -> dict[str, Array]:
    """The rows of a table that stay, their names mapped."""
    columns = {c: old.table(table).read(c)[rows.stays] for c in TABLES[table]}
    for name in NAMED[table]:
        columns[name] = kept.names.before[columns[name]]
    return columns


def _move_texts(
    old: Hdf5View,
    new: Hdf5View,
    table: str,
    texts: Sequence[str],
    columns: dict[str, Array],
    rows: Rows,
    told: Iterable[int],
) -> None:
    """Copy the texts of the rows that stay; the last of them not for a row of which it is told anew."""
    anew = {int(rows.before[row]) for row in told}
    for text in texts:
        places = zip(columns[f"{text}_at"].tolist(), columns[f"{text}_length"].tolist(), strict=True)
        moved = [
            (0, 0) if text == texts[-1] and row in anew else _move(old, new, *place)
            for row, place in enumerate(places)
        ]
        columns[f"{text}_at"] = np.array([at for at, _ in moved], np.uint64)
        columns[f"{text}_length"] = np.array([length for _, length in moved], np.uint32)


def _tell_facts(new: Hdf5Writer, columns: dict[str, Array], rows: Rows, leaving: Leaving) -> None:
    """Put what is known of some sessions now in the place of what was."""
    for row, facts in leaving.facts.items():
        if rows.stays[row]:
            for name, value in _fact_cells(new, facts).items():
                columns[name][int(rows.before[row])] = value


def _fact_cells(new: Hdf5Writer, facts: SessionFacts) -> dict[str, int]:
    at, length = new.put_text(facts.title)
    return {
        **{name: new.name_row(getattr(facts, name)) for name in FACT_NAMES},
        "title_at": at,
        "title_length": length,
        "title_rank": facts.title_rank,
        "relation": int(facts.relation),
        "started": facts.started_ms,
        "ended": facts.ended_ms,
    }


def _mend_sources(
    old: Hdf5View, new: Hdf5Writer, columns: dict[str, Array], kept: Staying, leaving: Leaving
) -> None:
    """What else of the sources changes when sessions, versions and lines go."""
    stays = np.flatnonzero(kept.sources.stays)
    columns["session"] = kept.sessions.before[columns["session"]]
    older = old.table("sources").read("older")
    for n, row in enumerate(stays.tolist()):
        before = int(older[row])
        while before >= 0 and not kept.sources.stays[before]:
            if older[before] >= before:
                raise Damaged("table /tables/sources: a version is older than itself")
            before = int(older[before])
        columns["older"][n] = kept.sources.before[before] if before >= 0 else -1
    columns["flags"][kept.thinned[stays]] |= int(SourceFlag.THINNED)
    for n in np.flatnonzero(columns["flags"] & int(SourceFlag.WAITING)).tolist():
        if not _keeps_last(old, int(stays[n]), kept.lines.stays):
            # The half line behind the cursor went. What comes next is read as if it had never come.
            columns["flags"][n] &= 0xFF ^ int(SourceFlag.WAITING | SourceFlag.UNTERMINATED)
    for row, state in zip(_rows_of(leaving), (state for _, state in leaving.states), strict=True):
        if kept.sources.stays[row]:
            at, length = new.put_text(json.dumps(state, separators=(",", ":")))
            n = int(kept.sources.before[row])
            columns["state_at"][n], columns["state_length"][n] = at, length


def _rows_of(leaving: Leaving) -> list[int]:
    """The rows of the sources whose parsers' states are told anew."""
    return [source.row for source, _ in leaving.states if isinstance(source, RowSource)]


def _keeps_last(old: Hdf5View, source: int, stays: Array) -> bool:
    held = [each for each in old.intervals("spans", "sources", "span", source) if each[1]]
    return bool(held) and bool(stays[sum(held[-1]) - 1])


def _copy_chains(
    old: Hdf5View,
    new: Hdf5View,
    name: str,
    chain: str,
    link: str,
    columns: dict[str, Array],
    owners: Rows,
    rows: Rows,
) -> None:
    """Copy what stays of the owners' chains onto the new rows, and count it."""
    chained: dict[str, list[int]] = {c: [] for c in TABLES[chain]}
    counted = {"sessions": "entries", "sources": "lines"}[name]
    for n, owner in enumerate(np.flatnonzero(owners.stays).tolist()):
        before, total = -1, 0
        for first, count in old.intervals(chain, name, link, owner):
            start, stop = (
                int(rows.before[first if count else 0]),
                int(rows.before[first + count if count else 0]),
            )
            if start == stop:
                continue
            row = len(chained["first"])
            for column, value in zip(chained, (n, start, stop - start, before), strict=True):
                chained[column].append(value)
            before, total = row, total + stop - start
        columns[link][n], columns[counted][n] = before, total
    new.table(chain).append(chained)


def _places(old: Hdf5View, table: str, at: str, length: str) -> list[tuple[int, int]]:
    starts, lengths = old.table(table).read(at).tolist(), old.table(table).read(length).tolist()
    return list(zip(starts, lengths, strict=True))


def _move(old: Hdf5View, new: Hdf5View, at: int, length: int) -> tuple[int, int]:
    """Copy one text; returns its new place."""
    return (new.text_stream.append(old.text_stream.read(at, at + length)) if length else 0), length

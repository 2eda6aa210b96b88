"""The contract of a store: all that the code above an engine asks of it, and no more.

A *view* is one consistent state to read. A *writer* is the one process that changes the
store; what it takes becomes visible and durable together, at `commit`, or not at all. An
*append* is durable when it returns and needs no writer. Nothing here assumes a file: an
engine may live across a network, and its row numbers grow but may have gaps.
`recollect.testing.stores.StoreContract` checks every promise; docs/extending.md has the recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from recollect.store.derived import Column, DerivedTable
from recollect.store.leaving import Choice
from recollect.values.records import (
    Cursor,
    Flag,
    KeptLine,
    Line,
    LineFlag,
    Provenance,
    Segment,
    SessionFacts,
    SourceFile,
)
from recollect.values.reports import Progress
from recollect.values.stored import (
    Clue,
    Finding,
    Footprint,
    Session,
    Source,
    StoredEntry,
    StoredLine,
    StoreInfo,
    TakeResult,
    VectorModel,
)

Array = np.ndarray[Any, Any]

REWRITING = "rewriting"  # what `compact` tells its progress as
LINES = "lines"  # where `HoldsBytes.contents` says the lines of sources are
TEXTS = "texts"  # and texts of entries that are kept in another form than their lines have them in


class SessionRows(Protocol):
    """Sessions by row; an engine may read them only when asked for."""

    def __len__(self) -> int: ...

    def __getitem__(self, row: int, /) -> Session: ...

    def items(self) -> Iterable[tuple[int, Session]]:
        """Every session with its row, in the order they were first seen."""
        ...


@dataclass(frozen=True, slots=True)
class SessionClues:
    """What all sessions say of their projects, each such thing once.

    `at` has for each session, whose row `rows` has, the position of its clue; `ended_ms` for each clue the
    last time that a session with it ended.
    """

    clues: Sequence[Clue]
    ended_ms: Sequence[int]
    rows: Array
    at: Array


@dataclass(frozen=True, slots=True)
class RawSizes:
    """About how many bytes of a store lines take, with texts of their entries: `total`, each line once.

    For the session of each row in `rows`: `own` is what the lines take that no other session's source has,
    `lines` how many these are. `shared` is what several sessions, by their rows, have together and no other
    has: each such set of sessions once, with the bytes.
    """

    total: int
    rows: Array
    own: Array
    lines: Array
    shared: Sequence[tuple[tuple[int, ...], int]]


@dataclass(frozen=True, slots=True)
class UsageColumns:
    """Every counted response, one array per column; row n of each belongs together.

    `session` is a row of `sessions`, `model` indexes into `models`; `line` is for `View.locate`.
    """

    sessions: SessionRows
    models: Sequence[str]
    session: Array
    model: Array
    time: Array
    line: Array
    input: Array
    output: Array
    cache_read: Array
    cache_write_5m: Array
    cache_write_1h: Array
    reasoning: Array


class View(Protocol):
    """One consistent state of a store."""

    def info(self) -> StoreInfo: ...

    def sessions(self) -> list[Session]:
        """All sessions, in the order they were first seen; `copied` says of which ones `is_timeless_fork`."""
        ...

    def find_session(self, prefix: str) -> Session:
        """The one session whose id starts so; NotFound for none or several.

        One that was imported does not stand in the way of an own one of the same id.
        """
        ...

    def entries(self, session: Session, *, last: int | None = None) -> Iterator[StoredEntry]:
        """What a session shows, in order; only the last few if asked."""
        ...

    def entry_range(self, start: int, stop: int) -> Iterator[StoredEntry]:
        """The entries of the rows from `start` up to `stop`, in order, whichever sessions they are of."""
        ...

    def entries_at(self, rows: Sequence[int]) -> list[StoredEntry]:
        """The entries of scattered rows, in the order asked for."""
        ...

    def entry_ids(self, rows: Sequence[int]) -> list[str]:
        """The short ids of scattered rows, without reading their texts."""
        ...

    def columns_at(self, rows: Sequence[int], *names: str) -> dict[str, Array]:
        """Columns of scattered rows, in the order asked for, without reading their texts.

        There are: row, session (its row), kind, flags, time, line, call, imported.
        """
        ...

    def sessions_in(self, start: int, stop: int) -> list[int]:
        """The sessions, by row, in which the entries of rows from `start` up to `stop` were first seen."""
        ...

    def session_columns(self, session: int, *names: str) -> dict[str, Array]:
        """Columns of the entries first seen in the session of a row, in the order of their rows.

        Without those that were replaced: around such a one there is nothing.
        """
        ...

    def neighbours(
        self, row: int, before: int, after: int, *, hidden: int = int(Flag.COPY)
    ) -> list[StoredEntry]:
        """An entry between those first seen before and after it in its session.

        Bookkeeping is left out and what has a flag of `hidden`, the entry itself never.
        """
        ...

    def turn_of(self, row: int) -> list[int]:
        """The rows of the turn that an entry is part of: what a person said, and all that came of it.

        Bookkeeping and what is `HIDDEN` is left out, the entry itself never. What comes before anyone said
        anything in a session is a turn too.
        """
        ...

    def find_entry(self, prefix: str) -> StoredEntry:
        """The one entry whose id starts so; NotFound for none or several."""
        ...

    def session_rows(self) -> SessionRows:
        """Sessions by row, read when asked for."""
        ...

    def session_clues(self) -> SessionClues:
        """What all sessions say of their projects, without reading them."""
        ...

    def sources(self, session: Session | None = None) -> list[Source]:
        """All sources, or those of one session; replaced versions too, oldest first."""
        ...

    def unmarked(self) -> list[Source]:
        """The sources of which nobody said whose they are; until someone does they count as own."""
        ...

    def lines(self, source: Source) -> Iterator[StoredLine]:
        """A source's lines in file order."""
        ...

    def lines_at(self, lines: Sequence[int]) -> list[StoredLine]:
        """Scattered lines by the numbers that `columns_at` gives, in the order asked for."""
        ...

    def line_keys(self, source: Source) -> Iterator[bytes]:
        """The key (`line_key`) of each of a source's lines as it was taken, in file order."""
        ...

    def kept_lines(self, source: Source) -> list[KeptLine]:
        """What is kept of the evicted lines of a source, in file order."""
        ...

    def raw_sizes(self) -> RawSizes:
        """What the lines of all sessions take, without reading them."""
        ...

    def record_lines(self, records: Sequence[str]) -> list[list[tuple[int, int]]]:
        """For each id of a record the lines of this id, rising, each with the row of its first session."""
        ...

    def line_rows(self, source: Source) -> Array:
        """The numbers of a source's lines, in file order."""
        ...

    def lines_only_of(self, sessions: Sequence[int]) -> Array:
        """The numbers of the lines, rising, that sources of these sessions (by row) have and no other."""
        ...

    def line_lengths(self, lines: Sequence[int]) -> Array:
        """How many bytes each of some lines has, without reading them; 0 for an evicted one."""
        ...

    def usage(self) -> UsageColumns: ...

    def types(self) -> dict[str, tuple[int, bool]]:
        """How many lines there are of each record type, and whether the type is known."""
        ...

    def flag_counts(self) -> dict[LineFlag, int]:
        """How many lines carry each flag; one that none carries may be left out."""
        ...

    def locate(self, line: int) -> tuple[Source, int]:
        """A source that holds this line, and the line's number in it, from 1."""
        ...

    def locate_many(self, lines: Sequence[int]) -> list[tuple[Source, int]]:
        """`locate` for each of these lines, at the price of about one."""
        ...

    def vector_models(self) -> list[VectorModel]:
        """The models there are vectors of, in the order they were first added."""
        ...

    def vectors(self, model: VectorModel, start: int = 0, stop: int | None = None) -> tuple[Array, Array]:
        """(keys, vectors) of those of the rows that can be read: damaged ones count as absent.

        A key may occur twice; either row of it will do.
        """
        ...

    def derived_tables(self) -> list[DerivedTable]:
        """The derived tables there are, known or not, by name and revision, with how far each is built."""
        ...

    def derived(
        self, table: DerivedTable, start: int = 0, stop: int | None = None, *, only: Sequence[str] = ()
    ) -> dict[str, Column]:
        """Rows of a derived table, column by column, or `only` some; none where it is absent.

        DerivedDamaged when they do not read. An entry may have been replaced since its rows were made.
        """
        ...

    def replaced(self) -> Array:
        """The rows of entries that were replaced, in the order in which they were."""
        ...


class PackedLines(Protocol):
    """A source's lines on their way to another process."""

    @property
    def size(self) -> int:
        """How many bytes they are, unpacked."""
        ...

    def unpacked(self) -> list[StoredLine] | None:
        """The lines; None where they do not read: whoever asks the store for them hears why."""
        ...


class PacksLines(Protocol):
    """A view whose lines another process can unpack. Optional, and so asked for by its name."""

    def packed_lines(self, source: Source, bytes_max: int) -> PackedLines | None:
        """A source's lines; None where that pays for nobody, or they are `bytes_max` or more."""
        ...


class Writer(Protocol):
    """Changes to a store, held back until `commit`."""

    def source(self, host: str, path: str) -> Source | None:
        """The newest version of a source."""
        ...

    def is_current(self, host: str, path: str, seen: Cursor) -> bool:
        """Whether size, times and inode are what they were when the file was last taken to its end."""
        ...

    def take(
        self,
        file: SourceFile,
        host: str,
        lines: Sequence[Line],
        cursor: Cursor,
        facts: SessionFacts,
        *,
        parser: int,
        restart: bool = False,
    ) -> TakeResult:
        """Add lines behind those the source already has.

        `restart`: the file is another than it was; these lines begin a new version of
        it, and lines that the old one had too are stored once. A line the store has from
        another source is linked, not stored again. Where lines of the old one were evicted and these have all
        that is left of it, they are shown in their order where the old one stood.

        An entry is *replaced* (its flag says so, and no session shows it any more) by a line that
        `replaces` its line's uuid in the same session, and stands where it stood; by one that `rewinds`
        to its line or to one shown before it; and, in a document, by a new version that shows something
        and does not have it: then what the new version has stands, in its order, where the old one stood.

        What is imported changes nothing of what is own: its facts count only in a session that no own source
        is of, and it replaces no entry whose line an own source has. The facts of a first own source take the
        place of all that imported ones said.
        """
        ...

    def sessions_with(self, records: Sequence[str]) -> list[list[Session]]:
        """For each id of a record the sessions that records of this id were first seen in, oldest first."""
        ...

    def touch(self, host: str, path: str, cursor: Cursor) -> None:
        """Note that a source was looked at and had nothing new."""
        ...

    def mark(self, source: Source, provenance: Provenance) -> None:
        """Say whose one of the `unmarked` is."""
        ...

    def add_vectors(self, model: VectorModel, keys: Array, vectors: Array) -> None:
        """Add rows behind those the model has: uint64 keys, and float16 vectors of its size."""
        ...

    def add_derived(self, table: DerivedTable, columns: Mapping[str, Column], *, built_to: int) -> None:
        """Add rows behind those a derived table has, made of all entries before row `built_to`.

        The first makes the table. Every column is given, all of one length; it may be 0.
        """
        ...

    def drop_derived(self, table: DerivedTable) -> None:
        """Forget a derived table, if it is there."""
        ...

    def folded(self, sequence: int) -> None:
        """The journal up to this number is in what has been taken."""
        ...

    def commit(self) -> None: ...

    def view(self) -> View:
        """The state with everything taken so far."""
        ...


class Collector(Writer, Protocol):
    """A writer that knows no store: all it is given goes into one parcel, which must pickle."""

    def parcel(self) -> Any: ...


@runtime_checkable
class BulkWriter(Writer, Protocol):
    """A writer that also takes what other processes prepared. Optional: without it one process does all.

    `collector` makes what those processes write to; it is handed to them by its import name.
    """

    collector: type[Collector]

    def has_source(self, host: str, path: str) -> bool:
        """Whether any version of a source is stored."""
        ...

    def adopt(self, parcel: Any) -> bool:
        """Take a parcel of sources that are new; False, and nothing done, if it repeats any stored line."""
        ...


class SalvageView(View, Protocol):
    """What can still be read of a damaged store; what cannot is left out and told once it was asked for.

    `moved_to` is where the store as it was is kept.
    """

    lost_lines: int
    lost: list[str]
    moved_to: str


class Store(Protocol):
    """One memory, for any number of threads: what one of them reads keeps no other from reading.

    Inside of a `view`, another one of the same thread sees the same state. Closing waits for the others.
    """

    @property
    def name(self) -> str:
        """What people know it by: its path or URL, without any secret in it."""
        ...

    def view(self) -> AbstractContextManager[View]:
        """One consistent state. Another state is another object; the same one again may be the same."""
        ...

    def writer(self, *, timeout: float = 60.0) -> AbstractContextManager[Writer]:
        """The right to change the store; StoreBusy when another process keeps it."""
        ...

    def rehearsal(self) -> AbstractContextManager[Writer]:
        """A writer whose changes only it sees: `commit` keeps nothing. For reading the journal's tail."""
        ...

    # -- the journal -----------------------------------------------------------------------

    def append(self, segment: Segment) -> int: ...

    def has_journal(self) -> bool:
        """Whether anything was appended since the journal was last dropped; costs next to nothing."""
        ...

    def journal_bytes(self) -> int:
        """About how much there is in the journal; costs next to nothing."""
        ...

    def pending(self, *, patient: bool = True) -> Iterator[tuple[int, Segment]]:
        """What was appended and is not folded yet, read as it is asked for.

        To fold it, be `patient` with appends under way; what is damaged in the journal is then kept aside.
        """
        ...

    def clear_journal(self, through: int) -> bool:
        """Drop the journal if it holds nothing newer than `through`."""
        ...

    def kept_aside(self) -> list[str]:
        """Where damaged bytes are kept that nobody has acknowledged; costs next to nothing."""
        ...

    def acknowledge(self) -> list[str]:
        """Note that a person knows of what is kept aside; returns where it stays."""
        ...

    # -- the store as a whole --------------------------------------------------------------

    def footprint(self) -> Footprint: ...

    def check(self) -> list[Finding]:
        """Verify everything, reading only; an empty list means that all is well."""
        ...

    def replacement(self) -> AbstractContextManager[tuple[View, Store]]:
        """The present state and an empty store, which takes its place at the end under a new epoch.

        It does so only if nothing is wrong with it; if anything fails, nothing has changed.
        """
        ...

    def salvage(self) -> AbstractContextManager[tuple[SalvageView, Store]]:
        """As `replacement`, for a damaged store, which is kept as it was beside the new one."""
        ...

    def compact(
        self,
        leave: Choice | None = None,
        then: Callable[[Writer], None] | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Give back the room of what nothing refers to. All is shown as before, under a new epoch.

        `leave` is asked, while nobody else can write, what of the present state goes (`Leaving`); of that no
        byte is left in the store, and what is left is as it was. `then` adds to what takes the old state's
        place, so that what went and what is noted of it are one change: all of it, or nothing, has happened.
        `progress` is told of the bytes of lines that are in the new state, as `REWRITING`.
        """
        ...

    def copy_to(self, target: str) -> bool:
        """Write the committed state to a new store, whole or not at all.

        False, and nothing done, where the engine cannot do better than its caller, line by line.
        """
        ...

    def close(self) -> None: ...


@runtime_checkable
class HoldsBytes(Protocol):
    """A store whose files can be searched. Optional: of another, only what it shows can be."""

    def contents(self) -> Iterator[tuple[str, bytes]]:
        """Every byte of every file of it with where it is: as it stands, and unpacked where it is packed.

        Pieces overlap where one goes on in the next. `LINES` is where the lines themselves are.
        """
        ...


class Engine(Protocol):
    """How stores of one kind are opened: what `recollect.store.registry` finds by a URL's scheme."""

    def open(self, url: str, *, create: bool = False) -> Store:
        """The store of this URL; where there is none, a new one with `create`, else StoreMissing."""
        ...

    def exists(self, url: str) -> bool:
        """Whether there is a store, or something that was appended before there was one."""
        ...


def carry_vectors(old: View, writer: Writer, without: Array | None = None) -> None:
    """Copy what reads of each model, every key once, `without` some; of several revisions only the newest."""
    for model in {model.name: model for model in old.vector_models()}.values():
        seen: Array = np.zeros(0, "<u8") if without is None else np.asarray(without, "<u8")
        for start in range(0, model.rows, _VECTORS_AT_ONCE):
            keys, vectors = old.vectors(model, start, start + _VECTORS_AT_ONCE)
            _, first = np.unique(keys, return_index=True)
            fresh = np.sort(first[~np.isin(keys[first], seen)])
            writer.add_vectors(model, keys[fresh], vectors[fresh])
            seen = np.concatenate([seen, keys[fresh]])
            writer.commit()


_VECTORS_AT_ONCE = 1 << 15

"""What is derived from entries, in the order in which it is made, and the making of it.

Reading entries is most of the work and needs nothing but them, so for many it is done ahead by other
processes, while the indexes are built. What they hand back is what the same code reads in this one.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recollect.insight import understood
from recollect.insight.entities import table as entities
from recollect.light.pool import WORKERS_MAX, Pool, serve
from recollect.search.mentions import TABLES
from recollect.store.contract import Store, View, Writer
from recollect.store.derived import Column, DerivedTable, Rewrite, advance, ranges_left, unbuilt
from recollect.store.registry import location, open_store
from recollect.values.errors import DerivedDamaged, RecollectError
from recollect.values.reports import LeftOut, Progress

WORTH_ROWS = 4_000  # of all insights together: fewer are read before a worker has started
WRITER_SECONDS = 1.0  # to wait for another process that is writing


@dataclass(frozen=True, slots=True)
class Insight:
    """Something that is derived: what it is called, and the tables that grow together.

    `read(view, start, stop)` does the work, and what it gives can be sent to another process;
    `rows(view, read)` are the rows of each table. Behind all steps `tidy(writer)`, where it `is_untidy`.
    """

    name: str
    tables: Sequence[DerivedTable]
    read: Callable[[View, int, int], Any]
    rows: Callable[[View, Any], Sequence[Mapping[str, Column]]]
    is_untidy: Callable[[View], bool] = lambda view: False
    tidy: Callable[[Writer], None] = lambda writer: None


INSIGHTS = (
    Insight("entities", TABLES, entities.read, entities.rows),
    Insight(
        "digests",
        understood.TABLES,
        understood.read,
        lambda view, read: read,
        understood.is_untidy,
        understood.tidy,
    ),
)


def derive(store: Store, ahead: Ahead | None = None, progress: Progress | None = None) -> None:
    """Bring everything that is derived up to date."""
    for place, insight in enumerate(INSIGHTS):
        with contextlib.suppress(DerivedDamaged):  # of what must not be lost; a repair saves what reads
            _catch_up(store, place, ahead, progress)
            with store.view() as view:
                is_untidy = insight.is_untidy(view)
            if is_untidy:
                with store.writer(timeout=WRITER_SECONDS) as writer:
                    insight.tidy(writer)


def _catch_up(store: Store, place: int, ahead: Ahead | None, progress: Progress | None) -> None:
    insight = INSIGHTS[place]
    with store.view() as view:
        total, left = view.info().rows_end, unbuilt(view, insight.tables)
    while left:
        if progress is not None:
            progress(insight.name, total - left, total)
        with store.writer(timeout=WRITER_SECONDS) as writer:  # let others write in between
            take_a_step(writer, place, ahead)
            left = unbuilt(writer.view(), insight.tables)


def left_to_derive(store: Store) -> int:
    """How many entries are not derived yet, those of each insight added up."""
    with store.view() as view:
        return sum(unbuilt(view, insight.tables) for insight in INSIGHTS)


def take_a_step(writer: Writer, place: int = 0, ahead: Ahead | None = None) -> None:
    """Bring one insight a step further, if anything is left."""
    insight = INSIGHTS[place]

    def make(view: View, start: int, stop: int) -> Sequence[Mapping[str, Column]]:
        made = ahead.take((place, start, stop), view) if ahead else None
        return insight.rows(view, insight.read(view, start, stop) if made is None else made)

    try:
        advance(writer, insight.tables, make)
    except DerivedDamaged:
        if any(table.rewrite == Rewrite.CARRY for table in insight.tables):
            raise
        for table in insight.tables:
            writer.drop_derived(table)
        advance(writer, insight.tables, make)


# -- ahead, in other processes -------------------------------------------------------------------

Piece = tuple[int, int, int]  # the place among INSIGHTS, the first row and the one behind the last
_Read = tuple[int, Any]  # the epoch in which a piece was read, and what


class Ahead:
    """Pieces that other processes read of a store. Each may be taken once."""

    def __init__(self, store: str, pieces: Sequence[Piece]) -> None:
        others = max((os.cpu_count() or 1) - 1, 1)  # this process indexes meanwhile
        self._pool: Pool[tuple[str, Piece], _Read]
        self._pool = Pool(__name__, min(others, WORKERS_MAX, len(pieces)))
        self._pieces = pieces
        self._numbers = {piece: number for number, piece in enumerate(pieces)}
        self._read_here: dict[int, _Read] = {}
        for piece, number in self._numbers.items():
            self._pool.send(number, (store, piece))

    def take(self, piece: Piece, view: View) -> Any:
        """What was read of it; None where it is for the caller to read.

        Instead of waiting for a worker this process reads what none has begun, the last first.
        """
        number = self._numbers.pop(piece, None)
        if number is None:
            return None
        while number not in self._read_here and not self._pool.is_done(number):
            if (other := self._pool.take_back()) is None:
                break
            self._read_here[other] = _read(view, self._pieces[other])
        try:
            is_here = number in self._read_here
            epoch, read = self._read_here.pop(number) if is_here else self._pool.result(number)
        except RecollectError:  # the worker died: the others may live
            return None
        return read if epoch == view.info().epoch else None

    def close(self) -> None:
        self._pool.close()


@contextlib.contextmanager
def reading_ahead(store: Store) -> Iterator[Ahead | None]:
    """Begin to read what is not derived yet; None where that is little, or no other process can."""
    with store.view() as view:
        pieces = [
            (place, *rows)
            for place, insight in enumerate(INSIGHTS)
            for rows in ranges_left(view, insight.tables)
        ]
    many = sum(stop - start for _, start, stop in pieces) >= WORTH_ROWS
    ahead = Ahead(os.path.abspath(store.name), pieces) if many and os.path.isfile(store.name) else None
    try:
        yield ahead
    finally:
        if ahead is not None:
            ahead.close()


def main() -> None:
    """Be a worker."""
    opened: dict[str, Store] = {}

    def answer(task: tuple[str, Piece]) -> _Read:
        name, piece = task
        store = opened.get(name) or opened.setdefault(name, open_store(location(name)))
        with store.view() as view:
            with contextlib.suppress(LeftOut):  # the one who takes it says what that is
                return _read(view, piece)
            return view.info().epoch, None

    warnings.simplefilter("error", LeftOut)
    serve(answer)


def _read(view: View, piece: Piece) -> _Read:
    place, start, stop = piece
    return view.info().epoch, INSIGHTS[place].read(view, start, stop)

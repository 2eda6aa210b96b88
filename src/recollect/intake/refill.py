"""Sources of other stores taken into an empty one, in order; where that pays, other processes parse them.

As with a large ingest (`intake/workers.py`) a worker opens no store: it is handed lines, and hands back a
parcel that is exactly what the same code makes in-process.
"""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from recollect.intake.ingest import COMMIT_BYTES
from recollect.intake.reparse import Again, take_again
from recollect.intake.versions import without_erased
from recollect.intake.workers import FILE_BYTES_MAX, PARCEL_BYTES, WORTH_BYTES
from recollect.light.pool import WORKERS_MAX, Pool, serve
from recollect.store.contract import BulkWriter, Collector, PackedLines, Writer
from recollect.values.erasures import NOTHING_ERASED, Erased
from recollect.values.records import SessionFacts
from recollect.values.reports import Progress, ReparseReport
from recollect.values.stored import Source, StoredLine

_Lines = list[StoredLine] | PackedLines


@dataclass(slots=True)
class _Group:
    """Sources whose lines are in memory, as they lie in a store or unpacked, few enough for a parcel."""

    sources: list[Again] = field(default_factory=list)
    lines: list[_Lines] = field(default_factory=list)
    size: int = 0
    number: int = -1  # of the task; -1: nobody works on it


_Told = tuple[Source, _Lines, SessionFacts, bool]
_Task = tuple[type[Collector], list[_Told], Erased]  # what of packed lines does not come back
_Result = tuple[Any, ReparseReport] | None  # a parcel, and what is in it; None: lines that do not read


class Refill:
    """One walk over sources, through one writer."""

    def __init__(
        self,
        writer: Writer,
        report: ReparseReport,
        progress: Progress | None = None,
        in_all: int = 0,
        erased: Erased = NOTHING_ERASED,
    ) -> None:
        """`in_all`: how many lines there will be, for the progress shown. `erased` is what does not come."""
        self._erased = erased
        self._writer, self._report, self._in_all = writer, report, in_all
        self._progress = progress or (lambda path, done, total: None)
        self._uncommitted = 0

    def take(self, sources: Iterable[Again], size: int) -> None:
        """Take all of them; `size`: about how many bytes that is."""
        if not isinstance(self._writer, BulkWriter) or size < WORTH_BYTES:
            for each in sources:
                self._take(each)
            return
        pool: Pool[_Task, _Result] = Pool(__name__, max(2, min(os.cpu_count() or 1, WORKERS_MAX)))
        try:
            waiting: deque[_Group | Again] = deque()
            for number, step in enumerate(_grouped(sources)):
                if isinstance(step, _Group):
                    step.number = number
                    pool.send(number, (self._writer.collector, _told(step), self._erased))
                waiting.append(step)
                while sum(isinstance(each, _Group) for each in waiting) > pool.size + 2:
                    self._finish(waiting.popleft(), pool)
            while waiting:
                self._finish(waiting.popleft(), pool)
        finally:
            pool.close()

    def _finish(self, step: _Group | Again, pool: Pool[_Task, _Result]) -> None:
        if isinstance(step, Again):
            self._take(step)
            return
        assert isinstance(self._writer, BulkWriter)
        result = pool.result(step.number)
        if result is None or not self._writer.adopt(result[0]):
            for each, lines in zip(step.sources, step.lines, strict=True):
                if isinstance(lines, list):  # else nobody began to read them
                    each.lines = iter(lines)
                self._take(each)
            return
        report = result[1]
        self._report.lines += report.lines
        self._report.entries_after += report.entries_after
        self._report.unknown_types.update(report.unknown_types)
        self._show(step.sources[-1])
        self._passed(step.size)

    def _take(self, each: Again) -> None:
        self._show(each)
        take_again(self._writer, replace(each, lines=self._counted(each.lines)), self._report)

    def _show(self, each: Again) -> None:
        done = self._report.lines
        self._progress(each.source.file.path, done, max(self._in_all, done))

    def _counted(self, lines: Iterable[StoredLine]) -> Iterator[StoredLine]:
        for line in lines:
            self._passed(len(line.data))
            yield line

    def _passed(self, size: int) -> None:
        """Commit now and then: that bounds memory, and nobody sees the store before it is whole."""
        self._uncommitted += size
        if self._uncommitted >= COMMIT_BYTES:
            self._writer.commit()
            self._uncommitted = 0


def _grouped(sources: Iterable[Again]) -> Iterator[_Group | Again]:
    """Sources in order, grouped to parcels; one that is too large, has evicted lines or lines that another
    has, or is one of several versions, is alone: no worker can know what becomes of it.
    """
    group = _Group()
    following = itertools.chain(sources, [None])
    each = next(following)
    while each is not None:
        after = next(following)
        alone = each.kept or each.repeats or each.restart or (after is not None and after.restart)
        lines, size = ([], FILE_BYTES_MAX) if alone else _content(each)
        if size < FILE_BYTES_MAX:
            if group.size + size > PARCEL_BYTES and group.sources:
                yield group
                group = _Group()
            group.sources.append(each)
            group.lines.append(lines)
            group.size += size
        else:
            if group.sources:
                yield group
                group = _Group()
            if isinstance(lines, list):
                each.lines = itertools.chain(lines, each.lines)
            yield each
        each = after
    if group.sources:
        yield group


def _content(each: Again) -> tuple[_Lines, int]:
    """The lines of a source as a worker takes them, and how large they are."""
    packed = each.packed(FILE_BYTES_MAX)
    return (packed, packed.size) if packed is not None else _beginning(each.lines)


def _beginning(lines: Iterator[StoredLine]) -> tuple[list[StoredLine], int]:
    """The first lines of a source, and how large they are; all of them, if a worker takes so much."""
    taken, size = [], 0
    for line in lines:
        taken.append(line)
        size += len(line.data)
        if size >= FILE_BYTES_MAX:
            break
    return taken, size


def _told(group: _Group) -> list[_Told]:
    pairs = zip(group.sources, group.lines, strict=True)
    return [(each.source, lines, each.before, each.seen) for each, lines in pairs]


def main() -> None:
    """Be a worker."""
    serve(_answer)


def _answer(task: _Task) -> _Result:
    collector, sources, erased = task
    writer, report = collector(), ReparseReport()
    for source, lines, before, seen in sources:
        unpacked = lines if isinstance(lines, list) else lines.unpacked()
        if unpacked is None:
            return None
        left = iter(lines) if isinstance(lines, list) else without_erased(iter(unpacked), erased)
        take_again(writer, Again(source, left, before, seen=seen), report)
    return writer.parcel(), report

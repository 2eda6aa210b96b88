"""The care of a store: verify, repair, compact, derive again, copy."""

from __future__ import annotations

import contextlib
import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.memory.part import Part
from recollect.store.registry import has_store, location, open_store
from recollect.values.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from recollect.store.contract import Store
    from recollect.values.records import Segment
    from recollect.values.reports import CompactReport, Progress, RepairReport, ReparseReport
    from recollect.values.stored import Finding

_SPOOL_BYTES = 8 << 20


class Upkeep(Part):
    """The part of a `Memory` that keeps its store sound and small."""

    def check(self) -> list[Finding]:
        """Verify everything; an empty list means that all is well. Reads only."""
        return self._store.check()

    def kept_aside(self) -> list[str]:
        """Where damaged bytes of a journal or a commit are kept that nobody has acknowledged yet."""
        return self._store.kept_aside()

    def acknowledge(self) -> list[str]:
        """Say that you know of what is kept aside: it stays, and is told no more. Returns where it is."""
        return self._store.acknowledge()

    def repair(self) -> RepairReport:
        """Build a new store from every line that can still be read; the old one is kept beside it."""
        from recollect.intake.reparse import reparse
        from recollect.values.reports import RepairReport

        with self._store.salvage() as (old, new), new.writer() as writer:
            report = reparse(old, writer)
        return RepairReport(report.lines, old.lost_lines, old.lost, old.moved_to)

    def compact(self) -> CompactReport:
        """Rewrite the store without what nothing refers to, packed more densely.

        Of notes that were deleted or changed since, the words go that no longer hold.
        """
        from recollect.memory.taken_back import taken_back
        from recollect.values.reports import CompactReport

        self.checkpoint()
        before = self.footprint().bytes
        self._store.compact(taken_back)
        return CompactReport(before, self.footprint().bytes)

    def reparse(self, progress: Progress | None = None) -> ReparseReport:
        """Derive all entries again from the stored lines, with today's adapters."""
        from recollect.intake.reparse import reparse

        self.checkpoint()
        with self._store.replacement() as (old, new), new.writer() as writer:
            report = reparse(old, writer, progress)
            report.entries_before = old.info().entries
        return report

    def snapshot(self, target: str | os.PathLike[str]) -> int:
        """Write a consistent copy, the journal folded in, to a new store; returns its size."""
        at = location(target)
        if has_store(at):
            raise UsageError(f"{at}: exists already", hint="name a new file")
        # The journal first: a checkpoint in between takes it away, and what it held is then copied.
        with _spooled(self._store.pending()) as pending:
            copied = self._store.copy_to(str(at))
            with contextlib.closing(open_store(at, create=not copied)) as copy:
                if not copied:
                    self._derive_into(copy)
                self._fold_into(copy, pending)
                written = copy.footprint().bytes
        if isinstance(at, Path):
            self.note_copy(at, "snapshot", None)
        return written

    def _derive_into(self, target: Store) -> None:
        """Fill an empty store of whatever engine, line by line."""
        from recollect.intake.reparse import reparse

        with self._store.view() as view, target.writer() as writer:
            reparse(view, writer)

    def _fold_into(self, target: Store, pending: Iterator[tuple[int, Segment]]) -> None:
        from recollect.intake.ingest import Ingest

        if (first := next(pending, None)) is None:
            return
        with target.writer() as writer:
            Ingest(writer, self.config.host, own=self._own_logs()).fold(itertools.chain([first], pending))
            writer.commit()


@contextlib.contextmanager
def _spooled(pending: Iterable[tuple[int, Segment]]) -> Iterator[Iterator[tuple[int, Segment]]]:
    """The same appends, read now and kept in a file of nobody's until they are asked for."""
    import pickle
    import tempfile

    with tempfile.SpooledTemporaryFile(_SPOOL_BYTES) as spool:
        count = 0
        for count, each in enumerate(pending, 1):  # noqa: B007 - counts
            pickle.dump(each, spool)
        spool.seek(0)
        yield (pickle.load(spool) for _ in range(count))

"""Several memories become one, and a part of one a memory of its own: the verbs for that.

A store that is merged is only read, and what it says is data: it is looked at as `inspect` looks at it. What
waits in its journal is folded in memory, by nobody's host, so that no file of this machine is read for it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from recollect.memory.collector import without_collector
from recollect.memory.part import now_ms
from recollect.store.registry import Location, has_store, location, open_store
from recollect.values.errors import NotFound, RecollectError, StoreError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from recollect.memory import Memory
    from recollect.store.contract import Store, View
    from recollect.values.history import Thread
    from recollect.values.reports import MergeReport, Progress, SplitReport
    from recollect.values.stored import Session

JOURNAL_BYTES_MAX = 64 << 20  # of a journal that is folded in memory


class _NothingNew(Exception):
    """There is no need to take the old store's place."""


class Joining:
    """The part of a `Memory` that other stores come into, or come out of."""

    _store: Store

    if TYPE_CHECKING:

        def checkpoint(self) -> object: ...
        def view(self) -> contextlib.AbstractContextManager[View]: ...
        def threads(self) -> list[Thread]: ...
        def note_copy(
            self,
            path: str | os.PathLike[str],
            kind: str,
            sessions: Iterable[str] | None,
            *,
            masked: bool = False,
        ) -> None: ...

    def merge(
        self, stores: Iterable[str | os.PathLike[str]], *, own: bool = False, progress: Progress | None = None
    ) -> MergeReport:
        """Take in everything that other stores have, each line once; they are only read.

        Their sessions count as imported, unless you say that these stores are your `own`: then what they say
        of whose their sources are is believed. All of it comes in, or nothing; merging again adds nothing.
        """
        from recollect.intake.carry import carry_vectors
        from recollect.intake.erased import erased, note_uncleared
        from recollect.intake.merge import Merge, Part
        from recollect.search.vectors.pieces import piece_keys

        places = [location(each) for each in stores]
        self._refuse(places)
        with without_collector(), contextlib.ExitStack() as stack:
            views = [stack.enter_context(_looking(place)) for place in places]
            self.checkpoint()
            try:
                with self._store.replacement() as (old, new), new.writer() as writer:
                    parts = [Part(old, own=True), *(Part(view, own) for view in views)]
                    merge = Merge(parts, progress)
                    if merge.report.is_nothing:
                        raise _NothingNew
                    report = merge.fill(writer, piece_keys)
                    brought, host = merge.brought, cast("Memory", self).config.host
                    for erasure in brought:
                        note_uncleared(writer, host, erasure, now_ms=now_ms())
                    writer.commit()
                if brought:
                    self.checkpoint()  # clears what was made here; killed before, whoever comes next does
                return report
            except _NothingNew:
                report = merge.report
                with self._store.writer() as writer:
                    others = [] if erased(writer.view()) else views
                    report.vectors = carry_vectors(writer.view(), others, writer)
                    info = writer.view().info()
                report.entries_before = report.entries_after = info.entries
                report.sessions_before = report.sessions_after = info.sessions
                return report

    def split(
        self,
        target: str | os.PathLike[str],
        *,
        session: str = "",
        thread: str = "",
        project: str = "",
        agent: str = "",
        host: str = "",
        since_ms: int = 0,
        until_ms: int = 0,
        redacted: bool = True,
        progress: Progress | None = None,
    ) -> SplitReport:
        """Make a new store of the sessions that fit all that is said, and of their subagents.

        Secrets in their lines are masked, unless `redacted` is False; then their logs are exact. A session
        with no time of its own is in no span of time. The new store appears whole, or not at all.
        """
        from recollect.export.part import split, with_subagents

        at = location(target)
        if has_store(at) or os.path.lexists(at):
            raise UsageError(f"{at}: already exists", hint="name a file that does not exist yet")
        with without_collector(), self.view() as view:
            sessions = self._named(view, session, thread)
            chosen = [
                each
                for each in sessions
                if (not project or each.is_of_project(project))
                and (not agent or each.facts.agent == agent)
                and (not host or each.host == host)
                and (not since_ms or each.facts.ended_ms >= since_ms)
                and (not until_ms or 0 < each.facts.started_ms < until_ms)
            ]
            if not chosen:
                hint = "`recollect sessions` and `recollect projects` list what there is"
                raise NotFound("no session fits", hint=hint)
            with _made(at) as new, new.writer() as writer:
                report = split(view, chosen, writer, redacted=redacted, progress=progress)
            if isinstance(at, Path):
                ids = [each.facts.id for each in with_subagents(chosen, view.sessions())]
                self.note_copy(at, "part", ids, masked=redacted)
            return report

    def _named(self, view: View, session: str, thread: str) -> Sequence[Session]:
        """The session of an id, or those of its thread; all of them without either."""
        from recollect.memory.known import find_session

        if session:
            return [find_session(view, session)]
        if not thread:
            return view.sessions()
        first = find_session(view, thread)
        for each in self.threads():
            if any(first.facts.id == one.facts.id for one in each.sessions):
                return each.sessions
        return [first]

    def _refuse(self, places: Sequence[Location]) -> None:
        """Everything that can be said against it before anything is read."""
        for place in places:
            if not has_store(place):
                raise StoreError(
                    f"{place}: there is no store here", hint="check the path; nothing was changed"
                )
            if _is_same(str(place), self._store.name):
                raise UsageError(
                    f"{place}: is the store that the others are merged into", hint="name other stores"
                )


@contextlib.contextmanager
def _made(at: Location) -> Iterator[Store]:
    """An empty store that becomes a new one at the end; nothing is left of it if anything fails."""
    with contextlib.closing(open_store(at, create=True)) as store:
        try:
            with store.replacement() as (_, new):
                yield new
        except BaseException:
            if isinstance(at, Path):
                with contextlib.suppress(OSError):
                    os.unlink(at)
            raise


@contextlib.contextmanager
def _looking(place: Location) -> Iterator[View]:
    """All that a store has, what waits in its journal included, without changing anything there."""
    from recollect.intake.ingest import Ingest

    with contextlib.closing(open_store(place)) as store:
        if store.journal_bytes() > JOURNAL_BYTES_MAX:
            raise StoreError(
                f"{place}: too much waits in its journal to be read beside the store",
                hint=f"fold it first: recollect --store {place} index",
            )
        pending = list(store.pending(patient=False))
        if not pending:
            with store.view() as view:
                yield cast("View", _Named(store, view))
            return
        with store.rehearsal() as writer:
            folded = writer.view().info().folded
            Ingest(writer, secrets.token_hex(16)).fold(each for each in pending if each[0] > folded)
            yield cast("View", _Named(store, writer.view()))


class _Named:
    """A view whose damage is told as that of its own store, whichever other one is being read or written."""

    def __init__(self, store: Store, view: View) -> None:
        self._store, self._view = store, view

    def __getattr__(self, name: str) -> Any:
        asked = getattr(self._view, name)
        if not callable(asked):
            return asked

        def named(*arguments: Any, **options: Any) -> Any:
            with self._naming():
                found = asked(*arguments, **options)
            return self._walk(found) if isinstance(found, Generator) else found

        return named

    def _walk(self, found: Generator[Any, None, None]) -> Iterator[Any]:
        with self._naming():
            yield from found

    @contextlib.contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except RecollectError:
            raise
        except Exception:
            with self._store.view():  # which knows its errors, and names its file
                raise


def _is_same(one: str, other: str) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return os.path.samefile(one, other)
    return one == other

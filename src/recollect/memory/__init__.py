"""`Memory`: the one object that every face talks to.

    with recollect.Memory.open() as memory:
        memory.ingest()
        for entry in memory.tail("3f2a", 20):
            print(entry.entry.kind.name, entry.entry.text)

Reads see everything that was ever acknowledged: the store, and whatever waits in the
journal, folded into a private copy of the state that is never written.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

from recollect.config import Config, load_config
from recollect.memory.collector import without_collector
from recollect.memory.composing import Composing
from recollect.memory.facts import FactsKept
from recollect.memory.forgetting import Forgetting
from recollect.memory.joining import Joining
from recollect.memory.known import Known
from recollect.memory.migrating import Migrating
from recollect.memory.naming import Naming
from recollect.memory.recalling import Recalling
from recollect.memory.retained import Retained
from recollect.memory.saving import Saving
from recollect.memory.upkeep import Upkeep
from recollect.store.registry import has_store, location, open_store
from recollect.values.errors import RecollectError, StoreBusy, StoreError, StoreWriteFailed, UsageError
from recollect.values.stored import StoreInfo

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from recollect.intake.own import OwnLogs
    from recollect.memory.fleet import Fleet
    from recollect.memory.graph import MemoryGraph
    from recollect.memory.mirrors import Mirrors
    from recollect.search.indexes import Indexes
    from recollect.search.projects import NamedViews
    from recollect.search.run import Request
    from recollect.store.contract import Store, View
    from recollect.values.hits import Fresh, Results
    from recollect.values.notes import Vector
    from recollect.values.records import Segment
    from recollect.values.reports import Estimate, Progress, Report
    from recollect.values.stored import Footprint, VectorModel

VIEW_BYTES_MAX = 64 << 20  # of a journal that a look holds in memory
MISSED_BYTES = 32 << 20  # of what hooks missed that one look takes in: about two seconds' work
LOOKED_AT = 3  # times the hits asked for, which may change places by how often they were shown
INDEX_AGAIN_SECONDS = 0.25  # between looks whether another process that indexes is done
_SPOOL_BYTES = 8 << 20

# What only some verbs need is imported by them: an agent asks one question per process,
# and everything above costs time before the answer.


class Memory(
    Recalling, Composing, Naming, Known, Upkeep, Joining, Retained, Forgetting, Saving, Migrating, FactsKept
):
    """A person's memory of what their agents said and did."""

    def __init__(self, store: Store, config: Config) -> None:
        self._store = store
        self._indexes: Indexes | None = None
        self._views: NamedViews | None = None
        self._graph: MemoryGraph | None = None
        self._making, self._folding = threading.Lock(), threading.Lock()
        self._marked = False  # that all sources are is known only once it was looked
        self.config = config

    @classmethod
    def open(
        cls, store: str | os.PathLike[str] | None = None, *, create: bool = True, config: Config | None = None
    ) -> Memory:
        """The memory at a path or URL, by default the person's own; a missing one is made if `create`."""
        config = config or load_config(os.fspath(store) if store is not None else None)
        at = location(store) if store is not None else config.store
        return cls(open_store(at, create=create), config)

    @staticmethod
    def exists(config: Config) -> bool:
        """Whether there is a store, or something that hooks appended before there was one."""
        return has_store(config.store)

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._store.close()

    @property
    def name(self) -> str:
        """What people know the store by: its path or URL."""
        return self._store.name

    # -- in --------------------------------------------------------------------------------

    @property
    def graph(self) -> MemoryGraph:
        """Entities and their relations: what was said of them, and what logs mention together."""
        from recollect.memory.graph import MemoryGraph

        self._graph = self._graph or MemoryGraph(self)
        return self._graph

    @property
    def fleet(self) -> Fleet:
        """Other machines, whose logs are taken in over ssh."""
        from recollect.memory.fleet import Fleet

        return Fleet(self, self._store)

    def mirrors(self, agent: str) -> Mirrors:
        """Sessions that an agent's SDK mirrors into this memory; what is known is kept between verbs."""
        from recollect.memory.mirrors import Mirrors

        return Mirrors(self, self._store, agent)

    def ingest(
        self,
        paths: Iterable[str | os.PathLike[str]] = (),
        *,
        dry_run: bool = False,
        progress: Progress | None = None,
        timeout: float = 60.0,
    ) -> Report:
        """Take everything new from the given files and folders, or from this machine's agents.

        A dry run reports exactly what would be taken and changes nothing. `timeout`: seconds to wait for
        another process that is writing.
        """
        from recollect.intake.discover import agent_roots, discover
        from recollect.intake.forks import note_forks
        from recollect.intake.ingest import Ingest
        from recollect.intake.workers import sweep

        roots = [Path(path) for path in paths] or agent_roots(Path.home(), os.environ)
        found = discover(roots)
        writing = self._store.rehearsal() if dry_run else self._store.writer(timeout=timeout)
        with without_collector(), writing as writer:
            own = self._own_logs()
            erased = None if dry_run else self._cleared(writer)
            ingest = Ingest(writer, self.config.host, progress, own, erased)
            ingest.report.skipped = found.skipped
            marked = own.mark_stored(writer)
            folded = ingest.fold(self._store.pending(patient=not dry_run))
            ingest.compare_captured()
            sweep(ingest, writer, self.config.host, found.found, own)
            note_forks(writer, ingest.began)
            if folded or marked or ingest.dirty:
                writer.commit()
        if self._store.has_journal() and not dry_run:
            self._clear_journal(folded)
        return ingest.report

    def append(self, segment: Segment) -> int:
        """Make bytes of a source durable without parsing them; returns their number in the journal."""
        return self._store.append(segment)

    def capture(self, *, timeout: float = 1.0) -> int:
        """Append what followed transcripts gained since their agent's last hook; returns how many bytes.

        Costs a look at each file. What cannot be taken now is taken the next time.
        """
        from recollect.memory.machine import capture_followed

        captured = capture_followed(self.config)
        self.take_missed(timeout=timeout)
        return captured

    def take_missed(self, *, timeout: float = 1.0, progress: Progress | None = None) -> bool:
        """Look at every transcript of the last days, where a hook could take none and leave no word of it.

        Returns whether nothing is missed any more. `timeout`: seconds to wait for another process that is
        writing; what cannot be taken now, or is more than `MISSED_BYTES`, is taken the next time.
        """
        from recollect.light.missed import Taking, is_missed

        state = str(self.config.state)
        if not is_missed(state):
            return True
        from recollect.memory.machine import missed_logs

        taking = Taking(state)
        taking.begin()
        recent, left = missed_logs(self, MISSED_BYTES)
        try:
            if recent:
                self.ingest(recent, timeout=timeout, progress=progress)
        except RecollectError:
            return False
        if not left:
            taking.end()
        return not is_missed(state)

    def checkpoint(self, *, timeout: float = 60.0) -> Report:
        """Fold the journal into the store; afterwards there is one file."""
        from recollect.intake.forks import note_forks
        from recollect.intake.ingest import Ingest

        with self._store.writer(timeout=timeout) as writer:
            own = self._own_logs()
            ingest = Ingest(writer, self.config.host, own=own, erased=self._cleared(writer))
            marked = own.mark_stored(writer)
            folded = ingest.fold(self._store.pending())
            ingest.compare_captured()
            note_forks(writer, ingest.began)
            if folded or marked:
                writer.commit()
        self._clear_journal(folded)
        return ingest.report

    def _clear_journal(self, folded: int) -> None:
        """Drop a journal of which all is in the store, also one that a killed process folded."""
        if not folded:
            with self._store.view() as view:
                folded = view.info().folded
        self._store.clear_journal(folded)

    # -- out -------------------------------------------------------------------------------

    @contextlib.contextmanager
    def view(self) -> Iterator[View]:
        """One consistent state, the journal's tail included, with every source marked and projects named.

        What is in the journal is held in memory for it: of a long one that cannot be folded, as another
        process is writing or the disk refuses, the first `VIEW_BYTES_MAX`; the rest is told by `waiting`.
        """
        from recollect.search.projects import NamedViews, named

        views = self._views = self._views or NamedViews(self.config.cache)
        if self._store.journal_bytes() > VIEW_BYTES_MAX:
            self._fold_if_free()
        # Read before the store's state is chosen: who folds what is read here empties the journal meanwhile,
        # and it is in the store then.
        pending = list(_within(self._store.pending(patient=False), VIEW_BYTES_MAX))
        if not pending and self._is_marked():
            with self._store.view() as view:
                yield cast("View", views.of(view))
            return
        from recollect.intake.ingest import Ingest

        with self._store.rehearsal() as writer:
            own = self._own_logs()
            own.mark_stored(writer)
            folded = writer.view().info().folded
            ingest = Ingest(writer, self.config.host, own=own)
            ingest.fold((n, segment) for n, segment in pending if n > folded)
            yield named(writer.view())

    def _is_marked(self) -> bool:
        """Whether the store says of all its sources whose they are; one of an earlier version does not."""
        if not self._marked:
            with self._store.view() as view:
                self._marked = not view.unmarked()
        return self._marked

    def _own_logs(self) -> OwnLogs:
        from recollect.intake.own import OwnLogs

        return OwnLogs(self.config.host, Path.home(), os.environ)

    def info(self) -> StoreInfo:
        with self.view() as view:
            return view.info()

    def footprint(self) -> Footprint:
        """What the store takes, and when it was last written."""
        return self._store.footprint()

    def waiting(self) -> int:
        """How many appends are not folded into the store yet."""
        return sum(1 for _ in self._store.pending(patient=False))

    # -- search ----------------------------------------------------------------------------

    def search(
        self,
        query: str = "",
        *,
        mode: str = "hybrid",
        limit: int = 10,
        offset: int = 0,
        plain: bool = False,
        near: Iterable[str] = (),
        not_near: Iterable[str] = (),
        fusion: str = "minmax",
        strategy: str = "auto",
        recency: bool = False,
        project_boost: str = "",
        collapse: bool = True,
        by_session: bool = False,
        now: datetime.datetime | None = None,
        seconds: float | None = None,
        spread: bool = False,
        vector: Vector | None = None,
        activated: bool = False,
    ) -> Results:
        """What was said or done about something, best first; docs/search.md has the query language.

        `plain` takes the query as words and nothing else; in any other, what cannot be read is taken as words
        too, and `Results.notes` say so. What came in since the last search is indexed first, for at most
        `seconds` an index; `Results.fresh` says what is left. `by_session` lists the hits by session too, in
        `Results.sessions`, with what was asked there and what it came to. A `vector` is compared with those
        that notes were saved with, in place of meaning as our embedder has it. `spread` lifts entries that
        mention what the graph relates to things that the query names. `activated` lifts what was shown so
        before, and notes what is shown now (docs/memory.md).
        """
        from recollect.search.indexes import CATCH_UP_SECONDS
        from recollect.search.query import QUERY_CHARS_MAX
        from recollect.search.run import Request

        if activated and (offset or by_session):
            raise UsageError("activated changes the order of one page, and knows no offset and no sessions")
        request = Request(
            query[:QUERY_CHARS_MAX],
            mode,
            limit * LOOKED_AT if activated else limit,
            offset,
            plain,
            tuple(near),
            tuple(not_near),
            fusion,
            strategy,
            recency,
            project_boost,
            collapse,
            now,
            by_session,
            spread=spread,
            given=self._checked_question(vector),
        )
        waiting = self._fold_if_free()
        results = self.indexes.search(
            request, waiting=waiting, seconds=CATCH_UP_SECONDS if seconds is None else seconds
        )
        if activated:
            results = self._activated(results, limit)
        return self._annotated(results, query, request)

    def _annotated(self, results: Results, query: str, request: Request) -> Results:
        """The results, with notes on how the query was read, and on why nothing was found."""
        from dataclasses import replace

        from recollect.search.query import Reading, plain_words, read

        now = request.now or datetime.datetime.now()
        meant = Reading(plain_words(query)) if request.plain else read(query, now)
        notes = (*meant.notes, *results.notes)
        if not results.hits and not request.offset and request.limit:
            from recollect.search.unfound import reasons

            with self.indexes.asking(meaning=False, seconds=0.0) as search:
                notes += reasons(search, meant.node)
        return replace(results, notes=notes) if notes != results.notes else results

    # -- working memory --------------------------------------------------------------------

    # -- projects --------------------------------------------------------------------------

    # -- saved threads ---------------------------------------------------------------------

    # -- indexes ---------------------------------------------------------------------------

    def complete(self, field: str, prefix: str = "", limit: int = 50) -> list[tuple[str, int]]:
        """Values a query's field can have, with how often each occurs, the most frequent first."""
        from recollect.search.completion import values

        with self.indexes.asking(meaning=False) as search:
            return values(search.text, search.sessions, search.mentions, field, prefix, limit)

    def index(
        self, *, rebuild: bool = False, progress: Progress | None = None, timeout: float = 0.0
    ) -> Fresh:
        """Bring the indexes, and what is derived, up to date; with `rebuild`, the indexes from nothing.

        `timeout`: seconds to wait for another process that does the same, counted anew whenever it gets on.
        What is left then is for the next one to index.
        """
        if rebuild:
            self.indexes.drop()
        fresh, left = self._index(progress)
        patience = time.monotonic() + timeout
        while fresh.is_busy and time.monotonic() < patience:
            time.sleep(INDEX_AGAIN_SECONDS)
            before = left
            fresh, left = self._index(progress)
            if left < before:
                patience = time.monotonic() + timeout
        return fresh

    def _index(self, progress: Progress | None) -> tuple[Fresh, int]:
        """Index what nobody else is at; also says how many entries are left to do, of all tables together."""
        from dataclasses import replace

        from recollect.insight.derive import derive, left_to_derive, reading_ahead

        waiting = self._fold_if_free()
        with contextlib.suppress(StoreBusy, StoreWriteFailed):
            self.finish_erasing(timeout=0.0)
        is_busy = False
        with reading_ahead(self._store) as ahead:
            self.indexes.catch_up(progress=progress, dims=self.vector_dims())
            with without_collector(), contextlib.suppress(StoreWriteFailed):
                try:
                    derive(self._store, ahead, progress)
                except StoreBusy:
                    is_busy = True
        fresh = self.indexes.fresh(waiting)
        left = left_to_derive(self._store)
        is_busy = (fresh.is_busy and fresh.text + fresh.vectors < 2 * fresh.entries) or (is_busy and left > 0)
        return replace(fresh, is_busy=is_busy), 2 * fresh.entries - fresh.text - fresh.vectors + left

    def fresh(self) -> Fresh:
        """How far the indexes reach, without changing them."""
        return self.indexes.fresh(self.waiting())

    def vector_models(self) -> list[VectorModel]:
        """What the store holds vectors of."""
        with self.view() as view:
            return view.vector_models()

    def embedding_estimate(self) -> Estimate:
        """What embedding everything from nothing would take."""
        from recollect.search.embed.estimate import estimate

        with self.view() as view:
            return estimate(view, self.config.embedder, self.config.embedders, os.environ)

    @property
    def indexes(self) -> Indexes:
        """What makes this store searchable."""
        with self._making:
            if self._indexes is None:
                from recollect.search.embed import embedder
                from recollect.search.indexes import Indexes

                self._indexes = Indexes(
                    self._store,
                    self.config.cache,
                    lambda name: embedder(
                        name, settings=self.config.embedders, models=self.config.models, environ=os.environ
                    ),
                    self.config.embedder,
                )
            return self._indexes

    def _forget_indexes(self) -> None:
        """Let go of what is held open of the indexes; they are opened, or made, when next asked for."""
        with self._making:
            self._indexes = self._views = None

    def _fold_if_free(self) -> int:
        """Bring what hooks appended into the store, unless someone is writing; returns what still waits."""
        if not self._store.has_journal() and self._is_marked():
            return 0
        with self._folding, contextlib.suppress(StoreBusy, StoreWriteFailed):
            if self._store.has_journal() or not self._is_marked():  # else another thread was quicker
                self.checkpoint(timeout=0.0)
        return self.waiting()

    def is_busy(self) -> bool:
        """Whether another process is writing now, so that more may soon be found."""
        try:
            with self._store.writer(timeout=0.0):
                return False
        except StoreBusy:
            return True
        except StoreError:  # a store that nobody can write is not being written
            return False

    # -- care ------------------------------------------------------------------------------


def _within(pending: Iterable[tuple[int, Segment]], bytes_max: int) -> Iterator[tuple[int, Segment]]:
    """The first appends, up to so many bytes."""
    for number, segment in pending:
        yield number, segment
        bytes_max -= len(segment.data)
        if bytes_max <= 0:
            return

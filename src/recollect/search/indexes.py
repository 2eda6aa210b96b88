"""The indexes of one store: opened when needed, brought up to date before they are asked.

A search spends a bounded time on catching up and then answers with what there is; `catch_up`
without a limit is what an ingest ends with. Nothing here is needed to keep what is stored:
without the cache folder everything is built again.

Several threads may ask: each has indexes opened for itself while it does, and one of them catches up.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from recollect.search.cache_folder import store_folder
from recollect.search.candidates import Passing
from recollect.search.copies import knowing_copies
from recollect.search.mentions import Mentions
from recollect.search.projects import NamedViews
from recollect.search.run import Request, Search
from recollect.search.session_filters import Sessions
from recollect.search.text.exchanges import ExchangeIndex
from recollect.search.text.index import TextIndex
from recollect.store.contract import Array, Store, View
from recollect.values.errors import RecollectError, UsageError
from recollect.values.hits import Fresh, Results
from recollect.values.stored import StoreInfo

if TYPE_CHECKING:
    from recollect.search.embed.contract import Embedder
    from recollect.search.vectors.given import GivenVectors
    from recollect.search.vectors.index import VectorIndex
    from recollect.values.reports import Progress

ROUND_SECONDS = 30.0  # of indexing on one view of the store: others want to put their commits in place
IDLE_MAX = 4  # opened indexes that are kept for the next who asks
CATCH_UP_SECONDS = 0.5  # that a search spends on what is new, for each index


class Indexes:
    """What makes one store searchable, for any number of threads."""

    def __init__(
        self, store: Store, cache: Path, embedder: Callable[[str], Embedder], default: str = "static"
    ) -> None:
        self._store, self._cache = store, cache
        self._embedders = _Embedders(embedder)
        self._default = default
        self._idle: list[_ThreadIndexes] = []
        self._catching_up = threading.Lock()

    def search(self, request: Request, *, waiting: int = 0, seconds: float = CATCH_UP_SECONDS) -> Results:
        """The answer to a request, after a moment's catching up."""
        with self._borrow() as opened:
            return opened.search(request, waiting=waiting, seconds=seconds)

    @contextlib.contextmanager
    def asking(
        self, meaning: bool, *, waiting: int = 0, seconds: float = CATCH_UP_SECONDS
    ) -> Iterator[Search]:
        """The present state, ready to be asked as often as one likes, by `meaning` too."""
        with self._borrow() as opened, opened.asking(meaning, waiting=waiting, seconds=seconds) as search:
            yield search

    def catch_up(
        self,
        *,
        seconds: float | None = None,
        vectors: bool = True,
        progress: Progress | None = None,
        dims: int = 0,
    ) -> None:
        """Index what is new: all of it, or as much as can be done in some seconds.

        `dims`: how many numbers the vectors have that notes were saved with; 0 leaves those for a search.
        """
        with self._borrow() as opened:
            opened.catch_up(seconds=seconds, vectors=vectors, progress=progress)
            if dims:
                opened.given_index(dims, seconds)

    def fresh(self, waiting: int = 0) -> Fresh:
        """How far the indexes reach, without changing them."""
        with self._borrow() as opened:
            return opened.fresh(waiting)

    def vectors_of(self, rows: Sequence[int]) -> dict[int, Array]:
        """The vectors of some entries, as far as they have any; none where their embedder is not there."""
        try:
            with self._borrow() as opened:
                return opened.vectors_of(rows)
        except RecollectError:
            return {}

    def drop(self) -> None:
        """Delete the cache of this store; the next search starts afresh."""
        import shutil

        with self._store.view() as view:
            folder = _folder(self._cache, view.info())
        self._idle.clear()
        shutil.rmtree(folder, ignore_errors=True)

    @contextlib.contextmanager
    def _borrow(self) -> Iterator[_ThreadIndexes]:
        """Opened indexes that no other thread is asking: the ones last used, where they are free."""
        try:
            opened = self._idle.pop()
        except IndexError:
            opened = _ThreadIndexes(
                self._store, self._cache, self._embedders, self._default, self._catching_up
            )
        try:
            yield opened
        finally:
            if len(self._idle) < IDLE_MAX:
                self._idle.append(opened)


class _Embedders:
    """Each embedder made once, whoever asks first: threads may share them, and they are large."""

    def __init__(self, make: Callable[[str], Embedder]) -> None:
        self._make = make
        self._made: dict[str, Embedder] = {}
        self._making = threading.Lock()

    def __call__(self, name: str) -> Embedder:
        with self._making:
            if name not in self._made:
                self._made[name] = self._make(name)
            return self._made[name]


class _ThreadIndexes:
    """The indexes as one thread asks them."""

    def __init__(
        self,
        store: Store,
        cache: Path,
        embedder: Callable[[str], Embedder],
        default: str,
        catching_up: threading.Lock,
    ) -> None:
        self._store, self._cache = store, cache
        self._embedder, self._default = embedder, default
        self._catching_up = catching_up
        self._text: tuple[str, int, TextIndex] | None = None
        self._exchanges: tuple[str, int, ExchangeIndex] | None = None
        self._vectors: tuple[str, int, VectorIndex] | None = None
        self._given: tuple[str, int, GivenVectors] | None = None
        self._named = NamedViews(cache)
        self._passing: tuple[tuple[str, int, int, int], Passing] | None = None

    def search(self, request: Request, *, waiting: int = 0, seconds: float = CATCH_UP_SECONDS) -> Results:
        """The answer to a request, after a moment's catching up."""
        meaning, dims = request.mode != "text", len(request.given) // 4
        with self.asking(meaning, waiting=waiting, seconds=seconds, dims=dims) as search:
            results = search.run(request)
            if search.text.rows >= results.fresh.text:
                return results
        # A damaged index counts as absent from the moment it fails, which may be in the midst of a search.
        self._passing = None
        with self.asking(meaning, waiting=waiting, seconds=seconds, dims=dims) as search:
            return search.run(request)

    @contextlib.contextmanager
    def asking(
        self, meaning: bool, *, waiting: int = 0, seconds: float = CATCH_UP_SECONDS, dims: int = 0
    ) -> Iterator[Search]:
        """The present state, ready to be asked as often as one likes, by `meaning` too.

        `dims`: a vector of so many numbers is compared with those that notes were saved with.
        """
        self.catch_up(seconds=seconds, vectors=meaning and not dims, exchanges=meaning)
        given = self.given_index(dims, seconds) if dims else None
        with self._store.view() as view:
            info = view.info()
            vectors = self._vector_index(info) if meaning and not dims else None
            exchanges = self._exchange_index(info) if meaning else None
            text, (view, sessions, mentions) = self._text_index(info), self._by_name(view)
            passing, fresh = self._filters_known(text, info), self._fresh(info, waiting, meaning)
            yield Search(
                view,
                text,
                sessions,
                vectors,
                mentions=mentions,
                passing=passing,
                fresh=fresh,
                exchanges=exchanges,
                given=given,
            )

    def catch_up(
        self,
        *,
        seconds: float | None = None,
        vectors: bool = True,
        exchanges: bool = True,
        progress: Progress | None = None,
    ) -> None:
        """Index what is new; where another thread is at it, wait so long and go on with what that did."""
        began = time.monotonic()
        if self._is_current(vectors, exchanges):
            return
        if not self._catching_up.acquire(timeout=-1 if seconds is None else seconds):
            self._is_current(vectors, exchanges)  # what was committed meanwhile is seen
            return
        try:
            left = None if seconds is None else max(seconds - (time.monotonic() - began), 0.0)
            self._catch_up(left, vectors, exchanges, progress)
        finally:
            self._catching_up.release()

    def _is_current(self, vectors: bool, exchanges: bool) -> bool:
        """Whether the indexes, as they are on disk now, reach the store's end."""
        with self._store.view() as view:
            info = view.info()
            text = self._text_index(info)
            text.reload()
            current = text.is_current(view)
            if exchanges:
                asked = self._exchange_index(info)
                asked.reload()
                current = current and asked.is_current(view)
        if not vectors:
            return current
        index = self._vector_index(info)
        if index.rows < info.rows_end:
            index.reload()
        return current and index.rows >= info.rows_end

    def _catch_up(
        self, seconds: float | None, vectors: bool, exchanges: bool, progress: Progress | None
    ) -> None:
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        while True:
            with self._store.view() as view:
                info = view.info()
                text = self._text_index(info)
                text.reload()
                before = text.rows
                if not text.is_current(view):
                    until = min(deadline, time.monotonic() + ROUND_SECONDS)
                    text.catch_up(knowing_copies(view), deadline=until, progress=_named(progress, "text"))
            if text.rows >= info.rows_end or text.rows == before or time.monotonic() >= deadline:
                break
        if exchanges:
            with self._store.view() as view:
                asked = self._exchange_index(view.info())
                if not asked.is_current(view):
                    asked.catch_up(
                        knowing_copies(view),
                        deadline=_deadline(seconds),
                        progress=_named(progress, "exchanges"),
                    )
        if vectors:
            index = self._vector_index(info)
            if index.rows < info.rows_end:
                index.catch_up(
                    self._knowing_copies,
                    self._store.writer,
                    deadline=_deadline(seconds),
                    progress=_named(progress, "vectors"),
                )

    @contextlib.contextmanager
    def _knowing_copies(self) -> Iterator[View]:
        with self._store.view() as view:
            yield knowing_copies(view)

    def vectors_of(self, rows: Sequence[int]) -> dict[int, Array]:
        with self._store.view() as view:
            return self._vector_index(view.info()).of(rows)

    def fresh(self, waiting: int = 0) -> Fresh:
        """How far the indexes reach, without changing them."""
        with self._store.view() as view:
            info = view.info()
        self._vector_index(info)
        return self._fresh(info, waiting, meaning=True)

    # -- opened once, and again when the store was rewritten ---------------------------------

    def _text_index(self, info: StoreInfo) -> TextIndex:
        if self._text is None or self._text[:2] != (info.id, info.epoch):
            index = TextIndex.open(_folder(self._cache, info), info.id, info.epoch)
            self._text = info.id, info.epoch, index
        return self._text[2]

    def _exchange_index(self, info: StoreInfo) -> ExchangeIndex:
        if self._exchanges is None or self._exchanges[:2] != (info.id, info.epoch):
            index = ExchangeIndex.open(_folder(self._cache, info), info.id, info.epoch)
            self._exchanges = info.id, info.epoch, index
        return self._exchanges[2]

    def _vector_index(self, info: StoreInfo) -> VectorIndex:
        if self._vectors is None or self._vectors[:2] != (info.id, info.epoch):
            from recollect.search.vectors.index import VectorIndex

            index = VectorIndex.open(
                _folder(self._cache, info), info.id, info.epoch, self._embedder(self._default)
            )
            self._vectors = info.id, info.epoch, index
        return self._vectors[2]

    def given_index(self, dims: int, seconds: float | None) -> GivenVectors:
        """The vectors that notes were saved with, caught up with for some seconds; None: all there is."""
        from recollect.search.vectors.given import GivenVectors

        with self._store.view() as view:
            info = view.info()
        if self._given is None or self._given[:2] != (info.id, info.epoch) or self._given[2].dims != dims:
            index = GivenVectors.open(_folder(self._cache, info), info.id, info.epoch, dims)
            self._given = info.id, info.epoch, index
        index = self._given[2]
        if index.rows < info.rows_end or seconds is None:
            index.catch_up(self._store.view, deadline=_deadline(seconds))
        return index

    def _by_name(self, view: View) -> tuple[View, Sessions, Mentions]:
        """The view as people name its projects, its sessions, and what it mentions."""
        named = self._named.of(view)
        return cast("View", named), named.worked_out(Sessions), named.worked_out(Mentions)

    def _filters_known(self, text: TextIndex, info: StoreInfo) -> Passing:
        state = (info.id, info.epoch, info.generation, text.rows)
        if self._passing is None or self._passing[0] != state:
            self._passing = state, Passing(text, info.rows_end)
        return self._passing[1]

    def _fresh(self, info: StoreInfo, waiting: int, meaning: bool) -> Fresh:
        """How much is seen of the store; by meaning an entry is seen once its exchange is indexed too."""
        by_words = [self._text_index(info), *([self._exchange_index(info)] if meaning else [])]
        text = _entries_below(min(index.rows for index in by_words), info)
        stopped = next((index.stopped for index in by_words if index.stopped), "")
        is_busy = any(index.is_busy for index in by_words)
        if self._vectors is None:
            return Fresh(info.entries, text, 0, waiting, stopped, is_busy)
        vectors = self._vectors[2]
        return Fresh(
            info.entries,
            text,
            _entries_below(vectors.rows, info),
            waiting,
            stopped or vectors.stopped,
            not stopped and (is_busy or vectors.is_busy),
        )


def _entries_below(row: int, info: StoreInfo) -> int:
    """About how many entries have a lower row; exactly where all or none have, or rows have no gaps."""
    return info.entries if row >= info.rows_end else info.entries * row // info.rows_end


def _folder(cache: Path, info: StoreInfo) -> Path:
    try:
        return store_folder(cache, info.id)
    except OSError as error:
        raise UsageError(
            f"{cache}: cannot hold the indexes: {error.strerror}",
            hint="name another folder with RECOLLECT_CACHE or `cache` in the config file",
        ) from error


def _deadline(seconds: float | None) -> float | None:
    return None if seconds is None else time.monotonic() + seconds


def _named(progress: Progress | None, name: str) -> Callable[[int, int], None]:
    def told(done: int, total: int) -> None:
        if progress is not None:
            progress(name, done, total)

    return told

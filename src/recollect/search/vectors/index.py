"""The vector index: which vectors an entry has, and which entries are nearest to one.

Vectors are dear and live in the store, by the key of the piece of text they are of; here is a copy
that can be mapped into memory, and the map between entries and vectors, which is cheap to make again.
Catching up reads entries, embeds the pieces that no one embedded before, commits them to the store
and only then adds them here: what was committed is never embedded twice, whatever is cut short.

One vector may stand for thousands of entries ("tests passed"), and an entry may have several.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from recollect.search.cache_folder import Bound, Place
from recollect.search.embed.contract import Embedder, Vectors, unit_rows
from recollect.search.vectors import nearest as strategies
from recollect.search.vectors.arrays import Arrays
from recollect.search.vectors.pieces import pieces_of
from recollect.search.vectors.scan import scores
from recollect.store.contract import Array, View, Writer
from recollect.values.errors import EmbedderFailed, StoreBusy, StoreError
from recollect.values.ids import name_key
from recollect.values.stored import VectorModel

FORMAT = 1  # another number makes every index afresh
ROUND_ROWS = 16_384  # entries that are read before their pieces are embedded
ROUND_CHARS = 16 << 20  # of pieces; a round ends with whichever comes first
EMBED_PIECES = 256  # at a time
EMBED_PIECES_HURRIED = 16  # with a deadline, looked at in between: a second for a transformer
COMMIT_VECTORS = 20_000
AGAIN_SECONDS = 30.0  # after something was in the way, searches do not try for so long
COMMIT_SECONDS = 15.0  # of work that a kill may cost, for embedders that are slow
COMPARED_EXACTLY = 6_000  # vectors that filters leave: fewer are compared one by one
SHORTLISTED = 3  # times the entries asked for: several pieces may be of one entry, and codes are inexact
WRITER_SECONDS = 0.5  # that we wait for the store: somebody is at work there, and we come again
SYNC_ROWS = 32_768
_PIECES_MAX = 8  # of a long text, that tell what it is about

Viewing = Callable[[], AbstractContextManager[View]]
Writing = Callable[..., AbstractContextManager[Writer]]
Progress = Callable[[int, int], None]


class VectorIndex:
    """The vectors of one store and one embedder. Entries [0, rows) are in it.

    `stopped` says why the last catching up ended early, where something was in its way; `is_busy`: that was
    another process.
    """

    def __init__(self, place: Place, store: tuple[str, int], embedder: Embedder) -> None:
        self.embedder = embedder
        self.stopped, self.is_busy = "", False
        self._again = 0.0
        self._place, self._store = place, store
        self._arrays: Arrays | None = None
        self._heads: Array | None = None
        self._near: tuple[str, int, strategies.Nearest] | None = None
        self._filtered: deque[tuple[Array, Array, Array]] = deque(maxlen=16)
        self.reload()

    @classmethod
    def open(cls, folder: Path, store_id: str, epoch: int, embedder: Embedder) -> VectorIndex:
        """The index in a store's cache folder; one of another store, epoch or revision is not looked at."""
        name = f"vectors-{name_key(embedder.name):016x}"
        bound: Bound = {
            "format": FORMAT,
            "store": store_id,
            "epoch": epoch,
            "model": embedder.name,
            "revision": embedder.revision,
            "dims": embedder.dims,
        }
        return cls(Place(folder, name, bound), (store_id, epoch), embedder)

    @property
    def rows(self) -> int:
        return self._arrays.count("ends") if self._arrays is not None else 0

    def reload(self) -> None:
        """See what other processes did."""
        folder = self._place.current()
        if folder is None:
            self._arrays = None
        elif self._arrays is None or self._arrays.folder != folder:
            self._arrays = Arrays(folder, _shapes(self.embedder.dims))
        else:
            self._arrays.reload()
        self._heads = self._near = None
        self._filtered.clear()

    def catch_up(
        self,
        views: Viewing,
        writers: Writing,
        *,
        deadline: float | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Add what the store has more of; returns `rows`.

        Ends at the deadline (of `time.monotonic`), when another process is at it, and when the store
        or the cache cannot be written. Without a deadline it also brings what the strategy keeps up
        to date, which may take seconds.
        """
        if self.stopped and deadline is not None and time.monotonic() < self._again:
            return self.rows
        self.stopped, self.is_busy = "", False
        try:
            with self._place.lock() as locked:
                self.reload()
                self.is_busy = not locked and self._place.refusal is None
                if locked:
                    self._advance(views, writers, deadline, progress)
        except (OSError, EmbedderFailed, _Stopped) as error:
            self.stopped = (error.strerror if isinstance(error, OSError) else None) or str(error)
            self._again = time.monotonic() + AGAIN_SECONDS
            self.is_busy = isinstance(error.__cause__, StoreBusy)
        self.reload()
        return self.rows

    def of(self, rows: Sequence[int]) -> dict[int, Array]:
        """The vectors of some entries, of length 1; of one with several pieces what they have in common."""
        known = [row for row in rows if row < self.rows]
        if self._arrays is None or not known:
            return {}
        stops = self._arrays["ends"][known].tolist()
        starts = self._arrays["ends"][[max(row - 1, 0) for row in known]].tolist()
        found: dict[int, Array] = {}
        for row, start, stop in zip(known, starts, stops, strict=True):
            ids = self._arrays["pieces"][start if row else 0 : stop]
            if len(ids):
                total = np.sum(self._arrays["vectors"][ids[:_PIECES_MAX]].astype(np.float32), axis=0)
                length = float(np.linalg.norm(total))
                if length:
                    found[row] = total / length
        return found

    def nearest(
        self, query: Vectors, k: int, strategy: str = "auto", allowed: Array | None = None
    ) -> tuple[Array, Array]:
        """The k entries nearest to a query by their best piece, with scores; of equals the newest first.

        `allowed` says of every entry whether it may be among them.
        """
        if self._arrays is None or not np.any(query):
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        if allowed is None:
            best = self._nearest(self._arrays, query, k, strategy)
        else:
            best = self._nearest_of(self._arrays, query, k, strategy, allowed)
        rows = np.array(list(best), np.int64)
        values = np.array(list(best.values()), np.float32)
        order = np.lexsort((-rows, -values))[:k]
        return rows[order], values[order]

    def _nearest(self, arrays: Arrays, query: Vectors, k: int, strategy: str) -> dict[int, float]:
        near = self._loaded(arrays, strategy)
        wanted = k + k // 2 + 16  # pieces: some belong to one entry, some to none any more
        while True:
            ids, found = near.search(query, wanted)
            best = self._entries(arrays, ids.tolist(), found.tolist(), k)
            if len(best) >= k or len(ids) < wanted:
                return best
            wanted *= 2

    def _nearest_of(
        self, arrays: Arrays, query: Vectors, k: int, strategy: str, allowed: Array
    ) -> dict[int, float]:
        """Few are compared one by one; of many a shortlist is taken that is long enough to hold k of them."""
        fitting, ids = self._fitting(arrays, allowed)
        if len(ids) > COMPARED_EXACTLY:
            wanted = int(SHORTLISTED * k * len(fitting) / len(ids))
            short = self._loaded(arrays, strategy).shortlist(query, wanted)
            ids = short[fitting[short]]
        values = scores(arrays["vectors"], query, ids)
        order = np.lexsort((ids, -values))[: SHORTLISTED * k]
        return self._entries(arrays, ids[order].tolist(), values[order].tolist(), k, allowed)

    def _fitting(self, arrays: Arrays, allowed: Array) -> tuple[Array, Array]:
        """Which vectors are of allowed entries; remembered, because filters are asked again and again."""
        for known, fitting, ids in self._filtered:
            if known is allowed:
                return fitting, ids
        fitting = np.zeros(arrays.count("vectors"), bool)
        fitting[arrays["pieces"][allowed[arrays["owners"]]]] = True
        self._filtered.append((allowed, fitting, np.flatnonzero(fitting)))
        return self._filtered[-1][1:]

    def scores(self, query: Vectors, rows: Array) -> Array:
        """How near each entry's best piece is, exactly; NaN for an entry without one."""
        found: Array = np.full(len(rows), np.nan, np.float32)
        if self._arrays is None:
            return found
        start, stop = _spans(self._arrays, np.asarray(rows, np.int64))
        have = np.flatnonzero(stop > start)
        if not len(have):
            return found
        counts = (stop - start)[have]
        firsts = np.cumsum(counts) - counts
        places = np.repeat(start[have] - firsts, counts) + np.arange(int(counts.sum()))
        ids = self._arrays["pieces"][places].astype(np.int64)
        found[have] = np.maximum.reduceat(scores(self._arrays["vectors"], query, ids), firsts)
        return found

    def vector(self, row: int) -> Vectors:
        """What an entry is about, as one unit vector; zeros where it has none."""
        mean: Vectors = np.zeros(self.embedder.dims, np.float32)
        if self._arrays is not None:
            start, stop = (int(end[0]) for end in _spans(self._arrays, np.array([row])))
            ids = self._arrays["pieces"][start:stop]
            mean = self._arrays["vectors"][ids].astype(np.float32).sum(axis=0)
        unit: Vectors = unit_rows(mean[np.newaxis])[0]
        return unit

    def explain(self) -> dict[str, Any]:
        """What the last search rests on."""
        told: dict[str, Any] = {
            "embedder": self.embedder.name,
            "revision": self.embedder.revision,
            "embedded_entries": self.rows,
        }
        if self._near is not None:
            name, count, _ = self._near
            told |= {"strategy": name, "vector_rows": count, "recall": _recall(name, count)}
        return told | ({"stopped": self.stopped} if self.stopped else {})

    def _advance(
        self, views: Viewing, writers: Writing, deadline: float | None, progress: Progress | None
    ) -> None:
        with views() as view:
            info = view.info()
        if (info.id, info.epoch) != self._store:
            return  # and the folder may be that of the new epoch's index
        arrays = self._arrays
        if arrays is None or not arrays.marks:
            arrays = Arrays(self._place.begin(), _shapes(self.embedder.dims))
        _CatchingUp(arrays, self.embedder, self._store, views, writers, deadline, progress).run()
        if deadline is None:
            vectors = arrays["vectors"]
            strategies.build(strategies.choose(*vectors.shape), vectors, arrays.folder)

    def _loaded(self, arrays: Arrays, strategy: str) -> strategies.Nearest:
        vectors = arrays["vectors"]
        name = strategies.choose(*vectors.shape) if strategy == "auto" else strategy
        if self._near is None or self._near[:2] != (name, len(vectors)):
            self._near = name, len(vectors), strategies.load(name, vectors, arrays.folder)
        return self._near[2]

    def _entries(
        self, arrays: Arrays, ids: list[int], found: list[float], k: int, allowed: Array | None = None
    ) -> dict[int, float]:
        """The first k entries that these vectors are of, with the score of the first that is.

        Of each vector that is as near as the last one needed there are as many: the newest are to be chosen.
        """
        if self._heads is None:
            self._heads = _heads(arrays)
        heads, previous, owners = self._heads, arrays["previous"], arrays["owners"]
        best: dict[int, float] = {}
        least = -np.inf
        for id_, score in zip(ids, found, strict=True):
            if len(best) >= k and score < least:
                break
            least, room, at = score, k, int(heads[id_])
            while at and room:
                owner = int(owners[at - 1])
                if (allowed is None or allowed[owner]) and best.setdefault(owner, score) == score:
                    room -= 1
                at = int(previous[at - 1])
        return best


class _CatchingUp:
    """One run of it: rounds of reading, embedding, committing and mapping."""

    def __init__(
        self,
        arrays: Arrays,
        embedder: Embedder,
        store: tuple[str, int],
        views: Viewing,
        writers: Writing,
        deadline: float | None,
        progress: Progress | None,
    ) -> None:
        self._arrays, self._embedder, self._store = arrays, embedder, store
        self._views, self._writers = views, writers
        self._deadline, self._progress = deadline, progress
        self._model = VectorModel(embedder.name, embedder.revision, embedder.dims)
        self._heads = _heads(arrays)
        self._keys: list[int] = []  # embedded, and not committed yet
        self._vectors: list[Array] = []

    def run(self) -> None:
        while not self._late() and self._round():
            pass

    def _round(self) -> bool:
        """Take some entries; False when there are no more, or no more time."""
        with self._views() as view:
            info = view.info()
            start = self._arrays.count("ends")
            if (info.id, info.epoch) != self._store or start >= info.rows_end:
                return False
            self._sync(view)
            keys, texts, counts = _read(view, start, min(start + ROUND_ROWS, info.rows_end))
        # The view is closed: embedding may take long, and commits wait for those who read.
        finished = self._embed(keys, texts)
        self._commit()
        self._map(keys, counts)
        if self._progress is not None:
            self._progress(self._arrays.count("ends"), info.rows_end)
        return finished and self._arrays.count("ends") < info.rows_end

    def _late(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline

    def _embed(self, keys: Array, texts: list[str]) -> bool:
        """Embed what is unknown; False when time ran out. Some is always done, or we would never arrive."""
        missing = self._missing(keys)
        committed = time.monotonic()
        portion = EMBED_PIECES if self._deadline is None else EMBED_PIECES_HURRIED
        for at in range(0, len(missing), portion):
            if at and self._late():
                return False
            batch = missing[at : at + portion]
            try:
                self._vectors.append(self._embedder.encode([texts[n] for n in batch]).astype("<f2"))
            except EmbedderFailed:
                self._commit()  # what came before is paid for
                raise
            self._keys += keys[batch].tolist()
            if len(self._keys) >= COMMIT_VECTORS or time.monotonic() - committed > COMMIT_SECONDS:
                self._commit()
                committed = time.monotonic()
        return True

    def _commit(self) -> None:
        """Bring what was embedded into the store, and then here."""
        if not self._keys:
            return
        keys, vectors = np.array(self._keys, "<u8"), np.concatenate(self._vectors)
        self._keys, self._vectors = [], []
        try:
            with self._writers(timeout=WRITER_SECONDS) as writer:
                self._sync(writer.view())  # another cache of this store may have been quicker
                new = self._missing(keys)
                writer.add_vectors(self._model, keys[new], vectors[new])
                stored = self._stored(writer.view())
                writer.commit()
        except StoreError as error:
            raise _Stopped(str(error)) from error
        self._keep(keys[new], vectors[new], stored)

    def _sync(self, view: View) -> None:
        """Take over what the store has more of than we do."""
        stored = self._stored(view)
        for at in range(self._arrays.marks.get("stored", 0), stored, SYNC_ROWS):
            keys, vectors = view.vectors(self._model, at, at + SYNC_ROWS)
            new = self._missing(keys)
            self._keep(keys[new], vectors[new], min(at + SYNC_ROWS, stored))

    def _missing(self, keys: Array) -> Array:
        """Where in these the unknown ones are, each once, in order."""
        unknown = np.flatnonzero(_find(self._arrays["keys"], keys) < 0)
        _, first = np.unique(keys[unknown], return_index=True)
        return unknown[np.sort(first)]

    def _stored(self, view: View) -> int:
        return next((model.rows for model in view.vector_models() if model == self._model), 0)

    def _keep(self, keys: Array, vectors: Array, stored: int) -> None:
        self._arrays.append({"vectors": vectors, "keys": keys}, {"stored": stored})

    def _map(self, keys: Array, counts: Array) -> None:
        """Note the vectors of entries, up to the first that has one missing."""
        ids = _find(self._arrays["keys"], keys)
        ends = np.cumsum(counts)
        gaps = np.flatnonzero(ids < 0)
        whole = int(np.searchsorted(ends, gaps[0], side="right")) if len(gaps) else len(counts)
        ids = ids[: ends[whole - 1] if whole else 0]
        row, base = self._arrays.count("ends"), self._arrays.count("pieces")
        self._arrays.append(
            {
                "ends": base + ends[:whole],
                "pieces": ids,
                "previous": self._link(ids, base),
                "owners": row + np.repeat(np.arange(whole), counts[:whole]),
            },
            {"stored": self._arrays.marks.get("stored", 0)},
        )

    def _link(self, ids: Array, base: int) -> Array:
        """For each place the one before it with the same vector, counted from 1."""
        grown = np.zeros(self._arrays.count("vectors"), "<u4")
        grown[: len(self._heads)] = self._heads
        self._heads = grown
        previous: Array = grown[ids]
        order = np.argsort(ids, kind="stable")
        again = np.flatnonzero(ids[order][1:] == ids[order][:-1])
        previous[order[again + 1]] = base + order[again] + 1
        grown[ids] = base + np.arange(1, len(ids) + 1)  # of several, numpy keeps the last
        return previous


class _Stopped(Exception):
    """The store does not take vectors now."""


def _shapes(dims: int) -> dict[str, tuple[str, int]]:
    return {
        "vectors": ("<f2", dims),
        "keys": ("<u8", 0),  # a row each for every vector
        "pieces": ("<u4", 0),  # the vector of every piece, entry by entry
        "owners": ("<u4", 0),  # the entry of every piece
        "previous": ("<u4", 0),  # the last piece before this one with the same vector, from 1; 0 for none
        "ends": ("<u4", 0),  # how many pieces there are up to and including an entry's
    }


def _heads(arrays: Arrays) -> Array:
    """The last piece with each vector, counted from 1; 0 for none."""
    pieces = arrays["pieces"]
    heads: Array = np.zeros(arrays.count("vectors"), "<u4")
    heads[pieces] = np.arange(1, len(pieces) + 1, dtype="<u4")  # of several, numpy keeps the last
    return heads


def _find(held: Array, keys: Array) -> Array:
    """Where each key is among those held, -1 for nowhere.

    One pass over what is held, which is quicker than sorting it: few have the low bits of any key.
    """
    wanted, places = np.unique(keys, return_inverse=True)
    marks = np.zeros(_LOW_BITS + 1, bool)
    marks[wanted & _LOW_BITS] = True
    rows = np.flatnonzero(marks[held & _LOW_BITS])
    at = np.searchsorted(wanted, held[rows])
    at[at == len(wanted)] = 0
    same = wanted[at] == held[rows] if len(wanted) else np.zeros(0, bool)
    found: Array = np.full(len(wanted), -1, np.int64)
    found[at[same]] = rows[same]
    return found[places]


_LOW_BITS = np.uint64((1 << 20) - 1)


def _spans(arrays: Arrays, rows: Array) -> tuple[Array, Array]:
    """Where the pieces of each entry begin and end."""
    ends = arrays["ends"]
    spans: Array = np.zeros((2, len(rows)), np.int64)
    inside = np.flatnonzero((rows >= 0) & (rows < len(ends)))
    spans[1, inside] = ends[rows[inside]]
    later = inside[rows[inside] > 0]
    spans[0, later] = ends[rows[later] - 1]
    return spans[0], spans[1]


def _read(view: View, start: int, stop: int) -> tuple[Array, list[str], Array]:
    """Keys and texts of the pieces of some entries, and how many each row has; where no entry is, none."""
    texts: list[str] = []
    counts: Array = np.zeros(stop - start, np.int64)
    chars = 0
    for stored in view.entry_range(start, stop):
        pieces = pieces_of(stored.entry)
        texts += pieces
        counts[stored.row - start] = len(pieces)
        chars += sum(map(len, pieces))
        if chars >= ROUND_CHARS:
            counts = counts[: stored.row - start + 1]
            break
    return np.array([name_key(text) for text in texts], "<u8"), texts, counts


def _recall(strategy: str, count: int) -> float:
    """What was measured for a strategy at about so many rows."""
    steps = [row for row in strategies.MEASURED if row.strategy == strategy]
    later = [row for row in steps if row.rows >= count]
    return (later or steps[-1:])[0].recall if steps else 1.0

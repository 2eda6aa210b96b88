"""The text index: every entry as a document of tantivy, found by words and filtered by facts.

It only ever grows: rows [0, `rows`) of the store are in it, each once, whatever was killed
when. A damaged, foreign or deleted index is not an error but an empty one, and `catch_up`
builds it again.

How far it reaches is in the index itself: tantivy's commit is atomic, rows go in in order, so
the highest row in it is the truth; the number kept beside it only saves looking again at rows
that are not documents.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Self, TypeVar

import numpy as np
import tantivy

from recollect.search.cache_folder import Place, make_private, read_stamp, write_stamp
from recollect.search.text.documents import Batch, batches, schema
from recollect.search.text.fields import cjk_query, encodable, split_humps, whole_query
from recollect.store.contract import Array, View

SMALL_ROWS = 4096  # fewer new rows than this are not worth a second thread
HEAP_BYTES = 96_000_000  # of each indexing thread; when it is full, a segment is written
HEAP_BYTES_SMALL = 20_000_000
THREADS_MAX = 4
FIRST_COMMIT_SECONDS = 0.5  # then at four times the time that has passed: few commits, the first one soon
SEGMENTS_MAX = 12  # above this, catching up waits until some have been merged
SEGMENTS_MAX_HURRIED = 40  # the same when its deadline has passed
TIES_MAX = 1 << 16  # hits of equal score that are looked at to find the newest ones

Hits = list[tuple[float, tantivy.DocAddress]]
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Found:
    """What a query found, best first and of equals the newest: one array per column.

    `turns`: the row of the prompt that an entry came of, and 1; 0 where nobody had said anything yet.
    """

    rows: Array
    sessions: Array
    times: Array
    kinds: Array
    chars: Array
    gists: Array
    turns: Array
    scores: Array

    def __len__(self) -> int:
        return len(self.rows)

    def taken(self, order: Array) -> Found:
        """Only these, in this order."""
        return Found(*(getattr(self, name)[order] for name in _COLUMNS))

    @classmethod
    def joined(cls, parts: Sequence[Found]) -> Found:
        """What several queries found, one behind the other."""
        parts = parts or [cls.none()]
        return cls(*(np.concatenate([getattr(each, name) for each in parts]) for name in _COLUMNS))

    @classmethod
    def none(cls) -> Found:
        empty = np.zeros(0, np.int64)
        return cls(empty, empty, empty, empty, empty, empty, empty, np.zeros(0, np.float32))


_COLUMNS = tuple(each.name for each in fields(Found))
_FIELDS = ("row", "session", "time", "kind", "chars", "gist", "turn")  # of a document, as `Found` has them


class TextIndex:
    """One store's text index. Any number may search while one catches up.

    `stopped`: what the disk said when the last catching up ended early because of it; `is_busy`: another
    process was at it then.
    """

    NAME = "text"
    FORMAT = 5

    def __init__(self, place: Place, epoch: int) -> None:
        self._place = place
        self._epoch = epoch
        self._data: Path | None = None
        self.stopped, self.is_busy = "", False
        self._forgotten = 0  # of the replaced entries, with the commit that comes next
        self._attach()

    @classmethod
    def open(cls, folder: Path, store_id: str, epoch: int) -> Self:
        """The index in a store's cache folder; an empty one where there is none that fits."""
        library = tantivy.__version__  # type: ignore[attr-defined]
        bound = {"format": cls.FORMAT, "tantivy": library, "store": store_id, "epoch": epoch}
        return cls(Place(folder, cls.NAME, bound), epoch)

    @property
    def rows(self) -> int:
        """The entries of rows [0, rows) are indexed."""
        return self._now.rows

    @property
    def schema(self) -> tantivy.Schema:
        return self._index.schema

    def reload(self) -> None:
        """See what another process has committed since."""
        if self._place.current() != self._data:
            self._attach()
        elif self._data is not None and _state(self._data) != self._now.state:
            try:
                with _failing():
                    self._refresh()
            except _Failed:
                self._attach()

    def catch_up(
        self, view: View, *, deadline: float | None = None, progress: Callable[[int, int], None] | None = None
    ) -> int:
        """Index the rows that are new; returns how far the index reaches.

        Stops once `deadline` (of `time.monotonic`) has passed, with what it has done committed.
        Where another process is at it already, that one goes on and this one returns at once.
        """
        info = view.info()
        try:
            with self._place.lock() as held:
                self.reload()
                if held and info.epoch == self._epoch and not self.is_current(view):
                    with _failing():
                        writer = self._writer(info.rows_end - self.rows)
                        self._forget(writer, view.replaced())
                    batches = self._batches(view, self.rows, info.rows_end)
                    until = math.inf if deadline is None else deadline
                    self._take(writer, batches, info.rows_end, until, progress)
            self.stopped = _reason(self._place.refusal)
            self.is_busy = not held and not self.stopped
        except (_Failed, OSError) as error:
            self.stopped = _reason(error.__cause__ or error)
            self._attach()
        return self.rows

    def is_current(self, view: View) -> bool:
        """Whether every entry is in it, and none that was replaced since."""
        return self.rows >= view.info().rows_end and self._now.replaced >= len(view.replaced())

    def search(self, query: tantivy.Query, limit: int) -> Found:
        """The best documents. Which of several with one score are taken does not depend on chance."""
        found = self._guarded(lambda now: now.found(now.best(query, limit)), Found.none())
        return found.taken(np.lexsort((-found.rows, -found.scores))[:limit])

    def newest(self, query: tantivy.Query, limit: int) -> Found:
        """The documents of the latest times, whatever their score; scores are 0."""
        found = self._guarded(lambda now: now.found(now.best(query, limit, "time")), Found.none())
        latest = found.taken(np.lexsort((-found.rows, -found.times))[:limit])
        return replace(latest, scores=np.zeros(len(latest), np.float32))

    def mask(self, query: tantivy.Query, size: int) -> Array:
        """For each of the first `size` rows whether a query finds it."""
        found: Array = np.zeros(size, bool)
        rows = self._guarded(lambda now: now.rows_of(query), np.zeros(0, np.int64))
        found[rows[rows < size]] = True
        return found

    def count(self, query: tantivy.Query) -> int:
        """How many documents match."""
        return self._guarded(lambda now: int(now.searcher.search(query, 1).count), 0)  # type: ignore[attr-defined]

    def made_of(self, rows: Sequence[int]) -> tantivy.Query:
        """The documents that are made of some rows."""
        return self._any_of("row", rows)

    def frequency(self, field: str, term: str) -> int:
        """How many documents hold this term."""
        return self._guarded(lambda now: int(now.searcher.doc_freq(field, encodable(term))), 0)

    def idf(self, word: str) -> float:
        """How rare a word is in the text: 0 and a little for one in every document."""
        known = [self.rarity("body", term) for term in self.analyze("body", word)]
        return max(known, default=self._rarity(0))

    def rarity(self, field: str, term: str) -> float:
        """How rare a term is among the documents, as BM25 has it."""
        return self._rarity(self.frequency(field, term))

    def weight(self, word: str) -> float:
        """How rare a word is that a `Highlighter` found: a stem, a pair of letters, or a name as written."""
        return self.rarity("body" if word.isascii() else "cjk", word)

    def terms(self, field: str, prefix: str, limit: int) -> list[tuple[str, int]]:
        """Terms that begin so, with how many documents hold each; the most frequent first."""
        return self._guarded(
            lambda now: now.searcher.terms_with_prefix(field, encodable(prefix), limit=limit), []
        )

    def _rarity(self, seen: int) -> float:
        return math.log(1 + (self._now.searcher.num_docs - seen + 0.5) / (seen + 0.5))

    def analyze(self, field: str, text: str) -> list[str]:
        """The terms of a query's text, as this field has them."""
        text = encodable(text)
        if field == "whole":
            return whole_query(text)
        if field == "cjk":
            return cjk_query(text)
        if field == "parts":
            text = split_humps(text)
        return _WORDS.analyze(text) if field in ("body", "parts") else [text.lower()]

    # -- the state of the index on disk ---------------------------------------------------------

    def _attach(self) -> None:
        """Open the data that counts now; an empty index in memory where there is none."""
        self._data = self._place.current()
        if self._data is not None:
            try:
                with _failing():
                    self._index = _with_analyzers(tantivy.Index.open(str(self._data)))
                    self._refresh()
                return
            except _Failed:
                self._place.discard(self._data)
                self._data = None
        self._index = tantivy.Index(schema())
        self._refresh()

    def _discard(self) -> None:
        if self._data is not None:
            self._place.discard(self._data)
        self._data = None
        self._index = tantivy.Index(schema())
        self._refresh()

    def _refresh(self) -> None:
        state = _state(self._data)
        stamp = read_stamp(self._data / _REACH) if self._data else {}
        if self._data and "commit" in stamp and stamp["commit"] != _last_commit(self._data):
            stamp = {}  # a power cut may undo tantivy's commit and keep what was noted after it
        noted, replaced = (
            each if isinstance(each := stamp.get(name), int) else 0 for name in ("rows", "replaced")
        )
        self._index.reload()
        self._now = _Now(self._index.searcher(), noted, replaced, state)

    def _guarded(self, ask: Callable[[_Now], _Answer], nothing: _Answer) -> _Answer:
        """An answer, or nothing where the index is damaged: then it counts no more."""
        try:
            with _failing():
                return ask(self._now)
        except _Failed:
            self._discard()
            return nothing

    # -- catching up ----------------------------------------------------------------------------

    def _writer(self, rows: int) -> tantivy.IndexWriter:
        """For the holder of the lock, who starts afresh where there is nothing to go on with."""
        if self._data is None:
            self._data = self._place.begin()
            self._index = _with_analyzers(tantivy.Index(schema(), str(self._data)))
            self._refresh()
        threads = 1 if rows < SMALL_ROWS else min(os.cpu_count() or 1, THREADS_MAX)
        heap = HEAP_BYTES_SMALL if rows < SMALL_ROWS else HEAP_BYTES * threads
        return self._index.writer(heap, threads)

    def _forget(self, writer: tantivy.IndexWriter, replaced: Array) -> None:
        """Take out, with the next commit, what was replaced since the last one."""
        gone = [row for row in replaced[self._now.replaced :].tolist() if row < self.rows]
        if gone:  # by term, tantivy takes a row for a signed number and finds none
            writer.delete_documents_by_query(self.made_of(gone))
        self._forgotten = len(replaced)

    def _any_of(self, field: str, rows: Sequence[int]) -> tantivy.Query:
        return tantivy.Query.term_set_query(self.schema, field, list(rows))

    def _take(
        self,
        writer: tantivy.IndexWriter,
        batches: Iterator[Batch],
        stop: int,
        deadline: float,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        if self.rows >= stop:
            with _failing():
                self._commit(writer, stop)
        began = time.monotonic()
        due = began + FIRST_COMMIT_SECONDS
        for batch in batches:
            done = batch.done
            with _failing():
                if batch.anew:
                    writer.delete_documents_by_query(self._any_of("turn", batch.anew))
                for document in batch.documents:
                    writer.add_document(document)
                now = time.monotonic()
                if done == stop or now >= min(due, deadline):
                    self._commit(writer, done)
                    due = began + 4 * (time.monotonic() - began)
            if progress:
                progress(done, stop)
            if now >= deadline:
                break
        with _failing():
            self._settle(writer, deadline)

    def _batches(self, view: View, start: int, stop: int) -> Iterator[Batch]:
        """The documents of some rows."""
        return batches(view, start, stop)

    def _commit(self, writer: tantivy.IndexWriter, rows: int) -> None:
        assert self._data is not None
        commit = writer.commit()
        write_stamp(self._data / _REACH, {"rows": rows, "replaced": self._forgotten, "commit": commit})
        make_private(self._data)
        self._refresh()

    def _settle(self, writer: tantivy.IndexWriter, deadline: float) -> None:
        """Many segments make every search slow, so now and then a run stays until they are merged."""
        most = SEGMENTS_MAX if time.monotonic() < deadline else SEGMENTS_MAX_HURRIED
        if self._now.searcher.num_segments > most:
            writer.wait_merging_threads()
            self._refresh()


class _Now:
    """One commit of the index, to be asked; another thread may meanwhile move on to the next."""

    def __init__(
        self, searcher: tantivy.Searcher, noted: int, replaced: int, state: tuple[object, ...]
    ) -> None:
        self.searcher = searcher
        self.replaced = replaced  # how many of the entries that were replaced are taken out
        self.state = state
        self.rows = max(self._last_row() + 1, noted)

    def best(self, query: tantivy.Query, limit: int, order: str | None = None) -> Hits:
        """The first hits, with all further ones that the last of them is tied with."""
        wanted = limit
        while limit > 0:
            # tantivy makes room for as many hits as are asked for, so more than there are is not asked.
            most = max(min(wanted + 1, self.searcher.num_docs), 1)
            hits = self.searcher.search(query, most, count=False, order_by_field=order).hits
            if len(hits) <= wanted or wanted >= TIES_MAX or hits[limit - 1][0] != hits[-1][0]:
                return hits
            wanted = wanted * 4 + 64
        return []

    def rows_of(self, query: tantivy.Query) -> Array:
        """Every row that matches, in any order."""
        hits = self.searcher.search(query, max(self.searcher.num_docs, 1), count=False).hits
        return self._column("row", hits)

    def found(self, hits: Hits) -> Found:
        rows, sessions, times, kinds, chars, gists, turns = (self._column(name, hits) for name in _FIELDS)
        if len(rows) and not 0 <= rows.min() <= rows.max() < self.rows:
            raise ValueError("rows that were never indexed")
        scores = np.array([score for score, _ in hits], np.float32)
        return Found(rows, sessions, times, kinds, chars, gists, turns, scores)

    def _last_row(self) -> int:
        last = self.searcher.search(tantivy.Query.all_query(), 1, count=False, order_by_field="row").hits
        return int(self._column("row", last).max(initial=-1))

    def _column(self, name: str, hits: Hits) -> Array:
        values = self.searcher.fast_field_values(name, [address for _, address in hits])
        if None in values:
            raise ValueError("documents without a " + name)
        return np.array(values, np.int64)


class _Failed(Exception):
    """tantivy could not do it: damaged or deleted files, a full disk."""


@contextlib.contextmanager
def _failing() -> Iterator[None]:
    """Give tantivy's failures one name. Damaged files can make it panic, which is no `Exception`."""
    try:
        yield
    except (ValueError, OSError, RuntimeError, OverflowError) as error:
        if str(error).startswith(_WRONG_QUERY) and _DAMAGED_SCHEMA not in str(error):
            raise
        raise _Failed from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise _Failed from error


def _reason(error: BaseException | None) -> str:
    """What the system said, "" where it was not the system; tantivy tells its number in its own words."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    told = re.search(r"\(os error (\d+)\)|Os \{ code: (\d+)", str(error or ""))
    return os.strerror(int(told[1] or told[2])) if told else ""


def _last_commit(data: Path) -> int:
    """The number that tantivy gave its last commit; merges keep it."""
    try:
        return int(json.loads((data / _META).read_bytes())["opstamp"])
    except (OSError, ValueError, KeyError, TypeError):
        return -1


def _state(data: Path | None) -> tuple[object, ...]:
    """What changes with every commit and merge. Looked at before each search, so it costs next to nothing."""
    found: list[object] = []
    for path in (data / _META, data / _REACH) if data else ():
        with contextlib.suppress(OSError):
            stat = path.stat()
            found.append((stat.st_ino, stat.st_mtime_ns, stat.st_size))
    return tuple(found)


def _with_analyzers(index: tantivy.Index) -> tantivy.Index:
    index.register_tokenizer("words", _WORDS)
    index.register_tokenizer("whitespace", _BLANKS)
    return index


def _words() -> tantivy.TextAnalyzer:
    """Words in lower case, without accents, by their English stem; no word is over 64 bytes long."""
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    for each in (tantivy.Filter.remove_long(64), tantivy.Filter.lowercase(), tantivy.Filter.ascii_fold()):
        builder = builder.filter(each)
    return builder.filter(tantivy.Filter.stemmer("english")).build()


_WORDS = _words()
_BLANKS = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
_DAMAGED_SCHEMA = "is not a fast field"  # all are that we ask for
_WRONG_QUERY = ("Schema error", "The field does not exist", "An invalid argument")  # the caller's fault
_META = "meta.json"  # tantivy's own
_REACH = "rows.stamp"

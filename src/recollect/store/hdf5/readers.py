"""Open readers of one store: whoever reads has one to itself, and gives it back for the next.

HDF5 lets one thread in at a time, for one call; what a view remembers beside that is made for one
thread. So each thread that reads has a file, a view and a shared lock of its own, and no reader waits
for another. A thread alone always gets the same one again, warm.

After a fork the child shares descriptors, and with them locks, with its parent. It uses none of them,
and lets go of them without unlocking anything.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from recollect.light import locks
from recollect.values.errors import StoreBusy, StoreClosed

CLOSE_SECONDS = 30.0  # that closing waits for who is at work
IDLE_MAX = 4  # readers that are kept open for the next who comes


class Reader(Protocol):
    """An open file; its descriptor carries its lock."""

    fd: int

    def close(self) -> None: ...


AnyReader = TypeVar("AnyReader", bound=Reader)


class Readers(Generic[AnyReader]):
    """Hands out readers, one to a thread, and knows who is at work."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.RLock()  # taken by itself where nobody waits: that way is shorter
        self._changed = threading.Condition(self._lock)
        self._idle: list[AnyReader] = []
        self._working: set[_Work[AnyReader]] = set()
        self._mine = threading.local()
        self._closed = False
        _ALL.add(self)

    @contextlib.contextmanager
    def reading(self, ready: Callable[[AnyReader | None], AnyReader]) -> Iterator[AnyReader]:
        """This thread's reader; inside of another `reading` the same, at the same state.

        `ready` gives one that is current and locked, out of an idle one where there is one.
        """
        with self.working() as work:
            if work.reader is None:
                work.reader = ready(self._idle_reader())
            work.readings += 1
            try:
                yield work.reader
            finally:
                self._end_reading(work)

    def working(self) -> _Working[AnyReader]:
        """Keep the store from being closed by another thread; refused where it is closed already."""
        return _Working(self)

    def close(self) -> None:
        """Close every reader, once the other threads are done; whoever comes from now on is refused."""
        with self._changed:
            self._closed = True
            mine = getattr(self._mine, "work", None)
            if not self._changed.wait_for(lambda: self._working <= {mine}, CLOSE_SECONDS):
                raise StoreBusy(self._path, CLOSE_SECONDS, "another thread has been at work")
            left = [*self._idle, *(work.reader for work in self._working if work.reader is not None)]
            self._idle, self._working = [], set()
        for reader in left:
            _let_go(reader)

    # -- who is at work ----------------------------------------------------------------------

    def _begin(self) -> _Work[AnyReader]:
        with self._lock:
            work: _Work[AnyReader] | None = getattr(self._mine, "work", None)
            if work is None or work not in self._working:
                if self._closed:
                    raise StoreClosed(self._path)
                work = self._mine.work = _Work()
                self._working.add(work)
            work.depth += 1
            return work

    def _end(self, work: _Work[AnyReader]) -> None:
        with self._lock:
            work.depth -= 1
            if not work.depth:
                self._working.discard(work)
                if self._closed:  # only who closes waits
                    self._changed.notify_all()

    def _idle_reader(self) -> AnyReader | None:
        with self._changed:
            return self._idle.pop() if self._idle else None

    def _end_reading(self, work: _Work[AnyReader]) -> None:
        """Unlock and put aside, unless more is being read, or the store was closed or forked meanwhile."""
        with self._changed:
            work.readings -= 1
            reader = work.reader
            if work.readings or reader is None or work not in self._working:
                return
            work.reader = None
            locks.release(reader.fd, locks.APPLY)
            if len(self._idle) < IDLE_MAX and not self._closed:
                self._idle.append(reader)
                return
        _let_go(reader)

    def after_fork(self) -> None:
        """In a child: begin with nothing. Descriptors are left to the process's end."""
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._mine = threading.local()
        self._abandoned = (self._idle, self._working)
        self._idle, self._working = [], set()


class _Work(Generic[AnyReader]):
    """What one thread does with the store: how deep it is in it, and the reader it has."""

    def __init__(self) -> None:
        self.depth = self.readings = 0
        self.reader: AnyReader | None = None


class _Working(Generic[AnyReader]):
    """Between its two ends a thread is at work. Every append is, so it is no generator: those cost more."""

    __slots__ = ("_readers", "_work")

    def __init__(self, readers: Readers[AnyReader]) -> None:
        self._readers = readers

    def __enter__(self) -> _Work[AnyReader]:
        self._work = self._readers._begin()
        return self._work

    def __exit__(self, *_: object) -> None:
        self._readers._end(self._work)


def _let_go(reader: Reader) -> None:
    reader.close()
    os.close(reader.fd)


_ALL: weakref.WeakSet[Readers[Any]] = weakref.WeakSet()


def _after_fork() -> None:
    for readers in _ALL:
        readers.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

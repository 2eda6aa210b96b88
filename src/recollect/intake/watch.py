"""Following folders: what changed in them, batch by batch, until told to stop.

The kernel tells what changed (through watchfiles); where it cannot, sizes and times are
compared now and then. The first batch means everything, and comes once watching stands: what
happened before is found by a sweep, what happens after comes as a batch. A folder that is not
there yet, goes, or is replaced by another is noticed by a look at each tick, and not by
watching its parent, which may be a home with a million files.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from recollect.light import locks
from recollect.light.own_files import make_own_folder, open_own
from recollect.values.reports import Batch, Stop

SWEEP_SECONDS = 3600.0  # a notification may be lost: the kernel's queue is bounded


# The waiting is done by watchfiles, which wakes at every step to ask whether to stop.
_STEP_MS = 500
_TICK_MS = 5000
_DEBOUNCE_MS = 5000
_LOG = "-wal"  # of a database: what is new in that is written here first
_ADDED, _MODIFIED, _DELETED = 1, 2, 3


def follow(
    roots: Sequence[Path], *, stop: Stop, poll: bool = False, poll_seconds: float = 5.0
) -> Iterator[Batch]:
    """Yield what changes below the folders, existing or not, and a tick every few seconds.

    With `poll`, and where the kernel cannot tell, they are looked through every `poll_seconds`.
    """
    swept = time.monotonic()
    for batch in _changes(roots, stop, poll, poll_seconds):
        if not batch.everything and time.monotonic() - swept >= SWEEP_SECONDS:
            batch = Batch(everything=True)
        if batch.everything:
            swept = time.monotonic()
        yield batch


@contextlib.contextmanager
def alone(lock: Path) -> Iterator[bool]:
    """Whether this process is the only one that follows under this lock, to the end of the block."""
    make_own_folder(lock.parent)
    fd = open_own(lock, os.O_RDWR | os.O_CREAT)
    try:
        yield locks.acquire(fd, locks.WRITER)
    finally:
        os.close(fd)


def rest(seconds: float, stop: Stop) -> bool:
    """Wait; False when told to stop."""
    until = time.monotonic() + seconds
    while not stop.is_set() and (left := until - time.monotonic()) > 0:
        time.sleep(min(left, _STEP_MS / 1000))
    return not stop.is_set()


def _changes(roots: Sequence[Path], stop: Stop, poll: bool, seconds: float) -> Iterator[Batch]:
    trouble = ""
    if not poll:
        try:
            yield from _watch(roots, stop)
            return
        except (OSError, RuntimeError) as error:  # no room for more watches; a file system without
            trouble = str(error)
    yield from _poll(roots, stop, seconds, trouble)


# -- told by the kernel --------------------------------------------------------------------


def _watch(roots: Sequence[Path], stop: Stop) -> Iterator[Batch]:
    from watchfiles._rust_notify import RustNotify  # documented as "Rust backend direct usage"

    while not stop.is_set():
        standing = _standing(roots)
        try:
            # No debug output, no polling, recursive, what we may not read is left out.
            watcher = RustNotify(list(standing), False, False, 0, True, True)
        except FileNotFoundError:
            continue  # it went between two lines
        with watcher:
            yield Batch(everything=True)
            while _standing(roots) == standing:
                changes = watcher.watch(_DEBOUNCE_MS, _STEP_MS, _TICK_MS, stop)
                if changes == "signal":
                    raise KeyboardInterrupt
                if changes == "stop":
                    return
                found = set() if isinstance(changes, str) else changes
                # A folder made in the place of a deleted one may be given the very same number.
                if any((_DELETED, root) in found for root in standing):
                    break
                yield _batch(_worth(found))


def _standing(roots: Sequence[Path]) -> dict[str, tuple[int, int]]:
    """The folders that are there, by their real paths, and which folder each is."""
    standing = {}
    for root in roots:
        with contextlib.suppress(OSError):
            found = os.stat(root)
            if stat.S_ISDIR(found.st_mode):
                standing[os.path.realpath(root)] = found.st_dev, found.st_ino
    return standing


def _worth(changes: Iterable[tuple[int, str]]) -> Iterator[str]:
    """Paths that changed so that there may be something new in them."""
    for change, path in changes:
        with contextlib.suppress(OSError):
            mode = os.lstat(path).st_mode
            new = change == _ADDED and stat.S_ISDIR(mode)
            changed = change in (_ADDED, _MODIFIED) and stat.S_ISREG(mode)
            # watchfiles follows links and reports what lies behind them; a sweep does not.
            if (new or changed) and os.path.realpath(path) == path:
                yield path.removesuffix(_LOG)


def _batch(paths: Iterable[str]) -> Batch:
    unique = sorted(set(paths))
    return Batch(everything=True) if len(unique) > Batch.BURST_MAX else Batch(tuple(map(Path, unique)))


# -- looked at now and then ----------------------------------------------------------------

# Not by watchfiles' own polling: that follows links, and ends at the first one that leads to itself.


def _poll(roots: Sequence[Path], stop: Stop, seconds: float, trouble: str) -> Iterator[Batch]:
    seen = _state(roots)
    yield Batch(everything=True, trouble=trouble)
    while rest(seconds, stop):
        now = _state(roots)
        yield _batch(path.removesuffix(_LOG) for path, mark in now.items() if seen.get(path) != mark)
        seen = now


def _state(roots: Sequence[Path]) -> dict[str, tuple[int, int, int]]:
    """Every regular file below the folders, with what changes when it does."""
    state = {}
    folders = list(_standing(roots))
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    found = entry.stat(follow_symlinks=False)
                    state[entry.path] = found.st_ino, found.st_size, found.st_mtime_ns
    return state

"""The append journal `<store>.h5-wal`: one frame, one write, one fdatasync.

Any process may append; no HDF5, no numpy. A frame that is in the file whole is durable
and will be folded into the store exactly once, because a checkpoint records the last
sequence number it folded in the same commit as the data.

The file is grown ahead in steps of zeros, because a sync that need not record a new size
is a third faster (measured); its content ends at the last byte that is not zero. Nothing
is ever cut off: a torn frame stays where it is, the next frame goes behind it, and readers
find their way from frame to frame by the mark each one begins with.
"""

from __future__ import annotations

import os

from recollect.light import locks
from recollect.light.aside import keep_aside
from recollect.light.disk import Disk, read_bytes_at
from recollect.light.journal_frames import (
    AROUND_BYTES,
    PAYLOAD_BYTES_MAX,
    Frame,
    Gap,
    content_end,
    frame_of,
    last_sequence,
    scan,
)
from recollect.light.second_name import refuse_second_name
from recollect.light.store_header import read_state
from recollect.values.errors import StoreBusy, StoreError, StoreWriteFailed, UsageError

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from recollect.values.errors import Name

_GROW_BYTES = 256 << 10
LOCK_SECONDS = 10.0
GLANCE_SECONDS = 0.02
JOURNAL_SUFFIX = "-wal"


def journal_path(store: Path) -> Path:
    """The journal of a store, beside the file itself, whatever links lead there."""
    from pathlib import Path

    return Path(os.path.realpath(store) + JOURNAL_SUFFIX)


class Journal:
    """Appends to one store's journal. Cheap to make; keeps its file open between appends."""

    def __init__(self, store: Name, disk: Disk | None = None, *, lock_seconds: float = LOCK_SECONDS) -> None:
        self._store = os.path.realpath(store)
        self.path = self._store + JOURNAL_SUFFIX
        self._disk = disk or Disk()
        self._lock_seconds = lock_seconds
        self._fd = -1
        self._end = -1  # where our own last append ended, and its number
        self._sequence = 0

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = self._end = -1

    def append(self, payload: bytes) -> int:
        """Make one payload durable; returns its sequence number."""
        if not 0 < len(payload) <= PAYLOAD_BYTES_MAX:
            raise UsageError(f"a journal payload has 1 to {PAYLOAD_BYTES_MAX} bytes, not {len(payload)}")
        length = len(payload) + AROUND_BYTES
        try:
            is_free = self._lock(length)
            try:
                return self._append(payload, length, is_free)
            finally:
                locks.release(self._fd, locks.APPEND)
        except OSError as error:
            self.close()
            raise StoreWriteFailed(self.path, error) from error

    def size(self) -> int:
        """How many bytes the file has, about: those grown ahead count.

        Asked by seeking where that is possible, for the reason that `_is_free` has.
        """
        held = os.lseek(self._fd, 0, os.SEEK_END) if self._fd >= 0 else 0
        return held or size_of(self.path)  # one that was emptied may have been removed since

    def _append(self, payload: bytes, length: int, is_free: bool) -> int:
        if not is_free:
            self._find_end(length)
        frame = frame_of(self._sequence + 1, payload)
        try:
            self._disk.write(self._fd, frame, self._end)
            self._disk.sync_data(self._fd)
        except OSError:
            # Not acknowledged, so it must not come back: a frame that reached the file
            # although the sync failed would otherwise be folded by a later reader.
            self._disk.truncate(self._fd, self._end)
            raise
        self._end += length
        self._sequence += 1
        return self._sequence

    def _is_free(self, length: int) -> bool:
        """Whether the place behind our own last frame is still there, grown ahead and unused.

        Asked by reading, not by fstat: since Linux 6.13 a file whose times were looked at
        gets a new time with the next write, and syncing that made an append 40 % slower.
        """
        if self._end < 0:
            return False
        ahead = read_bytes_at(self._fd, length, self._end)
        return len(ahead) == length and not ahead[0]

    def _find_end(self, length: int) -> None:
        """Find the last frame, whoever wrote it, and make room behind it."""
        self._end = content_end(self._fd)
        # Numbers go on rising after a checkpoint removed the journal, or folded a frame that a
        # power cut then took from it.
        self._sequence = max(last_sequence(self._fd, self._end), folded_through(self._store))
        refuse_second_name(self._store)
        if self._end + length > os.fstat(self._fd).st_size:
            self._disk.write(self._fd, bytes(length + _GROW_BYTES), self._end)
        if not self._end:
            self._disk.sync_folder(os.path.dirname(self.path))

    def _lock(self, length: int = 1) -> bool:
        """Lock the file that the journal's name means now; whether so much is free behind our last frame.

        A checkpoint may have removed the one we hold; it empties the file before, so that
        only an end that is not where we left it needs to be looked into.
        """
        while True:
            if self._fd < 0:
                self._disk.make_folder(os.path.dirname(self.path))
                self._fd = self._disk.open(self.path, write=True, create=True)
            if not locks.acquire(self._fd, locks.APPEND, timeout=self._lock_seconds):
                raise StoreBusy(self.path, self._lock_seconds)
            if (is_free := self._is_free(length)) or os.fstat(self._fd).st_nlink:
                return is_free
            self.close()

    def frames(self, after: int, *, patient: bool = True) -> Iterator[tuple[int, bytes]]:
        """Every whole frame newer than `after`, read as they are asked for.

        Up to where it ends while no append is under way: a frame whose sync is still to fail may be taken
        back, and its number given to another. Who only looks need not be `patient`: frames that were there
        before it came are whole in any case. Who is will fold them and clear the journal, so what is
        damaged between them is kept aside.
        """
        try:
            fd = self._disk.open(self.path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreError(
                f"{self.path}: cannot be opened: {error.strerror or error}", hint="check its permissions"
            ) from error
        try:
            wait = self._lock_seconds if patient else GLANCE_SECONDS
            if not locks.acquire(fd, locks.APPEND, shared=True, timeout=wait) and patient:
                raise StoreBusy(self.path, self._lock_seconds)
            end = content_end(fd)
            locks.release(fd, locks.APPEND)
            for piece in scan(fd, end, after):
                if isinstance(piece, Gap):
                    if patient and piece.damaged:
                        self._keep_aside(fd, piece)
                elif piece.sequence > after:
                    yield piece.sequence, piece.payload
        finally:
            os.close(fd)

    def _keep_aside(self, fd: int, gap: Gap) -> None:
        """Save damaged bytes: the journal they are in is about to go."""
        try:
            for start in range(gap.start, gap.stop, PAYLOAD_BYTES_MAX):
                data = read_bytes_at(fd, min(PAYLOAD_BYTES_MAX, gap.stop - start), start)
                keep_aside(self.path, data, self._disk)
        except OSError as error:
            raise StoreWriteFailed(self.path, error) from error

    def clear(self, through: int) -> bool:
        """Remove the journal if nothing in it is newer than `through`; False when something is."""
        try:
            self._fd = self._fd if self._fd >= 0 else self._disk.open(self.path, write=True)
        except FileNotFoundError:
            return True
        except OSError as error:
            raise StoreWriteFailed(self.path, error) from error
        try:
            self._lock()
            try:
                if last_sequence(self._fd, content_end(self._fd)) > through:
                    return False
                self._disk.truncate(self._fd, 0)
                self._disk.unlink(self.path)
                return True
            finally:
                locks.release(self._fd, locks.APPEND)
        except OSError as error:
            raise StoreWriteFailed(self.path, error) from error
        finally:
            self.close()


def size_of(path: Name) -> int:
    """How many bytes a journal has, 0 where there is none."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def folded_through(store: Name) -> int:
    """The number up to which a store holds its journal's frames, 0 where there is no store."""
    try:
        with Disk().opened(store) as fd:
            return read_state(fd, store)[0].folded
    except FileNotFoundError:
        return 0


def read_frames(path: Path, after: int = 0) -> Iterator[tuple[int, bytes]]:
    """The number and payload of every whole frame newer than `after`, in file order."""
    for piece in _read(path, after):
        if not isinstance(piece, Gap) and piece.sequence > after:
            yield piece.sequence, piece.payload


def gaps(path: Path, folded: int = 0) -> list[Gap]:
    """What of a journal belongs to no whole frame."""
    return [piece for piece in _read(path, folded) if isinstance(piece, Gap)]


def _read(path: Path, folded: int) -> Iterator[Frame | Gap]:
    try:
        with Disk().opened(path) as fd:
            yield from scan(fd, content_end(fd), folded)
    except FileNotFoundError:
        return

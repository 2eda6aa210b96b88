"""The file under HDF5: reads see committed bytes, writes stay in memory until `commit`.

HDF5 is not crash-safe and never calls fsync, so it never touches the disk here. It
writes into a page overlay; a commit moves the overlay to disk in an order that leaves
the old state or the new one, whatever is cut short, and nothing in between.

The methods HDF5 calls must not raise: an exception inside that callback crashes the interpreter
(measured), so an error is kept in `error`, the read is padded with zeros, and whoever called
h5py asks `check()` afterwards.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from recollect.light.disk import Disk, read_at, read_bytes_at
from recollect.light.store_header import PAGE_BYTES, Header, Redo, read_state, redo_path
from recollect.values.errors import StoreCorrupt, StoreWriteFailed


class Pager:
    """A file object for h5py over one descriptor, with a private overlay of pages."""

    def __init__(self, path: Path, fd: int, disk: Disk) -> None:
        self.path = path
        self.error: BaseException | None = None
        self._fd = fd
        self._disk = disk
        self._position = 0
        self._redo: Redo | None = None  # a durable commit whose pages are not in place yet
        self._dirty: dict[int, bytearray] = {}
        self._failed: OSError | None = None  # why a commit failed; there is no other after that
        self.header = Header(b"", 0)
        self._size = 0

    @classmethod
    def open(cls, path: Path, fd: int, disk: Disk) -> Pager:
        """Over an existing store. A complete redo file is seen, never written, here."""
        pager = cls(path, fd, disk)
        pager.header, pager._redo = read_state(fd, path)
        pager._size = pager.header.size
        if os.fstat(fd).st_size < pager.header.size and pager._redo is None:
            raise StoreCorrupt(
                path, f"it is {os.fstat(fd).st_size} bytes long and should be {pager.header.size}"
            )
        return pager

    @classmethod
    def create(cls, path: Path, fd: int, disk: Disk, header: Header) -> Pager:
        """Over a new, empty file."""
        pager = cls(path, fd, disk)
        pager.header = header
        return pager

    @property
    def end(self) -> int:
        """Where the bytes end that there are: in the file, and in pages that wait to be put in place."""
        waiting = max(self._redo.pages, default=-1) + 1 if self._redo is not None else 0
        return max(os.fstat(self._fd).st_size, waiting * PAGE_BYTES)

    def check(self) -> None:
        """Raise what a callback had to swallow."""
        if self.error is not None:
            error, self.error = self.error, None
            if isinstance(error, OSError):
                raise StoreCorrupt(self.path, f"cannot be read: {error.strerror or error}") from error
            raise error

    # -- what h5py calls; none of these may raise ---------------------------------

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int = -1) -> bytes:
        buffer = bytearray(self._size - self._position if size < 0 else size)
        return bytes(buffer[: self.readinto(buffer)])

    def readinto(self, buffer: bytearray | memoryview) -> int:
        view = memoryview(buffer).cast("B")
        start, length = self._position, len(view)
        self._position += length
        try:
            got = read_at(self._fd, view, start) if length else 0
        except BaseException as error:  # kept for check(): HDF5 cannot carry it
            # Without its traceback, which would keep HDF5's buffer in a frame after HDF5 has freed it.
            self.error = self.error or error.with_traceback(None)
            got = 0
        if got < length:
            view[got:] = bytes(length - got)
        if self._redo is not None:
            _patch(view, start, self._redo.pages)
        if self._dirty:
            _patch(view, start, self._dirty)
        return length

    def write(self, data: bytes | memoryview) -> int:
        view = memoryview(data).cast("B")
        start, length = self._position, len(view)
        self._position += length
        try:
            self._put(view, start)
        except BaseException as error:  # out of memory, most likely
            self.error = self.error or error.with_traceback(None)
        self._size = max(self._size, start + length)
        return length

    def truncate(self, size: int | None = None) -> int:
        self._size = self._position if size is None else size
        return self._size

    def flush(self) -> None:
        pass

    # -- commit --------------------------------------------------------------------

    def drop(self) -> None:
        """Forget everything written since the last commit."""
        self._dirty.clear()
        self._size = self.header.size

    def commit(self, header: Header, without_readers: Callable[[], AbstractContextManager[None]]) -> None:
        """Put the overlay on disk as the next generation.

        `without_readers` surrounds the moment in which old pages are overwritten. An
        error before that moment means that nothing has changed; from then on the commit
        is durable. If that moment cannot be had, because readers stay, the pages wait in
        the redo file, through which everybody reads, and go into place with a later commit.
        """
        if self._failed is not None:
            raise StoreWriteFailed(self.path, self._failed)
        self._size = -(-self._size // PAGE_BYTES) * PAGE_BYTES
        header = header.changed(generation=self.header.generation + 1, size=self._size)
        self._put(memoryview(header.pack()), 0)
        fresh = -(-self.header.size // PAGE_BYTES)
        old = {n: bytes(page) for n, page in self._dirty.items() if n < fresh}
        base = self.header.generation
        if self._redo is not None:
            old, base = {**self._redo.pages, **old}, self._redo.base
        redo = Redo(header.store_id, base, header.generation, header.size, old)
        try:
            for offset, run in _runs({n: p for n, p in self._dirty.items() if n >= fresh}):
                self._disk.write(self._fd, run, offset)
            self._disk.sync(self._fd)
            self._write_redo(redo)
        except OSError as error:
            # HDF5 believes that its pages are saved, so this pager must not commit again.
            self._failed = error
            self.drop()
            raise StoreWriteFailed(self.path, error) from error
        self.header, self._redo = header, redo
        self._dirty.clear()
        with contextlib.suppress(StoreWriteFailed):
            self.finish(without_readers)

    def finish(self, without_readers: Callable[[], AbstractContextManager[None]]) -> None:
        """Put a durable commit in place, if one is still waiting for that."""
        if self._redo is None:
            return
        try:
            with without_readers():
                put_in_place(self._redo, self._disk, self._fd)
            self._disk.sync(self._fd)
            self._disk.unlink(redo_path(self.path))
        except OSError as error:
            raise StoreWriteFailed(self.path, error) from error
        self._redo = None

    def _put(self, view: memoryview, start: int) -> None:
        at, end = 0, len(view)
        while at < end:
            number, inside = divmod(start + at, PAGE_BYTES)
            take = min(PAGE_BYTES - inside, end - at)
            page = self._dirty.get(number)
            if page is None:
                page = self._dirty[number] = bytearray() if take == PAGE_BYTES else self._committed(number)
            page[inside : inside + take] = view[at : at + take]
            at += take

    def _committed(self, number: int) -> bytearray:
        page = self._redo.pages.get(number) if self._redo is not None else None
        if page is None:
            page = read_bytes_at(self._fd, PAGE_BYTES, number * PAGE_BYTES)
        return bytearray(page.ljust(PAGE_BYTES, b"\0"))

    def _write_redo(self, redo: Redo) -> None:
        """Replace the redo file in one step: an earlier one may hold a commit that is not in place."""
        path = redo_path(self.path)
        new = path.with_name(path.name + "-new")
        try:
            self._disk.unlink(new)
            fd = self._disk.open(new, write=True, new=True)
            try:
                self._disk.write(fd, redo.pack(), 0)
                self._disk.sync(fd)
            finally:
                os.close(fd)
            self._disk.rename(new, path)
            self._disk.sync_folder(path.parent)
        except OSError:
            self._disk.unlink(new)
            raise


def recover(
    disk: Disk, fd: int, path: Path, without_readers: Callable[[], AbstractContextManager[None]]
) -> None:
    """Clear what a dead writer left. Call only while holding the writer's lock.

    A durable commit is put in place if no reader is in the way, else it stays in the redo file.
    """
    disk.unlink(redo_path(path).with_name(redo_path(path).name + "-new"))
    header, redo = read_state(fd, path)
    if redo is not None:
        # The dead writer may not have got to sync it, and what follows relies on it.
        with disk.opened(redo_path(path)) as redo_fd:
            disk.sync(redo_fd)
        disk.sync_folder(path.parent)
        try:
            with without_readers():
                put_in_place(redo, disk, fd)
        except BlockingIOError:
            return
        disk.sync(fd)
    if redo_path(path).exists():
        disk.unlink(redo_path(path))
    if os.fstat(fd).st_size > header.size:
        disk.truncate(fd, header.size)


def put_in_place(redo: Redo, disk: Disk, fd: int) -> None:
    """Overwrite the old pages. Doing it twice does no harm."""
    for offset, run in _runs(redo.pages):
        disk.write(fd, run, offset)
    if os.fstat(fd).st_size != redo.size:
        disk.truncate(fd, redo.size)


def _patch(view: memoryview, start: int, pages: dict[int, bytes] | dict[int, bytearray]) -> None:
    end = start + len(view)
    for number in range(start // PAGE_BYTES, -(-end // PAGE_BYTES)):
        page = pages.get(number)
        if page is not None:
            page_start = number * PAGE_BYTES
            lo, hi = max(start, page_start), min(end, page_start + PAGE_BYTES)
            view[lo - start : hi - start] = page[lo - page_start : hi - page_start]


def _runs(pages: dict[int, bytearray] | dict[int, bytes]) -> Iterator[tuple[int, bytes]]:
    """Neighbouring pages joined, so that a large append is a few large writes."""
    run: list[bytes | bytearray] = []
    first = previous = -2
    for number in sorted(pages):
        if number != previous + 1 or len(run) == 1024:
            if run:
                yield first * PAGE_BYTES, b"".join(run)
            run, first = [], number
        run.append(pages[number])
        previous = number
    if run:
        yield first * PAGE_BYTES, b"".join(run)

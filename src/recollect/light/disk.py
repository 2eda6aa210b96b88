"""Every call that changes a file on disk, in one small object.

Tests put another `Disk` in its place to count calls, to fail the Nth one, or to record
them and rebuild what a power cut would have left. Nothing else in the store may write.
"""

from __future__ import annotations

import os
import sys

from recollect.light.own_files import make_own_folder, open_own
from recollect.light.stdlib import suppress

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from recollect.values.errors import Name


class Disk:
    """The real file system. Files are born owner-only, whatever the umask."""

    def open(self, path: Name, *, write: bool = False, create: bool = False, new: bool = False) -> int:
        """Open a file; `create` makes a missing one, `new` insists that it was missing."""
        flags = os.O_RDWR if write else os.O_RDONLY
        flags |= os.O_CREAT if create or new else 0
        flags |= os.O_EXCL if new else 0
        return open_own(path, flags)

    def write(self, fd: int, data: bytes | bytearray | memoryview, offset: int) -> None:
        """Write all of `data` at `offset`, or raise."""
        written = _write_at(fd, data, offset)
        while written < len(data):
            # A short write is not an error to the kernel; the rest is tried again, and
            # a disk that is full answers that second try with ENOSPC.
            written += _write_at(fd, memoryview(data)[written:], offset + written)

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def sync(self, fd: int) -> None:
        """Make a file's content and size survive a power cut."""
        if sys.platform == "darwin":
            import fcntl

            # On macOS fsync stops at the drive's own cache.
            with suppress(OSError):
                fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
                return
        os.fsync(fd)

    def sync_data(self, fd: int) -> None:
        """As `sync`, without times and modes."""
        if hasattr(os, "fdatasync") and sys.platform != "darwin":
            os.fdatasync(fd)
        else:
            self.sync(fd)

    def sync_folder(self, folder: Name) -> None:
        """Make names made, changed or removed in a folder survive a power cut."""
        if os.name == "nt":
            return
        fd = os.open(folder, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def rename(self, source: Name, target: Name) -> None:
        os.replace(source, target)

    def unlink(self, path: Name) -> None:
        with suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(path)

    def make_folder(self, folder: Name) -> None:
        """Make a folder and its missing parents, the new ones owner-only."""
        for each in reversed(make_own_folder(folder)):
            self.sync_folder(os.path.dirname(each))

    def opened(self, path: Name) -> AbstractContextManager[int]:
        """A file to read from, closed afterwards."""
        return _ReadableFile(path)


class _ReadableFile:
    def __init__(self, path: Name) -> None:
        self._fd = open_own(path)

    def __enter__(self) -> int:
        return self._fd

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


if os.name == "nt":

    def read_at(fd: int, view: memoryview, offset: int) -> int:
        os.lseek(fd, offset, os.SEEK_SET)
        data = os.read(fd, len(view))
        view[: len(data)] = data
        return len(data)

    def read_bytes_at(fd: int, size: int, offset: int) -> bytes:
        os.lseek(fd, offset, os.SEEK_SET)
        return os.read(fd, size)

    def _write_at(fd: int, view: bytes | bytearray | memoryview, offset: int) -> int:
        os.lseek(fd, offset, os.SEEK_SET)
        return os.write(fd, view)

else:

    def read_at(fd: int, view: memoryview, offset: int) -> int:
        """Fill `view` from `offset`; returns how many bytes there were."""
        return os.preadv(fd, [view], offset)

    def read_bytes_at(fd: int, size: int, offset: int) -> bytes:
        """Up to `size` bytes from `offset`."""
        return os.pread(fd, size, offset)

    def _write_at(fd: int, view: bytes | bytearray | memoryview, offset: int) -> int:
        return os.pwrite(fd, view, offset)


def replace_file(
    path: Name,
    data: bytes,
    *,
    disk: Disk | None = None,
    lasting: bool = False,
    prepare: Callable[[str], None] | None = None,
    confirm: Callable[[], None] | None = None,
) -> None:
    """Put a small file in place in one step, for its owner alone: a reader sees the old one or the new one.

    `lasting`: it survives a power cut. `prepare` is given the new file's name once its bytes are in it,
    `confirm` is asked last: what either raises leaves everything as it was.
    """
    disk, (folder, name) = disk or Disk(), os.path.split(os.path.abspath(path))
    new = os.path.join(folder, f".{name}.recollect-{os.urandom(4).hex()}")
    if not os.path.isdir(folder):
        disk.make_folder(folder)
    try:
        _fill(disk, new, data, lasting, prepare)
        if confirm is not None:
            confirm()
        disk.rename(new, path)
    except BaseException:
        with suppress(OSError):
            disk.unlink(new)
        raise
    if lasting:
        # The change is made; should a power cut undo it, the old file is whole.
        with suppress(OSError):
            disk.sync_folder(folder)


def _fill(disk: Disk, new: str, data: bytes, lasting: bool, prepare: Callable[[str], None] | None) -> None:
    fd = disk.open(new, write=True, new=True)
    try:
        disk.write(fd, data, 0)
        if prepare is not None:
            prepare(new)
        if lasting:
            disk.sync(fd)
    finally:
        os.close(fd)


def same_file(fd: int, path: Name) -> bool:
    """Whether a path still means the file that is open here."""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False

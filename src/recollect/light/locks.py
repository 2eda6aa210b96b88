"""Kernel locks on single bytes far past the end of a file; they die with their holder.

Open-file-description locks, not POSIX ones: a POSIX lock is dropped when *any*
descriptor of the file is closed in the process, which one stray `open` would do.
"""

from __future__ import annotations

import os
import struct
import sys
import time

# Far past any real content, so that locking never meets reading or writing.
WRITER = 1 << 62  # held by the one process that may change the store
APPLY = WRITER + 1  # shared while reading, exclusive while a commit is put in place
APPEND = WRITER + 2  # held while one frame goes into the journal
TURN = WRITER + 3  # held by the one who is next to be the writer


_PAUSE_SECONDS_MAX = 0.005
_STAND_BACK_SECONDS = 4 * _PAUSE_SECONDS_MAX


def acquire(fd: int, byte: int, *, shared: bool = False, timeout: float = 0.0) -> bool:
    """Take the lock, waiting up to `timeout` seconds; False when it could not be had."""
    if _try_lock(fd, byte, shared):
        return True
    deadline = time.monotonic() + timeout
    pause = 0.0002
    while not _try_lock(fd, byte, shared):
        if time.monotonic() >= deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 1.5, _PAUSE_SECONDS_MAX)
    return True


def acquire_in_turn(fd: int, byte: int, *, timeout: float, again: bool) -> bool:
    """As `acquire`, one after the other: who has just had it (`again`) does not push in before who waits.

    Who waits asks every few milliseconds, and who has just let go would always be quicker.
    """
    deadline = time.monotonic() + timeout
    if again and timeout and not _try_lock(fd, TURN, shared=False):
        time.sleep(min(timeout, _STAND_BACK_SECONDS))
    if not acquire(fd, TURN, timeout=deadline - time.monotonic()):
        return False
    try:
        return acquire(fd, byte, timeout=deadline - time.monotonic())
    finally:
        release(fd, TURN)


if sys.platform == "win32":
    import msvcrt

    # Windows has no shared byte locks in the C runtime: readers exclude each other for the
    # length of one read, which is correct, only less parallel. Its offsets have 32 bits, and
    # its locks keep others from reading the byte, so it must not be one of the content.
    def _offset(byte: int) -> int:
        return 0x7FFFFF00 + byte - WRITER

    def _try_lock(fd: int, byte: int, shared: bool) -> bool:
        os.lseek(fd, _offset(byte), os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def release(fd: int, byte: int) -> None:
        os.lseek(fd, _offset(byte), os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

else:
    import errno
    import fcntl

    # Python names the command where its C library did; macOS has had it as 90 since 10.15.
    _SET_LOCK: int = getattr(fcntl, "F_OFD_SETLK", 90 if sys.platform == "darwin" else fcntl.F_SETLK)

    def _description(kind: int, byte: int) -> bytes:
        if sys.platform == "darwin":
            return struct.pack("@qqihh", byte, 1, 0, kind, os.SEEK_SET)
        return struct.pack("@hhqqi4x", kind, os.SEEK_SET, byte, 1, 0)

    _KINDS = (fcntl.F_RDLCK, fcntl.F_WRLCK, fcntl.F_UNLCK)
    _BYTES = (WRITER, APPLY, APPEND, TURN)
    _DESCRIBED = {(kind, byte): _description(kind, byte) for kind in _KINDS for byte in _BYTES}

    def _try_lock(fd: int, byte: int, shared: bool) -> bool:
        try:
            fcntl.fcntl(fd, _SET_LOCK, _DESCRIBED[fcntl.F_RDLCK if shared else fcntl.F_WRLCK, byte])
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                return False
            raise
        return True

    def release(fd: int, byte: int) -> None:
        """Give the lock back."""
        fcntl.fcntl(fd, _SET_LOCK, _DESCRIBED[fcntl.F_UNLCK, byte])

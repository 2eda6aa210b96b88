"""Locks: shared and exclusive, per descriptor, gone with their holder."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import recollect
from recollect.light import locks


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[int, int]]:
    """Two descriptors of one file, as two processes would have."""
    path = tmp_path / "locked"
    path.touch()
    fds = os.open(path, os.O_RDWR), os.open(path, os.O_RDWR)
    yield fds
    for fd in fds:
        os.close(fd)


def test_an_exclusive_lock_keeps_the_other_out(two: tuple[int, int]) -> None:
    one, other = two
    assert locks.acquire(one, locks.WRITER)
    assert not locks.acquire(other, locks.WRITER)
    assert not locks.acquire(other, locks.WRITER, shared=True)
    locks.release(one, locks.WRITER)
    assert locks.acquire(other, locks.WRITER)


def test_shared_locks_go_together_and_keep_an_exclusive_one_out(two: tuple[int, int]) -> None:
    one, other = two
    assert locks.acquire(one, locks.APPLY, shared=True)
    assert locks.acquire(other, locks.APPLY, shared=True)
    assert not locks.acquire(other, locks.APPLY)
    locks.release(one, locks.APPLY)
    assert locks.acquire(other, locks.APPLY)


def test_the_three_locks_are_independent(two: tuple[int, int]) -> None:
    one, other = two
    assert locks.acquire(one, locks.WRITER)
    assert locks.acquire(other, locks.APPLY)
    assert locks.acquire(one, locks.APPEND)
    assert not locks.acquire(other, locks.APPEND)


def test_a_lock_stays_when_another_descriptor_of_the_file_is_closed(
    two: tuple[int, int], tmp_path: Path
) -> None:
    """POSIX locks would be gone now; that is why these are not POSIX locks."""
    one, other = two
    assert locks.acquire(one, locks.WRITER)
    os.close(os.open(tmp_path / "locked", os.O_RDWR))
    assert not locks.acquire(other, locks.WRITER)


def test_locking_does_not_change_the_file(two: tuple[int, int]) -> None:
    assert locks.acquire(two[0], locks.WRITER)
    assert os.fstat(two[0]).st_size == 0


def test_a_wait_ends_at_its_time(two: tuple[int, int]) -> None:
    assert locks.acquire(two[0], locks.WRITER)
    start = time.monotonic()
    assert not locks.acquire(two[1], locks.WRITER, timeout=0.1)
    assert time.monotonic() - start >= 0.1


def test_a_read_only_descriptor_can_share(two: tuple[int, int], tmp_path: Path) -> None:
    fd = os.open(tmp_path / "locked", os.O_RDONLY)
    assert locks.acquire(fd, locks.APPLY, shared=True)
    assert not locks.acquire(two[0], locks.APPLY)
    os.close(fd)
    assert locks.acquire(two[0], locks.APPLY)


def test_a_killed_holder_holds_nothing(two: tuple[int, int], tmp_path: Path) -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(Path(recollect.__file__).parents[1])!r})\n"
        "import os; from recollect.light import locks\n"
        f"fd = os.open({str(tmp_path / 'locked')!r}, os.O_RDWR)\n"
        "locks.acquire(fd, locks.WRITER); os.write(1, b'x'); sys.stdin.read()"
    )
    pipe = subprocess.PIPE
    holder = subprocess.Popen([sys.executable, "-c", program], stdin=pipe, stdout=pipe)
    try:
        assert holder.stdout is not None
        assert holder.stdout.read(1) == b"x"
        assert not locks.acquire(two[0], locks.WRITER)
        holder.kill()
        holder.wait()
        assert locks.acquire(two[0], locks.WRITER)
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
        holder.stdin.close()

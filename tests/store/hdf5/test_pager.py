"""The pager against a plain run of bytes, and what its callbacks must never do."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.support.examples import examples
from tests.support.memories import scratch

import recollect
from recollect.light.disk import Disk
from recollect.light.store_header import PAGE_BYTES, Header, read_state, redo_path
from recollect.store.hdf5 import pager as pager_module
from recollect.store.hdf5.engine import Hdf5Store
from recollect.store.hdf5.pager import Pager, recover
from recollect.values.errors import NotAStore, StoreCorrupt, StoreTooNew, StoreWriteFailed

ID = b"sixteen bytes id"


class Unsynced(Disk):
    """May refuse every write to one file from now on, as a full or failing disk does."""

    refuses = ""

    def write(self, fd: int, data: bytes | bytearray | memoryview, offset: int) -> None:
        if self.refuses and os.readlink(f"/proc/self/fd/{fd}").endswith(self.refuses):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().write(fd, data, offset)

    def sync(self, fd: int) -> None: ...

    def sync_folder(self, folder: Path) -> None: ...


def make(path: Path, disk: Disk) -> tuple[int, Pager]:
    fd = disk.open(path, write=True, new=True)
    pager = Pager.create(path, fd, disk, Header(ID, 1))
    pager.seek(PAGE_BYTES)
    pager.write(b"first")
    pager.commit(pager.header, contextlib.nullcontext)
    return fd, pager


class PagerMachine(RuleBasedStateMachine):
    """Random writes, commits and reopenings; behind them a bytearray that does the same.

    The first page is the header's and no business of HDF5.
    """

    @initialize()
    def begin(self) -> None:
        self.scratch = scratch()
        self.path = self.scratch.__enter__() / "m.h5"
        self.disk = Unsynced()
        self.fd, self.pager = make(self.path, self.disk)
        self.committed = bytearray(self.path.read_bytes()[PAGE_BYTES:])
        self.now = bytearray(self.committed)

    def teardown(self) -> None:
        if hasattr(self, "scratch"):
            os.close(self.fd)
            self.scratch.__exit__(None, None, None)

    @rule(at=st.integers(0, 6 * PAGE_BYTES), data=st.binary(min_size=1, max_size=3 * PAGE_BYTES))
    def write(self, at: int, data: bytes) -> None:
        self.pager.seek(PAGE_BYTES + at)
        assert self.pager.write(data) == len(data)
        self.now.extend(bytes(max(at + len(data) - len(self.now), 0)))
        self.now[at : at + len(data)] = data

    @rule(at=st.integers(0, 5), fill=st.integers(0, 255))
    def write_a_whole_page(self, at: int, fill: int) -> None:
        self.write(at * PAGE_BYTES, bytes([fill]) * PAGE_BYTES)

    @rule()
    def commit(self) -> None:
        self.pager.commit(self.pager.header, contextlib.nullcontext)
        self.now.extend(bytes(-len(self.now) % PAGE_BYTES))
        self.committed = bytearray(self.now)
        assert not redo_path(self.path).exists()
        assert self.path.read_bytes()[PAGE_BYTES:] == self.committed

    @rule()
    def commit_while_readers_stay(self) -> None:
        """Durable, though not in place: read through the redo file by everybody."""

        @contextlib.contextmanager
        def busy():  # type: ignore[no-untyped-def]
            raise BlockingIOError(errno.EAGAIN, "readers keep the store busy")
            yield

        self.pager.commit(self.pager.header, busy)
        self.now.extend(bytes(-len(self.now) % PAGE_BYTES))
        self.committed = bytearray(self.now)
        assert redo_path(self.path).exists()

    @rule(refuses=st.sampled_from(["m.h5-redo-new", "m.h5-redo"]))
    def commit_on_a_full_disk(self, refuses: str) -> None:
        self.disk.refuses = refuses
        with contextlib.suppress(StoreWriteFailed):
            self.pager.commit(self.pager.header, contextlib.nullcontext)
            # The redo file goes by another name; nothing was refused.
            self.now.extend(bytes(-len(self.now) % PAGE_BYTES))
            self.committed = bytearray(self.now)
        self.disk.refuses = ""
        self.reopen()

    @rule()
    def drop(self) -> None:
        self.pager.drop()
        self.now = bytearray(self.committed)

    @rule(recovers=st.booleans())
    def reopen(self, recovers: bool = True) -> None:
        if recovers:
            recover(self.disk, self.fd, self.path, contextlib.nullcontext)
            assert not redo_path(self.path).exists()
            assert self.path.read_bytes()[PAGE_BYTES:] == self.committed
        self.pager = Pager.open(self.path, self.fd, self.disk)
        self.now = bytearray(self.committed)

    @invariant()
    def reads_as_the_model_does(self) -> None:
        if hasattr(self, "pager"):
            self.pager.seek(PAGE_BYTES)
            assert self.pager.read(len(self.now)) == self.now
            assert self.pager.error is None

    @invariant()
    def a_reader_sees_the_last_commit(self) -> None:
        if hasattr(self, "pager"):
            with self.disk.opened(self.path) as fd:
                reader = Pager.open(self.path, fd, self.disk)
                reader.seek(PAGE_BYTES)
                assert reader.read(len(self.committed)) == self.committed
                assert reader.header.generation == self.pager.header.generation

    @precondition(lambda self: len(self.now) > 10)
    @rule(data=st.data())
    def read_anywhere(self, data: st.DataObject) -> None:
        start = data.draw(st.integers(0, len(self.now) - 1))
        size = data.draw(st.integers(1, len(self.now) - start))
        self.pager.seek(PAGE_BYTES + start)
        assert self.pager.read(size) == self.now[start : start + size]
        assert self.pager.tell() == PAGE_BYTES + start + size


TestPager = PagerMachine.TestCase
TestPager.settings = examples(40, stateful_step_count=20)


def test_an_error_in_a_read_is_kept_and_raised_by_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fd, pager = make(tmp_path / "m.h5", Unsynced())

    def fails(fd: int, view: memoryview, offset: int) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(pager_module, "read_at", fails)
    buffer = bytearray(b"x" * 100)
    pager.seek(0)
    assert pager.readinto(buffer) == 100
    assert buffer == bytes(100)
    with pytest.raises(StoreCorrupt, match="cannot be read: Input/output error"):
        pager.check()
    pager.check()
    os.close(fd)


def test_an_error_in_a_write_is_kept_and_raised_by_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fd, pager = make(tmp_path / "m.h5", Unsynced())

    def fails(self: Pager, view: memoryview, start: int) -> None:
        raise MemoryError

    monkeypatch.setattr(Pager, "_put", fails)
    pager.seek(0)
    assert pager.write(b"abc") == 3
    with pytest.raises(MemoryError):
        pager.check()
    os.close(fd)


BAD_DISK = """
import errno, os, sys
from pathlib import Path
from recollect.values.errors import StoreError
from recollect.store.hdf5 import pager
from recollect.store.hdf5.engine import Hdf5Store
path, n, real, calls = Path(sys.argv[1]), int(sys.argv[2]), pager.read_at, [0]
def read_at(fd, view, offset):
    calls[0] += 1
    if calls[0] >= n:
        raise OSError(errno.EIO, os.strerror(errno.EIO))
    return real(fd, view, offset)
pager.read_at = read_at
try:
    with Hdf5Store(path) as store, store.view() as view:
        view.sessions()
        view.info()
except StoreError as error:
    print(error)
"""


@pytest.mark.parametrize("call", [1, 6, 7, 20])
def test_a_bad_disk_under_hdf5_is_named_and_does_not_crash_the_interpreter(tmp_path: Path, call: int) -> None:
    """In a child: the crash would come at its end, when a kept error let go of HDF5's freed buffer."""
    Hdf5Store.open(tmp_path / "m.h5", create=True, disk=Unsynced()).close()
    child = subprocess.run(
        [sys.executable, "-c", BAD_DISK, str(tmp_path / "m.h5"), str(call)],
        env={"PYTHONPATH": str(Path(recollect.__file__).parents[1])},
        capture_output=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr.decode()
    assert b"cannot be read: Input/output error" in child.stdout


@pytest.mark.parametrize(
    ("page", "error"),
    [
        (b"", NotAStore),
        (b"\0" * PAGE_BYTES, NotAStore),
        (b"\x89HDF\r\n\x1a\n" * 512, NotAStore),
        (b"SQLite format 3\0" * 256, NotAStore),
        (b"RCLSTORE" + b"\0" * 4088, StoreCorrupt),
    ],
)
def test_what_is_not_a_store_is_told_from_a_damaged_one(
    page: bytes, error: type[Exception], tmp_path: Path
) -> None:
    with pytest.raises(error, match=r"m\.h5"):
        Header.unpack(page, tmp_path / "m.h5")


def test_a_header_survives_damage_to_either_half(tmp_path: Path) -> None:
    page = bytearray(Header(ID, 1, 2, 3, 4096, 5).pack())
    for place in (0, 20, PAGE_BYTES // 2, PAGE_BYTES // 2 + 20):
        damaged = bytearray(page)
        damaged[place] ^= 0xFF
        assert Header.unpack(bytes(damaged), tmp_path) == Header(ID, 1, 2, 3, 4096, 5)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreTooNew):
        Header.unpack(Header(ID, 1, format=99).pack(), tmp_path)


def test_every_cut_of_a_redo_file_is_no_redo_file(tmp_path: Path) -> None:
    path = tmp_path / "m.h5"
    disk = Unsynced()
    fd, pager = make(path, disk)
    pager.seek(PAGE_BYTES)
    pager.write(b"x" * 5000)
    pager.commit(pager.header, contextlib.nullcontext)
    disk.refuses = "m.h5"  # the redo file is written, the store itself cannot be
    pager.seek(PAGE_BYTES)
    pager.write(b"y" * 5000)
    pager.commit(pager.header, contextlib.nullcontext)
    whole = redo_path(path).read_bytes()
    assert read_state(fd, path)[1] is not None
    for cut in range(0, len(whole), 97):
        for damaged in (whole[:cut], whole[:cut] + bytes([whole[cut] ^ 1]) + whole[cut + 1 :]):
            redo_path(path).write_bytes(damaged)
            with pytest.raises(StoreCorrupt, match=r"m\.h5"):
                read_state(fd, path)
            with pytest.raises(StoreCorrupt):
                recover(disk, fd, path, contextlib.nullcontext)
            assert redo_path(path).read_bytes() == damaged, "nothing is deleted on suspicion"
    os.close(fd)


def test_the_redo_file_of_another_store_is_not_replayed(tmp_path: Path) -> None:
    """A store was deleted or restored by hand and its redo file stayed: same name, other content."""
    disk = Unsynced()
    for name in ("one.h5", "two.h5"):
        fd = disk.open(tmp_path / name, write=True, new=True)
        pager = Pager.create(tmp_path / name, fd, disk, Header(name.encode().ljust(16), 1))
        for n in range(3):
            disk.refuses = name if n == 2 and name == "one.h5" else ""
            pager.seek(PAGE_BYTES)
            pager.write(bytes([n + ord(name[0])]) * 3 * PAGE_BYTES)
            pager.commit(pager.header, contextlib.nullcontext)
        os.close(fd)
    disk.refuses = ""
    os.rename(redo_path(tmp_path / "one.h5"), redo_path(tmp_path / "two.h5"))
    before = (tmp_path / "two.h5").read_bytes()
    with disk.opened(tmp_path / "two.h5") as fd:
        assert Pager.open(tmp_path / "two.h5", fd, disk).header.store_id == b"two.h5".ljust(16)
    fd = disk.open(tmp_path / "two.h5", write=True)
    recover(disk, fd, tmp_path / "two.h5", contextlib.nullcontext)
    os.close(fd)
    assert (tmp_path / "two.h5").read_bytes() == before

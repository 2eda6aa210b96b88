"""Every storage call of every step fails once.

The error names the file and the reason, nothing acknowledged is lost, the store can be
read at once, and the next run completes everything. A failed sync is a failed commit,
whatever the next sync says: the kernel forgets what it could not write.
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.faults.crashes import empty, record
from tests.faults.failures import FailingDisk, eves_of, failures, wrong_after, wrong_after_failed_sync
from tests.faults.story import STORE, TEMPORARY, QuietDisk, Story, ingest, memory, state_of
from tests.faults.world import RecordingDisk, World, write_files

from recollect.light import disk as disk_module
from recollect.store.hdf5.engine import Hdf5Store
from recollect.values.errors import RecollectError, StoreMissing, StoreWriteFailed


@pytest.fixture(scope="module")
def eves(story: Story, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return eves_of(story, tmp_path_factory.mktemp("eves"))


def test_any_storage_call_fails_once_or_from_then_on(story: Story, eves: list[Path], fast_path: Path) -> None:
    everything = list(failures(story, eves, fast_path))
    assert {failure.name for failure in everything} >= {
        "open",
        "write",
        "sync",
        "sync_data",
        "sync_folder",
        "unlink",
    }
    chosen = random.Random(5).sample(everything, min(40, len(everything)))
    assert wrong_after(story, eves, fast_path, chosen) == []


@pytest.mark.full
def test_every_storage_call_fails_once_or_from_then_on(
    story: Story, eves: list[Path], fast_path: Path
) -> None:
    assert wrong_after(story, eves, fast_path, list(failures(story, eves, fast_path))) == []


def test_short_writes_are_continued(story: Story, fast_path: Path) -> None:
    """The kernel may take any part of a write; the rest is written, not forgotten."""
    real, rng = disk_module._write_at, random.Random(1)

    def part(fd: int, view: memoryview, offset: int) -> int:
        return real(fd, view[: rng.randint(1, len(view))], offset)

    with mock.patch.object(disk_module, "_write_at", part):
        story.play(fast_path / STORE, QuietDisk(), lambda what, step: None)
    story.check(fast_path, [story.states[-1]])


def test_a_commit_that_failed_is_not_acknowledged_by_a_second_try(story: Story, fast_path: Path) -> None:
    """After a failed commit the same writer says so again, or really commits; it never only says yes."""
    disk = FailingDisk()
    with Hdf5Store.open(fast_path / STORE, create=True, disk=disk) as store:
        from recollect.intake.discover import discover
        from recollect.intake.ingest import Ingest

        committed = False
        with contextlib.suppress(StoreWriteFailed), store.writer() as writer:
            Ingest(writer, "here").sweep(discover(story.everything).found)
            disk.calls, disk.fails = [], 0
            with pytest.raises(StoreWriteFailed):
                writer.commit()
            disk.fails = -1
            writer.commit()
            committed = True
        seen = state_of(store)
        assert seen == (story.final if committed else story.states[0])


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.full)])
def test_what_a_failed_sync_left_behind_is_never_relied_on(story: Story, fast_path: Path, every: int) -> None:
    syncs = record(story, empty(fast_path / "clean")).syncs
    wrong = [
        each
        for n in range(0, syncs, every)
        for each in wrong_after_failed_sync(story, n, fast_path, complete=n % 3 == 0)
    ]
    assert wrong == []


def test_pages_of_a_failed_commit_never_meet_those_of_the_next(story: Story, fast_path: Path) -> None:
    """The redo file's sync fails although all of it arrived, and its removal is not yet durable; the
    next commit writes other pages behind the end; the power is cut. The old redo file must not win."""
    wrong = []
    for n in range(5, 12):
        disk = RecordingDisk(empty(fast_path / "live"))
        disk.fail_sync = {n}
        with disk.links(), Hdf5Store.open(disk.root / STORE, create=True, disk=disk) as store:
            story.grow()
            with contextlib.suppress(StoreWriteFailed):
                ingest(store, [story.swept])
            with contextlib.suppress(StoreWriteFailed):
                ingest(store, [story.live])
            with contextlib.suppress(StoreWriteFailed):
                ingest(store, story.everything)
        wrong += _unreadable(disk, fast_path / "found")
    assert wrong == []


def _unreadable(disk: RecordingDisk, found: Path) -> Iterator[str]:
    world, failed = World(), False
    for op in disk.log:
        world.play(op)
        failed = failed or op[0] == "sync_failed"
        for names in range(len(world.names_since) + 1 if failed and op[0] == "write" else 0):
            files = world.after_power_cut(random.Random(1), names_kept=names, mood="all")
            write_files(empty(found), files)
            try:
                with Hdf5Store(found / STORE, disk=QuietDisk()) as store:
                    state_of(store)
            except StoreMissing:
                pass
            except Exception as error:
                yield f"power cut ({names} names) after {op[:3]}: {type(error).__name__}: {error}"


def test_nothing_is_left_behind_by_making_a_store(fast_path: Path) -> None:
    Hdf5Store.open(fast_path / STORE, create=True).close()
    assert sorted(p.name for p in fast_path.iterdir()) == [STORE]


def test_what_a_killed_rewrite_left_is_cleaned_by_the_next_writer(story: Story, fast_path: Path) -> None:
    (fast_path / f".{STORE}.0123456789ab.tmp").write_bytes(b"half a store")
    with Hdf5Store.open(fast_path / STORE, create=True, disk=QuietDisk()) as store:
        ingest(store, story.everything)
    assert [p.name for p in fast_path.iterdir() if p.name.endswith(TEMPORARY)] == []


def test_a_redo_file_that_cannot_be_read_is_not_thrown_away(story: Story, fast_path: Path) -> None:
    """It may hold the only copy of an acknowledged commit; too many open files is no reason to delete it."""
    path, redo = fast_path / STORE, fast_path / f"{STORE}-redo"
    with Hdf5Store.open(path, create=True, disk=QuietDisk()) as store:
        pass

    class Full(FailingDisk):
        """Takes the redo file, then no page of the store itself."""

        def write(self, fd: int, data: bytes | bytearray | memoryview, offset: int) -> None:
            if redo.exists() and os.path.samestat(os.fstat(fd), path.stat()):
                raise OSError(errno.EIO, "Input/output error")
            QuietDisk.write(self, fd, data, offset)

    with Hdf5Store.open(path, disk=Full()) as store:
        ingest(store, story.everything)  # acknowledged: its redo file is durable
    assert redo.exists()
    real = os.open

    def unreadable(name: Any, *how: Any, **more: Any) -> Any:
        if str(name).endswith("-redo"):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return real(name, *how, **more)

    with (
        mock.patch("os.open", unreadable),
        contextlib.suppress(RecollectError),
        Hdf5Store.open(path, disk=QuietDisk()) as store,
        store.writer(),
    ):
        pass
    assert redo.exists(), "an acknowledged commit was deleted"
    with Hdf5Store.open(path, disk=QuietDisk()) as store:
        assert state_of(store) == story.final


def test_two_processes_make_the_same_store_at_once(story: Story, fast_path: Path) -> None:
    """The slower one finds the store made, and already written to, and uses that."""
    path = fast_path / STORE

    class Overtaken(QuietDisk):
        done = False

        def sync(self, fd: int) -> None:
            if not self.done:
                self.done = True
                with Hdf5Store.open(path, create=True, disk=QuietDisk()) as faster:
                    ingest(faster, story.everything)

    story.grow()
    with Hdf5Store.open(path, create=True, disk=Overtaken()) as store:
        assert state_of(store) == story.final


def test_a_writer_leaves_the_work_of_others_alone(story: Story, fast_path: Path) -> None:
    """A snapshot called `memory.h5.bak`, half written, is not what a killed rewrite of `memory.h5` left."""
    path, copy = fast_path / STORE, fast_path / f"{STORE}.bak"

    class Disturbed(QuietDisk):
        def sync(self, fd: int) -> None:
            with Hdf5Store.open(path, disk=QuietDisk()) as other, other.writer():
                pass

    story.grow()
    with Hdf5Store.open(path, create=True, disk=QuietDisk()) as store:
        ingest(store, story.everything)
    with Hdf5Store.open(path, disk=Disturbed()) as store:
        memory(store).snapshot(copy)
    with Hdf5Store.open(copy, disk=QuietDisk()) as store:
        assert state_of(store) == story.final


def test_a_copy_and_a_repair_that_fail_say_what_failed_first(story: Story, fast_path: Path) -> None:
    """Clearing up fails as well on a disk like that, and must not stand in for the reason."""
    path = fast_path / STORE
    with Hdf5Store.open(path, create=True, disk=QuietDisk()) as store:
        ingest(store, [story.live])
    told: list[str] = []
    for fails in range(1, 8):
        for work in (
            lambda store, n=fails: store.copy_to(str(fast_path / f"new{n}" / "copy.h5")),
            lambda store: memory(store).repair(),
        ):
            with Hdf5Store(path, disk=FailingDisk(fails, stays=True)) as store:
                try:
                    work(store)
                except RecollectError as error:
                    told.append(str(error))
    assert len(told) >= 10
    assert [each for each in told if "Input/output error" not in each] == []
    with Hdf5Store(path, disk=QuietDisk()) as store:
        assert memory(store).info().lines

"""Every storage call of every step fails once.

The error names the file and the reason, nothing acknowledged is lost, the store can be
read at once, and the next run completes everything. A failed sync is a failed commit,
whatever the next sync says: the kernel forgets what it could not write.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.faults.story import STORE, TEMPORARY, QuietDisk, Story, ingest, memory, state_of
from tests.faults.world import RecordingDisk, World, write_files

from recollect.light import disk as disk_module
from recollect.store.hdf5.engine import Hdf5Store
from recollect.values.errors import RecollectError, StoreMissing, StoreWriteFailed

CALLS = ("open", "write", "truncate", "sync", "sync_data", "sync_folder", "rename", "unlink")


class FailingDisk(QuietDisk):
    """Fails one call, or that one and all that follow; a failing write may have written a part."""

    def __init__(self, fails: int = -1, error: int = errno.EIO, *, stays: bool = False) -> None:
        self.calls: list[str] = []
        self.fails, self.error, self.stays = fails, error, stays

    def _call(self, name: str) -> None:
        self.calls.append(name)
        at = len(self.calls) - 1
        if at == self.fails or (self.stays and at > self.fails >= 0):
            raise OSError(self.error, os.strerror(self.error))

    def open(self, path: Path, **how: Any) -> int:
        self._call("open")
        return super().open(path, **how)

    def write(self, fd: int, data: bytes | bytearray | memoryview, offset: int) -> None:
        try:
            self._call("write")
        except OSError:
            super().write(fd, bytes(data)[: len(data) // 2], offset)
            raise
        super().write(fd, data, offset)

    def truncate(self, fd: int, size: int) -> None:
        self._call("truncate")
        super().truncate(fd, size)

    def sync(self, fd: int) -> None:
        self._call("sync")

    def sync_data(self, fd: int) -> None:
        self._call("sync_data")

    def sync_folder(self, folder: Path) -> None:
        self._call("sync_folder")

    def rename(self, source: Path, target: Path) -> None:
        self._call("rename")
        super().rename(source, target)

    def unlink(self, path: Path) -> None:
        self._call("unlink")
        super().unlink(path)


@pytest.fixture(scope="module")
def eves(story: Story, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The store's folder as it is before each step."""
    root = tmp_path_factory.mktemp("eves")
    live = root / "live"
    live.mkdir()
    eves: list[Path] = []

    def keep(what: str, step: int) -> None:
        if what == "start":
            eves.append(Path(shutil.copytree(live, root / str(step))))

    story.play(live / STORE, QuietDisk(), keep)
    return eves


def act(story: Story, step: int, path: Path, disk: FailingDisk) -> None:
    """One step of the story, from opening the store to closing it."""
    story.grow() if step > 5 else story.shrink()
    with Hdf5Store.open(path, create=step == 0, disk=disk) as store:
        if step:
            story.steps()[step - 1](store)


def calls_of(story: Story, eves: list[Path], step: int, folder: Path) -> list[str]:
    disk = FailingDisk()
    shutil.copytree(eves[step], folder / f"calls{step}")
    act(story, step, folder / f"calls{step}" / STORE, disk)
    return disk.calls


def failures(story: Story, eves: list[Path], folder: Path) -> Iterator[tuple[int, int, str, int, bool]]:
    """(step, call, its name, error, whether it lasts) of everything that can fail."""
    for step in range(len(eves)):
        for n, name in enumerate(calls_of(story, eves, step, folder)):
            for error, stays in itertools.product((errno.EIO, errno.ENOSPC), (False, True)):
                yield step, n, name, error, stays


def check_failure(
    story: Story, eves: list[Path], folder: Path, failure: tuple[int, int, str, int, bool]
) -> None:
    step, n, _, error, stays = failure
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(eves[step], folder)
    acked, said = step - 1, ""
    try:
        act(story, step, folder / STORE, FailingDisk(n, error, stays=stays))
        acked = step
    except RecollectError as raised:
        said = str(raised)
    assert acked == step or STORE in said, "the message does not name the file"
    assert acked == step or os.strerror(error) in said, f"the message does not say why: {said}"
    story.check(folder, story.allowed(acked, step), complete=n % 2 == 0)


def wrong_after(
    story: Story, eves: list[Path], folder: Path, chosen: list[tuple[int, int, str, int, bool]]
) -> list[str]:
    wrong = []
    for failure in chosen:
        try:
            check_failure(story, eves, folder / "found", failure)
        except Exception as error:
            step, n, name, number, stays = failure
            how = f"step {step}, call {n} ({name}) {'and all later ones fail' if stays else 'fails'}"
            wrong.append(f"{how} with {errno.errorcode[number]}: {type(error).__name__}: {error}")
    return wrong


def test_any_storage_call_fails_once_or_from_then_on(story: Story, eves: list[Path], fast_path: Path) -> None:
    everything = list(failures(story, eves, fast_path))
    assert {name for _, _, name, _, _ in everything} >= {
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
    """Each sync of the story fails once, and what it should have written may be gone for good; the
    step is done again by another process, all goes well from there, and then the power is cut."""
    clean = RecordingDisk(_empty(fast_path / "clean"))
    with clean.links():
        story.play(clean.root / STORE, clean, lambda what, step: None)
    wrong = []
    for n in range(0, clean.syncs, every):
        disk = RecordingDisk(_empty(fast_path / "live"))
        disk.fail_sync = {n}
        with disk.links():
            _play_with_second_tries(story, disk)
        for seed in range(3):
            found = _empty(fast_path / "found")
            write_files(found, disk.world.after_power_cut(random.Random(seed)))
            try:
                story.check(found, [story.states[-1]], complete=seed == 0 and n % 3 == 0)
            except Exception as error:
                wrong.append(f"sync {n} failed, power cut (seed {seed}): {type(error).__name__}: {error}")
    assert wrong == []


def _play_with_second_tries(story: Story, disk: RecordingDisk) -> None:
    story.shrink()
    for step in [lambda store: None, *story.steps()]:
        for _ in range(2):
            try:
                with Hdf5Store.open(disk.root / STORE, create=True, disk=disk) as store:
                    step(store)
                break
            except StoreWriteFailed:
                continue


def _empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def test_pages_of_a_failed_commit_never_meet_those_of_the_next(story: Story, fast_path: Path) -> None:
    """The redo file's sync fails although all of it arrived, and its removal is not yet durable; the
    next commit writes other pages behind the end; the power is cut. The old redo file must not win."""
    wrong = []
    for n in range(5, 12):
        disk = RecordingDisk(_empty(fast_path / "live"))
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
            write_files(_empty(found), files)
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

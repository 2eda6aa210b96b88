"""Storage calls that fail: the Nth of a step, once or from then on; syncs that fail and promise nothing."""

from __future__ import annotations

import errno
import itertools
import os
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults.crashes import empty
from tests.faults.story import STORE, QuietDisk, Story
from tests.faults.world import RecordingDisk, write_files

from recollect.store.hdf5.engine import Hdf5Store
from recollect.values.errors import RecollectError


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


def eves_of(story: Story, root: Path) -> list[Path]:
    """The store's folder as it is before each step."""
    live = empty(root / "live")
    eves: list[Path] = []

    def keep(what: str, step: int) -> None:
        if what == "start":
            eves.append(Path(shutil.copytree(live, root / str(step))))

    story.play(live / STORE, QuietDisk(), keep)
    return eves


@dataclass(frozen=True)
class Failure:
    """One call of a step that fails, or that one and all later ones."""

    step: int
    call: int
    name: str
    error: int
    stays: bool

    def __str__(self) -> str:
        how = "and all later ones fail" if self.stays else "fails"
        return f"step {self.step}, call {self.call} ({self.name}) {how} with {errno.errorcode[self.error]}"


def calls_of(story: Story, eves: list[Path], step: int, folder: Path) -> list[str]:
    disk = FailingDisk()
    folder = Path(shutil.copytree(eves[step], empty(folder / "calls"), dirs_exist_ok=True))
    story.act(step, folder / STORE, disk)
    return disk.calls


def failures(story: Story, eves: list[Path], folder: Path) -> Iterator[Failure]:
    """Everything that can fail in a story."""
    for step in range(len(eves)):
        for n, name in enumerate(calls_of(story, eves, step, folder)):
            for error, stays in itertools.product((errno.EIO, errno.ENOSPC), (False, True)):
                yield Failure(step, n, name, error, stays)


def check_failure(story: Story, eves: list[Path], folder: Path, failure: Failure) -> None:
    step, error = failure.step, failure.error
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(eves[step], folder)
    acked, said = step - 1, ""
    try:
        story.act(step, folder / STORE, FailingDisk(failure.call, error, stays=failure.stays))
        acked = step
    except story.raises as raised:
        said = str(raised)
        # Raised by what hooks remember, and told to nobody.
        said += STORE if not isinstance(raised, RecollectError) else ""
    assert acked == step or any(name in said for name in story.told_as), "the message does not name the file"
    assert acked == step or os.strerror(error) in said, f"the message does not say why: {said}"
    story.check(folder, story.allowed(acked, step), complete=failure.call % 2 == 0)


def wrong_after(story: Story, eves: list[Path], folder: Path, chosen: list[Failure]) -> list[str]:
    wrong = []
    for failure in chosen:
        try:
            check_failure(story, eves, folder / "found", failure)
        except Exception as error:
            wrong.append(f"{failure}: {type(error).__name__}: {error}")
    return wrong


def wrong_after_failed_sync(
    story: Story, number: int, folder: Path, *, seeds: int = 3, complete: bool = True
) -> list[str]:
    """One sync of the story fails, and what it should have written may be gone for good; the step is done
    again by another process, all goes well from there, and then the power is cut."""
    disk = RecordingDisk(empty(folder / "live"))
    disk.fail_sync = {number}
    with disk.links(), story.set_up(disk):
        play_with_second_tries(story, disk)
    wrong = []
    for seed in range(seeds):
        found = empty(folder / "found")
        write_files(found, disk.world.after_power_cut(random.Random(seed)))
        try:
            story.check(found, [story.states[-1]], complete=complete and seed == 0)
        except Exception as error:
            wrong.append(f"sync {number} failed, power cut (seed {seed}): {type(error).__name__}: {error}")
    return wrong


def play_with_second_tries(story: Story, disk: RecordingDisk) -> None:
    story.shrink()
    for step in [lambda store: None, *story.steps()]:
        for _ in range(2):
            try:
                with Hdf5Store.open(disk.root / STORE, create=True, disk=disk) as store:
                    step(store)
                break
            except story.raises:
                continue

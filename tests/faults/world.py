"""A disk that forgets: what a kill or a power cut may leave of a folder.

`World` is the strict model. Bytes written are lost, kept or torn at 512 bytes until their
file is synced; a name made, moved or removed is undecided until its folder is synced; a
sync that failed promises nothing, then or ever, about what was written before it.

`RecordingDisk` does the real work (without really syncing, so it is fast), and tells a
World. Every call that changes a file goes through `Disk`; the log is a list of plain
tuples, so any prefix of it can be played into a fresh World.
"""

from __future__ import annotations

import contextlib
import copy
import errno
import linecache
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import recollect
from recollect.light.disk import Disk

PACKAGE = os.path.dirname(recollect.__file__) + os.sep
SECTOR_BYTES = 512

Op = tuple[Any, ...]
Files = dict[str, bytes]  # path below the folder -> content


@dataclass
class Inode:
    """One file's bytes: what is certainly on the platter, and what may be."""

    durable: bytes = b""
    since: list[tuple[Op, str]] = field(default_factory=list)  # op, "pending" | "kept" | "limbo"
    now: bytearray = field(default_factory=bytearray)

    def change(self, op: Op) -> None:
        _apply(self.now, op)
        self.since.append((op, "pending"))

    def sync(self) -> None:
        if all(state != "limbo" for _, state in self.since):
            self.durable, self.since = bytes(self.now), []
        else:
            self.since = [(op, "kept" if state == "pending" else state) for op, state in self.since]

    def sync_failed(self) -> None:
        """The kernel marks the pages clean although they never arrived; no later sync writes them."""
        self.since = [(op, "limbo" if state == "pending" else state) for op, state in self.since]

    def after_power_cut(self, rng: random.Random, mood: str = "") -> bytes:
        data = bytearray(self.durable)
        mood = mood or rng.choice(("none", "all", "prefix", "subset", "torn", "torn"))
        undecided = [n for n, (_, state) in enumerate(self.since) if state != "kept"]
        cut = rng.choice(undecided) if undecided else 0
        for n, (op, state) in enumerate(self.since):
            if (
                state == "kept"
                or mood == "all"
                or (mood == "prefix" and n < cut)
                or (mood == "subset" and rng.random() < 0.5)
            ):
                _apply(data, op)
            elif mood == "torn":
                _apply_torn(data, op, rng)
        return bytes(data)


class World:
    """A folder under a strict disk, driven by a log of operations."""

    def __init__(self, files: Files | None = None) -> None:
        self.inodes: dict[int, Inode] = {}
        self.names: dict[str, int] = {}  # as a running process sees them
        self.durable_names: dict[str, int] = {}
        self.names_since: list[tuple[str, int | None]] = []  # changes of names, not yet synced
        for path, data in (files or {}).items():
            self.names[path] = self.durable_names[path] = self.add(Inode(data, [], bytearray(data)))

    FOLDER = -1  # the "inode" of a folder: it has a name and nothing else

    def add(self, inode: Inode) -> int:
        number = len(self.inodes)
        self.inodes[number] = inode
        return number

    def play(self, op: Op) -> None:
        kind, *rest = op
        if kind in ("write", "truncate"):
            self.inodes[rest[0]].change(op)
        elif kind == "sync":
            self.inodes[rest[0]].sync()
        elif kind == "sync_failed":
            self.inodes[rest[0]].sync_failed()
        elif kind == "create":
            self._name(rest[0], self.add(Inode()))
        elif kind == "mkdir":
            self._name(rest[0], self.FOLDER)
        elif kind == "link":
            self._name(rest[1], self.names[rest[0]])
        elif kind == "unlink":
            self._name(rest[0], None)
        elif kind == "rename":
            self._name(rest[1], self.names[rest[0]])
            self._name(rest[0], None)
        elif kind == "sync_folder":
            self._sync_folder(rest[0])
        else:
            assert kind in ("start", "commit", "ack"), op

    def _name(self, path: str, inode: int | None) -> None:
        _set(self.names, path, inode)
        self.names_since.append((path, inode))

    def _sync_folder(self, folder: str) -> None:
        left = []
        for path, inode in self.names_since:
            if os.path.dirname(path) == folder:
                _set(self.durable_names, path, inode)
            else:
                left.append((path, inode))
        self.names_since = left

    @property
    def undecided(self) -> bool:
        """Whether a power cut now could leave one thing or another."""
        held = set(self.names.values()) | set(self.durable_names.values())
        return bool(self.names_since) or any(self.inodes[n].since for n in held if n >= 0)

    def after_kill(self) -> Files:
        """What the next process finds: everything, synced or not."""
        return {p: bytes(self.inodes[n].now) for p, n in self.names.items() if n != self.FOLDER}

    def after_power_cut(self, rng: random.Random, *, names_kept: int = -1, mood: str = "") -> Files:
        """What the next boot may find. The same seed gives the same answer.

        `names_kept`: how many of the changes of names arrived; `mood`: what became of bytes.
        """
        names = dict(self.durable_names)
        moods = ("none", "all", "prefix", "subset")
        names_mood, cut = ("prefix", names_kept)
        if names_kept < 0:
            names_mood, cut = rng.choice(moods), rng.randint(0, len(self.names_since))
        for n, (path, inode) in enumerate(self.names_since):
            arrived = {"none": False, "all": True, "prefix": n < cut, "subset": rng.random() < 0.5}
            if arrived[names_mood]:
                _set(names, path, inode)
        held = sorted(n for n in set(names.values()) if n >= 0)
        bytes_of = {n: self.inodes[n].after_power_cut(rng, mood) for n in held}
        return {p: bytes_of[n] for p, n in names.items() if n >= 0 and self._reachable(p, names)}

    def _reachable(self, path: str, names: dict[str, int]) -> bool:
        """A file is gone with any folder above it whose own name was lost."""
        folder = os.path.dirname(path)
        while folder:
            if folder in self.names and folder not in names:
                return False
            folder = os.path.dirname(folder)
        return True

    def copy(self) -> World:
        return copy.deepcopy(self)


def _set(names: dict[str, int], path: str, inode: int | None) -> None:
    if inode is None:
        names.pop(path, None)
    else:
        names[path] = inode


def _apply(data: bytearray, op: Op) -> None:
    if op[0] == "truncate":
        size = op[2]
        del data[size:]
        data.extend(bytes(size - len(data)))
    else:
        _, _, offset, new = op
        data.extend(bytes(max(offset - len(data), 0)))
        data[offset : offset + len(new)] = new


def _apply_torn(data: bytearray, op: Op, rng: random.Random) -> None:
    if op[0] == "truncate":
        if rng.random() < 0.5:
            _apply(data, op)
        return
    _, inode, offset, new = op
    keep = rng.choice((0.0, 0.1, 0.5, 0.9, 1.0))
    start = 0
    while start < len(new):
        stop = min(len(new), (offset + start) // SECTOR_BYTES * SECTOR_BYTES + SECTOR_BYTES - offset)
        if rng.random() < keep:
            _apply(data, ("write", inode, offset + start, new[start:stop]))
        start = stop
    if rng.random() < 0.3:  # the size arrived, the bytes did not
        data.extend(bytes(max(offset + len(new) - len(data), 0)))


class RecordingDisk(Disk):
    """Does everything for real except syncing, and writes down what it did.

    `lies`: syncs are not written down either, as under eatmydata; the negative control.
    `drop`: only those of one place in the product are not, named as in `sites`.
    `fail_sync`: the numbers of the syncs (of files and folders, from 0) that fail.
    """

    def __init__(
        self, root: Path, world: World | None = None, *, lies: bool = False, drop: str | None = None
    ) -> None:
        self.root = root
        self.log: list[Op] = []
        self.world = world or World()
        self.lies = lies
        self.drop = drop
        self.sites: Counter[str] = Counter()  # the places in the product that sync, and how often they did
        self.fail_sync: set[int] = set()
        self.syncs = 0
        self._numbers: dict[tuple[int, int], int] = {}  # (device, inode) -> number in the world

    def note(self, *op: Any) -> None:
        self.log.append(op)
        self.world.play(op)

    def start(self, step: int) -> None:
        self.note("start", step)

    def ack(self, step: int) -> None:
        self.note("ack", step)

    def open(self, path: Path, *, write: bool = False, create: bool = False, new: bool = False) -> int:
        existed = os.path.lexists(path)
        fd = super().open(path, write=write, create=create, new=new)
        if not existed:
            self.note("create", self._name(path))
        self._met(fd, path)
        return fd

    @contextlib.contextmanager
    def opened(self, path: Path) -> Iterator[int]:
        with super().opened(path) as fd:
            if not os.path.isdir(path):
                self._met(fd, path)
            yield fd

    def write(self, fd: int, data: bytes | bytearray | memoryview, offset: int) -> None:
        super().write(fd, data, offset)
        self.note("write", self._number(fd), offset, bytes(data))

    def truncate(self, fd: int, size: int) -> None:
        super().truncate(fd, size)
        self.note("truncate", self._number(fd), size)

    def sync(self, fd: int) -> None:
        if self._sync_fails():
            self.note("sync_failed", self._number(fd))
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if self._is_kept():
            self.note("sync", self._number(fd))

    sync_data = sync

    def sync_folder(self, folder: Path) -> None:
        if self._sync_fails():
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if self._is_kept():
            self.note("sync_folder", self._name(folder))

    def rename(self, source: Path, target: Path) -> None:
        super().rename(source, target)
        self.note("rename", self._name(source), self._name(target))

    def link(self, source: Path, target: Path) -> None:
        _LINK(source, target)
        self.note("link", self._name(source), self._name(target))

    def unlink(self, path: Path) -> None:
        existed = os.path.lexists(path)
        super().unlink(path)
        if existed:
            self.note("unlink", self._name(path))

    def make_folder(self, folder: Path) -> None:
        with mock.patch("os.mkdir", self._mkdir):
            super().make_folder(folder)

    def _mkdir(self, folder: Path, mode: int = 0o777) -> None:
        _MKDIR(folder, mode)
        self.note("mkdir", self._name(folder))

    @contextlib.contextmanager
    def links(self) -> Iterator[None]:
        """`os.link` is the one change that the store makes past its Disk."""
        with mock.patch("os.link", self.link):
            yield

    def _sync_fails(self) -> bool:
        self.syncs += 1
        return self.syncs - 1 in self.fail_sync

    def _is_kept(self) -> bool:
        """Whether a sync does what it says: always, unless it is of a place whose syncs are dropped."""
        site = sync_site()
        self.sites[site] += 1
        return not self.lies and site != self.drop

    def _name(self, path: Path) -> str:
        name = str(Path(path).relative_to(self.root))
        return "" if name == "." else name

    def _met(self, fd: int, path: Path) -> None:
        found = os.fstat(fd)
        self._numbers[found.st_dev, found.st_ino] = self.world.names[self._name(path)]

    def _number(self, fd: int) -> int:
        found = os.fstat(fd)
        return self._numbers[found.st_dev, found.st_ino]


_LINK, _MKDIR = os.link, os.mkdir


def sync_site() -> str:
    """The line of the product that asks for this sync: `module function: line`; "" for a test's own."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename == __file__ and frame.f_back is not None:
        frame = frame.f_back
    path, line = frame.f_code.co_filename, frame.f_lineno
    if not path.startswith(PACKAGE):
        return ""
    return f"{path[len(PACKAGE) :]} {frame.f_code.co_qualname}: {linecache.getline(path, line).strip()}"


def write_files(folder: Path, files: Files) -> None:
    for path, data in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        target.write_bytes(data)
        target.chmod(0o600)


def points(log: list[Op], world: World | None = None) -> Iterator[tuple[int, World]]:
    """The world before the first operation, and after each one."""
    world = world.copy() if world is not None else World()
    yield 0, world
    for n, op in enumerate(log, 1):
        world.play(op)
        yield n, world


def torn_by_kill(world: World, op: Op, rng: random.Random) -> Files | None:
    """A kill in the middle of a large write leaves its beginning."""
    if op[0] != "write" or len(op[3]) < 2:
        return None
    _, inode, offset, data = op
    torn = world.copy()
    torn.play(("write", inode, offset, data[: rng.randrange(1, len(data))]))
    return torn.after_kill()

"""Where the indexes of one store live, and which of them still fit it.

Everything here may be deleted at any moment and is built again. An index keeps its data in a
folder of its own whose name is never used twice (`text-5f0c…`), and a small *stamp* beside it
says which one counts and what it was built from. So a process that still works in a deleted
or replaced folder can spoil nothing: its writes fail, or land where nobody looks.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from recollect.light import locks
from recollect.light.disk import replace_file
from recollect.light.own_files import make_own_folder, open_own

Bound = Mapping[str, str | int]  # what an index is built from: its format, the store's id and epoch, a model


def store_folder(cache: Path, store_id: str) -> Path:
    """The cache folder of one store, for its owner alone; made if it is not there."""
    folder = cache / store_id
    make_own_folder(cache, cache=True)
    make_own_folder(folder)
    folder.chmod(0o700)
    return folder


class Place:
    """One index of one store: its stamp, its data folder, its lock."""

    def __init__(self, folder: Path, name: str, bound: Bound) -> None:
        self._folder = folder
        self._name = name
        self._bound = dict(bound)
        self.refusal: OSError | None = None  # why the lock could not be asked for, the last time

    def current(self) -> Path | None:
        """The data folder that fits what this index is bound to; None when there is none."""
        stamp = read_stamp(self._stamp)
        if {key: stamp.get(key) for key in self._bound} != self._bound:
            return None
        data = self._folder / str(stamp.get("data", ""))
        is_own = data.parent == self._folder and data.name.startswith(self._name + "-")
        return data if is_own and data.is_dir() else None

    def begin(self) -> Path:
        """A new, empty data folder that counts from now on; what was there before is removed.

        Only for the holder of the lock.
        """
        make_own_folder(self._folder)
        data = self._folder / f"{self._name}-{secrets.token_hex(8)}"
        make_own_folder(data)
        write_stamp(self._stamp, {**self._bound, "data": data.name})
        for other in self._folder.glob(self._name + "-*"):
            if other != data:
                shutil.rmtree(other, ignore_errors=True)
        for left in self._folder.glob(self._name + ".stamp.*"):  # by a process that was killed
            left.unlink(missing_ok=True)
        return data

    def discard(self, data: Path) -> None:
        """Let a data folder that turned out damaged count no more, unless somebody is at work on it."""
        with contextlib.suppress(OSError), self.lock() as held:
            if held and self.current() == data:
                self._stamp.unlink(missing_ok=True)

    @contextlib.contextmanager
    def lock(self) -> Iterator[bool]:
        """Whether this process may change the index, until the end of the block or its own.

        Never waited for: False when another process has it, or where nothing can be written.
        """
        with contextlib.ExitStack() as stack:
            self.refusal = None
            try:
                make_own_folder(self._folder)
                fd = open_own(self._folder / (self._name + ".lock"), os.O_RDWR | os.O_CREAT)
                stack.callback(os.close, fd)
                held = locks.acquire(fd, locks.WRITER)
            except OSError as error:
                self.refusal, held = error, False
            yield held

    @property
    def _stamp(self) -> Path:
        return self._folder / (self._name + ".stamp")


def read_stamp(path: Path) -> dict[str, Any]:
    """What a stamp says; nothing for one that is missing or not as it was written."""
    try:
        check, _, text = path.read_bytes().partition(b" ")
        return dict(json.loads(text)) if int(check, 16) == zlib.crc32(text) else {}
    except (OSError, ValueError):
        return {}


def write_stamp(path: Path, stamp: Mapping[str, Any]) -> None:
    """Put a stamp in place: a reader sees the old one or the new one, never half of it."""
    text = json.dumps(dict(stamp)).encode("ascii")
    replace_file(path, b"%08x %s" % (zlib.crc32(text), text))


def make_private(folder: Path) -> None:
    """Take every file in a folder from all but its owner; for files that a library made."""
    with contextlib.suppress(OSError), os.scandir(folder) as files:
        for file in files:
            with contextlib.suppress(OSError):
                if file.stat().st_mode & 0o077:
                    os.chmod(file.path, 0o600)


_BINARY = getattr(os, "O_BINARY", 0)

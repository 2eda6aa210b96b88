"""A small file is replaced in one step, by everyone in the same way."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from recollect.light.disk import Disk, replace_file


class Failing(Disk):
    """Fails at one call."""

    def __init__(self, call: str) -> None:
        self._call = call

    def write(self, fd: int, data: bytes | bytearray | memoryview, offset: int) -> None:
        super().write(fd, bytes(data)[:2], offset)
        if self._call == "write":
            raise OSError("full")

    def sync(self, fd: int) -> None:
        if self._call == "sync":
            raise OSError("gone")

    def rename(self, source: object, target: object) -> None:
        raise OSError("refused")


def test_the_file_is_there_whole_and_for_its_owner_alone(tmp_path: Path) -> None:
    target = tmp_path / "new" / "folder" / "state"
    replace_file(target, b"first")
    replace_file(str(target), b"second")
    assert target.read_bytes() == b"second"
    assert os.listdir(target.parent) == ["state"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert stat.S_IMODE(target.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("call", ["write", "sync", "rename"])
def test_whatever_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path, call: str) -> None:
    target = tmp_path / "state"
    target.write_bytes(b"old")
    with pytest.raises(OSError, match=r"full|gone|refused"):
        replace_file(target, b"new bytes", disk=Failing(call), lasting=True)
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["state"]


def test_it_may_be_made_ready_and_called_off_before_it_takes_the_name(tmp_path: Path) -> None:
    target = tmp_path / "state"
    target.write_bytes(b"old")
    seen: list[bytes] = []

    def refuse() -> None:
        raise ValueError("changed meanwhile")

    with pytest.raises(ValueError, match="meanwhile"):
        replace_file(target, b"new", prepare=lambda new: seen.append(Path(new).read_bytes()), confirm=refuse)
    assert (seen, target.read_bytes(), os.listdir(tmp_path)) == ([b"new"], b"old", ["state"])

"""A file appears whole or not at all, for its owner only, and replaces nothing unasked."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.export.files import spooled, write_file
from recollect.values.errors import StoreWriteFailed, UsageError


def test_a_file_is_the_owners_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert write_file(tmp_path / "a", [b"x", b"yz"], force=False) == 3
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600
    assert (tmp_path / "a").read_bytes() == b"xyz"
    assert os.listdir(tmp_path) == ["a"]


def test_a_failure_halfway_leaves_what_was_there(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"half"
        raise RuntimeError

    (tmp_path / "a").write_text("old")
    with pytest.raises(RuntimeError):
        write_file(tmp_path / "a", pieces(), force=True)
    assert (tmp_path / "a").read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


def test_a_file_that_comes_meanwhile_stays(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"ours"
        (tmp_path / "a").write_text("theirs")

    with pytest.raises(UsageError, match="already exists"):
        write_file(tmp_path / "a", pieces(), force=False)
    assert (tmp_path / "a").read_text() == "theirs"
    assert os.listdir(tmp_path) == ["a"]


def test_a_file_system_without_links_still_gets_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr("recollect.export.files.os.link", no_links)
    write_file(tmp_path / "a", [b"x"], force=False)
    assert os.listdir(tmp_path) == ["a"]


def test_force_replaces_a_link_not_what_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "far").write_text("far")
    (tmp_path / "link").symlink_to(tmp_path / "far")
    write_file(tmp_path / "link", [b"x"], force=True)
    assert (tmp_path / "far").read_text() == "far"
    assert not (tmp_path / "link").is_symlink()


def test_a_refused_write_is_our_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("recollect.export.files.os.fsync", full)
    with pytest.raises(StoreWriteFailed, match="No space left"):
        write_file(tmp_path / "a", [b"x"], force=False)
    assert os.listdir(tmp_path) == []


def test_spooled_pieces_are_taken_at_once_and_come_out_the_same() -> None:
    taken = []

    def pieces() -> Iterator[bytes]:
        for n in range(5):
            taken.append(n)
            yield bytes([n]) * 1000

    read = spooled(pieces())
    assert taken == [0, 1, 2, 3, 4]
    assert b"".join(read) == b"".join(bytes([n]) * 1000 for n in range(5))

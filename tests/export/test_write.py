"""A session's file appears whole, checked and new, for its owner only, or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from recollect.export.write import write_session
from recollect.values.errors import RecollectError, StoreWriteFailed, UsageError


def fine(data: bytes) -> list[str]:
    return []


def test_a_session_is_its_owners_and_so_are_the_folders_made_for_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = write_session(b"x\n", tmp_path / "projects/-work/a.jsonl", fine)
    finally:
        os.umask(before)
    assert path.read_bytes() == b"x\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == ["a.jsonl"]


@pytest.mark.parametrize("there", ["file", "folder", "dangling link"])
def test_nothing_is_ever_replaced(tmp_path: Path, there: str) -> None:
    path = tmp_path / "a.jsonl"
    if there == "file":
        path.write_text("theirs")
    elif there == "folder":
        path.mkdir()
    else:
        path.symlink_to(tmp_path / "gone")
    with pytest.raises(UsageError, match="already exists"):
        write_session(b"x\n", path, fine)
    assert os.listdir(tmp_path) == ["a.jsonl"]


def test_what_the_agent_would_not_take_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(RecollectError, match=r"line 1: bad; line 2: bad; line 3: bad and 1 more"):
        write_session(b"x\n", tmp_path / "p/a.jsonl", lambda data: [f"line {n}: bad" for n in range(1, 5)])
    assert os.listdir(tmp_path) == []


def test_what_does_not_check_when_read_back_is_gone_again(tmp_path: Path) -> None:
    seen: list[bytes] = []

    def check(data: bytes) -> list[str]:
        seen.append(data)
        return ["line 1: bad"] if len(seen) > 1 else []

    with pytest.raises(RecollectError, match="line 1: bad"):
        write_session(b"x\n", tmp_path / "a.jsonl", check)
    assert seen == [b"x\n", b"x\n"]
    assert os.listdir(tmp_path) == []


def test_what_reads_back_otherwise_is_gone_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_bytes", lambda self: b"y\n")
    with pytest.raises(RecollectError, match="reads back otherwise"):
        write_session(b"x\n", tmp_path / "a.jsonl", fine)
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "projects").write_text("a file")
    with pytest.raises(StoreWriteFailed, match="could not write"):
        write_session(b"x\n", tmp_path / "projects/-work/a.jsonl", fine)
    assert os.listdir(tmp_path) == ["projects"]


@pytest.mark.parametrize("path", ["a.jsonl", "/tmp/x/../a.jsonl"])
def test_paths_that_lead_elsewhere_are_refused(path: str) -> None:
    with pytest.raises(UsageError, match="whole path"):
        write_session(b"x\n", Path(path), fine)

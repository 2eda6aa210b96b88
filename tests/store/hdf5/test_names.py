"""One store, several names: links are followed, and what cannot be followed is not written."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.support.logs import claude_path, said
from tests.support.memories import open_memory

from recollect.light.journal import Journal, journal_path
from recollect.memory import Memory
from recollect.store.hdf5.engine import Hdf5Store
from recollect.values.errors import StoreError
from recollect.values.records import Segment, SourceFile


def segment(number: int) -> Segment:
    data = said(number, f"said {number}") + b"\n"
    source = SourceFile("claude", "/home/ada/.claude/projects/-x/a.jsonl", session="s")
    return Segment(source, "elsewhere", 1000 * number, data)


def texts(memory: Memory) -> set[str]:
    return {entry.entry.text for session in memory.sessions() for entry in memory.show(session.facts.id)}


@pytest.fixture
def names(tmp_path: Path) -> tuple[Path, Path]:
    """A store, and a link to it in another folder."""
    real, link = tmp_path / "disk" / "memory.h5", tmp_path / "home" / "my store.h5"
    real.parent.mkdir()
    link.parent.mkdir()
    link.symlink_to(real)
    return real, link


def test_appends_by_either_name_go_into_one_journal(names: tuple[Path, Path]) -> None:
    for number, name in enumerate(names * 3):
        with open_memory(name) as memory:
            memory.append(segment(number))
    for name in names:
        with open_memory(name) as memory:
            assert texts(memory) == {f"said {n}" for n in range(6)}
    assert sorted(each.name for each in names[1].parent.iterdir()) == ["my store.h5"]


def test_a_hook_that_was_given_the_link_appends_beside_the_file(names: tuple[Path, Path]) -> None:
    real, link = names
    with Journal(link) as journal:  # before there is a store
        journal.append(segment(1).pack())
    assert journal_path(link) == journal_path(real)
    with open_memory(real) as memory:
        assert texts(memory) == {"said 1"}


def test_commits_by_either_name_see_each_other(names: tuple[Path, Path], tmp_path: Path) -> None:
    """A reader holds the pages of the first back, so they wait in the redo file."""
    logs = [claude_path(tmp_path / "logs", n) for n in range(1, 5)]
    with open_memory(names[0]) as memory, open_memory(names[1]) as other:
        memory.ingest([])
        with other._store.view():
            for n, log in enumerate(logs, 1):
                log.parent.mkdir(parents=True, exist_ok=True)
                log.write_bytes(said(n, f"said {n}", n) + b"\n")
                with open_memory(names[n % 2]) as writer:
                    writer.ingest([log])
    for name in names:
        with open_memory(name) as memory:
            assert texts(memory) == {f"said {n}" for n in range(1, 5)}
            assert memory.check() == []


def test_a_compaction_through_a_link_keeps_the_link(names: tuple[Path, Path]) -> None:
    with open_memory(names[1]) as memory:
        memory.append(segment(1))
        memory.compact()
    assert names[1].is_symlink()
    assert not names[0].is_symlink()
    with open_memory(names[0]) as memory:
        assert texts(memory) == {"said 1"}


def test_a_journal_that_an_earlier_version_left_beside_a_link_is_taken_over(names: tuple[Path, Path]) -> None:
    real, link = names
    with open_memory(real) as memory:
        memory.append(segment(1))
    stray = Path(f"{link}-wal")
    with Journal(link.with_name("other.h5")) as journal:
        journal.append(segment(2).pack())
        journal.append(segment(3).pack())
    Path(f"{link.with_name('other.h5')}-wal").rename(stray)
    with open_memory(link) as memory:
        assert texts(memory) == {"said 1", "said 2", "said 3"}
    assert not stray.exists()


def test_it_is_so_where_the_file_itself_has_no_journal(names: tuple[Path, Path]) -> None:
    real, link = names
    with open_memory(real) as memory:
        memory.append(segment(1))
        memory.checkpoint()
    with Journal(link.with_name("other.h5")) as journal:
        journal.append(segment(2).pack())
    Path(f"{link.with_name('other.h5')}-wal").rename(f"{link}-wal")
    with open_memory(link) as memory:
        assert texts(memory) == {"said 1", "said 2"}


def test_a_folder_that_is_a_link_has_no_journal_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "home").symlink_to(tmp_path / "disk")
    with open_memory(tmp_path / "disk" / "m.h5") as memory:
        memory.append(segment(1))
    with open_memory(tmp_path / "home" / "m.h5") as memory:
        assert memory.waiting() == 1
        assert texts(memory) == {"said 1"}


def test_a_link_to_nothing_makes_the_store_where_it_leads(names: tuple[Path, Path]) -> None:
    with open_memory(names[1]) as memory:
        memory.append(segment(1))
        memory.checkpoint()
    assert names[0].is_file()
    assert not names[0].is_symlink()


def test_a_second_name_that_cannot_be_followed_is_refused(names: tuple[Path, Path], tmp_path: Path) -> None:
    real, other = names[0], tmp_path / "home" / "other.h5"
    with open_memory(real) as memory:
        memory.append(segment(1))
        memory.checkpoint()
    os.link(real, other)
    for name in (real, other):
        with open_memory(name, create=False) as memory:
            with pytest.raises(StoreError, match="hard link"):
                memory.append(segment(2))
            with pytest.raises(StoreError, match="hard link"):
                memory.checkpoint()
            assert texts(memory) == {"said 1"}, "it can be read"
    other.unlink()
    with open_memory(real) as memory:
        memory.append(segment(2))
        assert texts(memory) == {"said 1", "said 2"}


def test_a_repair_whose_old_file_shares_the_name_is_not_refused(names: tuple[Path, Path]) -> None:
    with open_memory(names[0]) as memory:
        memory.append(segment(1))
        memory.checkpoint()
        memory.repair()
        memory.append(segment(2))
        assert texts(memory) == {"said 1", "said 2"}


def test_a_file_that_is_mounted_by_itself_is_refused(names: tuple[Path, Path], tmp_path: Path) -> None:
    real, mounted = names[0], tmp_path / "home" / "a b.h5"
    with open_memory(real) as memory:
        memory.append(segment(1))
        memory.checkpoint()
    mounted.touch()
    if subprocess.run(["mount", "--bind", real, mounted], capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        store = Hdf5Store.open(mounted)
        with store, pytest.raises(StoreError, match="mounted by itself"):
            store.append(segment(2))
        with open_memory(real) as memory:
            memory.append(segment(2))
    finally:
        subprocess.run(["umount", mounted], check=True)

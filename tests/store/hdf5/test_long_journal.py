"""A journal that nobody folded for long: read and folded in pieces, whatever its size."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.support.children import environment
from tests.support.logs import said
from tests.support.memories import open_memory

from recollect import memory as memory_module
from recollect.intake.own import OwnLogs
from recollect.light.aside import kept_aside
from recollect.light.journal import Journal, frame_of, journal_path, read_frames
from recollect.memory import Memory
from recollect.store.contract import Writer
from recollect.values.records import Segment, SourceFile

HOLE = 3 << 30  # bytes that are only there by their number


def segment(number: int, size: int = 10) -> Segment:
    source = SourceFile("claude", f"/home/ada/.claude/projects/-x/{number}.jsonl", session=f"s{number}")
    return Segment(source, "elsewhere", 0, said(number, "x" * size, number) + b"\n")


def texts(memory: Memory) -> int:
    return sum(session.entries for session in memory.sessions())


def test_frames_beyond_two_gibibytes_are_read(tmp_path: Path) -> None:
    """One read gives at most 2 GiB; what stood behind was never seen."""
    with Journal(tmp_path / "m.h5") as journal:
        journal.append(b"before")
    with journal_path(tmp_path / "m.h5").open("r+b") as file:
        file.seek(HOLE)
        file.write(frame_of(2, b"behind"))
    frames = [(1, b"before"), (2, b"behind")]
    assert list(read_frames(journal_path(tmp_path / "m.h5"))) == frames
    with Journal(tmp_path / "m.h5") as journal:
        assert list(journal.frames(0)) == frames
        assert journal.append(b"one more") == 3
        assert not journal.clear(2)
        assert journal.clear(3)


LOOKS = {
    "fold": "memory.checkpoint()",
    "view": "memory.sessions()",
    "count": "memory.waiting()",
    "snapshot": "memory.snapshot(path + '.copy')",
}


@pytest.mark.parametrize("look", LOOKS)
def test_memory_does_not_grow_with_it(tmp_path: Path, look: str) -> None:
    def peak(count: int) -> int:
        folder = tmp_path / f"{look}-{count}"
        folder.mkdir()
        with Journal(folder / "m.h5") as journal:
            for number in range(count):
                journal.append(segment(number, 4 << 20).pack())
        program = (
            "import sys, resource; from pathlib import Path; from recollect.memory import Memory\n"
            "from recollect.config import Config; path = sys.argv[1]\n"
            "memory = Memory.open(config=Config(Path(path), 'here', cache=Path(path + '-cache')))\n"
            f"{LOOKS[look]}\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        words = [sys.executable, "-c", program, str(folder / "m.h5")]
        done = subprocess.run(words, env=environment(), capture_output=True, text=True, check=True)
        return int(done.stdout) * (1 if sys.platform == "darwin" else 1024)

    assert peak(80) - peak(20) < 100 << 20


def test_of_one_that_cannot_be_folded_a_look_holds_a_part_and_the_rest_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_module, "VIEW_BYTES_MAX", 4000)
    with open_memory(tmp_path / "m.h5") as memory:
        memory.checkpoint()
        for number in range(10):
            memory.append(segment(number, 1000))
        with memory._store.writer_lock(1.0):  # type: ignore[attr-defined]
            assert 0 < texts(memory) < 10
            assert memory.waiting() == 10
        assert texts(memory) == 10
        assert memory.waiting() == 0, "it was folded, as nobody was writing"


def test_a_look_misses_nothing_of_one_that_is_folded_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer waits for no reader: it empties the journal although somebody reads the state before."""
    marking = OwnLogs.mark_stored

    def folded_meanwhile(own: OwnLogs, writer: Writer) -> bool:
        monkeypatch.setattr(OwnLogs, "mark_stored", marking)
        thread = threading.Thread(target=other.checkpoint)
        thread.start()
        thread.join()
        return marking(own, writer)

    with open_memory(tmp_path / "m.h5") as memory, open_memory(tmp_path / "m.h5") as other:
        memory.checkpoint()
        for number in range(10):
            memory.append(segment(number, 1 << 20))
        monkeypatch.setattr(OwnLogs, "mark_stored", folded_meanwhile)
        assert texts(memory) == 10
        assert not journal_path(tmp_path / "m.h5").exists()


def test_appends_go_on_while_a_long_one_is_read(tmp_path: Path) -> None:
    with Journal(tmp_path / "m.h5", lock_seconds=0.0) as journal, Journal(tmp_path / "m.h5") as other:
        for number in range(4):
            journal.append(b"x%d" % number)
        frames = other.frames(0)
        assert next(frames) == (1, b"x0")
        assert journal.append(b"meanwhile") == 5
        assert [number for number, _ in frames] == [2, 3, 4]


def test_one_that_is_emptied_while_it_is_read_just_ends(tmp_path: Path) -> None:
    with Journal(tmp_path / "m.h5") as journal, Journal(tmp_path / "m.h5") as other:
        for _ in range(4):
            journal.append(bytes(1 << 20))
        frames = other.frames(0)
        assert next(frames)[0] == 1
        assert journal.clear(4)
        assert list(frames) == []
    assert kept_aside(tmp_path / "m.h5") == []


def test_a_folded_journal_that_a_kill_left_is_removed_by_the_next_sweep(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.h5") as memory:
        memory.append(segment(1))
        before = journal_path(tmp_path / "m.h5").read_bytes()
        memory.checkpoint()
        journal_path(tmp_path / "m.h5").write_bytes(before)
        log = tmp_path / "empty"
        log.mkdir()
        memory.ingest([log])
        assert not journal_path(tmp_path / "m.h5").exists()
        assert texts(memory) == 1

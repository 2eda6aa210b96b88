"""Many processes on one store at once: nothing lost, nothing doubled, no reader kept waiting."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.faults.crowd import ADDERS, HOST, STOP, Appender, acked, line, reports, session, transcript
from tests.support.children import command, environment

from recollect.config import Config
from recollect.intake.ingest import Ingest
from recollect.light import locks
from recollect.memory import Memory
from recollect.store.hdf5.engine import Hdf5Store
from recollect.values.records import Segment
from recollect.values.stored import source_bytes

VICTIM = ADDERS.index("killed")


def start(role: str, number: int, folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command("faults/crowd.py", role, number, folder), env=environment(), stderr=subprocess.PIPE
    )


def run_crowd(folder: Path, others: list[str], *, turns: int, kills: int) -> list[dict[str, Any]]:
    """Everybody at work until all had so many turns and one was killed so often; returns their reports."""
    Hdf5Store.open(folder / "memory.h5", create=True).close()
    chance = random.Random(7)
    crowd = [start(role, n, folder) for n, role in enumerate([*ADDERS, *others]) if role != "killed"]
    try:
        killed = 0
        while killed < kills or not have_had(folder, turns, len(crowd)):
            assert [process.args for process in crowd if process.poll() is not None] == []
            kill_at_work(folder, chance)
            killed += 1
        (folder / STOP).touch()
        said = [process.communicate()[1].decode()[-2000:] for process in crowd]
    finally:
        for process in crowd:
            process.kill()
            process.wait()
    assert [complaint for process, complaint in zip(crowd, said, strict=True) if process.returncode] == []
    return reports(folder)


def have_had(folder: Path, turns: int, processes: int) -> bool:
    """Whether so many processes had so many turns each."""
    return (
        sum(report["turns"] >= turns for report in reports(folder) if report["role"] != "killed") == processes
    )


def kill_at_work(folder: Path, chance: random.Random) -> None:
    """Start the victim and kill it at any moment after it was told that a line more is safe."""
    before = acked(folder, VICTIM)
    victim = start("killed", VICTIM, folder)
    try:
        while acked(folder, VICTIM) == before:
            assert victim.poll() is None
            time.sleep(0.01)
        time.sleep(chance.uniform(0.0, 0.4))
    finally:
        victim.kill()
        victim.communicate()
    assert victim.returncode == -9, "it ended by itself"


def check_everything(folder: Path) -> int:
    """Every line that was called safe is there once, in order; returns how many lines there are."""
    with Memory(Hdf5Store.open(folder / "memory.h5"), Config(folder / "memory.h5", HOST)) as memory:
        memory.checkpoint()
        assert memory.check() == []
        total = 0
        with memory.view() as view:
            sources = {s.file.path: s for s in view.sources()}
            for number in range(len(ADDERS)):
                source = sources[str(transcript(folder, number))]
                # One more may have been written when its process was killed before it could be told.
                assert acked(folder, number) <= source.lines <= acked(folder, number) + 1
                data = b"".join(source_bytes(source, view.lines(source)))
                assert data == b"".join(line(number, n) for n in range(source.lines))
                assert view.find_session(session(number)).entries == source.lines
                total += source.lines
            assert view.info().lines == view.info().entries == total
        return total


@pytest.mark.parametrize("turns", [8, pytest.param(40, marks=pytest.mark.full)])
def test_eight_processes_append_ingest_and_read_at_once(
    tmp_path: Path, turns: int, record_property: pytest.RecordProperty
) -> None:
    said = run_crowd(tmp_path, ["checkpoint", "read", "read"], turns=turns, kills=5)
    assert check_everything(tmp_path) >= (len(ADDERS) - 1) * turns
    readers = [each for each in said if each["role"] == "read"]
    assert len(readers) == 2
    record_property("reader_waited_for_locks_ms", max(each["waited_ms"] for each in readers))


@pytest.mark.full
def test_readers_and_writers_while_the_store_is_rewritten(tmp_path: Path) -> None:
    run_crowd(tmp_path, ["compact", "read", "read"], turns=5, kills=8)
    check_everything(tmp_path)


def test_a_reader_does_not_wait_for_a_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a writer takes before it commits: what was committed is read without a pause."""
    path = tmp_path / "memory.h5"
    with (
        Memory(Hdf5Store.open(path, create=True), Config(path, HOST)) as memory,
        Memory(Hdf5Store.open(path), Config(path, HOST)) as other,
    ):
        appender = Appender(memory, 0, tmp_path)
        appender.turn()
        memory.checkpoint()
        appender.turn()

        def waited(seconds: float) -> None:
            raise AssertionError(f"waited for {seconds} s")

        monkeypatch.setattr(locks.time, "sleep", waited)
        with memory._store.writer() as writer:
            assert Ingest(writer, HOST).fold(memory._store.pending())
            with other.view() as view:
                assert view.info().lines == 2


def test_a_checkpoint_in_the_middle_of_opening_a_view_costs_nothing(tmp_path: Path) -> None:
    """What was read from the journal a moment ago may be in the store by now: it is not taken again,
    and above all not compared line by line with what is there (measured: 19 s for 300 appends)."""
    path = tmp_path / "memory.h5"
    with (
        Memory(Hdf5Store.open(path, create=True), Config(path, HOST)) as memory,
        Memory(Hdf5Store.open(path), Config(path, HOST)) as other,
    ):
        appenders = [Appender(memory, number, tmp_path) for number in range(2)]
        for _ in range(5):
            for appender in appenders:
                appender.turn()
        real = memory._store.pending

        def overtaken(**how: bool) -> list[tuple[int, Segment]]:
            found = real()
            other.checkpoint()
            return found

        memory._store.pending = overtaken  # type: ignore[method-assign]
        taken = mock.patch.object(Ingest, "_segment", autospec=True, side_effect=Ingest._segment)
        with taken as segments, memory.view() as view:
            assert view.info().lines == 10
        assert segments.call_count == 10, "the checkpoint took them, and then the view did again"


TURNS = """
import sys, time
from pathlib import Path
from recollect.store.hdf5.engine import Hdf5Store

folder, number, wanted = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
(folder / f"ready-{number}").touch()
while len(list(folder.glob("ready-*"))) < 4:
    time.sleep(0.001)
store, log = Hdf5Store.open(folder / "memory.h5"), folder / "turns"
while True:
    with store.writer(timeout=600):
        if len(log.read_text()) >= wanted:
            break
        with log.open("a") as file:
            file.write(number)
        time.sleep(0.01)
"""


def test_writers_take_turns(tmp_path: Path) -> None:
    Hdf5Store.open(tmp_path / "memory.h5", create=True).close()
    (tmp_path / "turns").touch()
    words = [[sys.executable, "-c", TURNS, str(tmp_path), str(number), "120"] for number in range(4)]
    writers = [subprocess.Popen(each, env=environment()) for each in words]
    assert [writer.wait() for writer in writers] == [0] * 4
    taken = (tmp_path / "turns").read_text()
    shares = [taken.count(str(number)) for number in range(4)]
    assert sum(shares) == 120
    assert min(shares) >= 12, shares  # a fair share is 30

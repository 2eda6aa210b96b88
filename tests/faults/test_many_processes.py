"""Many processes on one store at once: nothing lost, nothing doubled, no reader kept waiting."""

from __future__ import annotations

import json
import random
import subprocess
import time
from pathlib import Path
from unittest import mock

import pytest
from tests.faults.crowd import ADDERS, HOST, Appender, acked, line, session, transcript
from tests.support.children import command, environment

from recollect.config import Config
from recollect.intake.ingest import Ingest
from recollect.memory import Memory
from recollect.store.hdf5.engine import Hdf5Store
from recollect.values.records import Segment
from recollect.values.stored import source_bytes


def start(role: str, number: int, folder: Path, seconds: float) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command("faults/crowd.py", role, number, folder, seconds), env=environment(), stderr=subprocess.PIPE
    )


def run_crowd(folder: Path, seconds: float, others: list[str]) -> list[dict[str, float]]:
    """Everybody at work for so long, one of them killed and started again; returns their reports."""
    Hdf5Store.open(folder / "memory.h5", create=True).close()
    rng, end = random.Random(7), time.monotonic() + seconds + 1
    crowd = [start(role, n, folder, seconds) for n, role in enumerate([*ADDERS, *others]) if role != "killed"]
    victim_number = ADDERS.index("killed")
    try:
        while time.monotonic() < end:
            victim = start("killed", victim_number, folder, 600)
            time.sleep(rng.uniform(0.7, 1.4))
            victim.kill()
            victim.communicate()
            # Killed while it was at work, not because it had ended by itself.
            assert victim.returncode == -9
        complaints = []
        for process in crowd:
            _, said = process.communicate(timeout=60)
            if process.returncode:
                complaints.append(said.decode()[-2000:])
    finally:
        for process in [*crowd, victim]:
            process.kill()
            process.wait()
    assert complaints == []
    return [json.loads(p.read_text()) for p in sorted(folder.glob("report-*"))]


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


@pytest.mark.parametrize("seconds", [6, pytest.param(20, marks=pytest.mark.full)])
def test_eight_processes_append_ingest_and_read_at_once(
    tmp_path: Path, seconds: int, record_property: pytest.RecordProperty
) -> None:
    reports = run_crowd(tmp_path, seconds, ["checkpoint", "read", "read"])
    lines = check_everything(tmp_path)
    print(lines, reports)
    readers = [r for r in reports if r["role"] == "read"]
    assert len(readers) == 2
    assert lines > 50
    assert all(r["turns"] >= 3 for r in reports), reports
    waited = max(r["waited_ms"] for r in readers)
    record_property("reader_waited_for_locks_ms", waited)
    assert waited <= 100, reports


@pytest.mark.full
def test_readers_and_writers_while_the_store_is_rewritten(tmp_path: Path) -> None:
    reports = run_crowd(tmp_path, 12, ["compact", "read", "read"])
    check_everything(tmp_path)
    assert next(r for r in reports if r["role"] == "compact")["turns"] >= 3


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

"""Workers: what they make is what one process makes, and none is left behind, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.support import SOURCE
from tests.support.children import running, workers
from tests.support.logs import (
    FIXTURES,
    WHOLE,
    adds_up,
    claude_path,
    codex_path,
    placed,
    said,
    texts,
    uuid_of,
    write,
)
from tests.support.memories import HOST, content, open_memory

from recollect.intake import workers as bulk
from recollect.light import pool
from recollect.memory import Memory
from recollect.store.hdf5.pack import Parcel
from recollect.store.hdf5.write import Hdf5Writer
from recollect.values.errors import RecollectError
from recollect.values.records import Segment, SourceFile


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers for anything, in parcels of a few fixtures."""
    monkeypatch.setattr(bulk, "WORTH_BYTES", 1)
    monkeypatch.setattr(bulk, "PARCEL_BYTES", 20_000)
    monkeypatch.setattr(bulk, "FILE_BYTES_MAX", 60_000)


def _tree(root: Path, copies: int) -> Path:
    """Fixtures again and again, each time with other ids; a few odd files among them."""
    for copy in range(copies):
        for path in FIXTURES:
            target = Path(str(placed(root, path)).replace("0000000000", f"{copy:010d}"))
            write(target, _changed(WHOLE[path], copy))
    write(claude_path(root / "logs", 900), b"")
    write(claude_path(root / "logs", 901), b'{"half')
    write(claude_path(root / "logs", 902), b"\n\nnot JSON\n\0\0\n" + said(1, "fine", session=902))
    write(
        codex_path(root / "logs", 903),
        b"".join(said(n, "large " * 50, session=903) + b"\n" for n in range(200)),
    )
    return root / "logs"


def _changed(data: bytes, copy: int) -> bytes:
    """A fixture as if of another session: no line of it is as it was, unless it is no object."""
    data = data.replace(b"0000000000", b"%010d" % copy).replace(b"msg_", b"msg_%d_" % copy)
    return b"\n".join(
        b'{"copy":%d,%s' % (copy, line[1:]) if line.startswith(b'{"') else line for line in data.split(b"\n")
    )


def _alone(folder: Path, logs: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Memory, object]:
    with monkeypatch.context() as patch:
        patch.setattr(bulk, "WORTH_BYTES", 1 << 60)
        memory = open_memory(folder / "alone.h5")
        return memory, memory.ingest([logs])


@pytest.mark.usefixtures("eager")
def test_what_workers_make_is_what_one_process_makes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = _tree(folder, 12)
    alone, expected = _alone(folder, logs, monkeypatch)
    with alone, open_memory(folder / "m.h5") as memory:
        report = memory.ingest([logs])
        assert adds_up(report)
        assert report == expected
        assert content(memory) == content(alone)
        assert [s.facts.id for s in memory.sessions()] == [s.facts.id for s in alone.sessions()]
        assert not memory.check()
        again = memory.ingest([logs])
        assert (again.changed, again.bytes_parsed) == (0, 0)
    assert workers(bulk.__name__) == []


@pytest.mark.usefixtures("eager")
def test_parcels_with_copies_fall_back_and_still_equal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies within a parcel, across parcels, of a large file, and of what the store had before."""
    logs = _tree(folder, 4)
    history = [said(n, f"prompt {n}", session=50) + b"\n" for n in range(60)]
    for n, count in ((50, 60), (51, 30), (52, 60), (910, 10)):
        write(claude_path(logs, n), b"".join(history[:count]) + said(n, f"own {n}", session=n) + b"\n")
    large = [said(n, "large " * 50, session=903) + b"\n" for n in range(200)]
    write(claude_path(logs, 999), b"".join(large[:5]))
    alone, expected = _alone(folder, logs, monkeypatch)
    with alone, open_memory(folder / "m.h5") as memory:
        adopted: list[bool] = []
        adopt = Hdf5Writer.adopt

        def watched(self: Hdf5Writer, parcel: Parcel) -> bool:
            adopted.append(adopt(self, parcel))
            return adopted[-1]

        monkeypatch.setattr(Hdf5Writer, "adopt", watched)
        assert memory.ingest([logs]) == expected
        assert {True, False} == set(adopted)
        assert content(memory) == content(alone)
        assert texts(memory, uuid_of(52)) == [*(f"prompt {n}" for n in range(60)), "own 52"]


@pytest.mark.usefixtures("eager")
def test_a_source_that_came_by_journal_is_not_new_to_the_workers(folder: Path) -> None:
    """Its file was replaced by another one since; both are kept."""
    logs = _tree(folder, 2)
    path = claude_path(logs, 70)
    source = SourceFile("claude", str(path), session=uuid_of(70))
    with open_memory(folder / "m.h5") as memory:
        memory.append(Segment(source, HOST, 0, said(1, "by journal", session=70) + b"\n"))
        write(path, said(2, "by file", session=70) + b"\n")
        assert adds_up(memory.ingest([logs]))
        assert texts(memory, uuid_of(70)) == ["by journal", "by file"]
        assert not memory.check()


@pytest.mark.usefixtures("eager")
def test_a_file_that_vanishes_while_workers_read_is_noted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = _tree(folder, 3)
    gone = claude_path(logs, 1)
    write(gone, said(1, "soon gone") + b"\n")
    plan = bulk.parcelled

    def vanish(found: list[bulk.Found]) -> list[list[bulk.Found]]:
        gone.unlink(missing_ok=True)
        return plan(found)

    monkeypatch.setattr(bulk, "parcelled", vanish)
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([logs])
        assert report.failed.keys() == {str(gone)}
        assert report.sources == report.changed + report.unchanged + 1
        assert adds_up(report)


@pytest.mark.usefixtures("eager")
def test_a_killed_worker_is_an_error_with_a_next_step_and_the_next_run_completes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = _tree(folder, 12)
    start = pool._start
    started: list[subprocess.Popen[bytes]] = []

    def watched(module: str) -> subprocess.Popen[bytes]:
        started.append(start(module))
        return started[-1]

    def kill_one(path: str, done: int, total: int) -> None:
        if started and done:
            started[0].kill()

    monkeypatch.setattr(pool, "_start", watched)
    with open_memory(folder / "m.h5") as memory:
        generation = memory.info().generation
        with pytest.raises(RecollectError, match="worker") as caught:
            memory.ingest([logs], progress=kill_one)
        assert caught.value.hint
        assert memory.info().generation == generation  # nothing of it was committed
        assert not memory.check()
        assert all(process.poll() is not None for process in started)
        started.clear()
        memory.ingest([logs])
        alone, _ = _alone(folder, logs, monkeypatch)
        with alone:
            assert content(memory) == content(alone)
    assert workers(bulk.__name__) == []


@pytest.mark.usefixtures("eager")
def test_an_interrupted_ingest_leaves_no_worker(folder: Path) -> None:
    def interrupt(path: str, done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    before = threading.active_count()
    with open_memory(folder / "m.h5") as memory:
        with pytest.raises(KeyboardInterrupt):
            memory.ingest([_tree(folder, 8)], progress=interrupt)
        assert workers(bulk.__name__) == []
        assert threading.active_count() == before
        assert adds_up(memory.ingest([folder / "logs"]))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts processes in /proc")
def test_workers_end_with_the_process_that_started_them_even_if_it_is_killed(folder: Path) -> None:
    logs = _tree(folder, 10)
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom recollect.intake import workers\n"
        "from recollect.config import Config\nfrom recollect.memory import Memory\n"
        "workers.WORTH_BYTES, workers.PARCEL_BYTES = 1, 20_000\nstore = Path(sys.argv[1])\n"
        "def slow(path, done, total):\n    print('x', flush=True)\n    time.sleep(0.2)\n"
        "Memory.open(store, config=Config(store, 'here')).ingest([sys.argv[2]], progress=slow)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(folder / "m.h5"), str(logs)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    with child.stdout:
        for _ in range(4):
            child.stdout.readline()
        started = workers(bulk.__name__, child.pid)
        assert started
        child.send_signal(signal.SIGKILL)
        child.wait()
    deadline = time.monotonic() + 300
    while _alive(started) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert _alive(started) == []
    with open_memory(folder / "m.h5") as memory:
        assert adds_up(memory.ingest([logs]))


def _alive(started: list[int]) -> list[int]:
    return [pid for pid, _ in running(bulk.__name__) if pid in started]

"""Growth, vanished sources, odd clocks, little memory and few descriptors."""

from __future__ import annotations

import json
import os
import random
import shutil
import string
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support import SOURCE
from tests.support.logs import adds_up, claude_path, codex_path, digest, said, texts, uuid_of, write
from tests.support.memories import HOST, content, open_memory, sources_of

from recollect.values.records import Segment, SourceFile


def _chatter(count: int, words: int = 60) -> list[bytes]:
    """Prompts that compress about as real ones do."""
    chance = random.Random(11)
    known = ["".join(chance.choices(string.ascii_lowercase, k=chance.randint(2, 9))) for _ in range(5000)]
    return [said(n, " ".join(chance.choices(known, k=words))) for n in range(count)]


# -- growth ----------------------------------------------------------------------------------------


def test_a_source_that_grew_fifty_times_costs_its_own_size_once(folder: Path) -> None:
    lines = _chatter(2500)
    path = claude_path(folder / "logs", 1)
    sizes, parsed = [], 0
    with open_memory(folder / "m.h5") as memory, open_memory(folder / "once.h5") as once:
        for n in range(1, 51):
            write(path, b"\n".join(lines[: n * 50]) + b"\n")
            parsed += memory.ingest([folder / "logs"]).bytes_parsed
            sizes.append(Path(memory.name).stat().st_size)
        once.ingest([folder / "logs"])
        whole = path.stat().st_size
        assert parsed <= whole  # every byte was parsed in the round it came in
        assert sizes[-1] <= 1.5 * whole
        assert sizes[-1] < 1.5 * Path(once.name).stat().st_size
        assert sizes[-1] - sizes[24] < 2 * (Path(once.name).stat().st_size - sizes[0]) * 25 / 49
        assert content(memory) == content(once)
        assert {each.name for each in folder.iterdir()} == {"logs", "m.h5", "once.h5"}


def test_reading_and_dry_runs_write_nothing(folder: Path) -> None:
    write(claude_path(folder / "logs", 1), b"\n".join(_chatter(20)) + b"\n")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([folder / "logs"])
    write(claude_path(folder / "logs", 2), said(1, "new", session=2) + b"\n")
    before = {path.name: digest(path) for path in folder.glob("m.h5*")}
    with open_memory(folder / "m.h5", create=False) as memory:
        content(memory)
        memory.usage("day")
        memory.tail(uuid_of(1))
        memory.check()
        assert memory.ingest([folder / "logs"], dry_run=True).taken == 1
    assert {path.name: digest(path) for path in folder.glob("m.h5*")} == before
    assert {each.name for each in folder.iterdir()} == {"logs", "m.h5"}


# -- sources that are gone -------------------------------------------------------------------------


def test_what_was_stored_outlives_its_source(folder: Path) -> None:
    for n in range(6):
        write(claude_path(folder / "logs", n), said(n, f"prompt {n}", session=n) + b"\n")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([folder / "logs"])
        before = content(memory)
        for n in range(0, 6, 2):
            claude_path(folder / "logs", n).unlink()
        report = memory.ingest([folder / "logs"])
        assert (report.sources, report.unchanged, report.failed) == (3, 3, {})
        assert content(memory) == before
        shutil.rmtree(folder / "logs" / "projects")
        report = memory.ingest([folder / "logs"])
        assert (report.sources, report.failed) == (0, {})
        memory.compact()
        memory.reparse()
        assert content(memory) == before


def test_a_source_that_comes_back_is_not_taken_twice(folder: Path) -> None:
    path = write(claude_path(folder / "logs", 1), said(1, "here") + b"\n")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([folder / "logs"])
        data = path.read_bytes()
        path.unlink()
        memory.ingest([folder / "logs"])
        write(path, data + said(2, "back") + b"\n")
        assert memory.ingest([folder / "logs"]).taken == 1
        assert texts(memory, uuid_of(1)) == ["here", "back"]


# -- clocks -----------------------------------------------------------------------------------------


def test_times_of_files_decide_nothing(folder: Path) -> None:
    """The same time for all, the far future, before 1970, and a clock that goes backwards."""
    times = [0, -(10**18), 4 * 10**18, 1_700_000_000 * 10**9, 1_700_000_000 * 10**9]
    paths = [claude_path(folder / "logs", n) for n in range(len(times))]
    with open_memory(folder / "m.h5") as memory:
        for step in range(3):
            for n, (path, when) in enumerate(zip(paths, times, strict=True)):
                write(path, b"".join(said(m, f"{n}.{m}", session=n) + b"\n" for m in range(step + 1)))
                os.utime(path, ns=(when, when - step * 10**15))
            report = memory.ingest([folder / "logs"])
            assert (report.taken, report.restarted, report.duplicate) == (len(times), 0, 0)
            assert memory.ingest([folder / "logs"]).unchanged == len(times)
        for n in range(len(times)):
            assert texts(memory, uuid_of(n)) == [f"{n}.{m}" for m in range(3)]


def test_order_within_a_session_is_the_files_not_the_clocks(folder: Path) -> None:
    """A summer-time change, ten years forth and back, and no time at all."""
    stamps = [
        "2026-03-29T01:59:59Z",
        "2026-03-29T00:30:00Z",
        "2036-01-01T00:00:00Z",
        "2016-01-01T00:00:00Z",
        "",
        "1970-01-01T00:00:00Z",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
        "2026-03-29T03:00:00+02:00",
    ]
    lines = [said(n, f"prompt {n}", timestamp=stamp) for n, stamp in enumerate(stamps)]
    write(claude_path(folder / "logs", 1), b"\n".join(lines) + b"\n")
    with open_memory(folder / "m.h5") as memory:
        assert memory.ingest([folder / "logs"]).taken == len(stamps)
        assert texts(memory, uuid_of(1)) == [f"prompt {n}" for n in range(len(stamps))]
        assert [e.entry.text for e in memory.tail(uuid_of(1), 2)] == ["prompt 7", "prompt 8"]


# -- limits ------------------------------------------------------------------------------------------

LIMITED = """
import json, resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
from recollect.config import Config
from recollect.memory import Memory
store, logs = map(Path, sys.argv[1:])
with Memory.open(store, config=Config(store, "here")) as memory:
    report = memory.ingest([logs])
    print(json.dumps({"lines": report.lines, "bad": report.bad, "failed": report.failed}))
"""

FEW_DESCRIPTORS = """
import json, os, resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
from recollect.config import Config
from recollect.memory import Memory
from recollect.values.records import Segment, SourceFile
store, logs = map(Path, sys.argv[1:])
path = sorted(logs.rglob("*.jsonl"))[0]
def opened(): return len(os.listdir("/proc/self/fd"))
with Memory.open(store, config=Config(store, "here")) as memory:
    memory.ingest([logs]); memory.sessions()
    source = SourceFile("claude", "/gone/x.jsonl", session="x")
    memory.append(Segment(source, "here", 0, b"{}\\n"))
    memory.checkpoint()
    before = opened()
    for n in range(12):
        with path.open("ab") as file:
            file.write(b"%d\\n" % n)
        memory.ingest([logs])
        memory.sessions()
        memory.append(Segment(source, "here", 3 + 3 * n, b"{}\\n"))
        memory.tail("x")
        memory.checkpoint()
    memory.compact(); memory.reparse(); memory.sessions()
    after = opened()
    lines = memory.info().lines
print(json.dumps({"before": before, "after": after, "lines": lines}))
"""


def _child(program: str, *arguments: Path) -> dict[str, Any]:
    child = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert child.returncode == 0, child.stderr.decode()[-2000:]
    found: dict[str, Any] = json.loads(child.stdout.splitlines()[-1])
    return found


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits address space as Linux counts it")
def test_sixty_megabytes_are_taken_within_a_gigabyte_of_address_space(folder: Path) -> None:
    block = b"\n".join(_chatter(6000, words=100)) + b"\n"
    for n in range(3):
        write(claude_path(folder / "logs", n), block.replace(b'"user"', b'"user","n":%d' % n, 1))
    write(codex_path(folder / "logs", 9), block * 10)  # one file above what a worker is given
    found = _child(LIMITED, folder / "m.h5", folder / "logs")
    assert found == {"lines": 13 * 6000, "bad": 0, "failed": {}}
    with open_memory(folder / "m.h5") as memory:
        for path, data in sources_of(memory).items():
            assert Path(path).read_bytes() == data


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts descriptors in /proc")
def test_dozens_of_operations_leak_no_descriptor(folder: Path) -> None:
    for n in range(40):
        write(claude_path(folder / "logs", n), said(n, f"prompt {n}", session=n) + b"\n")
    found = _child(FEW_DESCRIPTORS, folder / "m.h5", folder / "logs")
    assert found["after"] <= found["before"]
    assert found["lines"] == 40 + 13 + 12


def test_many_open_journals_and_views_fit_side_by_side(folder: Path) -> None:
    """One process may look at several stores at once."""
    memories = [open_memory(folder / f"{n}.h5") for n in range(12)]
    for n, memory in enumerate(memories):
        source = SourceFile("claude", f"/gone/{n}.jsonl", session=f"s{n}")
        memory.append(Segment(source, HOST, 0, said(n, f"prompt {n}") + b"\n"))
    for n, memory in enumerate(memories):
        assert texts(memory, f"s{n}") == [f"prompt {n}"]
        assert adds_up(memory.checkpoint())
        memory.close()

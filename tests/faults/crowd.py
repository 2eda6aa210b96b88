"""One of many processes on one store: `python crowd.py ROLE NUMBER FOLDER`, until they are told to stop.

Every process that adds has a transcript of its own, whose lines follow from their number,
and a file into which it writes how far it was told that its lines are safe. How many turns a process
had stands in its report, so that whoever started them can wait for what they want to see.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recollect.config import Config
from recollect.light import locks
from recollect.memory import Memory
from recollect.store.hdf5.engine import Hdf5Store
from recollect.values.errors import RecollectError
from recollect.values.records import Role, Segment, SourceFile
from recollect.values.stored import source_bytes

HOST = "here"
STOP = "stop"
ADDERS = ("append", "append", "append", "killed", "ingest")  # their numbers are their places


def line(number: int, n: int) -> bytes:
    record = {
        "type": "user",
        "uuid": f"{number}-{n}",
        "sessionId": session(number),
        "timestamp": "2026-11-15T10:00:00.000Z",
        "cwd": "/work",
        "message": {"role": "user", "content": f"line {n} of process {number} " + "word " * (n % 40)},
    }
    return json.dumps(record).encode() + b"\n"


def session(number: int) -> str:
    return f"{number:08d}-1111-4aaa-8bbb-000000000001"


def transcript(folder: Path, number: int) -> Path:
    return folder / "projects" / "-work" / f"{session(number)}.jsonl"


def acked(folder: Path, number: int) -> int:
    """How many lines this process has been told are safe."""
    try:
        return int((folder / f"acked-{number}").read_bytes() or 0)
    except FileNotFoundError:
        return 0


def ack(folder: Path, number: int, lines: int) -> None:
    replace(folder / f"acked-{number}", str(lines))


def reports(folder: Path) -> list[dict[str, Any]]:
    """What every process that had a turn says of itself."""
    return [json.loads(path.read_bytes()) for path in sorted(folder.glob("report-*[0-9]"))]


def report(folder: Path, role: str, number: int, turns: int) -> None:
    # The first view also loads HDF5.
    times = {"waited_ms": WAITS, "view_ms": VIEWS[1:], "work_ms": WORK[1:]}
    made = {"role": role, "turns": turns} | {name: max(values, default=0) for name, values in times.items()}
    replace(folder / f"report-{role}-{number}", json.dumps(made))


def replace(path: Path, text: str) -> None:
    new = path.with_name(path.name + ".new")
    new.write_text(text)
    os.replace(new, path)


def run(role: str, number: int, folder: Path) -> None:
    store = Hdf5Store.open(folder / "memory.h5")
    memory = Memory(store, Config(folder / "memory.h5", HOST))
    turn: Callable[[], None] = {
        "append": Appender(memory, number, folder).turn,
        "killed": Appender(memory, number, folder).turn,
        "ingest": Ingester(memory, number, folder).turn,
        "checkpoint": memory.checkpoint,
        "compact": memory.compact,
        "read": Reader(memory, folder).turn,
    }[role]  # type: ignore[assignment]
    turns = 0
    with memory:
        while not (folder / STOP).exists():
            turn()
            turns += 1
            report(folder, role, number, turns)
            time.sleep({"checkpoint": 0.05, "compact": 0.5, "read": 0.001}.get(role, 0.02))


class Appender:
    """Appends a line at a time; begins where it was told to be safe, as after a kill."""

    def __init__(self, memory: Memory, number: int, folder: Path) -> None:
        self.memory, self.number, self.folder = memory, number, folder
        self.n = acked(folder, number)
        self.offset = sum(len(line(number, n)) for n in range(self.n))
        self.file = SourceFile("claude", str(transcript(folder, number)), Role.MAIN, session=session(number))

    def turn(self) -> None:
        data = line(self.number, self.n)
        self.memory.append(Segment(self.file, HOST, self.offset, data))
        self.n, self.offset = self.n + 1, self.offset + len(data)
        ack(self.folder, self.number, self.n)


class Ingester:
    """Lets its transcript grow and ingests it."""

    def __init__(self, memory: Memory, number: int, folder: Path) -> None:
        self.memory, self.number, self.folder = memory, number, folder
        self.n = 0
        transcript(folder, number).parent.mkdir(parents=True, exist_ok=True)

    def turn(self) -> None:
        with open(transcript(self.folder, self.number), "ab") as file:
            file.write(line(self.number, self.n))
        self.memory.ingest([transcript(self.folder, self.number)])
        self.n += 1
        ack(self.folder, self.number, self.n)


class Reader:
    """Sees everything that was safe when it asked, whole, in order, once."""

    def __init__(self, memory: Memory, folder: Path) -> None:
        self.memory, self.folder = memory, folder

    def turn(self) -> None:
        safe = {number: acked(self.folder, number) for number in range(len(ADDERS))}
        asked, worked = time.monotonic(), time.process_time()
        with self.memory.view() as view:
            VIEWS.append(round((time.monotonic() - asked) * 1000, 1))
            WORK.append(round((time.process_time() - worked) * 1000, 1))
            shown = {s.facts.id: s for s in view.sessions()}
            sources = {s.file.path: s for s in view.sources()}
            total = 0
            for number, lines in safe.items():
                if session(number) not in shown:
                    assert lines == 0, f"session {number} is missing, {lines} lines were safe"
                    continue
                source = sources[str(transcript(self.folder, number))]
                data = b"".join(source_bytes(source, view.lines(source)))
                assert data == b"".join(line(number, n) for n in range(source.lines)), (
                    f"session {number} differs"
                )
                assert source.lines >= lines, f"session {number}: {source.lines} lines, {lines} were safe"
                assert shown[session(number)].entries == source.lines
                total += source.lines
            assert view.info().entries == view.info().lines == total


WAITS: list[float] = []  # milliseconds in which a lock was waited for, by what was asked of the clock
VIEWS: list[float] = []  # milliseconds from asking for a view to having it
WORK: list[float] = []  # milliseconds of the processor's time in that


def measured() -> None:
    """Count the pauses that waiting for a lock asks for: what the scheduler adds is not the lock's doing."""
    real_acquire, asked = locks.acquire, [0.0]

    class Clock:
        monotonic = staticmethod(time.monotonic)

        @staticmethod
        def sleep(seconds: float) -> None:
            asked[0] += seconds
            time.sleep(seconds)

    def acquire(*args: object, **options: object) -> bool:
        asked[0] = 0.0
        try:
            return real_acquire(*args, **options)  # type: ignore[arg-type]
        finally:
            WAITS.append(round(asked[0] * 1000, 1))

    locks.time = Clock  # type: ignore[assignment]
    locks.acquire = acquire  # type: ignore[assignment]


if __name__ == "__main__":
    role, number, folder = sys.argv[1:]
    if role == "read":
        measured()
    try:
        run(role, int(number), Path(folder))
    except RecollectError as error:
        sys.exit(f"{role} {number}: {type(error).__name__}: {error}")

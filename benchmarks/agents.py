"""Every agent's logs taken in: `python -m benchmarks.agents --corpus DIR`.

    ingest     megabytes a second, each agent's against those of the one that is read fastest by most
    database   a large database: the first sweep, one in which nothing is new, and one after a message more

An agent of which the corpus has less than BYTES is measured with what it has, or with the invented logs of
the tests, told over and over under other ids. Exit status: 0 all marks met, 1 some missed, 2 some failed.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks import report
from benchmarks.agent_databases import CURSOR, OPENCODE, Kept
from benchmarks.report import Row
from recollect import Memory
from recollect.agents.registry import built_in
from recollect.config import load_config
from recollect.intake.discover import discover
from recollect.values.records import Framing

BYTES = 24_000_000
ROUNDS = 3
SLOWEST = 1 / 3
SESSIONS, DATABASE_BYTES = 1_000, 500_000_000
_REFERENCE = "claude"
_DATABASES = {"cursor": CURSOR}  # of agents whose conversations are in one, and there is no other log of size
_SESSION_BYTES = 500_000
_TESTS = Path(__file__).parents[1] / "tests" / "data"
_ID = re.compile(rb"(?<![0-9A-Za-z])[0-9a-f]{4,}[0-9a-f-]*[0-9a-f]{4}(?![0-9A-Za-z])")


@dataclass(frozen=True)
class Lab:
    corpus: Path
    quick: bool


def ingest(lab: Lab) -> Iterator[Row]:
    """Megabytes a second, by turns."""
    size = BYTES // 20 if lab.quick else BYTES
    with tempfile.TemporaryDirectory() as scratch:
        logs = {
            agent.name: found
            for agent in built_in()
            if (found := _logs_of(agent.name, lab.corpus, Path(scratch), size))
        }
        seconds: dict[str, list[float]] = {name: [] for name in logs}
        taken: dict[str, int] = {}
        for _ in range(ROUNDS):
            for name, paths in logs.items():
                taken[name], spent = _ingest(paths)
                seconds[name].append(spent)
    speeds = {name: taken[name] / 1e6 / min(seconds[name]) for name in logs}
    for name, speed in speeds.items():
        share = speed / speeds[_REFERENCE]
        yield Row(
            what=f"ingest, {name} ({taken[name] / 1e6:.1f} MB)",
            ours=f"{speed:.0f} MB/s",
            peer=f"{share:.2f} of {_REFERENCE}",
            mark=">= 0.33",
            met=share >= SLOWEST,
            detail={"seconds": seconds[name], "bytes": taken[name]},
        )


def database(lab: Lab) -> Iterator[Row]:
    """A sweep follows what is new, not what is there."""
    size = DATABASE_BYTES // 50 if lab.quick else DATABASE_BYTES
    for kept in (OPENCODE, CURSOR):
        with tempfile.TemporaryDirectory() as scratch:
            path = kept.make(Path(scratch), SESSIONS // 10 if lab.quick else SESSIONS, size)
            yield from _swept(kept, path, Path(scratch) / "store")


def _swept(kept: Kept, path: Path, store: Path) -> Iterator[Row]:
    made = path.stat().st_size
    with _memory(store) as memory:
        sweeps = []
        for news in ("", "", "one more message"):
            if news:
                kept.go_on(path, news)
            begun = time.perf_counter()
            done = memory.ingest([path])
            sweeps.append((done, time.perf_counter() - begun))
    (first, first_s), (again, again_s), (more, more_s) = sweeps
    yield Row(
        what=f"{kept.name} of {made / 1e6:.0f} MB, first sweep",
        ours=f"{first_s:.1f} s, {made / 1e6 / first_s:.0f} MB/s",
        mark="",
        met=None,
    )
    yield Row(
        what="nothing new in it",
        ours=f"{again.bytes_parsed} bytes parsed, {again_s * 1000:.0f} ms",
        mark="0 bytes",
        met=again.bytes_parsed == 0,
    )
    yield Row(
        what="one message more",
        ours=f"{more.lines} rows, {more.bytes_parsed} bytes parsed, {more_s * 1000:.0f} ms",
        peer=f"{first.lines} rows, {first.bytes_parsed} bytes",
        mark="what is new",
        met=more.lines == kept.rows,
        detail={"rows": more.lines, "bytes": more.bytes_parsed},
    )


ROWS = {"ingest": ingest, "database": database}


def main(argv: Sequence[str] | None = None) -> int:
    parser = report.parser(
        "agents",
        "Measure how fast the logs of each agent are taken in.",
        ROWS,
        folder="--corpus",
        variable="RECOLLECT_CORPUS",
        holds="unpacked real logs",
    )
    parser.add_argument("--quick", action="store_true", help="little of everything: does it run at all")
    arguments = parser.parse_args(argv)
    if arguments.corpus is None:
        print("give the logs: --corpus DIR", file=sys.stderr)
        return 2
    lab = Lab(arguments.corpus.resolve(), arguments.quick)
    rows = list(report.measured(ROWS, lab, arguments.only or list(ROWS)))
    print(report.table([row for _, row in rows]))
    report.write(arguments.json, "recollect.benchmarks.agents", rows, {}, {"quick": arguments.quick})
    return report.status(rows)


def _memory(folder: Path) -> Memory:
    folder.mkdir()
    return Memory.open(config=replace(load_config(str(folder / "memory.h5")), cache=folder / "cache"))


def _ingest(paths: Sequence[Path]) -> tuple[int, float]:
    """Bytes taken, and seconds."""
    with tempfile.TemporaryDirectory() as folder, _memory(Path(folder) / "store") as memory:
        begun = time.perf_counter()
        done = memory.ingest(paths)
        spent = time.perf_counter() - begun
    if done.failed or not done.taken:
        raise RuntimeError(f"not taken in: {done.failed}")
    return done.bytes_parsed, spent


def _logs_of(agent: str, corpus: Path, scratch: Path, size: int) -> list[Path]:
    """Logs of about this many bytes: real ones, invented ones over and over, or an invented database."""
    if agent in _DATABASES:
        folder = scratch / agent
        folder.mkdir()
        return [_DATABASES[agent].make(folder, max(size // _SESSION_BYTES, 1), size)]
    real = _picked(corpus / agent, agent, size)
    invented = [] if real else _picked(_TESTS / agent, agent, size)
    paths = real or invented
    if not paths or sum(path.stat().st_size for path in paths) >= size / 2:
        return paths
    filled, copy = 0, 0
    folder = scratch / agent
    while filled < size:
        for path in paths:
            target = folder / str(copy) / path.relative_to(paths[0].anchor)
            target = target.with_name(_told_again(path.name.encode(), copy).decode())
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data := _told_again(path.read_bytes(), copy))
            filled += len(data)
        copy += 1
    return [folder]


def _picked(folder: Path, agent: str, size: int) -> list[Path]:
    """Files that are logs of this agent, until there is enough."""
    picked, filled = [], 0
    for each in discover([folder]).found if folder.is_dir() else ():
        if each.agent.name == agent and each.file.framing is not Framing.ROWS and filled < size:
            picked.append(Path(each.file.read_path))
            filled += each.size
    return picked


def _told_again(data: bytes, copy: int) -> bytes:
    """The same under other ids: of each the last digits are another number."""
    number = f"{copy % 65536:04x}".encode()
    return _ID.sub(lambda found: found[0][:-4] + number, data)


if __name__ == "__main__":
    sys.exit(main())

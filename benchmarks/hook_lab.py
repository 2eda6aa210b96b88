"""A home in which hooks are called: a store, transcripts that grow, and the processes that play along."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from benchmarks import corpus, peers, product
from benchmarks.measure import run
from benchmarks.search_lab import Effort as SearchEffort
from benchmarks.search_lab import SearchLab

QUIET_SECONDS_MAX = 600.0
MARK = "RECOLLECT_BENCH_MARK"


@dataclass(frozen=True)
class Effort:
    """How much of everything is measured. A transcript has `begun` lines when its hooks begin."""

    rounds: int = 50
    entries: int = 300_000
    crowd: int = 50
    crowd_sessions: int = 10
    begun: int = 200

    @classmethod
    def quick(cls) -> Effort:
        """Does it run at all, in about a minute."""
        return cls(rounds=5, entries=10_000, crowd=10, crowd_sessions=5, begun=20)


class Lab:
    """Where rows are measured. Stores of some size are kept by the benchmark of search."""

    def __init__(self, logs: Path, kept: Path, scratch: Path, effort: Effort) -> None:
        self.effort = effort
        self.scratch = scratch
        self._sizes = SearchLab(logs, kept, scratch, SearchEffort(sizes=(effort.entries,)))
        self._source = max(corpus.claude_sample(logs, scratch / "sample", 4 << 20).files, key=_size)

    def desk(self, name: str, *, large: bool = False) -> Desk:
        """A home with an empty store, or one with a copy of the large store."""
        desk = Desk(self.scratch / name, self._source)
        if large:
            stocked = self._sizes.stocked(self.effort.entries)
            shutil.copyfile(stocked.store, desk.store)
            shutil.copytree(stocked.home / "cache", desk.home / "cache")  # its indexes
        else:
            nothing = desk.home / "nothing"
            nothing.mkdir()
            product.ingest(desk.store, nothing)
        return desk


class Desk:
    """A home with a store in it, and transcripts of Claude Code that grow."""

    def __init__(self, home: Path, source: Path) -> None:
        shutil.rmtree(home, ignore_errors=True)
        self.home = home
        self.store = home / "data" / "memory.h5"
        self.store.parent.mkdir(parents=True)
        self.environ = product.environment(home) | {MARK: str(home), "RECOLLECT_STORE": str(self.store)}
        self.line = _hook_line(self.environ)
        self._session = source.stem.encode()
        self._template = corpus.Template(source.read_bytes().rstrip(b"\n") + b"\n")
        self._to_come: dict[str, Iterator[bytes]] = {}

    def session(self, name: str, lines: int) -> str:
        """A transcript of a real session under an id of its own, as far as so many lines."""
        session = str(uuid5(NAMESPACE_URL, f"{self.home} {name}"))
        self.transcript(session).parent.mkdir(parents=True, exist_ok=True)
        self._to_come[session] = self._lines(session)
        self.grow(session, lines)
        return session

    def transcript(self, session: str) -> Path:
        return self.home / ".claude" / "projects" / "-bench" / f"{session}.jsonl"

    def grow(self, session: str, lines: int = 1) -> None:
        with self.transcript(session).open("ab") as file:
            file.writelines(next(self._to_come[session]) for _ in range(lines))

    def call(self, line: str, payload: bytes) -> tuple[float, float]:
        """Wall and processor seconds from the start of a hook to its end; one that fails is an error."""
        start = time.perf_counter()
        with started(line, payload, self.environ) as process:
            _, status, used = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - start
            process.returncode = os.waitstatus_to_exitcode(status)  # Popen must not wait for it again.
            _, err = process.communicate()
        if process.returncode or err:
            raise RuntimeError(f"`{line[:80]}` ended with {process.returncode}: {err[-400:]!r}")
        return seconds, used.ru_utime + used.ru_stime

    def payload(self, event: str, session: str) -> bytes:
        told = {
            "session_id": session,
            "transcript_path": str(self.transcript(session)),
            "cwd": str(self.home),
            "hook_event_name": event,
            "source": "startup",
            "reason": "other",
            "trigger": "auto",
            "prompt": "and now the tests, please",
            "stop_hook_active": False,
        }
        return json.dumps(told).encode()

    def quiet(self) -> None:
        """Wait until nothing that a hook started is running any more."""
        deadline = time.monotonic() + QUIET_SECONDS_MAX
        while _marked(str(self.home)):
            if time.monotonic() > deadline:
                raise RuntimeError(f"still running: {_marked(str(self.home))}")
            time.sleep(0.02)

    def whole(self, session: str) -> bool:
        """Whether the store gives back every line of the transcript, each once."""
        kept = product.export_raw(self.store, session, self.home / "export.jsonl")
        return kept == self.transcript(session).read_bytes()

    def _lines(self, session: str) -> Iterator[bytes]:
        copy = 0
        while True:
            data = self._template.filled(copy, keep={self._session: session.encode()})
            yield from data.splitlines(keepends=True)
            copy += 1


# -- processes -------------------------------------------------------------------------------------


def _hook_line(environ: dict[str, str]) -> str:
    """What `recollect init` would put into Claude Code's settings."""
    script = (
        "from recollect.config import load_config; from recollect.hooks.command import hook_command\n"
        "print(hook_command('claude', load_config()))"
    )
    return run([sys.executable, "-c", script], env=environ).checked().stdout.strip()


def peer_line() -> str:
    python = peers.find("agentic-conversations-hdf5", "agentic-conversations-hdf5==1.0.0").with_name("python")
    return shlex.join([str(python), "-m", "agentic_conversations_hdf5.hooks.live_session"])


def started(line: str, payload: bytes, environ: dict[str, str]) -> subprocess.Popen[bytes]:
    """A shell line with the whole payload already waiting on its stdin."""
    given, giving = os.pipe()
    os.write(giving, payload)
    os.close(giving)
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(line, shell=True, env=environ, stdin=given, stdout=pipe, stderr=pipe)
    finally:
        os.close(given)


@contextmanager
def holding(path: Path, lock: str, environ: dict[str, str]) -> Iterator[None]:
    """Another process holds a lock all the while."""
    script = (
        "import os, sys; from recollect.light import locks\n"
        "fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)\n"
        "assert locks.acquire(fd, getattr(locks, sys.argv[2]), timeout=10)\n"
        "print('held', flush=True); sys.stdin.read()"
    )
    argv = [sys.executable, "-c", script, str(path), lock]
    environ = {name: value for name, value in environ.items() if name != MARK}
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ) as process:
        assert process.stdout is not None
        if process.stdout.readline() != b"held\n":
            raise RuntimeError(f"{lock} of {path} could not be had")
        yield
        process.communicate(b"")


def _marked(mark: str) -> list[str]:
    """The commands of all living processes that were started for this home, by whomever."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:120])
    return found


def _size(path: Path) -> int:
    return path.stat().st_size

"""The peers, each behind one function: agentsview, agentic-conversations-hdf5, SQLite, a bare `import h5py`.

The two programs come with the `bench` extra. They run in a scratch home and, where the kernel allows it,
in a network of their own without a way out: agentsview fetches price lists and sends a daily ping.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Ran, run, weight_of


class PeerMissing(RuntimeError):
    """A peer is not installed here."""


@dataclass(frozen=True)
class Synced:
    """What agentsview did with a home folder."""

    seconds: float
    disk_bytes: int
    sessions: int
    source_files: int
    messages: int
    offline: bool


def agentsview_sync(home: Path, *, one_shot: bool = False) -> Synced:
    """`agentsview sync` into an empty archive, then its daemon stopped; the clock stops when `sync` returns.

    `sync` starts a daemon, asks it over loopback to sync, and returns when that is done, so its exit
    is the end of the work. `one_shot` is the way its help gives for doing without the daemon.
    """
    data = home / ".agentsview"
    shutil.rmtree(data, ignore_errors=True)
    env = _agentsview_env(home) | ({"AGENTSVIEW_NO_DAEMON": "1"} if one_shot else {})
    isolation = _isolation()
    script = "" if not isolation else "ip link set lo up; "
    script += 's=$(date +%s%N); "$0" sync >sync.out 2>&1; r=$?; e=$(date +%s%N); '
    script += '"$0" daemon stop >stop.out 2>&1; echo "$r $s $e"'
    ran = run([*isolation, "sh", "-c", script, str(_agentsview())], env=env, cwd=home).checked()
    status, start, end = (int(word) for word in ran.stdout.split())
    if status != 0:
        raise RuntimeError(f"agentsview sync ended with {status}: {(home / 'sync.out').read_text()[-600:]}")
    return Synced((end - start) / 1e9, weight_of(data), *_agentsview_counts(data), offline=bool(isolation))


def hdf5_convert(files: Sequence[Path], target: Path) -> Ran:
    """agentic-conversations-hdf5: all files into one new HDF5 file."""
    command = find("agentic-conversations-hdf5", "agentic-conversations-hdf5==1.0.0")
    argv = [str(command), "convert", *map(str, files), "-o", str(target), "--overwrite"]
    return run(argv).checked()


def import_h5py(env: Mapping[str, str]) -> Ran:
    """A fresh `python -c 'import h5py'` with the interpreter and the environment the product runs in."""
    return run([sys.executable, "-c", "import h5py"], env=env).checked()


@contextlib.contextmanager
def sqlite_append(path: Path) -> Iterator[Callable[[bytes], None]]:
    """SQLite as it is most durable in WAL mode: every insert is its own transaction, synced."""
    with contextlib.closing(_sqlite(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS records (id INTEGER PRIMARY KEY, payload BLOB NOT NULL)"
        )
        yield lambda payload: _insert(connection, payload)


def sqlite_append_once(path: Path, payload: bytes) -> None:
    """Open a database that is there, insert, close, which by SQLite's default also folds the WAL away."""
    with contextlib.closing(_sqlite(path)) as connection:
        _insert(connection, payload)


def find(command: str, requirement: str) -> Path:
    """A peer's program: beside our interpreter, in RECOLLECT_BENCH_PEERS, or on the PATH."""
    folders = [
        str(Path(sys.executable).parent),
        os.environ.get("RECOLLECT_BENCH_PEERS", ""),
        os.environ["PATH"],
    ]
    found = shutil.which(command, path=os.pathsep.join(filter(None, folders)))
    if found is None:
        raise PeerMissing(
            f"{command} is not installed: pip install '{requirement}', "
            "or set RECOLLECT_BENCH_PEERS to the bin folder that has it"
        )
    return Path(found)


def versions() -> dict[str, str]:
    """Which releases the figures are of."""
    ask = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"
    found = {"sqlite": sqlite3.sqlite_version}
    for name in ("agentsview", "agentic-conversations-hdf5", "h5py"):
        with contextlib.suppress(PeerMissing):
            python = sys.executable if name == "h5py" else str(find(name, name).with_name("python"))
            found[name] = run([python, "-c", ask, name]).stdout.strip()
    return found


def _agentsview() -> Path:
    """The Go program itself, so that the wheel's Python launcher is not timed with it."""
    launcher = find("agentsview", "agentsview")
    ask = "import agentsview, pathlib; print(pathlib.Path(agentsview.__file__).parent / 'bin' / 'agentsview')"
    python = launcher.with_name("python")
    if not python.exists():
        return launcher
    program = Path(run([str(python), "-c", ask]).stdout.strip() or launcher)
    return program if os.access(program, os.X_OK) else launcher


def _agentsview_env(home: Path) -> dict[str, str]:
    """An environment made from nothing; the proxy leads nowhere, for where `unshare` does not work."""
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "TERM": "dumb",
        "DO_NOT_TRACK": "1",
        "AGENTSVIEW_TELEMETRY_ENABLED": "0",
        "AGENTSVIEW_DISABLE_UPDATE_CHECK": "1",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "127.0.0.1,localhost",
    }


@functools.cache
def _isolation() -> tuple[str, ...]:
    """A prefix that takes the network away and outlives nothing; empty where not permitted."""
    prefix = ("unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")
    try:
        tried = subprocess.run([*prefix, "sh", "-c", "ip link set lo up"], capture_output=True, check=False)
    except OSError:
        return ()
    return prefix if tried.returncode == 0 else ()


def _agentsview_counts(data: Path) -> tuple[int, int, int]:
    """Sessions, distinct source files and messages in its own database."""
    with contextlib.closing(sqlite3.connect(f"file:{data / 'sessions.db'}?mode=ro", uri=True)) as database:
        sessions, files = database.execute(
            "SELECT count(*), count(DISTINCT file_path) FROM sessions"
        ).fetchone()
        (messages,) = database.execute("SELECT count(*) FROM messages").fetchone()
    return sessions, files, messages


def _sqlite(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def _insert(connection: sqlite3.Connection, payload: bytes) -> None:
    connection.execute("INSERT INTO records (payload) VALUES (?)", (payload,))

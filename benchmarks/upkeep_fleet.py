"""What a sync over ssh costs.

One host on loopback with a real sshd (Debian: openssh-server) and made-up logs: the first sync, one with
nothing new, one after a log has grown; and what nothing new costs with a quarter of the logs, to see what it
grows with.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from benchmarks.report import Row
from recollect import Memory
from recollect.config import Config

SOURCES = 1000
LINES_EACH = 20
ROUNDS = 3
IDLE_SECONDS_MOST = 5.0
IDLE_BYTES_EACH_MOST = 100  # over the wire, packed: a name, a size and its times


def fleet(lab: object = None) -> Iterator[Row]:
    """A first sync, nothing new, and a log that grew. No real logs are needed for it."""
    with tempfile.TemporaryDirectory(prefix="recollect-bench-fleet-") as folder, _host(Path(folder)) as host:
        few, _ = _idle(host, SOURCES // 4)
        first, (best, received) = _first(host, SOURCES), _idle(host, SOURCES)
        log = next(host.logs.glob("*.jsonl"))
        with log.open("ab") as file:
            added = file.write(_line(log.stem, 10_000))
        grown = host.sync("whole")
        assert grown.bytes_new == added, "other bytes than were added"
        size = sum(path.stat().st_size for path in host.logs.iterdir())
    yield Row(
        f"first sync of {SOURCES:,} sources, {size / 1e6:.1f} MB",
        f"{first.seconds:.1f} s, {first.received / 1e6:.2f} MB received",
        "",
        None,
        detail={"seconds": first.seconds, "received": first.received, "bytes": size},
    )
    yield Row(
        f"sync of {SOURCES:,} sources, nothing new",
        f"{best:.2f} s, {received / 1e3:.1f} kB received",
        f"<= {IDLE_SECONDS_MOST:g} s, {IDLE_BYTES_EACH_MOST} B a source",
        best <= IDLE_SECONDS_MOST and received <= SOURCES * IDLE_BYTES_EACH_MOST,
        peer=f"{few:.2f} s: {SOURCES // 4:,} sources",
        detail={"seconds": best, "received": received, "seconds_of_a_quarter": few},
    )
    yield Row(
        f"one of them grew by {added} B",
        f"{grown.seconds:.2f} s, {grown.bytes_new} B new, {grown.received / 1e3:.1f} kB received",
        "only these",
        grown.bytes_new == added,
        detail={"seconds": grown.seconds, "received": grown.received},
    )


class _Done:
    def __init__(self, seconds: float, received: int, bytes_new: int) -> None:
        self.seconds, self.received, self.bytes_new = seconds, received, bytes_new


class _Host:
    """A host with logs, and memories that visit it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.logs = folder / "home" / ".claude" / "projects" / "-srv-bench"

    def fill(self, count: int) -> None:
        self.logs.mkdir(parents=True, exist_ok=True)
        there = sum(1 for _ in self.logs.iterdir())
        for number in range(there, count):
            name = str(uuid.UUID(int=number + 1))
            (self.logs / f"{name}.jsonl").write_bytes(b"".join(_line(name, n) for n in range(LINES_EACH)))

    def sync(self, store: str) -> _Done:
        fleet = {"bench": {"address": "bench"}, "ssh_config": str(self._folder / "ssh_config")}
        config = Config(
            self._folder / f"{store}.h5", "here", cache=self._folder / f"cache-{store}", fleet=fleet
        )
        with Memory.open(config=config) as memory:
            start = time.perf_counter()
            (done,) = memory.fleet.sync()
            seconds = time.perf_counter() - start
        assert not done.state.trouble, done.state.trouble
        return _Done(seconds, done.state.received, done.report.bytes_source)


def _first(host: _Host, count: int) -> _Done:
    host.fill(count)
    return host.sync("whole")


def _idle(host: _Host, count: int) -> tuple[float, int]:
    """Nothing new, the best of some; and what came over the wire."""
    host.fill(count)
    store = "whole" if count == SOURCES else "few"
    host.sync(store)
    rounds = [host.sync(store) for _ in range(ROUNDS)]
    assert not any(each.bytes_new for each in rounds), "something was taken twice"
    return min(each.seconds for each in rounds), rounds[-1].received


def _line(session: str, number: int) -> bytes:
    record = {
        "type": "user",
        "uuid": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{session}{number}")),
        "sessionId": session,
        "timestamp": f"2026-01-02T03:04:{number % 60:02}.000Z",
        "cwd": "/srv/bench",
        "message": {"role": "user", "content": f"question {number} " + os.urandom(200).hex()},
    }
    return json.dumps(record).encode() + b"\n"


@contextlib.contextmanager
def _host(folder: Path) -> Iterator[_Host]:
    """An sshd of this user's that leads to a home of its own."""
    program = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if program is None:
        raise RuntimeError("there is no sshd here (Debian: openssh-server)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for key in ("host", "user"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)]
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile none\nStrictModes no\n"
        f"AuthorizedKeysFile {folder}/user.pub\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n"
        f'SetEnv "HOME={folder}/home"\n'
    )
    (folder / "known_hosts").write_text(f"bench {(folder / 'host.pub').read_text()}")
    (folder / "ssh_config").write_text(
        f"Host bench\n  HostName 127.0.0.1\n  Port {port}\n  HostKeyAlias bench\n"
        f"  IdentityFile {folder}/user\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {folder}/known_hosts\n  GlobalKnownHostsFile none\n"
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    server = subprocess.Popen([program, "-D", "-f", str(folder / "sshd_config"), "-E", str(folder / "log")])
    try:
        while not _listens(port):
            if server.poll() is not None:
                raise RuntimeError((folder / "log").read_text())
            time.sleep(0.02)
        yield _Host(folder)
    finally:
        server.terminate()
        server.wait()


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0

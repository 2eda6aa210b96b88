"""Machines to be visited over ssh: one sshd of this user on loopback, a port and a home for each of them."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from recollect.config import Config
from recollect.memory import Memory

HERE = "laptop"
_PORTS_EACH = 8  # sshd listens on at most 16


def sshd_program() -> str | None:
    """Where sshd lies: it insists on being started by its whole path."""
    return shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


needs_sshd = pytest.mark.skipif(
    sshd_program() is None or shutil.which("ssh") is None, reason="no sshd here (Debian: openssh-server)"
)


class Machines:
    """Some machines, each with its home in `homes/NAME`, and a person's memory on this one."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self.folder, self.names = folder, list(names)
        self.ports = dict(zip(self.names, _free_ports(len(self.names)), strict=True))
        self.paths: dict[str, str] = {}  # of programs, where they are others than here
        self.reached_by: dict[str, int] = {}  # ports of something in between
        self._processes: list[subprocess.Popen[bytes]] = []
        for name in self.names:
            self.home(name).mkdir(parents=True)

    def home(self, name: str) -> Path:
        return self.folder / "homes" / name

    def start(self) -> None:
        """Have them listen, and be known to ssh."""
        place = self.folder / "sshd"
        place.mkdir(mode=0o700)
        for key in ("host", "user", "other"):
            words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(place / key)]
            subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
        shutil.copy(place / "user.pub", place / "authorized_keys")
        self._write_client_settings(place)
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        for at in range(0, len(self.names), _PORTS_EACH):
            self._start(
                place, self.names[at : at + _PORTS_EACH], place / f"sshd_config-{at}", place / f"log-{at}"
            )

    def _start(self, place: Path, names: Sequence[str], settings: Path, log: Path) -> None:
        program = sshd_program()
        assert program is not None
        settings.write_text(self._server_settings(place, names))
        words = [program, "-D", "-f", str(settings), "-E", str(log)]
        process = subprocess.Popen(words, start_new_session=True)
        self._processes.append(process)
        for name in names:
            while not _listens(self.ports[name]):
                assert process.poll() is None, log.read_text()
                time.sleep(0.02)

    def stop(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait()

    def config(self, store: str = "memory.h5", **more: Any) -> Config:
        """What a person has set; `more` are settings of the fleet, tables of hosts among them."""
        hosts = {name: {"address": name, **more.pop(name, {})} for name in self.names}
        fleet = {**hosts, "ssh_config": str(self.folder / "sshd" / "ssh_config"), **more}
        return Config(self.folder / store, HERE, cache=self.folder / "cache", fleet=fleet)

    @contextlib.contextmanager
    def memory(self, **more: Any) -> Iterator[Memory]:
        with Memory.open(config=self.config(**more)) as memory:
            yield memory

    def change_key(self, name: str) -> None:
        """Have ssh know another key of a machine than it shows."""
        known = self.folder / "sshd" / "known_hosts"
        other = (self.folder / "sshd" / "other.pub").read_text()
        lines = [line for line in known.read_text().splitlines() if not line.startswith(f"{name} ")]
        known.write_text("\n".join([*lines, f"{name} {other.strip()}"]) + "\n")

    def forget_key(self, name: str) -> None:
        known = self.folder / "sshd" / "known_hosts"
        lines = [line for line in known.read_text().splitlines() if not line.startswith(f"{name} ")]
        known.write_text("\n".join(lines) + "\n")

    def _server_settings(self, place: Path, names: Sequence[str]) -> str:
        ports = "".join(f"Port {self.ports[name]}\n" for name in names)
        return (
            f"{ports}ListenAddress 127.0.0.1\nHostKey {place}/host\nPidFile none\n"
            f"AuthorizedKeysFile {place}/authorized_keys\nStrictModes no\nUsePAM no\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n"
            "MaxStartups 200\nUseDNS no\n" + "".join(self._block(name, self.ports[name]) for name in names)
        )

    def _write_client_settings(self, place: Path) -> None:
        key = (place / "host.pub").read_text().strip()
        (place / "known_hosts").write_text("".join(f"{name} {key}\n" for name in self.names))
        (place / "ssh_config").write_text(
            "".join(
                f"Host {name}\n  HostName 127.0.0.1\n  HostKeyAlias {name}\n"
                f"  Port {self.reached_by.get(name, self.ports[name])}\n"
                for name in self.names
            )
            + f"Host *\n  IdentityFile {place}/user\n  IdentitiesOnly yes\n  IdentityAgent none\n"
            f"  UserKnownHostsFile {place}/known_hosts\n  GlobalKnownHostsFile none\n"
        )

    def _block(self, name: str, port: int) -> str:
        path = self.paths.get(name, os.environ.get("PATH", "/usr/bin:/bin"))
        return f'Match LocalPort {port}\n  SetEnv "HOME={self.home(name)}" "PATH={path}"\n'


@contextlib.contextmanager
def machines(
    folder: Path, *names: str, paths: dict[str, str] | None = None, between: dict[str, int] | None = None
) -> Iterator[Machines]:
    """Machines that listen, until the end of the block."""
    made = Machines(folder, names)
    made.paths.update(paths or {})
    made.reached_by.update(between or {})
    made.start()
    try:
        yield made
    finally:
        made.stop()


class Between:
    """Something between us and a machine: it passes on so many bytes of what comes back, then hangs up.

    With `bytes_max` None it never says anything.
    """

    def __init__(self, bytes_max: int | None) -> None:
        self.bytes_max, self.port, self.passed = bytes_max, 0, 0
        self.target = 0
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(50)
        self.port = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []

    def __enter__(self) -> Between:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(near)
            if self.bytes_max is None:
                continue
            far = socket.create_connection(("127.0.0.1", self.target))
            self._open.append(far)
            threading.Thread(target=self._pass, args=(near, far, None), daemon=True).start()
            threading.Thread(target=self._pass, args=(far, near, self.bytes_max), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, bytes_max: int | None) -> None:
        left = bytes_max
        with contextlib.suppress(OSError):
            while data := source.recv(4096):
                data = data if left is None else data[:left]
                target.sendall(data)
                if left is not None:
                    left -= len(data)
                    self.passed += len(data)
                    if not left:
                        break
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


def _free_ports(count: int) -> list[int]:
    held = [socket.socket() for _ in range(count)]
    try:
        for each in held:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in held]
    finally:
        for each in held:
            each.close()


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0

"""One connection to one host: the system's ssh, with a person's own settings, and `sh` at its other end.

Nothing of what a host sends is ever run, and nothing that could be asked of a person is: who has to be asked
cannot be visited by a timer. A host that says nothing for too long is left.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import selectors
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Self

from recollect.intake.fleet.wire import BadAnswer, CutOff, Wire
from recollect.light.processes import program_path, start_program
from recollect.values.errors import UsageError
from recollect.values.fleet import FleetHost
from recollect.values.text import one_line

CONNECT_SECONDS = 15
_ALIVE_SECONDS = 15
_READ_BYTES = 256 << 10
_SAID_BYTES_MAX = 16 << 10
_END_SECONDS = 5.0
_TICK_SECONDS = 0.5
_PROGRESS_BYTES = 1024

_OPTIONS = (
    "BatchMode=yes",  # it asks nobody anything
    "StrictHostKeyChecking=yes",  # a key that nobody has seen is for a person to see
    f"ConnectTimeout={CONNECT_SECONDS}",
    f"ServerAliveInterval={_ALIVE_SECONDS}",
    "ServerAliveCountMax=3",
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "Tunnel=no",
    "ControlMaster=no",  # one that is there is used; none is left behind
    "ControlPersist=no",
    "UpdateHostKeys=no",
    "RemoteCommand=none",
    "LogLevel=INFO",
)


class HostTrouble(Exception):
    """Why a host could not be visited, or not to the end. `kind` is one word, `hint` the next step."""

    def __init__(self, kind: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.kind, self.hint = kind, hint


def ssh_program(environ: Mapping[str, str]) -> str:
    """Where ssh lies."""
    found = program_path("ssh", environ)
    if found is None:
        raise UsageError("there is no ssh on this machine", hint="install OpenSSH's client (openssh-client)")
    return found


def ssh_words(program: str, host: FleetHost, *, config: str = "", packed: bool = False) -> list[str]:
    """The words that lead to `sh` on a host."""
    options = [word for option in _OPTIONS for word in ("-o", option)]
    packing = ["-o", f"Compression={'yes' if packed else 'no'}"]
    file = ["-F", str(Path(config).expanduser())] if config else []
    return [program, "-T", "-a", "-x", *file, *options, *packing, "--", host.address, "exec sh -s"]


class Channel:
    """A conversation with `sh` on a host: a script goes out, an answer comes in."""

    def __init__(
        self, words: Sequence[str], environ: Mapping[str, str], *, patience: float, stop: threading.Event
    ) -> None:
        self._patience, self._stop = patience, stop
        self._process = start_program(list(words), environ)
        self._out = _pipe(self._process.stdin)
        self._in = _pipe(self._process.stdout)
        self._said_in = _pipe(self._process.stderr)
        self._said = bytearray()
        self._to_send = bytearray()
        self._progress, self._until = 0, time.monotonic() + patience
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._in, selectors.EVENT_READ)
        self._selector.register(self._said_in, selectors.EVENT_READ)
        self.wire = Wire(self._receive)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, body: str) -> Wire:
        """Have the host run these lines, and go to the beginning of what they print."""
        number = secrets.token_hex(16)
        self._progress, self._until = 0, time.monotonic() + self._patience
        self.send(f"asked() {{\n{body}\n}}\nanswer {number} asked\n")
        self.wire.begin(number)
        return self.wire

    def send(self, script: str) -> None:
        """Have something to be read by `sh`, as soon as it takes it."""
        if not self._to_send:
            self._selector.register(self._out, selectors.EVENT_WRITE)
        self._to_send += script.encode("ascii")

    def close(self) -> None:
        """End it, whatever it is doing."""
        self._selector.close()
        with contextlib.suppress(OSError):
            self._out.close()
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_END_SECONDS)
            except Exception:  # it does not listen
                self._process.kill()
                self._process.wait()
        self._in.close()
        self._said_in.close()

    def trouble(self, error: BadAnswer | CutOff) -> HostTrouble:
        """What is to be said of a connection that did not hold what it should."""
        if isinstance(error, BadAnswer):
            return HostTrouble(
                "answer",
                f"it does not answer as a shell does: {error}",
                "its login must lead to a POSIX shell and may not print without end",
            )
        with contextlib.suppress(Exception):
            self._process.wait(_END_SECONDS)
        self._hear()
        return reason(self._said.decode("utf-8", "replace"), self._process.poll())

    def _receive(self) -> bytes:
        """The next bytes; b"" once the other end is gone. Sends meanwhile what is to be sent."""
        while time.monotonic() < self._until:
            if self._stop.is_set():
                raise HostTrouble("stopped", "stopped", "the next sync goes on where this one was")
            ready = self._selector.select(min(_TICK_SECONDS, self._patience))
            files = [key.fileobj for key, _ in ready]
            if self._out in files:
                self._write()
            if self._said_in in files:
                self._hear()
            if self._in in files:
                data = os.read(self._in.fileno(), _READ_BYTES)
                self._note_progress(len(data))
                return data
        raise HostTrouble(
            "silent",
            f"next to nothing came for {self._patience:g} s",
            "the next sync goes on where this one was; `patience_seconds` in [fleet] allows for more",
        )

    def _note_progress(self, count: int) -> None:
        """Grant more time for every so many bytes; one that sends a byte now and then is as silent as any."""
        self._progress += count
        if self._progress >= _PROGRESS_BYTES:
            self._progress, self._until = 0, time.monotonic() + self._patience

    def _write(self) -> None:
        try:
            sent = os.write(self._out.fileno(), self._to_send[:_READ_BYTES])
        except BlockingIOError:
            return
        except OSError:  # it is gone: what it said before is read
            sent = len(self._to_send)
        del self._to_send[:sent]
        if not self._to_send:
            self._selector.unregister(self._out)

    def _hear(self) -> None:
        """Keep the end of what ssh itself says."""
        try:
            data = os.read(self._said_in.fileno(), _READ_BYTES)
        except (BlockingIOError, ValueError):
            return
        if not data:
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(self._said_in)
        self._said += data
        del self._said[:-_SAID_BYTES_MAX]


def reason(said: str, code: int | None) -> HostTrouble:
    """What ssh's own words mean, and what to do about it."""
    for part, kind, message, hint in _REASONS:
        if part in said:
            return HostTrouble(kind, message, hint)
    lines = [line for line in said.splitlines() if line.strip()]
    last = one_line(lines[-1], 200) if lines else ""
    if code == 255 or code is None:
        return HostTrouble("cut", last or "the connection was cut", "the next sync goes on where it was cut")
    if code in (126, 127):
        return HostTrouble("shell", last or "there is no sh", "its login must lead to a POSIX shell")
    return HostTrouble("cut", last or "it ended in the middle", "the next sync goes on where it was cut")


# In the order in which they count: a changed key comes with the words of an unknown one.
_REASONS = (
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "changed key",
        "its host key has changed, so it may be another machine: nothing was sent and nothing taken",
        "if the machine was set up anew: ssh-keygen -R HOST, then `ssh HOST` once, and compare its new key",
    ),
    (
        "Host key verification failed",
        "unknown key",
        "its host key is not known here",
        "`ssh HOST` once, and compare the key it shows with the machine's own",
    ),
    (
        "Permission denied",
        "login",
        "it does not let us in",
        "a key that needs no question: `ssh -o BatchMode=yes HOST true` must work",
    ),
    (
        "Could not resolve hostname",
        "unknown host",
        "no machine of that name is known",
        "correct the address (`recollect fleet add NAME --address ...`), or ~/.ssh/config",
    ),
    (
        "Connection refused",
        "refused",
        "no sshd listens there",
        "start it there, or correct the port in ~/.ssh/config",
    ),
    ("No route to host", "unreachable", "it cannot be reached", "the next sync tries again"),
    ("Network is unreachable", "unreachable", "it cannot be reached", "the next sync tries again"),
    ("timed out", "unreachable", "it does not answer", "the next sync tries again"),
    (
        "Bad configuration option",
        "settings",
        "this ssh does not know an option",
        "OpenSSH 7.6 or newer is needed here",
    ),
)


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    os.set_blocking(stream.fileno(), False)
    return stream

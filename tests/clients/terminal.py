"""A client with a person in front of it: keys go in, and the screen is read for the words one waits for."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_PATIENCE_S = 60
_ESCAPES = re.compile(r"\x1b(\[[0-9;?<>=]*[a-zA-Z]|\][^\x07]*\x07|.)|\s")


class Terminal:
    """One client in a terminal of its own, from `with` to its end; leaving closes the window."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        self._keys, screen = pty.openpty()
        fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 140, 0, 0))
        # `setsid --ctty` makes it the client's own terminal, so that closing it is a hang-up.
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *words],
            stdin=screen,
            stdout=screen,
            stderr=screen,
            cwd=folder,
            env=dict(environment),
        )
        os.close(screen)
        self._seen = ""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._keys)
        self.process.wait(_PATIENCE_S)

    def type(self, line: str) -> None:
        """Type a line. The return key comes on its own: together with the rest it would be a paste."""
        os.write(self._keys, line.encode())
        self.show(line)
        os.write(self._keys, b"\r")

    def show(self, words: str) -> None:
        """Wait until these words have been shown since the last wait; blanks do not count."""
        wanted = re.sub(r"\s", "", words)
        deadline = time.monotonic() + _PATIENCE_S
        while wanted not in self._seen:
            assert time.monotonic() < deadline, f"{words!r} is not in {self._seen[-2000:]!r}"
            self._read()
        self._seen = self._seen.partition(wanted)[2]

    def wait(self, done: Callable[[], object], trouble: str) -> None:
        """Wait until `done()` is true, and read the screen meanwhile: where nobody does, a client stops.

        Every now and then comes another return key: the first was forgotten if the client was not ready.
        """
        pressed = time.monotonic()
        deadline = pressed + _PATIENCE_S
        while not done():
            assert time.monotonic() < deadline, f"{trouble}: {self._seen[-2000:]!r}"
            self._read()
            if time.monotonic() > pressed + 3:
                os.write(self._keys, b"\r")
                pressed = time.monotonic()

    def end(self) -> int:
        """Wait for the client to leave by itself."""
        while self.process.poll() is None:
            self._read()
        return self.process.returncode

    def _read(self) -> None:
        if select.select([self._keys], [], [], 0.1)[0]:
            try:
                self._seen += _ESCAPES.sub("", os.read(self._keys, 1 << 16).decode(errors="replace"))
            except OSError:  # the other side has been closed
                time.sleep(0.05)

"""A pseudo terminal, and everything that was written to it."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Sequence

COMMAND = ("-m", "recollect")


class Terminal:
    """A terminal of some size; `stream` is a program's side of it."""

    def __init__(self, width: int = 200, height: int = 50) -> None:
        self._size = struct.pack("HHHH", height, width, 0, 0)

    def __enter__(self) -> Terminal:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, self._size)
        self.stream = open(slave, "w", encoding="utf-8")
        self._pieces: list[bytes] = []
        self._thread = threading.Thread(target=self._read)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()
        self._thread.join()
        os.close(self._master)

    @property
    def text(self) -> str:
        return b"".join(self._pieces).decode("utf-8").replace("\r\n", "\n")

    def _read(self) -> None:
        while True:
            try:
                piece = os.read(self._master, 1 << 16)
            except OSError:  # Linux: the other side is closed
                return
            if not piece:
                return
            self._pieces.append(piece)


def on_terminal(
    words: list[str], width: int = 200, height: int = 50, *, program: Sequence[str] = COMMAND, **environ: str
) -> str:
    """What a command writes when all its streams are a terminal."""
    known = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    with Terminal(width, height) as terminal:
        done = subprocess.run(
            [sys.executable, *program, *words],
            stdin=terminal.stream,
            stdout=terminal.stream,
            stderr=terminal.stream,
            check=False,
            env={**known, "TERM": "xterm-256color", **environ},
        )
        assert done.returncode != 70
    return terminal.text

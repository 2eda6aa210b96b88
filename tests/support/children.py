"""How tests start a process of their own, and see which ones the product started."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support import ROOT, SOURCE


def environment() -> dict[str, str]:
    """This very package and these tests, and nothing of the person's own settings."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(map(str, (SOURCE, ROOT))),
    }


def command(script: str, *words: object) -> list[str]:
    """A script of the tests as a program: `command("faults/crowd.py", ...)`."""
    return [sys.executable, str(ROOT / "tests" / script), *map(str, words)]


def workers(module: str, parent: int | None = None) -> list[int]:
    """The live processes of this one, or of another, that run a module of ours."""
    return [pid for pid, owner in running(module) if owner == (parent or os.getpid())]


def running(module: str) -> Iterator[tuple[int, int]]:
    """Every live process that runs a module of ours, and its parent."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes()
            status = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if f"from {module} import main".encode() in words and status[0] != "Z":
            yield int(entry.name), int(status[1])

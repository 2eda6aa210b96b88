"""How tests start a process of their own."""

from __future__ import annotations

import os
import sys

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

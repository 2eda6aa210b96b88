"""How the fault tests start a process of their own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import recollect

HERE = Path(__file__).parent


def environment() -> dict[str, str]:
    """This very package and these tests, and nothing of the person's own settings."""
    roots = [Path(recollect.__file__).parents[1], HERE.parents[1]]
    return {
        "PATH": os.environ["PATH"],
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(map(str, roots)),
    }


def command(script: str, *words: object) -> list[str]:
    return [sys.executable, str(HERE / script), *map(str, words)]

"""What several tests need: where things lie, and small worlds to try them in."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
SOURCE = ROOT / "src"


def corpus(agent: str) -> Path | None:
    """The folder of an agent's real logs, None where this machine has none."""
    root = os.environ.get("RECOLLECT_CORPUS")
    return Path(root) / agent if root else None

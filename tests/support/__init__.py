"""What several tests need: where things lie, and small worlds to try them in."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
SOURCE = ROOT / "src"

"""What a command says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """What one command said."""

    code: int
    out: str
    err: str

"""What became of each part of a conversation on its way into a session file.

Both writers count here, so that a person hears the same words whichever agent they go to. A part
that crosses between agents in another shape (a patch, an image) counts as kept; `folded` is only
what became plain text.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

THINKING = "[thinking] "


@dataclass(frozen=True, slots=True)
class Fidelity:
    """Counts by kind: taken over, turned into text, put in by us, left out."""

    kept: Counter[str] = field(default_factory=Counter)
    folded: Counter[str] = field(default_factory=Counter)
    added: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    def object(self) -> dict[str, dict[str, int]]:
        """The counts as JSON has them."""
        return {name: dict(sorted((+counts).items())) for name, counts in self._parts()}

    def lines(self) -> list[str]:
        """The same for people: a line for each that has something to say."""
        return [f"{_WORDS[name]}: {_listed(counts)}" for name, counts in self._parts() if +counts]

    def _parts(self) -> tuple[tuple[str, Counter[str]], ...]:
        return (
            ("kept", self.kept),
            ("folded", self.folded),
            ("added", self.added),
            ("left_out", self.left_out),
        )


def folded_thinking(body: dict[str, Any]) -> str:
    """A thought as text, for a reader that cannot have it as a thought; "" where nothing can be read."""
    thought = body.get("thinking")
    return THINKING + thought if type(thought) is str and thought.strip() else ""


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{kind} ({count:,})" for kind, count in sorted((+counts).items()))


_WORDS = {"kept": "kept", "folded": "folded into text", "added": "added", "left_out": "left out"}


@dataclass(frozen=True, slots=True)
class Delivered:
    """A session's file, how to open it, and what became of each part. `path` is None in a dry run.

    `masked`: secrets by kind; None where nobody looked for any.
    """

    agent: str
    session_id: str
    path: Path | None
    command: str
    bytes: int
    fidelity: Fidelity
    masked: Counter[str] | None

"""Conversations with much in them that no other has: they do not pack away."""

from __future__ import annotations

import random

from tests.support.claude_talk import Talk

WORDS = ["tide", "harbor", "buoy", "ledger", "anchor", "sail", "mast", "rope", "keel", "quay", "fog"]


def talk(number: int, turns: int = 12) -> Talk:
    """A conversation of so many turns, on a day by its number."""
    words = random.Random(number)
    told = Talk(number, "/home/ada/harbor")
    for turn in range(turns):
        told.user(f"Let {words.choice(WORDS)} number {number}-{turn} in src/part_{number}.py run")
        noise = "".join(words.choices("abcdefghijklmnopqrstuvwxyz0123456789 ", k=9_000))
        told.call(
            "Bash", f"1 failed {noise}", failed=turn % 3 == 0, command=f"pytest -q tests/test_{number}.py"
        )
        decided = (
            f"Decision: keep {words.choice(WORDS)} {number}-{turn} as a constant in src/part_{number}.py."
        )
        told.answer(decided, model="claude-opus-4-6", output_tokens=10 * number + turn)
    return told

"""What OpenCode writes where a person stepped in."""

from __future__ import annotations

from recollect.agents.signs import Signs

SIGNS = Signs(
    interrupted=("MessageAbortedError",),
    refused=("The user rejected permission to use this specific tool call",),
    replied=("with the following feedback:",),
    trifles=("The edit tool was called with invalid arguments", "Model tried to call unavailable tool"),
    unread=("You must read file", "has been modified since it was last read"),
)

"""What pi writes where a person stepped in."""

from __future__ import annotations

from recollect.agents.signs import Signs

SIGNS = Signs(
    interrupted=("Request was aborted", "Operation aborted", "The operation was aborted"),
    trifles=("Validation failed for tool", "Could not find the exact text in", "Could not find edits["),
    failing=("message/assistant",),
    around=("Command exited with code",),
)

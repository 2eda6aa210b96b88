"""What Grok writes where a person stepped in."""

from __future__ import annotations

from recollect.agents.signs import Signs

SIGNS = Signs(
    interrupted=("Turn cancelled",),
    refused=("User rejected the execution", "User cancelled the execution"),
    commanded=("/compact",),
    trifles=("Failed to parse arguments for tool", "The string to replace was not found in the file"),
    failing=("retry_state",),
    closing=("turn_completed",),
    around=("exit: ",),
)

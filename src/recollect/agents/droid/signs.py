"""What droid writes where a person stepped in."""

from __future__ import annotations

from recollect.agents.signs import Signs

SIGNS = Signs(
    interrupted=("Request interrupted by user", "Request cancelled by user", "Turn cancelled"),
    refused=(
        "Tool cancelled:",
        "Error: Tool execution cancelled by user",
        "Tool execution cancelled by user",
    ),
    trifles=("Error: Not found:",),
    failing=("agent_turn_outcome",),
    closing=("agent_turn_outcome",),
    around=("Error: Command failed (exit code:", "[Process exited with code"),
)

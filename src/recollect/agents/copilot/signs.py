"""What Copilot CLI writes where a person stepped in."""

from __future__ import annotations

from recollect.agents.signs import Signs

SIGNS = Signs(
    interrupted=("user_initiated",),
    refused=("The user rejected this tool call",),
    replied=("User feedback:",),
    trifles=("Invalid inputs:", "No match found", "Multiple matches found"),
    failing=("session.error",),
    around=("<shellId:",),
)

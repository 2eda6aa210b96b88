"""What Gemini CLI writes where a person stepped in."""

from __future__ import annotations

from recollect.agents.signs import Signs

SIGNS = Signs(
    interrupted=("Request cancelled.",),
    refused=("[Operation Cancelled]",),
    trifles=("Error: Invalid parameters provided", "params must have"),
    failing=("error",),
    around=("Exit Code: ", "Process Group PGID: "),
    before=("Output:",),
)

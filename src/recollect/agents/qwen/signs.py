"""What Qwen Code writes where a person stepped in."""

from __future__ import annotations

from recollect.agents.signs import Signs

SIGNS = Signs(
    refused=("[Operation Cancelled]", "User did not allow tool call"),
    failing=("system/ui_telemetry",),
    unread=("has not been read in this session", "has been modified since you last read it"),
    around=("Command: ", "Directory: ", "Error: (none)", "Exit Code: ", "Signal: ", "Process Group PGID: "),
    before=("Output:",),
)

"""What Claude Code writes where a person stepped in."""

from __future__ import annotations

from recollect.agents.signs import Signs

SIGNS = Signs(
    interrupted=("[Request interrupted by user",),
    refused=(
        "The user doesn't want to proceed with this tool use",
        "The user doesn't want to take this action",
        "[Request interrupted by user",
    ),
    replied=("the user said:",),
    commanded=("<command-name>", "<command-message>"),
    trifles=("<tool_use_error>",),
    unread=("File has not been read yet", "File has been modified since read"),
    failing=("system/api_error",),
    around=("Exit code ",),
)

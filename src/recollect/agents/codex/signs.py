"""What Codex writes where a person stepped in."""

from __future__ import annotations

from recollect.agents.signs import Signs

SIGNS = Signs(
    interrupted=("<turn_aborted>", "interrupted"),
    refused=(
        "exec command rejected by user",
        "patch rejected by user",
        "aborted by user",
        "rejected by user",
    ),
    trifles=("apply_patch verification failed", "write_stdin failed", "failed to parse function arguments"),
    failing=(
        "event_msg/error",
        "event_msg/stream_error",
        "event_msg/task_complete",
        "event_msg/turn_complete",
    ),
    closing=("event_msg/task_complete", "event_msg/turn_complete"),
    around=(
        "Exit code: ",
        "Wall time:",
        "Chunk ID:",
        "Process exited",
        "Original token count",
        "Total output lines",
    ),
    before=("Output:",),
)

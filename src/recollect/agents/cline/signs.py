"""What Cline writes where a person stepped in."""

from __future__ import annotations

from recollect.agents.signs import Signs

SIGNS = Signs(
    interrupted=("[TASK RESUMPTION]",),
    refused=("The user denied this operation",),
    replied=("<feedback>",),
    trifles=(
        "Tool call ",
        "Missing value for required parameter",
        "Tool [",
        "This tool cannot be used in PLAN MODE",
    ),
    failing=("message/error",),
    around=("[Command exited with code", "[stderr]", "[stdout]"),
)

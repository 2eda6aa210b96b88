"""What Cursor writes where a person stepped in."""

from __future__ import annotations

from recollect.agents.signs import Signs

SIGNS = Signs(
    refused=("Edit rejected: User chose to skip", "Rejected: ", '{"output":"","rejected":true'),
    closing=("turn_ended",),
)

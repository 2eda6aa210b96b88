"""Projects as people name them, and what they probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from recollect.values.close import did_you_mean, near_names

if TYPE_CHECKING:
    from recollect.values.stored import Session


def unknown_project_note(part: str, sessions: Iterable[Session]) -> str:
    """What to say of a part of a name that no project has in it, "" where one does."""
    names = {session.facts.project for session in sessions} - {""}
    if not part or any(part.casefold() in name.casefold() for name in names):
        return ""
    asked = did_you_mean(near_names(part, sorted(names)))
    return "; ".join(filter(None, (f"no project's name has {part!r} in it", asked)))

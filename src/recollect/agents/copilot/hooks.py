"""What hooks follow of Copilot CLI: a session's events, and `workspace.yaml` beside them.

Its events bear Claude Code's names where the settings ask for them so, but the first and the last of a
session name no file, and a new session's source is `new`. What a hook tells stands at the top of its answer.
"""

from __future__ import annotations

import os

from recollect.agents.copilot import paths
from recollect.agents.copilot.paths import roots
from recollect.light.sources import MAIN

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from recollect.light.sources import Place

__all__ = ["answer", "beside", "heard", "payload", "place", "roots", "transcript_of"]


def place(path: str) -> Place | None:
    """What a file is, by its path alone."""
    return paths.place(path.split(os.sep))


def beside(transcript: str) -> tuple[str, ...]:
    """What the session is called, beside its events."""
    folder, name = os.path.split(transcript)
    return (os.path.join(folder, paths.WORKSPACE),) if name == paths.EVENTS else ()


def transcript_of(path: str) -> str:
    """The events of the session that a file is of; "" for a file that is not one of a session's."""
    found = place(path)
    if found is None:
        return ""
    return path if found[0] == MAIN else os.path.join(os.path.dirname(path), paths.EVENTS)


def payload(told: str, home: str, environ: Mapping[str, str]) -> None:
    """Nothing: its events come on standard input."""


def heard(payload: dict[str, Any], home: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """An event as others tell it: with the session's file, and a source that is known."""
    told = dict(payload)
    if told.get("source") == "new":
        told["source"] = "startup"
    session = told.get("session_id")
    if "transcript_path" not in told and isinstance(session, str) and os.sep not in session:
        path = os.path.join(roots(home, environ)[0], session, paths.EVENTS)
        # A subagent has an id, and no file.
        if os.path.isfile(path):
            told["transcript_path"] = path
    return told


def answer(event: str, text: str) -> dict[str, str]:
    """What is told to a conversation at this event, as its client reads it."""
    return {"additionalContext": text}

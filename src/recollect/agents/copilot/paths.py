"""Where Copilot CLI keeps its sessions, and what a file's place says about it. Light: hooks import it."""

from __future__ import annotations

from recollect.light.sources import DOCUMENT, LINES, MAIN, SIDECAR, Place, is_uuid

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOVED_BY = "COPILOT_HOME"
EVENTS = "events.jsonl"
WORKSPACE = "workspace.yaml"

_SESSIONS = "session-state"


def folder(home: str, environ: Mapping[str, str]) -> str:
    """Where Copilot CLI keeps everything."""
    return environ.get(MOVED_BY) or f"{home}/.copilot"


def roots(home: str, environ: Mapping[str, str]) -> list[str]:
    """The folder below which its sessions lie."""
    return [f"{folder(home, environ)}/{_SESSIONS}"]


def place(parts: Sequence[str]) -> Place | None:
    """What a file is, from the parts of its path alone; None where that does not tell."""
    if len(parts) > 2 and parts[-3] == _SESSIONS and parts[-2]:
        if parts[-1] == EVENTS:
            return MAIN, LINES, parts[-2], ""
        return (SIDECAR, DOCUMENT, parts[-2], "") if parts[-1] == WORKSPACE else None
    stem = parts[-1].removesuffix(".jsonl") if parts else ""
    in_sessions = len(parts) > 1 and parts[-2] == _SESSIONS
    return (MAIN, LINES, stem, "") if in_sessions and stem != parts[-1] and is_uuid(stem) else None

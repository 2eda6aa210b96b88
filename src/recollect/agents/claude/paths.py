"""Where Claude Code keeps its logs, and what a file's place says about it. Light: hooks import it."""

from __future__ import annotations

from recollect.light.sources import DOCUMENT, LINES, MAIN, SIDECAR, SPILL, SUBAGENT, Place, is_uuid

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOVED_BY = "CLAUDE_CONFIG_DIR"


def folder(home: str, environ: Mapping[str, str]) -> str:
    """Where Claude Code keeps everything."""
    return environ.get(MOVED_BY) or f"{home}/.claude"


def roots(home: str, environ: Mapping[str, str]) -> list[str]:
    """The folders below which its transcripts lie."""
    return [folder(home, environ) + "/projects"]


def place(parts: Sequence[str]) -> Place | None:
    """What a file is, from the parts of its path alone; None where that does not tell."""
    name = parts[-1] if parts else ""
    if len(parts) > 2 and parts[-2] == "tool-results":
        return (SPILL, DOCUMENT, parts[-3], "") if is_uuid(parts[-3]) else None
    if len(parts) > 2 and parts[-3] == "subagents" and is_uuid(parts[-2]):
        return None  # another agent's: below its `subagents` there are folders of sessions
    if name.startswith("agent-") and name.endswith(".meta.json"):
        return SIDECAR, DOCUMENT, name.removesuffix(".meta.json"), _session_above(parts)
    stem = name.removesuffix(".jsonl")
    if stem == name:
        return None
    if name.startswith("agent-"):
        parent = _session_above(parts)
        return (SUBAGENT, LINES, stem, parent) if parent else None
    in_projects = len(parts) > 2 and parts[-3] == "projects"
    return (MAIN, LINES, stem, "") if in_projects and is_uuid(stem) else None


def _session_above(parts: Sequence[str]) -> str:
    """The session whose `<session>/subagents/` folder a file is inside of, or ""."""
    for at in range(len(parts) - 2, 0, -1):
        if parts[at] == "subagents":
            return parts[at - 1] if is_uuid(parts[at - 1]) else ""
    return ""

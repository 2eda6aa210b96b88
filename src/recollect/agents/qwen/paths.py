"""Where Qwen Code keeps its logs, and what a file's place says about it. Light: hooks import it."""

from __future__ import annotations

from recollect.light.sources import DOCUMENT, LINES, MAIN, SIDECAR, SUBAGENT, Place, is_uuid

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOVED_BY = ("QWEN_RUNTIME_DIR", "QWEN_HOME")


def folder(home: str, environ: Mapping[str, str]) -> str:
    """Where Qwen Code has its settings."""
    return environ.get("QWEN_HOME") or f"{home}/.qwen"


def roots(home: str, environ: Mapping[str, str]) -> list[str]:
    """The folders below which its transcripts lie."""
    return [(environ.get("QWEN_RUNTIME_DIR") or folder(home, environ)) + "/projects"]


def place(parts: Sequence[str]) -> Place | None:
    """What a file is, from the parts of its path alone; None where that does not tell."""
    name = parts[-1] if parts else ""
    if len(parts) > 3 and parts[-3] == "subagents" and is_uuid(parts[-2]) and name.startswith("agent-"):
        if name.endswith(".meta.json"):
            return SIDECAR, DOCUMENT, name.removesuffix(".meta.json"), parts[-2]
        return (SUBAGENT, LINES, name.removesuffix(".jsonl"), parts[-2]) if name.endswith(".jsonl") else None
    stem = name.removesuffix(".jsonl")
    folders = [each for each in parts[-5:-1] if each != "archive"]
    in_chats = folders[-1:] == ["chats"] and folders[-3:-2] == ["projects"]
    return (MAIN, LINES, stem, "") if stem != name and in_chats and is_uuid(stem) else None

"""What hooks follow of Gemini CLI: a chat that is a log, and what its events are called.

Only `.jsonl`: a document is saved again as a whole, and a hook has no time for that. A chat's name tells but
the first characters of its session's id, so the id is left to its first line.
"""

from __future__ import annotations

import os

from recollect.light.sources import LINES, MAIN, SUBAGENT

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from recollect.light.sources import Place

__all__ = ["beside", "heard", "payload", "place", "roots", "transcript_of"]

MOVED_BY = "GEMINI_CLI_HOME"
CHATS = "chats"

_EVENTS = {"BeforeAgent": "UserPromptSubmit", "AfterAgent": "Stop", "PreCompress": "PreCompact"}


def folder(home: str, environ: Mapping[str, str]) -> str:
    """Where Gemini CLI keeps everything."""
    return f"{environ.get(MOVED_BY) or home}/.gemini"


def roots(home: str, environ: Mapping[str, str]) -> list[str]:
    """The folder below which its chats lie."""
    return [folder(home, environ) + "/tmp"]


def place(path: str) -> Place | None:
    """What a file is, by its path alone."""
    parts = path.split(os.sep)
    if not path.endswith(".jsonl"):
        return None
    if len(parts) > 1 and parts[-2] == CHATS and parts[-1].startswith("session-"):
        return MAIN, LINES, "", ""
    if len(parts) > 2 and parts[-3] == CHATS and parts[-2]:
        return SUBAGENT, LINES, parts[-1].removesuffix(".jsonl"), parts[-2]
    return None


def beside(transcript: str) -> Iterator[str]:
    """The chats of a session's subagents, in a folder that begins as the name of the chat ends."""
    chats, name = os.path.split(transcript)
    short = name.removesuffix(".jsonl").rpartition("-")[2]
    try:
        folders = [each for each in sorted(os.listdir(chats)) if short and each.startswith(short)]
        names = [os.path.join(chats, each, one) for each in folders for one in os.listdir(f"{chats}/{each}")]
    except (OSError, ValueError):
        return
    yield from (each for each in sorted(names) if place(each) is not None and os.path.isfile(each))


def transcript_of(path: str) -> str:
    """The chat itself; "" for any other file."""
    found = place(path)
    return path if found is not None and found[0] == MAIN else ""


def payload(told: str, home: str, environ: Mapping[str, str]) -> None:
    """Nothing: its events come on standard input."""


def heard(payload: dict[str, Any], home: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """An event under the name that others have for it."""
    name = payload.get("hook_event_name")
    return {**payload, "hook_event_name": _EVENTS.get(name, name) if isinstance(name, str) else ""}

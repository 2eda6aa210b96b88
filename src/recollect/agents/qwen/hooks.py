"""What hooks follow of Qwen Code: a transcript, and those of the session's subagents."""

from __future__ import annotations

import os

from recollect.agents.qwen import paths
from recollect.agents.qwen.paths import roots
from recollect.light.sources import MAIN

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from recollect.light.sources import Place

__all__ = ["beside", "payload", "place", "roots", "transcript_of"]


def place(path: str) -> Place | None:
    """What a file is, by its path alone."""
    return paths.place(path.split(os.sep))


def beside(transcript: str) -> Iterator[str]:
    """The transcripts of a session's subagents, and what is said about them."""
    project, _, _ = transcript.rpartition("/chats/")
    own = os.path.join(project, "subagents", os.path.basename(transcript).removesuffix(".jsonl"))
    try:
        entries = sorted(os.scandir(own), key=lambda entry: entry.name) if not os.path.islink(own) else []
    except (OSError, ValueError):  # there is none, or no name for a folder
        return
    yield from (entry.path for entry in entries if entry.is_file(follow_symlinks=False) and place(entry.path))


def transcript_of(path: str) -> str:
    """The transcript of the session that a file is of; "" for a file that is not one of a session's."""
    found = place(path)
    if found is None or found[0] == MAIN:
        return path if found is not None else ""
    project = os.path.dirname(os.path.dirname(os.path.dirname(path)))
    return os.path.join(project, "chats", f"{found[3]}.jsonl")


def payload(told: str, home: str, environ: Mapping[str, str]) -> None:
    """Nothing: its events come on standard input."""

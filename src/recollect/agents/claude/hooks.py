"""What hooks follow of Claude Code: a transcript, and what lies in the session's folder beside it."""

from __future__ import annotations

import os

from recollect.agents.claude import paths
from recollect.agents.claude.paths import roots
from recollect.light.sources import MAIN, SPILL

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from recollect.light.sources import Place

__all__ = ["TOLD_WITH_PROMPTS", "beside", "payload", "place", "roots", "transcript_of"]

TOLD_WITH_PROMPTS = True  # it hands on what a hook tells at UserPromptSubmit

_DEPTH_MAX = 4  # of folders below a session's own


def place(path: str) -> Place | None:
    """What a file is, by its path alone."""
    return paths.place(path.split(os.sep))


def beside(transcript: str) -> Iterator[str]:
    """What is kept of a session beside its transcript: subagents and spilled results."""
    own = transcript.removesuffix(".jsonl")
    folders = [(own, 0)] if not os.path.islink(own) else []
    while folders:
        folder, depth = folders.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except (OSError, ValueError):  # gone, or no name for a folder
            continue
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                yield entry.path
            elif depth < _DEPTH_MAX and entry.is_dir(follow_symlinks=False):
                folders.append((entry.path, depth + 1))


def transcript_of(path: str) -> str:
    """The transcript of the session that a file is of; "" for a file that is not one of a session's."""
    found = place(path)
    if found is None or found[0] == MAIN:
        return path if found is not None else ""
    parts = path.split(os.sep)
    owner = found[2] if found[0] == SPILL else found[3]
    at = len(parts) - 1 - parts[::-1].index(owner) if owner in parts else 0
    return os.sep.join(parts[: at + 1]) + ".jsonl" if at else ""


def payload(told: str, home: str, environ: Mapping[str, str]) -> None:
    """Nothing: its events come on standard input."""

"""What hooks follow of Codex: a rollout alone; and what Codex hands to its `notify` program.

Its hooks speak as those of others do. `notify` gets one JSON argument instead of standard
input, after each finished turn, with a thread's id and no path. The id is a UUID of version 7
as a rule: it tells the day, and so the folder.
"""

from __future__ import annotations

import os
import time

from recollect.agents.codex import paths
from recollect.agents.codex.paths import roots
from recollect.light.sources import is_uuid
from recollect.light.stdlib import loads

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from recollect.light.sources import Place

__all__ = ["beside", "payload", "place", "roots", "transcript_of"]

_DAY_SECONDS = 86_400
_DAYS_MAX = 400  # folders looked through for a thread whose id does not tell its day


def place(path: str) -> Place | None:
    """What a rollout is, by its name; a compressed one is cold, and nobody follows it."""
    name = os.path.basename(path)
    return paths.place(name) if name.endswith(".jsonl") else None


def beside(transcript: str) -> tuple[str, ...]:
    """Nothing: a rollout is all there is of a session."""
    return ()


def transcript_of(path: str) -> str:
    """The rollout itself; "" for any other file."""
    return path if place(path) is not None else ""


def payload(told: str, home: str, environ: Mapping[str, str]) -> dict[str, str] | None:
    """What `notify` was told: a turn that ended, as a Stop; None for anything else."""
    try:
        event = loads(told)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or event.get("type") != "agent-turn-complete":
        return None
    thread, cwd = event.get("thread-id"), event.get("cwd")
    if not isinstance(thread, str) or not is_uuid(thread):
        return None
    return {
        "hook_event_name": "Stop",
        "session_id": thread,
        "transcript_path": rollout_of(thread, paths.folder(home, environ)),
        "cwd": cwd if isinstance(cwd, str) else "",
    }


def rollout_of(thread: str, folder: str) -> str:
    """Where the lines of a thread are, or "": a conversation that is kept nowhere has none."""
    sessions = os.path.join(folder, "sessions")
    for day in _days(thread, sessions):
        for name in _names(day):
            found = paths.place(name)
            if found is not None and found[2] == thread:
                return os.path.join(day, name)
    return ""


def _days(thread: str, sessions: str) -> Iterator[str]:
    """Folders of days to look into. A thread that is resumed stays in the day it began."""
    if thread[14] != "7":
        yield from _newest_first(sessions)
        return
    began = int(thread[:8] + thread[9:13], 16) / 1000
    # The folder has the local date, and the clock may have been in another zone then.
    for seconds in (began, began - _DAY_SECONDS, began + _DAY_SECONDS):
        yield os.path.join(sessions, time.strftime("%Y/%m/%d", time.localtime(seconds)))


def _newest_first(sessions: str) -> Iterator[str]:
    folders = [sessions]
    for _ in range(3):  # year, month, day
        folders = [os.path.join(folder, name) for folder in folders for name in _names(folder)][:_DAYS_MAX]
    yield from folders


def _names(folder: str) -> list[str]:
    """What is in a folder, the last by name first: names begin with a date."""
    try:
        return sorted(os.listdir(folder), reverse=True)
    except OSError:
        return []

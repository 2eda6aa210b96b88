"""What Codex hands to its `notify` program, as the payload of a hook.

Its hooks need nothing of their own: they speak as Claude Code's do. `notify` gets one JSON
argument instead of standard input, after each finished turn, with a thread's id and no
path. The id is a UUID of version 7 as a rule: it tells the day, and so the folder.
"""

from __future__ import annotations

import os
import time

from recollect.light.paths import codex_place, is_uuid
from recollect.light.stdlib import loads

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterator

_DAY_SECONDS = 86_400
_DAYS_MAX = 400  # folders looked through for a thread whose id does not tell its day


def notified(argument: str, folder: str) -> dict[str, str] | None:
    """A turn that ended, told as a Stop; None for anything else. `folder` is Codex's own."""
    try:
        told = loads(argument)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict) or told.get("type") != "agent-turn-complete":
        return None
    thread, cwd = told.get("thread-id"), told.get("cwd")
    if not isinstance(thread, str) or not is_uuid(thread):
        return None
    return {
        "hook_event_name": "Stop",
        "session_id": thread,
        "transcript_path": rollout_of(thread, folder),
        "cwd": cwd if isinstance(cwd, str) else "",
    }


def rollout_of(thread: str, folder: str) -> str:
    """Where the lines of a thread are, or "": a conversation that is kept nowhere has none."""
    sessions = os.path.join(folder, "sessions")
    for day in _days(thread, sessions):
        for name in _names(day):
            place = codex_place(name)
            if place is not None and place[2] == thread:
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

"""When sessions were last read, and when last swept: two small files in the state folder.

Kept only where retention is configured. Either may be deleted: sessions then count as not read lately, and
the next sweep is due.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from recollect.light.disk import replace_file
from recollect.light.own_files import read_own
from recollect.values.errors import FileRefused
from recollect.values.retention import READ_DAYS, SessionName

_DAY_MS = 86_400_000
_SESSIONS_MAX = 2_000  # that are remembered as read
_BYTES_MAX = 1 << 20
_AGAIN_MS = 3_600_000  # since it was last noted that a session was read, before it is noted again


def last_reads(state: Path) -> dict[SessionName, int]:
    """When each of the sessions that were read lately was last read."""
    try:
        told = json.loads(read_own(_read_path(state), _BYTES_MAX))
        return {SessionName(*name): int(time_ms) for *name, time_ms in told}
    except (OSError, ValueError, TypeError, FileRefused):
        return {}


def note_reads(state: Path, names: Iterable[SessionName], now_ms: int) -> None:
    """Remember that sessions are read now; what cannot be written is not remembered."""
    known = last_reads(state)
    fresh = [name for name in names if now_ms - known.get(name, 0) > _AGAIN_MS]
    if not fresh:
        return
    known |= dict.fromkeys(fresh, now_ms)
    oldest = now_ms - READ_DAYS * _DAY_MS
    kept = sorted(((when, name) for name, when in known.items() if when > oldest), reverse=True)
    told = [[*name, when] for when, name in kept[:_SESSIONS_MAX]]
    with contextlib.suppress(OSError, FileRefused):
        replace_file(_read_path(state), json.dumps(told).encode())


def forget_reads(state: Path, is_gone: Callable[[SessionName], bool]) -> None:
    """Remember of some sessions no longer that they were read."""
    known = last_reads(state)
    kept = [[*name, when] for name, when in known.items() if not is_gone(name)]
    if len(kept) < len(known):
        replace_file(_read_path(state), json.dumps(kept).encode())


def last_swept(state: Path) -> int:
    """When a sweep last ended; 0 where nobody knows of one."""
    try:
        return int(json.loads(read_own(_swept_path(state), 100)))
    except (OSError, ValueError, TypeError, FileRefused):
        return 0


def note_swept(state: Path, now_ms: int) -> None:
    with contextlib.suppress(OSError, FileRefused):
        replace_file(_swept_path(state), json.dumps(now_ms).encode())


def _read_path(state: Path) -> str:
    return os.path.join(state, "retention-read.json")


def _swept_path(state: Path) -> str:
    return os.path.join(state, "retention-swept.json")

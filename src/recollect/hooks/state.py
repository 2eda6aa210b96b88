"""The state folder: what hooks leave for each other and for `status`. All of it may be deleted.

    sessions/   how far each transcript is in the journal (`recollect.light.capture`)
    complete    gone while something may be missed; missed, taking-* there (`recollect.light.missed`)
    partial     there where hooks are for some projects only; agents/ those whose own settings have them
    catalogs/   what the next conversation of a project starts with, ready to be printed
    untold/     conversations that began while that was being made, to be told with a prompt
    trouble     what went wrong last
    today       what today has cost so far, for status lines (`recollect.hooks.statusline`)
    retention-read.json, retention-swept.json    where a budget is set (`recollect.memory.reads`)
    settle      locked while someone puts everything in order
    watch       locked while a watcher runs

No numpy, no HDF5, no pathlib: this is read inside hooks.
"""

from __future__ import annotations

import os
import time
import zlib

from recollect.light.disk import Disk, replace_file
from recollect.light.own_files import read_own
from recollect.light.stdlib import dumps, loads, suppress
from recollect.values.errors import FileRefused

CATALOG_BYTES_MAX = 9_000  # an agent cuts what is longer than 10,000, and with it our mark
_NAME_BYTES = 100


def catalog_path(state: str, project: str) -> str:
    """The file of a project's catalog."""
    return os.path.join(state, "catalogs", _safe(project) + ".md")


def read_catalog(state: str, project: str) -> str:
    """The catalog that is ready for a project, "" for none."""
    try:
        return read_own(catalog_path(state, project), CATALOG_BYTES_MAX).decode()
    except (OSError, ValueError, FileRefused):
        return ""


def write_catalog(state: str, project: str, text: str) -> None:
    """Replace a project's catalog; an empty one is removed."""
    path = catalog_path(state, project)
    if not text:
        Disk().unlink(path)
    else:
        replace_file(path, text.encode("utf-8", "replace"))


def note_untold(state: str, session: str) -> None:
    """A conversation begins, and what it is to be told is being made."""
    with suppress(OSError):
        replace_file(_untold_path(state, session), b"")


def is_untold(state: str, session: str) -> bool:
    return os.path.isfile(_untold_path(state, session))


def note_told(state: str, session: str) -> None:
    """A conversation was told, or is over."""
    with suppress(OSError):
        os.unlink(_untold_path(state, session))


def forget_untold(state: str, oldest_ns: int) -> None:
    """Forget conversations that nobody ended."""
    with suppress(OSError):
        for entry in os.scandir(os.path.join(state, "untold")):
            if entry.stat(follow_symlinks=False).st_mtime_ns < oldest_ns:
                os.unlink(entry.path)


def note_trouble(state: str, what: str) -> None:
    """Keep what went wrong, for `status`; a disk that is full keeps nothing."""
    with suppress(OSError):
        now_ms = time.time_ns() // 1_000_000
        text = dumps({"time_ms": now_ms, "what": what})
        replace_file(os.path.join(state, "trouble"), text.encode("utf-8", "replace"))


def last_trouble(state: str) -> tuple[int, str]:
    """When and what went wrong last; (0, "") for nothing."""
    try:
        known = loads(read_own(os.path.join(state, "trouble"), 1 << 16))
        return int(known["time_ms"]), str(known["what"])
    except (OSError, ValueError, KeyError, TypeError, FileRefused):
        return 0, ""


def _untold_path(state: str, session: str) -> str:
    return os.path.join(state, "untold", _safe(session))


def _safe(text: str) -> str:
    """A name in characters that every file system takes."""
    name = text.encode("utf-8", "surrogatepass")
    return name[:_NAME_BYTES].hex() + (f"-{zlib.crc32(name):08x}" if len(name) > _NAME_BYTES else "")

"""A session file put where its agent looks: whole, checked and new, or not at all.

It is checked before anything is written and once more as it was read back. Nothing that is there is
ever replaced, and nobody but its owner may read it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from recollect.export.files import write_file
from recollect.light.own_files import make_own_folder
from recollect.values.errors import RecollectError, StoreWriteFailed, UsageError

Check = Callable[[bytes], list[str]]

_NAMED = 3  # problems a message tells of


def write_session(data: bytes, path: Path, check: Check) -> Path:
    """Write a session's file, making the folders above it; `check` says what is wrong with its bytes."""
    if ".." in path.parts or not path.is_absolute():
        raise UsageError(f"{path}: not a whole path", hint="name the file from the root on")
    if os.path.lexists(path):
        raise UsageError(f"{path}: already exists", hint="export once more: a session is never replaced")
    _refuse_faulty(path, check(data))
    try:
        make_own_folder(path.parent)
    except OSError as error:
        raise StoreWriteFailed(path.parent, error) from error
    write_file(path, [data], force=False)
    try:
        found = path.read_bytes()
        _refuse_faulty(path, [] if found == data else ["it reads back otherwise than it was written"])
        _refuse_faulty(path, check(found))
    except (OSError, RecollectError):
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise
    return path


def _refuse_faulty(path: Path, problems: list[str]) -> None:
    if problems:
        more = f" and {len(problems) - _NAMED} more" if len(problems) > _NAMED else ""
        raise RecollectError(
            f"{path}: not written, its agent would not take it: {'; '.join(problems[:_NAMED])}{more}",
            hint="this is a fault of Recollect's; please report it with this message",
        )

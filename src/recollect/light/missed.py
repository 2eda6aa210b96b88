"""Whether hooks may have missed something that nobody follows.

A hook that can write nothing, or is stopped, cannot even leave word of its session. But it can take a file
away, which needs no room on a disk: that the file is gone tells whoever looks next to look at everything.

No numpy, no HDF5, no dataclasses, no pathlib: this runs inside hooks.
"""

from __future__ import annotations

import os

from recollect.light.capture import SESSIONS
from recollect.light.own_files import make_own_folder, open_own
from recollect.light.stdlib import suppress
from recollect.values.errors import FileRefused

_COMPLETE = "complete"  # there while everything that hooks were told of is taken, or followed
_PARTIAL = "partial"  # there where hooks stand in the settings of single projects only


def note_missed(state: str) -> None:
    """Leave word that something was not taken."""
    with suppress(OSError):
        os.unlink(os.path.join(state, _COMPLETE))
    with suppress(OSError, FileRefused):
        make_own_folder(os.path.join(state, SESSIONS))


def note_complete(state: str) -> None:
    """Take that word back; before looking for what was missed, so that what is missed meanwhile counts."""
    with suppress(OSError, FileRefused):
        _make(os.path.join(state, _COMPLETE))


def is_missed(state: str) -> bool:
    """Whether hooks ran for this store, and something may not have been taken."""
    return not os.path.exists(os.path.join(state, _COMPLETE)) and is_hooked(state)


def is_hooked(state: str) -> bool:
    """Whether hooks ran for this store, or were installed."""
    return os.path.isdir(os.path.join(state, SESSIONS))


def note_installed(state: str, *, project: bool) -> None:
    """Make ready for hooks; `project`: those that stand in the settings of one project."""
    if not is_hooked(state):
        make_own_folder(os.path.join(state, SESSIONS))
        note_complete(state)
        if project:
            _make(os.path.join(state, _PARTIAL))
    if not project:
        with suppress(OSError):
            os.unlink(os.path.join(state, _PARTIAL))


def is_partial(state: str) -> bool:
    """Whether only single projects' transcripts are meant for this store, as far as hooks go."""
    return os.path.exists(os.path.join(state, _PARTIAL))


def _make(path: str) -> None:
    os.close(open_own(path, os.O_WRONLY | os.O_CREAT))

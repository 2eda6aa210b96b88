"""Whether hooks may have missed something that nobody follows.

A hook that can write nothing, or is stopped, cannot even leave word of its session. But it can take a file
away, which needs no room on a disk: that `complete` is gone, or that there is a `missed`, tells whoever
looks next to look at everything. Whoever does keeps that word under a name of its own until it is done:
being killed at it loses nothing, and what is missed meanwhile counts.

No numpy, no HDF5, no dataclasses, no pathlib: this runs inside hooks.
"""

from __future__ import annotations

import os

from recollect.light.capture import SESSIONS
from recollect.light.own_files import make_own_folder, open_own
from recollect.light.stdlib import suppress
from recollect.values.errors import FileRefused

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from collections.abc import Sequence

_COMPLETE = "complete"  # there while everything that hooks were told of is taken, or followed
_MISSED = "missed"  # there once something was not
_TAKING = "taking-"  # what `missed` is called while somebody looks at everything
_PARTIAL = "partial"  # there where hooks stand in the settings of single projects only
_AGENTS = "agents"  # a folder with a file for each agent in whose own settings they stand


def note_missed(state: str) -> None:
    """Leave word that something was not taken, in whichever way the disk allows."""
    with suppress(OSError):
        os.unlink(os.path.join(state, _COMPLETE))
    with suppress(OSError, FileRefused):
        make_own_folder(os.path.join(state, SESSIONS))
        _make(os.path.join(state, _MISSED))


def is_missed(state: str) -> bool:
    """Whether hooks ran for this store, and something may not have been taken."""
    if not is_hooked(state):
        return False
    return not os.path.exists(os.path.join(state, _COMPLETE)) or bool(_left(state))


def is_hooked(state: str) -> bool:
    """Whether hooks ran for this store, or were installed."""
    return os.path.isdir(os.path.join(state, SESSIONS))


class Taking:
    """Looking for what was missed, from the beginning to the end: only then nothing is missed any more."""

    def __init__(self, state: str) -> None:
        self._state, self._own = state, os.path.join(state, _TAKING + os.urandom(4).hex())
        self._left = [os.path.join(state, name) for name in _left(state) if name != _MISSED]

    def begin(self) -> None:
        with suppress(OSError, FileRefused):
            try:
                os.rename(os.path.join(self._state, _MISSED), self._own)
            except FileNotFoundError:
                _make(self._own)
            _make(os.path.join(self._state, _COMPLETE))

    def end(self) -> None:
        for path in (*self._left, self._own):
            with suppress(OSError):
                os.unlink(path)


def note_first(state: str) -> None:
    """Nothing was missed before the first hook ran."""
    with suppress(OSError, FileRefused):
        make_own_folder(os.path.join(state, SESSIONS))
        _make(os.path.join(state, _COMPLETE))


def agents_hooked(state: str) -> list[str]:
    """The agents in whose own settings hooks were put; none where that is not known."""
    return _names(os.path.join(state, _AGENTS))


def note_installed(state: str, agents: Sequence[str], *, project: bool) -> None:
    """Make ready for hooks; `project`: those that stand in the settings of one project.

    As far as the disk allows: hooks work without it.
    """
    first = not is_hooked(state)
    if first:
        note_first(state)
    with suppress(OSError, FileRefused):
        if project and first:
            _make(os.path.join(state, _PARTIAL))
        elif not project:
            make_own_folder(os.path.join(state, _AGENTS))
            for agent in agents:
                _make(os.path.join(state, _AGENTS, agent))
            os.unlink(os.path.join(state, _PARTIAL))


def note_removed(state: str, agents: Sequence[str]) -> None:
    """Hooks are no longer for these agents; where they are for none, nothing is missed any more."""
    for agent in agents:
        with suppress(OSError):
            os.unlink(os.path.join(state, _AGENTS, agent))
    if not agents_hooked(state):
        followed = os.path.join(state, SESSIONS)
        for path in (*(os.path.join(followed, name) for name in _names(followed)), *_paths(state)):
            with suppress(OSError):
                os.unlink(path)
        with suppress(OSError):
            os.rmdir(followed)


def is_partial(state: str) -> bool:
    """Whether only single projects' transcripts are meant for this store, as far as hooks go."""
    return os.path.exists(os.path.join(state, _PARTIAL))


def _left(state: str) -> list[str]:
    """The names under which word was left."""
    return [name for name in _names(state) if name == _MISSED or name.startswith(_TAKING)]


def _paths(state: str) -> list[str]:
    return [os.path.join(state, name) for name in (_COMPLETE, _PARTIAL, *_left(state))]


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _make(path: str) -> None:
    os.close(open_own(path, os.O_WRONLY | os.O_CREAT))

"""What is appended to a store's journal, as it comes: for a process that holds a part of the store in memory.

A look costs a few small reads while nobody appended. Frames go when they are folded into the store, and a
store may be written anew, with less in it; who looks too late is told so, and looks into the store itself.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from recollect.light import locks
from recollect.light.disk import Disk, read_bytes_at
from recollect.light.journal import GLANCE_SECONDS, JOURNAL_SUFFIX
from recollect.light.journal_frames import Frame, content_end, scan
from recollect.light.store_header import read_state

if TYPE_CHECKING:
    from recollect.values.errors import Name

_HEAD_BYTES = 24  # of a frame: no two have the same


class JournalTail:
    """The frames that nobody told yet, each once and in order."""

    def __init__(self, store: Name) -> None:
        self._store = os.path.realpath(store)
        self._path = self._store + JOURNAL_SUFFIX
        self._last = (0, b"")  # where the last frame that was told began, and its first bytes
        self._end = 0  # where it ended
        self._epoch = -1  # of the store that was looked into; -1 while there is none
        self._seen = 0

    def begin(self, folded: int, epoch: int) -> None:
        """Go on from a state of the store, which holds the frames up to `folded`: all others are told."""
        self._seen, self._epoch = folded, epoch
        self._last, self._end = (0, b""), 0

    def news(self) -> list[bytes] | None:
        """The payloads that came since the last look; None where the store itself must be looked into."""
        try:
            with Disk().opened(self._path) as fd:
                found = self._read(fd)
        except FileNotFoundError:
            found = []
        if found is None:
            return None
        # After the frames: what was folded since is missing among them, and known from the number.
        folded, epoch = self._state()
        if epoch != self._epoch or folded > self._seen + len(found):
            return None
        self._seen += len(found)
        return [frame.payload for frame in found]

    def _state(self) -> tuple[int, int]:
        """Up to which frame the store holds them, and its epoch."""
        try:
            with Disk().opened(self._store) as fd:
                header = read_state(fd, self._store)[0]
        except FileNotFoundError:
            return 0, -1
        return header.folded, header.epoch

    def _read(self, fd: int) -> list[Frame] | None:
        """The frames behind the last one, None where there is a gap between; notes where they end."""
        if not self._is_here(fd):
            self._last, self._end = (0, b""), 0
        if read_bytes_at(fd, 1, self._end) in (b"", b"\0"):
            return []
        locks.acquire(fd, locks.APPEND, shared=True, timeout=GLANCE_SECONDS)
        end = content_end(fd)
        locks.release(fd, locks.APPEND)
        found: list[Frame] = []
        for piece in scan(fd, end, self._seen, self._end):
            if isinstance(piece, Frame):
                self._last = (piece.start, read_bytes_at(fd, _HEAD_BYTES, piece.start))
                self._end = piece.stop
                if piece.sequence > self._seen:
                    if piece.sequence != self._seen + len(found) + 1:
                        return None
                    found.append(piece)
        return found

    def _is_here(self, fd: int) -> bool:
        """Whether the last frame still stands where it stood: a journal is cleared, and another is begun."""
        start, head = self._last
        return bool(head) and read_bytes_at(fd, _HEAD_BYTES, start) == head

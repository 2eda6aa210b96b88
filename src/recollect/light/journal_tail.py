"""What is appended to a store's journal, as it comes: for a process that holds a part of the store in memory.

A look costs a few small reads while nobody appended. Frames go when they are folded into the store; whoever
looks too late is told that it missed some, and must look into the store itself.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from recollect.light import locks
from recollect.light.disk import Disk, read_bytes_at
from recollect.light.journal import GLANCE_SECONDS, JOURNAL_SUFFIX, folded_through
from recollect.light.journal_frames import Frame, content_end, scan

if TYPE_CHECKING:
    from recollect.values.errors import Name

_HEAD_BYTES = 24  # of a frame: no two have the same


class JournalTail:
    """The frames newer than `seen`, each told once and in order."""

    def __init__(self, store: Name) -> None:
        self._store = os.path.realpath(store)
        self._path = self._store + JOURNAL_SUFFIX
        self._last = (0, b"")  # where the last frame that was told began, and its first bytes
        self._end = 0  # where it ended
        self.seen = 0

    def skip(self, through: int) -> None:
        """Count frames up to this number as seen."""
        self.seen = max(self.seen, through)

    def news(self) -> list[bytes] | None:
        """The payloads that came since the last look; None where some are in the store alone by now."""
        try:
            with Disk().opened(self._path) as fd:
                found = self._read(fd)
        except FileNotFoundError:
            found = []
        if found is None or (not found and not self._last[1] and folded_through(self._store) > self.seen):
            return None
        self.seen += len(found)
        return [frame.payload for frame in found]

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
        for piece in scan(fd, end, self.seen, self._end):
            if isinstance(piece, Frame):
                self._last = (piece.start, read_bytes_at(fd, _HEAD_BYTES, piece.start))
                self._end = piece.stop
                if piece.sequence > self.seen:
                    if piece.sequence != self.seen + len(found) + 1:
                        return None
                    found.append(piece)
        return found

    def _is_here(self, fd: int) -> bool:
        """Whether the last frame still stands where it stood: a journal is cleared, and another is begun."""
        start, head = self._last
        return bool(head) and read_bytes_at(fd, _HEAD_BYTES, start) == head

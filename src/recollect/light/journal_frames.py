"""The frames of a journal, and what lies between them: read forward in pieces, however long it is.

A frame that checks was acknowledged, or was about to be. What does not check is a *gap*: an append that was
cut short, which never was acknowledged, or damage to one that was. Damage is told by three things: a frame
that has its beginning and its end and fails its checksum; an end whose beginning is gone; and a number that
is missing, since a cut append's number is given to the next one.
"""

from __future__ import annotations

import os
import struct
import zlib

from recollect.light.disk import read_bytes_at

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterator

PAYLOAD_BYTES_MAX = 64 << 20
_SECTOR = 512
_UNWRITTEN_MIN = 16  # bytes of a sector: fewer may be zeros by chance
AHEAD_BYTES = 1 << 20

_MARK = b"\xf5RCLFRM\xfa"
_HEAD = struct.Struct("<8sIIQ")  # mark, payload length, crc32 of sequence and payload, sequence
_TAIL = struct.Struct("<I4s")  # payload length again, to find the last frame from the end; ends in no zero
_TAIL_MARK = b"\xfaEND"
AROUND_BYTES = _HEAD.size + _TAIL.size


class Frame:
    """One payload with its number, and where it stands."""

    __slots__ = ("payload", "sequence", "start", "stop")

    def __init__(self, start: int, stop: int, sequence: int, payload: bytes) -> None:
        self.start, self.stop = start, stop
        self.sequence, self.payload = sequence, payload


class Gap:
    """Bytes that are no frame. `damaged`: something that was acknowledged is lost with them."""

    __slots__ = ("damaged", "start", "stop")

    def __init__(self, start: int, stop: int, damaged: bool) -> None:
        self.start, self.stop, self.damaged = start, stop, damaged


def frame_of(sequence: int, payload: bytes) -> bytes:
    numbered = sequence.to_bytes(8, "little") + payload
    head = _HEAD.pack(_MARK, len(payload), zlib.crc32(numbered), sequence)
    return b"".join((head, payload, _TAIL.pack(len(payload), _TAIL_MARK)))


def scan(fd: int, end: int, folded: int = 0, start: int = 0) -> Iterator[Frame | Gap]:
    """Everything up to `end`, in order; numbers up to `folded` are in the store, and missed by nobody.

    `start`: where a frame is known to have ended, if not all of it is wanted.
    """
    last, gaps = folded, list[Gap]()
    for piece in _pieces(_Window(fd, end), start, end):
        if isinstance(piece, Gap):
            gaps.append(piece)
            continue
        missing = piece.sequence > last + 1
        for gap in gaps:
            gap.damaged = gap.damaged or missing
            yield gap
        gaps, last = [], max(last, piece.sequence)
        yield piece
    yield from gaps


def content_end(fd: int) -> int:
    """Where the zeros begin that the file was grown by."""
    end = os.fstat(fd).st_size
    while end > 0:
        start = max(end - AHEAD_BYTES, 0)
        content = read_bytes_at(fd, end - start, start).rstrip(b"\0")
        if content:
            return start + len(content)
        end = start
    return 0


def last_sequence(fd: int, end: int) -> int:
    """The newest whole frame's number, 0 in an empty file: one small read when the end is whole."""
    window = _Window(fd, end)
    start = _start_of(window, end)
    if start >= 0:
        frame = _piece_at(window, start)
        if isinstance(frame, Frame) and frame.stop == end:
            return frame.sequence
    return max((piece.sequence for piece in scan(fd, end) if isinstance(piece, Frame)), default=0)


class _Window:
    """A file up to an end, read in pieces: memory follows what is asked for, not the file."""

    def __init__(self, fd: int, end: int) -> None:
        self._fd, self.end = fd, end
        self._at, self._data = 0, b""

    def read(self, start: int, size: int) -> bytes:
        size = max(min(size, self.end - start), 0)
        if not self._holds(start, size):
            wanted = min(max(size, AHEAD_BYTES), self.end - start)
            self._at, self._data = start, read_bytes_at(self._fd, wanted, start)
        return self._data[start - self._at : start - self._at + size]

    def glance(self, start: int, size: int) -> bytes:
        """As `read`, for a few bytes elsewhere."""
        return self.read(start, size) if self._holds(start, size) else read_bytes_at(self._fd, size, start)

    def _holds(self, start: int, size: int) -> bool:
        return self._at <= start <= start + size <= self._at + len(self._data)

    def find(self, what: bytes, start: int) -> int:
        """Where `what` stands at or behind `start`, the end if nowhere."""
        while start < self.end:
            piece = self.read(start, AHEAD_BYTES)
            if (found := piece.find(what)) >= 0:
                return start + found
            if len(piece) < AHEAD_BYTES:
                break
            start += len(piece) - len(what) + 1
        return self.end


def _pieces(window: _Window, start: int, end: int) -> Iterator[Frame | Gap]:
    at = begun = start
    while at < end:
        piece = _piece_at(window, at)
        if piece is None:
            at = window.find(_MARK, at + 1)
            continue
        if begun < at:
            yield Gap(begun, at, _was_whole(window, begun, at))
        yield piece
        at = begun = piece.stop
    if begun < end:
        yield Gap(begun, end, _was_whole(window, begun, end))


def _piece_at(window: _Window, at: int) -> Frame | Gap | None:
    """The frame that begins here; a gap for one that is there from end to end and does not check.

    What stands inside of such a one is not looked into: it is somebody's text, and may look like a frame.
    """
    head = window.read(at, _HEAD.size)
    if len(head) < _HEAD.size or not head.startswith(_MARK):
        return None
    _, length, crc, sequence = _HEAD.unpack(head)
    stop = at + _HEAD.size + length + _TAIL.size
    if not 0 < length <= PAYLOAD_BYTES_MAX or stop > window.end:
        return None
    tail, wanted = window.glance(stop - _TAIL.size, _TAIL.size), _TAIL.pack(length, _TAIL_MARK)
    if tail != wanted and not (_is_rotten(tail, wanted) and window.glance(stop - 1, len(_MARK)) != _MARK):
        return None
    payload = window.read(at + _HEAD.size, length)
    if zlib.crc32(sequence.to_bytes(8, "little") + payload) != crc:
        return Gap(at, stop, damaged=not _has_unwritten(window, at, stop)) if tail == wanted else None
    return Frame(at, stop, sequence, payload)


def _was_whole(window: _Window, start: int, stop: int) -> bool:
    """Whether bytes that are no frame end as one that began with them, and all of it was once written."""
    return _start_of(window, stop) == start and not _has_unwritten(window, start, stop)


def _has_unwritten(window: _Window, start: int, stop: int) -> bool:
    """Whether a power cut kept a sector of it from being written, so that nobody was told it is there.

    Such a sector holds the zeros that the file was grown by. Sectors may reach a disk in any order.
    """
    first = start - start % _SECTOR
    for at in range(first, stop, _SECTOR):
        low, high = max(at, start), min(at + _SECTOR, stop)
        if high - low >= _UNWRITTEN_MIN and not window.read(low, high - low).strip(b"\0"):
            return True
    return False


def _is_rotten(tail: bytes, wanted: bytes) -> bool:
    """Whether an end has one bad byte in it, and not: was cut short, behind which zeros or a frame follow."""
    return tail[-1:] != b"\0" and sum(map(int.__ne__, tail, wanted)) <= 1


def _start_of(window: _Window, stop: int) -> int:
    """Where the frame began whose end stands before `stop`; -1 where no end stands there."""
    if stop < AROUND_BYTES:
        return -1
    tail = window.glance(stop - _TAIL.size, _TAIL.size)
    if len(tail) < _TAIL.size:  # emptied by who folded it, since this began
        return -1
    length, mark = _TAIL.unpack(tail)
    return stop - length - AROUND_BYTES if mark == _TAIL_MARK and 0 < length <= PAYLOAD_BYTES_MAX else -1

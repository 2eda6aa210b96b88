"""Where what is new in a file begins: behind what was taken of it, if it still begins with that.

The bytes are compared: by their sums where a file grew, in full where it may have been written over. A copy
of a file of another machine may be its end alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO

from recollect.intake.again import OF_NO_FILE, is_as_taken
from recollect.intake.checkpoints import Checkpoints
from recollect.intake.reader import chunks
from recollect.store.contract import Writer
from recollect.values.records import Cursor, Framing, SourceFile
from recollect.values.stored import Source, source_bytes

_WINDOW_BYTES = 4096


class OtherContent(Exception):
    """A copy of a file's end does not go on where what is stored of it ends: all of it is needed."""


@dataclass(frozen=True, slots=True)
class Copy:
    """Where a file of another machine lies here: all of it, or what it has from `start` on.

    `seen` is the file as it was there. Below `beside` lie, under their own paths, files that say something
    about it: what has the same path on this machine is another's.
    """

    path: str
    seen: Cursor
    start: int = 0
    beside: str = ""


def start_of_news(
    writer: Writer, opened: BinaryIO, file: SourceFile, held: Source, seen: Cursor
) -> int | None:
    """Where the new part of a file begins; None when the file is not what it was."""
    cursor = held.cursor
    if seen.size < cursor.offset and not file.compressed:
        return None
    if held.thinned:
        return _start_in_thinned(writer, opened, file, held)
    # A file that changed without growing was written over in place: no window shows where.
    grown = cursor.window and cursor.inode == seen.inode and cursor.size != seen.size
    sums = Checkpoints.split(cursor.state, cursor.offset)[1] if grown and is_plain(file) else None
    if sums is not None:
        same = window_of(opened, cursor.offset) == cursor.window and sums.hold(opened)
    else:
        same = _is_same_start(writer, opened, file, held)
    if not same:
        return None
    if cursor.terminated or cursor.waiting or file.framing == Framing.DOCUMENT:
        return cursor.offset
    # The last line was taken without its newline: that must be what comes next.
    following = next(chunks(opened, compressed=file.compressed, start=cursor.offset), b"")[:1]
    return {b"": cursor.offset, b"\n": cursor.offset + 1}.get(following)


def _start_in_thinned(writer: Writer, opened: BinaryIO, file: SourceFile, held: Source) -> int | None:
    """The same of a source some of whose lines are not what they were: sums tell, not bytes."""
    cursor = held.cursor
    if cursor.window == OF_NO_FILE:  # what was erased may come back
        return None
    if not is_plain(file):
        return cursor.offset if is_as_taken(writer.view(), held, file) else None
    if not cursor.window:  # nobody here saw the file: what was merged may say anything of it
        is_same = is_as_taken(writer.view(), held, file)
        return _behind(opened, cursor) if is_same else None
    sums = Checkpoints.split(cursor.state, cursor.offset)[1]
    if window_of(opened, cursor.offset) != cursor.window or (sums is not None and not sums.hold(opened)):
        return None
    return _behind(opened, cursor)


def start_in_thinned_copy(
    writer: Writer, opened: BinaryIO, file: SourceFile, held: Source, copy: Copy
) -> int | None:
    """The same of a copy that is all of a file: each line is compared by its key."""
    if held.cursor.window == OF_NO_FILE:
        return None
    is_same = is_as_taken(writer.view(), held, replace(file, path=copy.path))
    return _behind(opened, held.cursor) if is_same else None


def _is_same_start(writer: Writer, opened: BinaryIO, file: SourceFile, held: Source) -> bool:
    """Whether the file begins with every byte that was taken of it, compared in full."""
    content = _Bytes(chunks(opened, compressed=file.compressed))
    left = held.cursor.offset
    for piece in source_bytes(held, writer.view().lines(held)):
        piece = piece[:left]
        if content.take(len(piece)) != piece:
            return False
        left -= len(piece)
    return file.framing != Framing.DOCUMENT or not content.take(1)


def start_in_copy(opened: BinaryIO, held: Source | None, copy: Copy) -> int | None:
    """Where the news of a copy begin; None where the copy is all of a file that is not what it was."""
    if held is None or not held.lines:
        if copy.start:
            raise OtherContent
        return 0
    cursor = held.cursor
    if copy.start != cursor.offset:
        if copy.start:
            raise OtherContent
        return None
    if cursor.terminated or cursor.waiting:
        return cursor.offset
    # The last line was taken without its newline: that must be what comes next.
    following = next(chunks(opened, compressed=False), b"")[:1]
    if following not in (b"", b"\n"):
        raise OtherContent
    return cursor.offset + len(following)


def _behind(opened: BinaryIO, cursor: Cursor) -> int | None:
    """Where the lines behind those that a cursor knows begin in their file; None where that cannot be."""
    if cursor.terminated or cursor.waiting:
        return cursor.offset
    # The last line was taken without its newline: that must be what comes next.
    following = next(chunks(opened, compressed=False, start=cursor.offset), b"")[:1]
    return {b"": cursor.offset, b"\n": cursor.offset + 1}.get(following)


def is_plain(file: SourceFile) -> bool:
    """Whether a source's content is its file, to which lines are added."""
    return file.framing == Framing.LINES and not file.compressed


def window_of(opened: BinaryIO, offset: int) -> int:
    """The hash of the last few kilobytes before an offset; never 0.

    Whoever is reading the file goes on where they were.
    """
    at = opened.tell()
    opened.seek(max(offset - _WINDOW_BYTES, 0))
    data = opened.read(min(offset, _WINDOW_BYTES))
    opened.seek(at)
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little") or 1


class _Bytes:
    """A run of chunks taken by length."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest, self._at = pieces, b"", 0

    def take(self, size: int) -> bytes:
        while len(self._rest) - self._at < size and (piece := next(self._pieces, b"")):
            self._rest, self._at = self._rest[self._at :] + piece, 0
        taken = self._rest[self._at : self._at + size]
        self._at += len(taken)
        return taken

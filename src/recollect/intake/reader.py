"""Reading a source: bytes to lines, in memory that does not grow with file or line.

Lines end at b"\\n" and nowhere else. A line longer than a piece is passed on in pieces;
compressed sources are unpacked as they are read, up to a bound that no log reaches.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import zstandard

from recollect.values.errors import SourceError
from recollect.values.records import LineFlag

CHUNK_BYTES = 4 << 20
PIECE_BYTES = 64 << 20  # the longest line that is parsed; what is longer is kept in pieces
UNPACKED_RATIO_MAX = 1000  # logs shrink 5 to 50 times; a bomb shrinks 30,000 times
UNPACKED_FREE_BYTES = 64 << 20  # below this no ratio is suspicious
_PACKED_STEP_BYTES = 512  # of zstd at a time: even of a bomb that makes no more than 16 MiB


def open_source(path: str | Path) -> BinaryIO:
    """Open a regular file for reading; never hangs on a pipe, never follows a link."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    flags |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    try:
        file = open(path, "rb", buffering=0, opener=lambda name, _: os.open(name, flags))  # noqa: SIM115
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise SourceError(f"{path}: not a regular file")
    return file


def chunks(file: BinaryIO, *, compressed: bool, start: int = 0) -> Iterator[bytes]:
    """A source's content from byte `start` on."""
    try:
        if not compressed:
            file.seek(start)
            while chunk := file.read(CHUNK_BYTES):
                yield chunk
            return
        for _ in _unpacked(file):  # a first pass only counts: nothing of a bomb is taken
            pass
        file.seek(0)
        for chunk in _unpacked(file):
            if start < len(chunk):
                yield chunk[start:] if start else chunk
            start = max(start - len(chunk), 0)
    except OSError as error:
        raise SourceError(f"{file.name}: {error.strerror or error}") from error


def _unpacked(file: BinaryIO) -> Iterator[bytes]:
    size = os.fstat(file.fileno()).st_size
    limit = max(UNPACKED_FREE_BYTES, size * UNPACKED_RATIO_MAX)
    total = 0
    ready = bytearray()
    for piece in _frames(file):
        # The frame's own claim of its size is not believed; what comes out is counted.
        total += len(piece)
        if total > limit:
            raise SourceError(
                f"{file.name}: unpacks to more than {limit >> 20} MiB from {size} bytes",
                hint="this does not look like a log; nothing of it was taken",
            )
        ready += piece
        if len(ready) >= CHUNK_BYTES:
            yield bytes(ready)
            ready.clear()
    if ready:
        yield bytes(ready)


def _frames(file: BinaryIO) -> Iterator[bytes]:
    """What the zstd frames of a file hold, in pieces; a frame that is not whole is an error."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=1 << 27)
    frame = None
    while packed := file.read(CHUNK_BYTES):
        for start in range(0, len(packed), _PACKED_STEP_BYTES):
            rest = packed[start : start + _PACKED_STEP_BYTES]
            while rest:
                frame = frame or decompressor.decompressobj()
                try:
                    yield frame.decompress(rest)
                except zstandard.ZstdError as error:
                    raise SourceError(f"{file.name}: not readable as zstd: {error}") from error
                rest = frame.unused_data if frame.eof else b""
                frame = None if frame.eof else frame
    if frame is not None:
        raise SourceError(f"{file.name}: its last zstd frame is cut short", hint="nothing of it was taken")


def batches(pieces: Iterator[bytes]) -> Iterator[list[tuple[bytes, int]]]:
    """Lines without their newline, a chunk's worth at a time, each with its LineFlag.

    The last batch ends with what follows the last newline, if anything, flagged PENDING.
    """
    carry = bytearray()
    long = False  # inside a line too long for one piece
    for chunk in pieces:
        cut = chunk.rfind(b"\n")
        lines: list[tuple[bytes, int]] = []
        if cut >= 0:
            first, *rest = chunk[:cut].split(b"\n")
            carry += first
            lines.append((bytes(carry), LineFlag.BAD if long else 0))
            lines += [(line, 0) for line in rest]
            carry, long = bytearray(chunk[cut + 1 :]), False
        else:
            carry += chunk
        while len(carry) > PIECE_BYTES:
            lines.append((bytes(carry[:PIECE_BYTES]), LineFlag.BAD | LineFlag.CONTINUES))
            del carry[:PIECE_BYTES]
            long = True
        if lines:
            yield lines
    if carry:
        yield [(bytes(carry), LineFlag.PENDING | (LineFlag.BAD if long else 0))]


def whole_document(pieces: Iterator[bytes]) -> Iterator[list[tuple[bytes, int]]]:
    """A document as one line, or as pieces of one when it is huge."""
    carry = bytearray()
    flags = 0
    for piece in pieces:
        carry += piece
        if len(carry) >= PIECE_BYTES:
            flags = int(LineFlag.BAD)
            yield [(bytes(carry), LineFlag.BAD | LineFlag.CONTINUES)]
            carry.clear()
    if carry:
        yield [(bytes(carry), flags)]

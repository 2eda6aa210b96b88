"""What a host sends: bytes that anyone may have made up, bounded, and refused where they are not in form.

An answer begins with a line that has the number it was asked under, so that whatever a login prints before
is passed over; then it is packed by gzip where the host has that. Every length is announced before its bytes
and bounded, and nothing is ever unpacked further than it is asked for.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

NOISE_BYTES_MAX = 256 << 10  # what a login may print before an answer
_STEP_BYTES = 256 << 10
_LINE_BYTES_MAX = 256


class BadAnswer(Exception):
    """Bytes that no answer has."""


class CutOff(Exception):
    """The connection ended in the middle of an answer."""


class Wire:
    """Answers out of a run of bytes; `more` gives the next ones, b"" at the end."""

    def __init__(self, more: Callable[[], bytes]) -> None:
        self._more = more
        self._raw = bytearray()
        self._plain = bytearray()
        self._unpacker: zlib._Decompress | None = None
        self.received = 0  # bytes that came over the wire
        self.unpacked = 0  # what they were

    def begin(self, number: str) -> None:
        """Go to the beginning of the answer to what was asked under this number."""
        mark, passed = f"\nBEGIN {number} ".encode(), 0
        self._plain.clear()
        self._unpacker = None
        while (at := self._raw.find(mark)) < 0:
            keep = len(mark) - 1
            passed += max(len(self._raw) - keep, 0)
            del self._raw[: max(len(self._raw) - keep, 0)]
            if passed > NOISE_BYTES_MAX:
                raise BadAnswer("it says other things than it was asked")
            self._receive()
        del self._raw[: at + len(mark)]
        while len(self._raw) < 2:
            self._receive()
        packing = bytes(self._raw[:2])
        del self._raw[:2]
        if packing not in (b"z\n", b"p\n"):
            raise BadAnswer("an answer packed in no known way")
        if packing == b"z\n":
            self._unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)

    @property
    def is_packed(self) -> bool:
        """Whether the answer that was begun is."""
        return self._unpacker is not None

    def finish(self) -> None:
        """Come to the end of an answer of which all was taken; what follows is the next one's."""
        if self._unpacker is None:
            self._raw[:0] = self._plain
            self._plain.clear()
            return
        while not self._unpacker.eof:
            self._fill()
        if self._plain:
            raise BadAnswer("more than was asked for")
        self._unpacker = None

    def line(self) -> str:
        """One short line of printable ASCII, without its newline."""
        data = self._until(b"\n", _LINE_BYTES_MAX)
        if not data.isascii() or not data.decode("ascii").isprintable():
            raise BadAnswer("a line that is none")
        return data.decode("ascii")

    def field(self, bytes_max: int) -> bytes:
        """Bytes up to a NUL, without it."""
        return self._until(b"\0", bytes_max)

    def exactly(self, length: int) -> Iterator[bytes]:
        """So many bytes, in pieces as they come."""
        while length:
            if not self._plain:
                self._fill()
            piece = bytes(self._plain[:length])
            del self._plain[: len(piece)]
            length -= len(piece)
            if piece:
                yield piece

    def _until(self, end: bytes, bytes_max: int) -> bytes:
        looked = 0
        while (at := self._plain.find(end, looked)) < 0:
            looked = len(self._plain)
            if looked > bytes_max:
                raise BadAnswer("something longer than it may be")
            self._fill()
        data = bytes(self._plain[:at])
        if len(data) > bytes_max:
            raise BadAnswer("something longer than it may be")
        del self._plain[: at + 1]
        return data

    def _fill(self) -> None:
        """Unpack some more."""
        if not self._raw and not (self._unpacker is not None and self._unpacker.unconsumed_tail):
            self._receive()
        if self._unpacker is None:
            self._add(bytes(self._raw))
            self._raw.clear()
            return
        if self._unpacker.eof:
            raise BadAnswer("an answer that ends before its end")
        packed = self._unpacker.unconsumed_tail + bytes(self._raw)
        self._raw.clear()
        try:
            # Little at a time: what a few bytes unpack to is for whoever made them to say.
            self._add(self._unpacker.decompress(packed, _STEP_BYTES))
        except zlib.error as error:
            raise BadAnswer("an answer that cannot be unpacked") from error
        if self._unpacker.eof:
            self._raw[:0] = self._unpacker.unused_data

    def _add(self, data: bytes) -> None:
        self._plain += data
        self.unpacked += len(data)

    def _receive(self) -> None:
        data = self._more()
        if not data:
            raise CutOff
        self.received += len(data)
        self._raw += data

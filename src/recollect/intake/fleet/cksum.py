"""The checksum that every POSIX system can make of a file: that of `cksum`, going on over bytes as they come.

It is a CRC with its bits the other way round than zlib's. Turning them round lets zlib do the work.
"""

from __future__ import annotations

import zlib

_TURNED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
_ALL = 0xFFFFFFFF


class Cksum:
    """The checksum of all bytes so far."""

    def __init__(self, crc: int = _ALL, length: int = 0) -> None:
        """Go on from where another one was: its `crc`, and how many bytes it had seen."""
        self.crc, self.length = crc, length

    def add(self, data: bytes) -> None:
        """Go on over bytes that come next."""
        self.crc = zlib.crc32(data.translate(_TURNED), self.crc)
        self.length += len(data)

    @property
    def value(self) -> int:
        """What `cksum` prints first; the length is what it prints second, and part of the sum."""
        length = self.length.to_bytes(-(-self.length.bit_length() // 8), "little")
        crc = zlib.crc32(length.translate(_TURNED), self.crc)
        return int(f"{crc ^ _ALL:032b}"[::-1], 2) ^ _ALL

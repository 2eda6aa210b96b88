"""What proves that a source still begins with the bytes that were taken of it: a sum of each megabyte.

Comparing them reads the file, and nothing of the store: all of a source up to `WHOLE_BYTES`; of a larger one
the last half of that, and as much of the rest, another part each time it has grown.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, Self

STRETCH_BYTES = 1 << 20
WHOLE_BYTES = 64 << 20  # compared in about 40 ms

_KEY = "#sums"  # among what a parser remembers, which a cursor keeps
_POSIX_KEY = "#cksum"
_SUM_BYTES = 4


class Checkpoints:
    """The crc32 of each stretch of a source's content, the last one of as much as there is.

    `posix` is how far `cksum` is over all of it, where another machine was asked for that; None once
    anything was added.
    """

    def __init__(self, sums: list[int] | None = None, size: int = 0, posix: int | None = None) -> None:
        self._sums, self._size, self.posix = sums or [], size, posix

    @classmethod
    def split(cls, state: dict[str, Any], offset: int) -> tuple[dict[str, Any], Self | None]:
        """What a parser remembers, and the sums up to an offset; None where they are not known."""
        known = state.get(_KEY)
        if known is None:
            return state, None
        rest = {key: value for key, value in state.items() if key not in (_KEY, _POSIX_KEY)}
        try:
            packed = bytes.fromhex(known)
        except (TypeError, ValueError):
            return rest, None
        sums = [
            int.from_bytes(packed[at : at + _SUM_BYTES], "big") for at in range(0, len(packed), _SUM_BYTES)
        ]
        posix = state.get(_POSIX_KEY)
        made = cls(sums, offset, posix if isinstance(posix, int) else None)
        return rest, made if len(sums) == -(-offset // STRETCH_BYTES) else None

    @classmethod
    def read(cls, opened: BinaryIO, size: int) -> Self:
        """Those of the first bytes of a file."""
        made = cls()
        opened.seek(0)
        while made._size < size and (data := opened.read(min(STRETCH_BYTES, size - made._size))):
            made.add(data)
        return made

    def joined(self, state: dict[str, Any]) -> dict[str, Any]:
        """What a cursor keeps: these, and what a parser remembers."""
        packed = b"".join(each.to_bytes(_SUM_BYTES, "big") for each in self._sums).hex()
        return {**state, _KEY: packed, **({} if self.posix is None else {_POSIX_KEY: self.posix})}

    def add(self, data: bytes) -> None:
        """Go on over bytes that come next."""
        view = memoryview(data)
        self.posix = None if data else self.posix
        while view:
            begun = self._size % STRETCH_BYTES
            part = view[: STRETCH_BYTES - begun]
            if begun:
                self._sums[-1] = zlib.crc32(part, self._sums[-1])
            else:
                self._sums.append(zlib.crc32(part))
            self._size += len(part)
            view = view[len(part) :]

    def hold(self, opened: BinaryIO) -> bool:
        """Whether a file still begins so, as far as it is compared."""
        return all(self._holds(opened, number) for number in self._compared())

    def _holds(self, opened: BinaryIO, number: int) -> bool:
        start = number * STRETCH_BYTES
        opened.seek(start)
        size = min(STRETCH_BYTES, self._size - start)
        data = opened.read(size)
        return len(data) == size and zlib.crc32(data) == self._sums[number]

    def _compared(self) -> Iterator[int]:
        """The numbers of the stretches to look at, the newest first."""
        half, count = WHOLE_BYTES // STRETCH_BYTES // 2, len(self._sums)
        if count <= 2 * half:
            yield from reversed(range(count))
            return
        yield from reversed(range(count - half, count))
        first = zlib.crc32(self._size.to_bytes(8, "big"))
        yield from ((first + n) % (count - half) for n in range(half))

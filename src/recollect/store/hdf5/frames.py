"""Blocks of a stream as zstd frames. Knows nothing of HDF5, so that workers start fast."""

from __future__ import annotations

import zstandard

from recollect.store.hdf5.layout import BLOCK_BYTES_MAX, LEVEL


class Damaged(Exception):
    """A block or chunk does not decode to what was written. The store names the file."""


def compress(block: bytes | bytearray, level: int = LEVEL) -> bytes:
    return zstandard.ZstdCompressor(level=level).compress(block)


def decompress(frame: bytes, length: int) -> bytes:
    """The block a frame holds, which must be of the given length."""
    if not 0 <= length <= BLOCK_BYTES_MAX:
        raise Damaged(f"a block of {length} bytes is larger than any block is")
    try:
        if zstandard.frame_content_size(frame) != length:  # before anything of that size is allocated
            raise Damaged(f"a frame of {len(frame)} bytes does not hold {length}")
        block = zstandard.ZstdDecompressor().decompress(frame)
    except zstandard.ZstdError as error:
        raise Damaged(str(error)) from error
    if len(block) != length:
        raise Damaged(f"a frame of {len(frame)} bytes does not hold {length}")
    return block

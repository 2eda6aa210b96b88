"""The keys and short ids that lines, names and entries are known by; they are written into stores."""

from __future__ import annotations

import hashlib


def line_key(data: bytes | bytearray | memoryview) -> bytes:
    """The 16 bytes that stand for a line's content; equal keys mean equal lines."""
    return hashlib.blake2b(data, digest_size=16).digest()


def name_key(*parts: str) -> int:
    """A 64-bit key of one or more names; "" alone gives 0, which no name has."""
    if parts == ("",):
        return 0
    joined = "\x00".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(joined, digest_size=8).digest(), "little") or 1


def entry_id(line: bytes, part: int) -> str:
    """The short id of a line's entry, from the line itself."""
    return short_id(int.from_bytes(line_key(line)[:8], "little"), part)


def short_id(key: int, part: int) -> str:
    """The short id of an entry, from the first half of its line's key."""
    return f"{key:016x}"[:12] + (f".{part}" if part else "")

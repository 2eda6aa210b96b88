"""Ids of sessions that are made here."""

from __future__ import annotations

import hashlib
import uuid


def new_id(now_ms: int, seed: bytes) -> str:
    """A UUID of version 7: in order of time, the same for the same seed."""
    rest = int.from_bytes(hashlib.blake2b(seed, digest_size=10).digest(), "big")
    number = (now_ms & (1 << 48) - 1) << 80 | rest
    number = number & ~(0xF << 76) & ~(0x3 << 62) | 0x7 << 76 | 0x2 << 62
    return str(uuid.UUID(int=number))

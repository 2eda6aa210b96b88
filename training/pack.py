"""Write a float table as the file that ships: int8 a row with its scale, the vocabulary, a revision."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np


def pack(path: Path, vocabulary: Sequence[str], table: np.ndarray) -> str:
    """Quantise and write; the revision is a hash of what was written, so equal tables have equal names."""
    table = table.astype(np.float32)
    scales = np.maximum(np.abs(table).max(axis=1), 1e-12).astype(np.float32) / np.float32(127)
    rows = np.clip(np.rint(table / scales[:, None]), -127, 127).astype(np.int8)
    words = np.frombuffer("\n".join(vocabulary).encode(), dtype=np.uint8)
    digest = hashlib.sha256(b"".join(a.tobytes() for a in (words, rows, scales))).hexdigest()
    revision = digest[:12]
    np.savez(path, vocabulary=words, table=rows, scales=scales, revision=np.array(revision))
    return revision

"""Arrays and bytes as pieces that fit a line, and back, bit for bit.

An array is kept as NumPy's own file format has it, which says its type and shape and never holds an object;
what packs well is packed. Nothing of it is trusted when it is read: a store may come from anywhere.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import zstandard

from recollect.values.errors import StoreError, UsageError
from recollect.values.notes import KeptArtifact, checked_name

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

PIECE_BYTES: Final = 3 << 20  # of an artifact in one line: a third more as text
ARRAY: Final = "npy"
BYTES: Final = "bytes"
PACKED: Final = "+zstd"

_LEVEL: Final = 3
_SAMPLE_BYTES: Final = 64 << 10


def packed(name: str, value: Any) -> tuple[KeptArtifact, bytes]:
    """How an artifact is kept, and its bytes as they are cut into pieces."""
    checked_name(name, "the name of an artifact")
    if not name:
        raise UsageError("an artifact has a name")
    form, data = _bytes_of(value)
    small = _compressed(data) if _packs_well(data) else data
    form, kept = (form + PACKED, small) if len(small) < len(data) else (form, data)
    key = hashlib.blake2b(form.encode() + b"\0" + kept, digest_size=16).hexdigest()
    return KeptArtifact(name, form, len(data), key, max(-(-len(kept) // PIECE_BYTES), 1)), kept


def pieces(kept: bytes) -> Iterator[tuple[int, bytes]]:
    """The pieces of an artifact, by number."""
    for number, start in enumerate(range(0, max(len(kept), 1), PIECE_BYTES)):
        yield number, kept[start : start + PIECE_BYTES]


def unpacked(artifact: KeptArtifact, parts: Iterable[bytes]) -> Array | bytes:
    """The array or the bytes again; StoreError where the pieces are not what was saved."""
    kept = b"".join(parts)
    form = artifact.form
    if hashlib.blake2b(form.encode() + b"\0" + kept, digest_size=16).hexdigest() != artifact.key:
        raise StoreError(
            f"artifact {artifact.name!r}: its bytes are not those that were saved",
            hint="run `recollect check`; a part of it may have been erased",
        )
    try:
        if form.endswith(PACKED):
            kept = _expand(kept, artifact.bytes)
        return _array(kept) if form.startswith(ARRAY) else kept
    except (ValueError, EOFError, zstandard.ZstdError) as error:
        raise StoreError(f"artifact {artifact.name!r} does not read: {error}") from error


def _packs_well(data: bytes) -> bool:
    """Whether a part from the middle gets smaller by a tenth: numbers that were measured do not."""
    start = max(len(data) - _SAMPLE_BYTES, 0) // 2
    part = data[start : start + _SAMPLE_BYTES]
    return 10 * len(_compressed(part)) < 9 * len(part)


def _compressed(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=_LEVEL).compress(data)


def _expand(kept: bytes, size: int) -> bytes:
    """What was packed, which is exactly as long as was said: a frame could claim anything."""
    reader = zstandard.ZstdDecompressor().stream_reader(kept)
    data = reader.read(size + 1)
    if len(data) != size:
        raise ValueError("it is not as long as it was")
    return data


def _bytes_of(value: Any) -> tuple[str, bytes]:
    if isinstance(value, bytes | bytearray | memoryview):
        return BYTES, bytes(value)
    import numpy as np

    if not isinstance(value, np.ndarray):
        raise UsageError(f"an artifact is a NumPy array or bytes, not {type(value).__name__}")
    if value.dtype.hasobject:
        raise UsageError("an array of objects cannot be kept", hint="save its bytes, or an array of numbers")
    file = io.BytesIO()
    np.lib.format.write_array(file, value, allow_pickle=False)
    return ARRAY, file.getvalue()


def _array(data: bytes) -> Array:
    import numpy as np

    made: Array = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    return made

"""Looking for what was erased in everything that is ours on disk, unpacked.

A receipt holds no text. What it looks by are *fingerprints*: keyed hashes of stretches of 32 bytes out of the
texts that went. Every stretch of every file is hashed the same way and compared; a hit is confirmed by a
second keyed hash. A text that the person gives is looked for as it is. Both are looked for plainly, in
UTF-16 and inside of base64, at all three alignments.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recollect.memory.choosing import forms_of

STRETCH_BYTES = 32
FINGERPRINTS_MAX = 2000
_PIECE_BYTES = 4 << 20
_CHECK_BYTES = 8
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{40,}")
_Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Fingerprints:
    """Of stretches of text: (a rolling hash, a keyed one) each."""

    salt: bytes
    prints: frozenset[tuple[int, bytes]]

    @classmethod
    def of(cls, salt: bytes, texts: Iterable[str]) -> Fingerprints:
        """Of some stretches of each text, the same number of all; a text below 32 bytes gives none."""
        stretches = [each for text in texts for each in _stretches(text.encode("utf-8", "surrogatepass"))]
        step = max(len(stretches) // FINGERPRINTS_MAX, 1)
        chosen = stretches[::step][:FINGERPRINTS_MAX]
        return cls(salt, frozenset(_print(salt, each) for each in chosen))

    def without(self, found: Iterable[tuple[int, bytes]]) -> Fingerprints:
        return Fingerprints(self.salt, self.prints - frozenset(found))

    def packed(self) -> str:
        data = b"".join(sorted(hash_.to_bytes(8, "little") + check for hash_, check in self.prints))
        return base64.b64encode(data).decode("ascii")

    @classmethod
    def unpacked(cls, salt: bytes, text: str) -> Fingerprints:
        data, size = base64.b64decode(text, validate=True), 8 + _CHECK_BYTES
        pieces = (data[at : at + size] for at in range(0, len(data) - size + 1, size))
        return cls(salt, frozenset((int.from_bytes(each[:8], "little"), each[8:]) for each in pieces))


class Looking:
    """Searches bytes for fingerprints and for texts, in every form."""

    def __init__(self, prints: Fingerprints | None = None, texts: Sequence[str] = ()) -> None:
        self._prints = prints
        self._texts = [form for text in texts for form in _written(text)]
        wanted = sorted({hash_ for hash_, _ in prints.prints} if prints is not None else ())
        self._wanted: _Array = np.array(wanted, np.uint64)
        self._may: _Array = np.zeros(1 << 16, bool)
        self._may[(self._wanted >> np.uint64(48)).astype(np.int64)] = True

    def found_in(self, data: bytes) -> set[tuple[int, bytes]]:
        """What of it is in some bytes; a text that was given is (0, b"")."""
        found: set[tuple[int, bytes]] = set()
        if any(form in data for form in self._texts):
            found.add((0, b""))
        if len(self._wanted):
            for form in _readings(data):
                found |= self._matches(form)
        return found

    def _matches(self, data: bytes) -> set[tuple[int, bytes]]:
        assert self._prints is not None
        if len(data) < STRETCH_BYTES:
            return set()
        hashes = _rolling(np.frombuffer(data, np.uint8), self._prints.salt)
        likely = np.flatnonzero(self._may[(hashes >> np.uint64(48)).astype(np.int64)])
        at = likely[np.isin(hashes[likely], self._wanted)].tolist()
        told = {_print(self._prints.salt, data[start : start + STRETCH_BYTES]) for start in at}
        return told & self._prints.prints


def files_below(folders: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    """The bytes of every plain file below some folders, in pieces that overlap."""
    for folder in folders:
        for path in sorted(each for each in folder.rglob("*") if each.is_file() and not each.is_symlink()):
            yield str(path.name), path.name.encode("utf-8", "surrogateescape")
            yield from pieces_of_file(path)


def pieces_of_file(path: Path) -> Iterator[tuple[str, bytes]]:
    """A file's bytes, in pieces that overlap by more than anything that is looked for."""
    try:
        with path.open("rb") as opened:
            tail = b""
            while piece := opened.read(_PIECE_BYTES):
                yield str(path), tail + piece
                tail = piece[-(1 << 16) :]
    except OSError:
        return


def _stretches(data: bytes) -> list[bytes]:
    last = len(data) - STRETCH_BYTES
    if last < 0:
        return []
    return [data[at : at + STRETCH_BYTES] for at in sorted({0, last // 2, last})]


def _print(salt: bytes, stretch: bytes) -> tuple[int, bytes]:
    (hash_,) = _rolling(np.frombuffer(stretch, np.uint8), salt).tolist()
    return hash_, hashlib.blake2b(stretch, digest_size=_CHECK_BYTES, key=salt).digest()


def _rolling(data: _Array, salt: bytes) -> _Array:
    """The hash of every 32 bytes in a row: pairs, pairs of pairs, and so on."""
    key = hashlib.blake2b(b"rolling", digest_size=8, key=salt).digest()
    factor, width = int.from_bytes(key, "little") | 1, 1
    hashes = data.astype(np.uint64) + np.uint64(1)
    while width < STRETCH_BYTES:
        hashes = hashes[:-width] * np.uint64(factor) + hashes[width:]
        factor, width = factor * factor % (1 << 64), 2 * width
    return np.asarray(hashes)


def _readings(data: bytes) -> Iterator[bytes]:
    """Bytes as they are, as UTF-16 of either order, and what base64 in them says, at each alignment."""
    yield data
    if data.count(0) * 8 > len(data):  # UTF-16 of Latin text has a zero in every pair
        yield data[::2]
        yield data[1::2]
    decoded = [
        base64.b64decode(run[start : start + (len(run) - start) // 4 * 4].translate(_STANDARD))
        for run in _BASE64.findall(data)
        for start in range(4)
    ]
    if decoded:
        yield b"\0".join(decoded)


_STANDARD = bytes.maketrans(b"-_", b"+/")


def _written(text: str) -> list[bytes]:
    """Every form that a text is looked for in."""
    plain = forms_of(text)
    wide = [text.encode(form, "surrogatepass") for form in ("utf-16-le", "utf-16-be")]
    coded = []
    for data in (text.encode("utf-8", "surrogatepass"), *wide):
        for shift in range(3):
            # What stands before it decides the first letter, what comes behind it the last.
            whole = base64.b64encode(b"\0" * shift + data)
            inner = whole[-(-shift * 8 // 6) : len(whole) - 4]
            if len(inner) >= 8:
                coded += [inner, inner.translate(bytes.maketrans(b"+/", b"-_"))]
    return sorted({*plain, *wide, *coded})

"""Looking for what was erased in everything that is ours on disk, unpacked.

A receipt holds no text. What it looks by are *fingerprints*: keyed hashes of stretches of 32 bytes out of the
texts that went. Stretches of every file that begin alike are hashed the same way and compared; a hit is
confirmed by a second keyed hash. A text that the person gives is looked for as it is. Both are looked for
plainly, in UTF-16 and inside of base64, at all three alignments.

The hash that finds places adds up what it is of, and where most of that is known it would give away the
rest: only 24 bits of it are kept. Of a secret what stands around it is known, so these are of 20 bytes of the
secret alone, and there is nothing at all of one that is short or plain enough to be guessed.
"""

from __future__ import annotations

import base64
import binascii
import functools
import hashlib
import re
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recollect.memory.choosing import forms_of
from recollect.memory.needles import Needles

STRETCH_BYTES = 32
FINGERPRINTS_MAX = 2000
_PIECE_BYTES = 4 << 20
_CHECK_BYTES = 8
_HASHED_AT_ONCE = 1 << 19
SECRET_BYTES = 20
_HASH_BITS = 24
_MARK_BITS = 16  # of a hash, that a table says of whether any wanted one begins so
_SECRET_RUN = re.compile(rb"[!-~]{20,}")
_RUN_BYTES = 40  # of base64
_Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Fingerprints:
    """Of stretches of text: (a few bits of a hash that is quickly made, a keyed one) each."""

    salt: bytes
    prints: frozenset[tuple[int, bytes]]

    @classmethod
    def of(cls, salt: bytes, texts: Iterable[str]) -> Fingerprints:
        """Of up to three stretches of each text; one below 32 bytes gives none."""
        stretches = [
            each for text in texts for each in _stretches(text.encode("utf-8", "surrogatepass"), salt)
        ]
        step = max(len(stretches) // FINGERPRINTS_MAX, 1)
        chosen = stretches[::step][:FINGERPRINTS_MAX]
        return cls(salt, frozenset(_print(salt, each) for each in chosen))

    def without(self, found: Iterable[tuple[int, bytes]]) -> Fingerprints:
        return Fingerprints(self.salt, self.prints - frozenset(found))

    def packed(self) -> str:
        return _packed(self.prints)

    @classmethod
    def unpacked(cls, salt: bytes, text: str) -> Fingerprints:
        return cls(salt, _unpacked(text))


@dataclass(frozen=True, slots=True)
class SecretPrints:
    """Of the last bytes of secrets: (a few bits of a rolling hash, a keyed one) each."""

    salt: bytes
    prints: frozenset[tuple[int, bytes]]

    @classmethod
    def of(cls, salt: bytes, secrets: Iterable[str]) -> SecretPrints:
        """Of each that nobody could guess; others give none."""
        ends = sorted({end for each in secrets if (end := _unguessable(each))})
        step = max(len(ends) // FINGERPRINTS_MAX, 1)
        return cls(salt, frozenset(_secret_print(salt, end) for end in ends[::step][:FINGERPRINTS_MAX]))

    def packed(self) -> str:
        return _packed(self.prints)

    @classmethod
    def unpacked(cls, salt: bytes, text: str) -> SecretPrints:
        return cls(salt, _unpacked(text))

    def found_in(self, data: bytes, marked: _Array) -> set[tuple[int, bytes]]:
        """Which of them are in some bytes, wherever they begin; `marked`: their first parts, by number."""
        found: set[tuple[int, bytes]] = set()
        for start in range(0, len(data), _HASHED_AT_ONCE):
            part = data[start : start + _HASHED_AT_ONCE + SECRET_BYTES - 1]
            at = np.flatnonzero(marked[_rolled(part, self.salt)])
            found |= {_secret_print(self.salt, part[n : n + SECRET_BYTES]) for n in at.tolist()}
        return found & self.prints

    def marked(self) -> _Array:
        marked = np.zeros(1 << _HASH_BITS, bool)
        marked[[hash_ for hash_, _ in self.prints]] = True
        return marked


def _packed(prints: Iterable[tuple[int, bytes]]) -> str:
    data = b"".join(sorted(hash_.to_bytes(_HASH_BITS // 8, "little") + check for hash_, check in prints))
    return base64.b64encode(data).decode("ascii")


def _unpacked(text: str) -> frozenset[tuple[int, bytes]]:
    data, first = base64.b64decode(text, validate=True), _HASH_BITS // 8
    size = first + _CHECK_BYTES
    pieces = (data[at : at + size] for at in range(0, len(data) - size + 1, size))
    return frozenset((int.from_bytes(each[:first], "little"), each[first:]) for each in pieces)


class Looking:
    """Searches bytes for fingerprints and for texts, in every form."""

    def __init__(
        self,
        prints: Fingerprints | None = None,
        texts: Sequence[str] = (),
        secrets: SecretPrints | None = None,
        known: Iterable[str] = (),
    ) -> None:
        """`known`: texts of which there may be many, each told as (-1, its bytes)."""
        self._secrets = secrets if secrets is not None and secrets.prints else None
        self._marked = self._secrets.marked() if self._secrets is not None else np.zeros(0, bool)
        self._needles = Needles((form, text) for text in known for form in _written(text))
        self._prints = prints
        self._texts = [form for text in texts for form in _written(text)]
        wanted = sorted({hash_ for hash_, _ in prints.prints} if prints is not None else ())
        self._wanted: _Array = np.array(wanted, np.uint64)
        self._begun = np.zeros(1 << _MARK_BITS, bool)
        self._begun[self._wanted >> np.uint64(_HASH_BITS - _MARK_BITS)] = True

    def found_in(self, data: bytes) -> set[tuple[int, bytes]]:
        """What of it is in some bytes; a text that was given is (0, b"")."""
        found: set[tuple[int, bytes]] = set()
        if any(form in data for form in self._texts):
            found.add((0, b""))
        found |= {(-1, text.encode("utf-8", "surrogatepass")) for _, text in self._needles.found_in(data)}
        for form in _readings(data) if len(self._wanted) or self._secrets is not None else ():
            if len(self._wanted):
                found |= self._matches(form)
            if self._secrets is not None:
                found |= self._secrets.found_in(form, self._marked)
        return found

    def _matches(self, data: bytes) -> set[tuple[int, bytes]]:
        assert self._prints is not None
        salt, found = self._prints.salt, set()
        for start in range(0, len(data), _HASHED_AT_ONCE):
            part = data[start : start + _HASHED_AT_ONCE + STRETCH_BYTES - 1]
            at, hashes = _hashes(part, salt)
            likely = np.flatnonzero(self._begun[hashes >> np.uint64(_HASH_BITS - _MARK_BITS)])
            at = at[likely[np.isin(hashes[likely], self._wanted)]]
            found |= {_print(salt, each) for each in {part[n : n + STRETCH_BYTES] for n in at.tolist()}}
        return found & self._prints.prints


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


def _stretches(data: bytes, salt: bytes) -> list[bytes]:
    """The first stretch of a text, one in the middle and the last, of those that are looked at."""
    at = np.sort(_starts(data, salt)).tolist()
    return [data[n : n + STRETCH_BYTES] for n in sorted({at[0], at[len(at) // 2], at[-1]})] if at else []


def _print(salt: bytes, stretch: bytes) -> tuple[int, bytes]:
    (hash_,) = _hashed(np.frombuffer(stretch, "<u8")[None, :], salt).tolist()
    return hash_, hashlib.blake2b(stretch, digest_size=_CHECK_BYTES, key=salt).digest()


def _hashes(data: bytes, salt: bytes) -> tuple[_Array, _Array]:
    """Where the stretches that are looked at begin in some bytes, in no order, and the hash of each."""
    at = _starts(data, salt)
    if not len(at):
        return at, np.zeros(0, np.uint64)
    held: _Array = np.frombuffer(data, np.uint8)
    stretches = np.lib.stride_tricks.sliding_window_view(held, STRETCH_BYTES)[at]
    return at, _hashed(stretches.view("<u8"), salt)


def _hashed(stretches: _Array, salt: bytes) -> _Array:
    """The first bits of a keyed sum of each row of words."""
    summed = np.zeros(len(stretches), np.uint64)
    for n, factor in enumerate(_factors(salt)):
        summed += stretches[:, n] * factor
    return np.asarray(summed >> np.uint64(64 - _HASH_BITS))


def _starts(data: bytes, salt: bytes) -> _Array:
    """Where stretches begin that are looked at: where a word does, and at one of every 32 pairs of bytes.

    To hash all of them would cost several times as much. Which pairs these are the key decides. Those that
    begin at even places come before the others.
    """
    places = len(data) - STRETCH_BYTES + 1
    found = [np.zeros(0, np.int64)]
    for first in (0, 1):
        if places > first:
            pairs = np.frombuffer(data, "<u2", (places - first + 1) // 2, first)
            found.append(np.flatnonzero(_beginnings(salt)[pairs]) * 2 + first)
    return np.concatenate(found)


@functools.lru_cache(4)
def _beginnings(salt: bytes) -> _Array:
    """Whether a stretch that begins with a pair is looked at; pairs as numbers, the second byte first."""
    drawn = hashlib.shake_128(b"pairs" + salt).digest(1 << 16)
    chosen = np.frombuffer(drawn, np.uint8) < 8
    chosen[[ord(letter) << 8 | ord(" ") for letter in string.ascii_letters + string.digits]] = True
    return chosen


@functools.lru_cache(4)
def _factors(salt: bytes) -> list[np.uint64]:
    drawn = np.frombuffer(hashlib.shake_128(b"factors" + salt).digest(STRETCH_BYTES), np.uint64)
    return list(drawn | np.uint64(1))


def _unguessable(secret: str) -> bytes:
    """The last bytes of the longest run in a secret, if they are many and mixed; b"" for any other."""
    run = max(_SECRET_RUN.findall(secret.encode("utf-8", "surrogatepass")), key=len, default=b"")
    end: bytes = run[-SECRET_BYTES:]
    letters = end.decode("ascii")
    mixed = any(map(str.isdigit, letters)) and any(map(str.isalpha, letters)) and len(set(letters)) >= 10
    return end if len(end) == SECRET_BYTES and mixed else b""


def _secret_print(salt: bytes, end: bytes) -> tuple[int, bytes]:
    (hash_,) = _rolled(end, salt).tolist()
    return hash_, hashlib.blake2b(b"secret" + end, digest_size=_CHECK_BYTES, key=salt).digest()


def _rolled(data: bytes, salt: bytes) -> _Array:
    """The first bits of a keyed hash of as many bytes as of a secret are kept, from every place on."""
    if len(data) < SECRET_BYTES:
        return np.zeros(0, np.int64)
    numbers, powers, back = _rolling(salt)
    summed = np.zeros(len(data) + 1, np.uint64)
    np.cumsum(numbers[np.frombuffer(data, np.uint8)] * powers[: len(data)], out=summed[1:])
    places = len(data) - SECRET_BYTES + 1
    hashes = (summed[SECRET_BYTES:] - summed[:places]) * back[:places]
    return np.asarray(hashes >> np.uint64(64 - _HASH_BITS), np.int64)


@functools.lru_cache(4)
def _rolling(salt: bytes) -> tuple[_Array, _Array, _Array]:
    """A number for each byte, and the powers of another one and of its inverse."""
    drawn = np.frombuffer(hashlib.shake_128(b"secrets" + salt).digest(8 * 257), np.uint64)
    base = int(drawn[0]) | 1
    powers = []
    for each in (base, pow(base, -1, 1 << 64)):
        held = np.full(_HASHED_AT_ONCE + SECRET_BYTES, each, np.uint64)
        held[0] = 1
        powers.append(np.cumprod(held, dtype=np.uint64))
    return drawn[1:], powers[0], powers[1]


def _readings(data: bytes) -> Iterator[bytes]:
    """Bytes as they are, as UTF-16 of either order, and what base64 in them says, at each alignment."""
    yield data
    if data.count(0) * 8 > len(data):  # UTF-16 of Latin text has a zero in every pair
        yield data[::2]
        yield data[1::2]
    decoded = [
        binascii.a2b_base64(run[start : start + (len(run) - start) // 4 * 4])
        for run in _base64_runs(data)
        for start in range(4)
    ]
    if decoded:
        yield b"\0".join(decoded)


def _base64_runs(data: bytes) -> Iterator[bytes]:
    """Every run of letters of base64 that is long enough to say something, in its standard letters.

    Such a run fills four words of eight bytes in a row, wherever it begins; few other places do.
    """
    marks = data.translate(_IS_BASE64)
    full = np.frombuffer(marks, np.uint64, len(marks) // 8) == _ALL_BASE64
    if len(full) < 4:
        return
    fours = np.flatnonzero(full[:-3] & full[1:-2] & full[2:-1] & full[3:])
    for first, last in _neighbours(fours):
        start, stop = 8 * first, 8 * (last + 4)
        while start and marks[start - 1]:
            start -= 1
        while stop < len(marks) and marks[stop]:
            stop += 1
        if stop - start >= _RUN_BYTES:
            yield data[start:stop].translate(_STANDARD)


def _neighbours(numbers: _Array) -> Iterator[tuple[int, int]]:
    """The first and the last of all rising numbers that follow one another."""
    cuts = np.flatnonzero(np.diff(numbers) > 1)
    firsts = numbers[np.concatenate([[0], cuts + 1])] if len(numbers) else numbers
    lasts = numbers[np.concatenate([cuts, [-1]])] if len(numbers) else numbers
    return zip(firsts.tolist(), lasts.tolist(), strict=True)


_LETTERS = (string.ascii_letters + string.digits + "+/-_").encode("ascii")
_IS_BASE64 = bytes(each in _LETTERS for each in range(256))
_ALL_BASE64 = np.uint64(0x0101010101010101)
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

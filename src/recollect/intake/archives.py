"""Zips that were handed over: read where they lie, member by member, and never unpacked to disk.

Anyone may have made one. What its directory claims is bounded before it is read, a member is read through
once before anything of it is taken, and no name in it is ever used as a path.
"""

from __future__ import annotations

import contextlib
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import quote

from recollect.intake.reader import CHUNK_BYTES, open_source
from recollect.values.errors import SourceError

DIRECTORY_BYTES_MAX: Final = 64 << 20
LOOKED_INTO_MAX: Final = 1000  # members that are asked for what they are
UNPACKED_RATIO_MAX: Final = 200  # conversations shrink 3 to 20 times, deflate's bombs 1,000 times
UNPACKED_FREE_BYTES: Final = 64 << 20  # below this no ratio is suspicious
_NAME_CHARS_MAX: Final = 500
_ENCRYPTED: Final = 1
# Others unpack what they are given at once, however much that is.
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_END: Final = struct.Struct("<4s4H2LH")  # of the directory, and of the larger one in front of it
_END_64: Final = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64: Final = struct.Struct("<4sLQL")  # says that there is a larger one
_COMMENT_BYTES_MAX: Final = 1 << 16
_TROUBLES: Final = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OverflowError,
    OSError,
)


def is_archive(path: Path) -> bool:
    return path.suffix.lower() == ".zip"


class Archive:
    """An open zip: its members by a name that tells apart those of the same name."""

    def __init__(self, path: str, file: BinaryIO) -> None:
        self._path = path
        with self._told():
            _check_directory(file)
            file.seek(0)
            self._zip = zipfile.ZipFile(file)
            self._members = dict(self._named(self._zip.infolist()))

    def names(self, suffix: str, skipped: Counter[str]) -> list[str]:
        """The members that end like this; the others are counted."""
        found: list[str] = []
        for name, info in self._members.items():
            if info.is_dir():
                continue
            if info.filename.lower().endswith(".zip"):
                skipped["zip inside a zip: unpack the outer one first"] += 1
            elif not info.filename.lower().endswith(suffix) or len(info.filename) > _NAME_CHARS_MAX:
                skipped["other file in a zip"] += 1
            elif len(found) == LOOKED_INTO_MAX:
                skipped[f"in a zip, behind {LOOKED_INTO_MAX} others that may be a log"] += 1
            else:
                found.append(name)
        return found

    def size(self, name: str) -> int:
        """How large a member says it is. More never comes out of it."""
        return self._members[name].file_size

    def beginning(self, name: str, size: int) -> bytes:
        """A member's first bytes."""
        with self._told(), self._opened(name) as member:
            return member.read(size)

    def content(self, name: str) -> Iterator[bytes]:
        """All of a member, in pieces: it is whole, and no larger than a log could be."""
        with self._told(), self._opened(name) as member:
            while member.read(CHUNK_BYTES):  # at its end its checksum is compared
                pass
        with self._told():
            member = self._opened(name)
        with member:
            while True:
                with self._told():
                    piece = member.read(CHUNK_BYTES)
                if not piece:
                    return
                yield piece

    def _opened(self, name: str) -> zipfile.ZipExtFile:
        info = self._members.get(name)
        if info is None:
            raise SourceError(f"{self._path}: it has no member {name} any more", hint="ingest it again")
        if info.flag_bits & _ENCRYPTED:
            raise SourceError(f"{self._path}: it is encrypted", hint="unpack it and ingest the folder")
        if info.compress_type not in _METHODS:
            raise SourceError(
                f"{self._path}: {name} is compressed in a way that is not read here",
                hint="unpack it and ingest the folder",
            )
        if info.file_size > max(UNPACKED_FREE_BYTES, info.compress_size * UNPACKED_RATIO_MAX):
            raise SourceError(
                f"{self._path}: {name} unpacks to {info.file_size >> 20} MiB from {info.compress_size} bytes",
                hint="this does not look like a log; nothing of it was taken",
            )
        opened = self._zip.open(info)
        assert isinstance(opened, zipfile.ZipExtFile)
        return opened

    @staticmethod
    def _named(members: list[zipfile.ZipInfo]) -> Iterator[tuple[str, zipfile.ZipInfo]]:
        seen: Counter[str] = Counter()
        for info in members:
            name = quote(info.filename, safe="/", errors="replace")
            seen[name] += 1
            yield f"{seen[name]}?{name}" if seen[name] > 1 else name, info

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Let what is wrong with a zip be said in our words."""
        try:
            yield
        except _TROUBLES as error:
            raise SourceError(
                f"{self._path}: not readable as a zip: {error}; nothing of it was taken",
                hint="it is damaged, or not all of it was downloaded: fetch it again",
            ) from error


@contextlib.contextmanager
def open_archive(path: str) -> Iterator[Archive]:
    """A zip for reading."""
    with open_source(path) as file:
        yield Archive(path, file)


def member_path(path: str, name: str) -> str:
    """What a member is called in messages, and found by again."""
    return f"{path}#{name}"


def _check_directory(file: BinaryIO) -> None:
    """Refuse a directory that would fill the memory: zipfile reads all of it at once."""
    size = file.seek(0, 2)
    tail_bytes = min(size, _END.size + _COMMENT_BYTES_MAX)
    file.seek(size - tail_bytes)
    tail = file.read(tail_bytes)
    at = tail.rfind(b"PK\5\6")
    if at < 0 or len(tail) - at < _END.size:
        raise zipfile.BadZipFile("it has no directory")
    directory_bytes = _END.unpack_from(tail, at)[5]
    locator_at = size - tail_bytes + at - _LOCATOR_64.size
    if locator_at >= 0:
        file.seek(locator_at)
        is_large = file.read(_LOCATOR_64.size).startswith(b"PK\6\7")
        if is_large and locator_at >= _END_64.size:
            file.seek(locator_at - _END_64.size)  # where zipfile looks for it
            end = _END_64.unpack(file.read(_END_64.size))
            directory_bytes = end[8] if end[0] == b"PK\6\6" else directory_bytes
    if directory_bytes > DIRECTORY_BYTES_MAX:
        raise zipfile.BadZipFile(f"its directory has {directory_bytes >> 20} MiB")

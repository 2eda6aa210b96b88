"""A store's first page, and the redo file that may overrule it: enough to know a store without HDF5.

A hook asks this before each append, so nothing here imports more than it must.
"""

from __future__ import annotations

import os
import struct
import zlib

from recollect.light.disk import read_bytes_at
from recollect.light.own_files import open_own
from recollect.values.errors import NotAStore, StoreCorrupt, StoreError, StoreTooNew

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from pathlib import Path

    from recollect.values.errors import Name

PAGE_BYTES = 4096
FORMAT_VERSION = 1
REDO_SUFFIX = "-redo"

# Of a generation, an epoch, a size, a frame: the locks are at 1 << 62, and there is room for what comes next.
_NUMBER_MAX = (1 << 62) - (1 << 32)
_CREATED_MS_MAX = 1 << 47  # in the year 6429

_MAGIC = b"RCLSTORE"
_HEADER = struct.Struct("<8sIIQ16sQQQQ")  # followed by the crc32 of these bytes
_REDO_MAGIC = b"RCLREDO1"
_REDO_HEADER = struct.Struct("<8s16sQQQI")  # magic, store id, base, generation, size, pages
_REDO_PAGE = struct.Struct("<QI")  # page number, crc32 of its bytes
_CRC = struct.Struct("<I")


class Header:
    """The store's first page: enough to know it without opening HDF5.

    `generation` grows by one with each commit; `epoch` with each rewrite of the file;
    `size` is the file's length at that commit; `folded` is the journal sequence number
    up to which everything is in the store; `created_ms` is when the store was made.
    """

    __slots__ = ("created_ms", "epoch", "folded", "format", "generation", "size", "store_id")

    def __init__(
        self,
        store_id: bytes,
        created_ms: int,
        generation: int = 0,
        epoch: int = 0,
        size: int = 0,
        folded: int = 0,
        format: int = FORMAT_VERSION,
    ) -> None:
        self.store_id, self.created_ms = store_id, created_ms
        self.generation, self.epoch = generation, epoch
        self.size, self.folded, self.format = size, folded, format

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Header) and self.pack() == other.pack()

    def __hash__(self) -> int:
        return hash((self.store_id, self.generation))

    def changed(self, **changes: int) -> Header:
        """The same header with some fields changed."""
        return Header(**{**{name: getattr(self, name) for name in self.__slots__}, **changes})

    def pack(self) -> bytes:
        body = _HEADER.pack(
            _MAGIC,
            self.format,
            PAGE_BYTES,
            self.created_ms,
            self.store_id,
            self.generation,
            self.epoch,
            self.size,
            self.folded,
        )
        return (body + _CRC.pack(zlib.crc32(body))).ljust(PAGE_BYTES // 2, b"\0") * 2

    @classmethod
    def unpack(cls, page: bytes, path: Name) -> Header:
        """Read a header page, or say what is wrong with it. Its second half repeats the first."""
        halves = page[: PAGE_BYTES // 2], page[PAGE_BYTES // 2 :]
        if not any(half.startswith(_MAGIC) for half in halves):
            raise NotAStore(path, "it is empty" if not page else "the first bytes are not a store's")
        whole = [half for half in halves if is_whole(half)]
        if not whole:
            raise StoreCorrupt(path, "the header page fails its checksum")
        _, format_, _, created_ms, store_id, generation, epoch, size, folded = _HEADER.unpack_from(whole[0])
        if format_ > FORMAT_VERSION:
            raise StoreTooNew(path, format_, FORMAT_VERSION)
        if max(generation, epoch, size, folded) > _NUMBER_MAX or created_ms > _CREATED_MS_MAX:
            raise StoreCorrupt(path, "the header page has numbers that no store reaches")
        return cls(store_id, created_ms, generation, epoch, size, folded, format_)


def is_whole(half: bytes) -> bool:
    """Whether half a header page is a header that passes its checksum."""
    if len(half) < _HEADER.size + _CRC.size or not half.startswith(_MAGIC):
        return False
    return bool(_CRC.unpack_from(half, _HEADER.size)[0] == zlib.crc32(half[: _HEADER.size]))


def _has_whole_half(page: bytes) -> bool:
    return is_whole(page[: PAGE_BYTES // 2]) or is_whole(page[PAGE_BYTES // 2 :])


class Redo:
    """Pages that overwrite older ones and turn generation `base` of the file into `generation`.

    Several commits are in one when readers kept the file busy between them. `bad`: how many pages fail
    their checksum; they are not among `pages`, apart from a header of which one half still checks.
    """

    __slots__ = ("bad", "base", "generation", "pages", "size", "store_id")

    def __init__(
        self, store_id: bytes, base: int, generation: int, size: int, pages: dict[int, bytes], bad: int = 0
    ) -> None:
        self.store_id, self.base, self.generation = store_id, base, generation
        self.size, self.pages, self.bad = size, pages, bad

    def applies_to(self, header: Header | None) -> bool:
        """Whether the file with this header may still lack some of these pages.

        An older redo file can come back after a power cut, since its removal need not
        have reached the disk; replaying it over later commits would undo them. A header
        that fails its checksum was being overwritten by exactly this redo file.
        """
        if header is None:
            return True
        return self.store_id == header.store_id and self.base <= header.generation <= self.generation

    def pack(self) -> bytes:
        head = _REDO_HEADER.pack(
            _REDO_MAGIC, self.store_id, self.base, self.generation, self.size, len(self.pages)
        ) + b"".join(_REDO_PAGE.pack(n, zlib.crc32(page)) for n, page in self.pages.items())
        return b"".join((head, _CRC.pack(zlib.crc32(head)), *self.pages.values()))

    @classmethod
    def unpack(cls, data: bytes) -> tuple[Redo, bool]:
        """What a redo file holds of good pages, and whether what it says of itself passes its checksum.

        How many pages there are is told by its length, which no flipped bit changes.
        """
        count = max(len(data) - _REDO_HEADER.size - _CRC.size, 0) // (_REDO_PAGE.size + PAGE_BYTES)
        pages_at = _REDO_HEADER.size + count * _REDO_PAGE.size + _CRC.size
        head = data[: pages_at - _CRC.size].ljust(_REDO_HEADER.size, b"\0")
        magic, store_id, base, generation, size, counted = _REDO_HEADER.unpack_from(head)
        crc = data[pages_at - _CRC.size : pages_at]
        whole = magic == _REDO_MAGIC and counted == count and crc == _CRC.pack(zlib.crc32(head))
        whole = whole and len(data) == pages_at + count * PAGE_BYTES
        pages, bad = {}, 0
        for n in range(count):
            number, crc32 = _REDO_PAGE.unpack_from(data, _REDO_HEADER.size + n * _REDO_PAGE.size)
            page = data[pages_at + n * PAGE_BYTES : pages_at + (n + 1) * PAGE_BYTES]
            good = zlib.crc32(page) == crc32
            bad += not good
            if good or (number == 0 and _has_whole_half(page)):
                pages[number] = page
        return cls(store_id, base, generation, size, pages, bad), whole


def redo_path(path: Path) -> Path:
    return path.with_name(path.name + REDO_SUFFIX)


def redo_bytes(path: Name) -> bytes | None:
    """The redo file beside a store, None where there is none."""
    name = os.fspath(path) + REDO_SUFFIX
    try:
        with open(open_own(name), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        # Not the same as none: it may hold the only copy of an acknowledged commit.
        why = f"{name}: cannot be read: {error.strerror or error}"
        raise StoreError(why, hint="try again; nothing was changed") from error


def read_state(fd: int, path: Name) -> tuple[Header, Redo | None]:
    """The header in force, and the redo file it is seen through, where one is.

    A redo file was synced before it got its name, so one that does not check is rot, and may hold the only
    copy of an acknowledged commit: nothing goes on before a repair has looked at it.
    """
    data, page = redo_bytes(path), read_bytes_at(fd, PAGE_BYTES, 0)
    if data is None:
        return Header.unpack(page, path), None
    redo, whole = Redo.unpack(data)
    if not whole:
        raise StoreCorrupt(path, f"the file {REDO_SUFFIX} beside it, with its newest commit, does not check")
    try:
        header: Header | None = Header.unpack(page, path)
    except StoreCorrupt:
        header = None
    if not redo.applies_to(header):
        return Header.unpack(page, path), None
    if redo.bad:
        what = f"{redo.bad} of the pages in the file {REDO_SUFFIX} beside it, with its newest commit,"
        raise StoreCorrupt(path, f"{what} do not check")
    return Header.unpack(redo.pages.get(0, page), path), redo

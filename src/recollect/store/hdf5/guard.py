"""A file's structure, looked at byte by byte before HDF5 looks at it.

An `.h5` file can come from anywhere. HDF5 follows whatever one says: into other files, into filters
that are code, into a terabyte that no byte stands for, round and round, and over the edge of its own
memory. So nothing is handed to it that is not in the few forms a writer of ours makes. What a reader
touches is looked at when it is first touched, and everything once where something will be written,
because from then on HDF5 knows more than the bytes say. Checksums are HDF5's own business.

Damage here is `Damaged`, with the place: whoever opened the file adds its name. What no name of ours
leads to is never looked at, here or by HDF5. docs/format.md has the forms under "HDF5" and "Chunks";
the names of fields are those of the HDF5 specification.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recollect.light.store_header import PAGE_BYTES
from recollect.store.contract import Array
from recollect.store.hdf5.frames import Damaged
from recollect.store.hdf5.layout import BLOCKS, DERIVED, STREAMS, TABLES, VECTORS, Columns
from recollect.store.hdf5.library import h5py

if TYPE_CHECKING:
    from recollect.store.hdf5.pager import Pager

BYTES = "bytes"  # the type of what is no column: frames one behind the other, unfiltered
# What h5py raises for a file that is not what it was.
FAILURES = (AttributeError, KeyError, OSError, OverflowError, RuntimeError, TypeError, ValueError)

CHUNK_BYTES_MAX = 1 << 20  # of one chunk, unpacked; ours have 65,536 at most
ATTRIBUTE_BYTES_MAX = 1 << 16

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_UNDEFINED = (1 << 64) - 1
_WINDOW_BYTES = 1 << 14  # read at a time: headers lie beside each other
_HEADER_BYTES_MAX = 1 << 16
_PIECES_MAX = 256  # of one object's header

# Messages of an object's header that say what it is; the others (attributes, times, notes) change nothing.
_SPACE, _LINKS, _TYPE, _FILL, _LINK, _LAYOUT, _FILTERS, _ATTRIBUTE = 1, 2, 3, 5, 6, 8, 11, 12
_CONTINUED, _ATTRIBUTES, _SYMBOLS, _EXTERNAL, _OLD_FILL = 16, 21, 17, 7, 4
_ONCE = {_SPACE, _LINKS, _TYPE, _FILL, _LAYOUT, _FILTERS, _ATTRIBUTES}
_HARMLESS = {0, 10, 13, 14, 18, 22}  # nothing, group's hints, comment, times, count of names

_SUPERBLOCK = struct.Struct("<8sBBBBQQQQI")
_MESSAGE = struct.Struct("<BHB")
_PLACE = struct.Struct("<QQ")
_SPACE_FORM = struct.Struct("<4sQQ")  # version 2, one dimension, with a maximum, simple
_LAYOUT_FORM = struct.Struct("<3sQII")  # version 3, chunked, one dimension and the item
_TREE = struct.Struct("<4sBBHQQ")
_CHUNK = struct.Struct("<QQQQ")  # size and filter mask, first row, 0, address
_NODE_ENTRIES = 64
_NODE_BYTES = _TREE.size + _NODE_ENTRIES * _CHUNK.size + 24
_HEAP = struct.Struct("<4sBHHBIQQQQQQQQQQQQHQQHHQH")
_HEAP_BYTES_MAX = 1 << 32
_HEAP_ROWS_MAX = 9  # of direct blocks below the root: 512 bytes to 65,536
_RECORDS = struct.Struct("<4sBBIHHBBQHQ")
_RECORD_BYTES = 11
_NODE_LINKS_BYTES = 512
_COLLECTION = struct.Struct("<4sB3xQ")
_COLLECTED = struct.Struct("<HH4xQ")

_FLOATS = {
    "<f4": bytes.fromhex("11201f00040000000000200017080017" + "7f000000"),
    "<f8": bytes.fromhex("11203f0008000000000040003" + "40b0034ff030000"),
}
_STRING = bytes.fromhex("1901010010000000" + "100000000100000000000800")  # of any length, UTF-8
_SCALAR = b"\2\0\0\0"  # a dataspace of version 2 without dimensions


class _Absent(Damaged):
    """There is no such name; there may be one later, if it is we who write."""


class Column(NamedTuple):
    """A dataset's extent and chunks; `tree` is where its index of chunks is."""

    rows: int
    chunk_rows: int
    item_bytes: int
    type: bytes
    filtered: bool
    tree: int


class Group(NamedTuple):
    """What names lead to, by address; None for a link that is not simply to an object of this file."""

    links: dict[bytes, int | None]
    attributes: str  # what is wrong with them, "" for nothing


class Guard:
    """Says of each path whether HDF5 may open it."""

    def __init__(self, pager: Pager, *, writable: bool) -> None:
        self._pager = pager
        self._size = pager.header.size - PAGE_BYTES  # HDF5's addresses begin behind the header page
        if pager.header.size > pager.end:
            raise Damaged(f"it is {pager.end} bytes long and should be {pager.header.size}")
        self._windows: dict[int, bytes] = {}
        self._found: dict[str, Group | Column | Damaged] = {}
        self._indexed: set[str] = set()  # datasets whose index of chunks was looked at
        self._taken: set[int] = set()  # addresses of what was looked at: nothing has two places
        self._complete = False  # what was not found then was made since
        root = self._superblock()
        self._found[""] = self._object(root)
        if writable:
            self._look_at_all()

    def group(self, path: str) -> Group:
        """The group at a path, whose attributes may be read."""
        found = self._at(path)
        if not isinstance(found, Group):
            raise Damaged(f"/{path} is not a group")
        return found

    def names(self, path: str) -> list[str] | None:
        """What a group holds, by names that one of ours could be; None where HDF5 knows better."""
        if self._complete:
            if path in self._found:
                self.group(path)
            return None
        return self._names(path)

    def admit(self, path: str, type_: str = "") -> None:
        """Let HDF5 open what is at a path; a dataset is given by the type of its numbers."""
        if self._complete and path not in self._found:
            return
        if not type_:
            if self.group(path).attributes:
                raise Damaged(f"/{path}: {self.group(path).attributes}")
            return
        self._index(path, self._column(path, type_))

    def admit_store(self) -> None:
        """Refuse a file in which any table or stream of a store is not what it should be.

        Vectors and derived tables may be anything: who reads them makes them again if need be.
        """
        for name, columns in TABLES.items():
            self._table(f"tables/{name}", columns)
        for name in STREAMS:
            self._rooted(f"streams/{name}/data", self._column(f"streams/{name}/data", BYTES))
            self._table(f"streams/{name}/blocks", BLOCKS)

    def _table(self, path: str, columns: Columns) -> None:
        shapes = set()
        for name, type_ in columns.items():
            column = self._column(f"{path}/{name}", type_)
            self._rooted(f"{path}/{name}", column)
            shapes.add((column.rows, column.chunk_rows))
        if len(shapes) > 1:
            raise Damaged(f"table /{path}: its columns differ in length")

    def _rooted(self, path: str, column: Column) -> None:
        """Whether the index of chunks can hold as many as the rows need, by its root alone."""
        chunks = -(-column.rows // column.chunk_rows)
        if not chunks:
            return
        address, held = column.tree, 0
        if address + _TREE.size <= self._size:
            signature, kind, level, used, *_ = _TREE.unpack(self._read_pages(address, _TREE.size))
            held = used * _NODE_ENTRIES**level if (signature, kind) == (b"TREE", 1) and level < 8 else 0
        if chunks > held:
            raise Damaged(f"/{path}: its {column.rows} rows are not all there, or not where it says")

    def _column(self, path: str, type_: str) -> Column:
        found = self._at(path)
        if not isinstance(found, Column):
            raise Damaged(f"/{path} is not a dataset")
        if found.type != type_bytes(type_):
            raise Damaged(f"/{path} does not hold numbers of type {type_}")
        if found.filtered == (type_ == BYTES):
            raise Damaged(f"/{path} has other filters than a store has")
        return found

    def forget(self, path: str) -> None:
        """A group was removed; what comes to stand there is made by us."""
        for known in [each for each in self._found if each == path or each.startswith(path + "/")]:
            del self._found[known]

    def is_sound(self, path: str) -> bool:
        """Whether HDF5 may walk through a group and all that is in it."""
        try:
            found = self._found.get(path)
            if isinstance(found, Group):
                below = [f"{path}/{name.decode('utf-8', 'replace')}" for name in found.links]
                return not found.attributes and all(map(self.is_sound, below))
            if isinstance(found, Column):
                self._index(path, found)
        except Damaged:
            return False
        return isinstance(found, Column)

    # -- the way to an object --------------------------------------------------------------

    def _at(self, path: str) -> Group | Column:
        found = self._found.get(path)
        if found is None:
            try:
                found = self._look_at(path)
            except _Absent:
                raise
            except Damaged as error:
                found = error
            self._found[path] = found
        if isinstance(found, Damaged):
            raise Damaged(str(found))
        return found

    def _look_at(self, path: str) -> Group | Column:
        parent, _, name = path.rpartition("/")
        links = self.group(parent).links
        if name.encode() not in links:
            raise _Absent(f"/{path} is not there")
        address = links[name.encode()]
        if address is None:
            raise Damaged(f"/{path} leads out of its place by a soft or an external link")
        try:
            return self._object(address)
        except Damaged as error:
            raise Damaged(f"/{path}: {error}") from error

    def _look_at_all(self) -> None:
        for path in self._known_paths():
            try:
                self._at(path)
            except Damaged:
                continue  # told to whoever asks for it
        self._complete = True

    def _known_paths(self) -> Iterator[str]:
        yield from ("tables", "streams")
        for name, columns in TABLES.items():
            yield f"tables/{name}"
            yield from (f"tables/{name}/{column}" for column in columns)
        for name in STREAMS:
            yield from self._below(f"streams/{name}")
        for name in self._names_or_none(VECTORS, "[0-9]+"):
            yield from self._below(f"{VECTORS}/{name}")
        for name in self._names_or_none(DERIVED, "[a-z][a-z0-9_-]*"):
            for revision in self._names_or_none(f"{DERIVED}/{name}", "[0-9]+"):
                yield from self._below(f"{DERIVED}/{name}/{revision}")

    def _below(self, path: str, depth: int = 2) -> Iterator[str]:
        """A path and what is under it."""
        yield path
        for name in self._names_or_none(path, ".+") if depth else ():
            yield from self._below(f"{path}/{name}", depth - 1)

    def _names(self, path: str) -> list[str]:
        return [name.decode("ascii") for name in self.group(path).links if name.isascii()]

    def _names_or_none(self, path: str, form: str) -> list[str]:
        try:
            return [name for name in self._names(path) if re.fullmatch(form, name) and "/" not in name]
        except Damaged:
            return []

    # -- bytes -----------------------------------------------------------------------------

    def _read(self, address: int, size: int) -> bytes:
        """Bytes at an address of HDF5, out of a window: headers are read one behind the other."""
        self._check_inside(address, size)
        number, inside = divmod(address, _WINDOW_BYTES)
        if inside + size > _WINDOW_BYTES:
            return self._read_pages(address, size)
        window = self._windows.get(number)
        if window is None:
            start = number * _WINDOW_BYTES
            window = self._read_pages(start, min(_WINDOW_BYTES, self._size - start))
            self._windows[number] = window
            if self._complete or len(self._windows) > 64:
                self._windows.clear()  # of a file that changes, or of a scattered one
        return window[inside : inside + size]

    def _read_alone(self, address: int, size: int) -> bytes:
        """Bytes at an address that has no neighbours worth reading."""
        self._check_inside(address, size)
        return self._read_pages(address, size)

    def _check_inside(self, address: int, size: int) -> None:
        if not 0 <= address <= address + size <= self._size:
            raise Damaged(f"address {address} lies behind the end of the file")

    def _read_pages(self, address: int, size: int) -> bytes:
        self._pager.seek(PAGE_BYTES + address)
        return self._pager.read(size)

    def _take(self, address: int) -> None:
        if address in self._taken:
            raise Damaged(f"what is at address {address} stands in two places")
        self._taken.add(address)

    # -- the superblock and the headers of objects -----------------------------------------

    def _superblock(self) -> int:
        """Where the root is. HDF5 takes the first signature at a power of two, ours is the one at 4096."""
        self._pager.seek(0)
        page = self._pager.read(PAGE_BYTES)
        if any(page[at : at + 8] == _SIGNATURE for at in (0, 512, 1024, 2048)):
            raise Damaged("HDF5 would begin inside of the header page")
        found = _SUPERBLOCK.unpack(self._read(0, _SUPERBLOCK.size))
        signature, version, offsets, lengths, _, base, extension, end, root, _ = found
        if signature != _SIGNATURE:
            raise Damaged("there is no HDF5 behind the header page")
        if (version, offsets, lengths, base) != (2, 8, 8, PAGE_BYTES) or extension != _UNDEFINED:
            raise Damaged("its HDF5 superblock is not one of ours")
        if end > self._size + PAGE_BYTES:  # which counts from the start of the file
            raise Damaged(f"HDF5 says that it ends at {end}, and it ends at {self._size + PAGE_BYTES}")
        return int(root)

    def _object(self, address: int) -> Group | Column:
        """What the header at an address makes of it."""
        self._take(address)
        links: dict[bytes, int | None] = {}
        once: dict[int, bytes] = {}
        attributes: list[bytes] = []
        for kind, flags, body in self._messages(address):
            if kind in _HARMLESS:
                continue
            if flags & 2:
                raise Damaged("a part of its header stands elsewhere (a shared message)")
            if kind == _EXTERNAL:
                raise Damaged("its data is in another file")
            if kind == _LINK:
                _add_link(links, body)
            elif kind == _ATTRIBUTE:
                attributes.append(body)
            elif kind not in _ONCE or kind in once:
                raise Damaged(f"its header has a message {kind} that no store has")
            else:
                once[kind] = body
        if _LINKS in once:
            return self._group(once, links, attributes)
        return _dataset(once)

    def _messages(self, address: int) -> Iterator[tuple[int, int, bytes]]:
        """(kind, flags, body) of each message of an object's header, over all pieces of it."""
        head = self._read(address, min(42, max(self._size - address, 0)))
        if len(head) < 16 or head[:5] != b"OHDR\x02" or head[5] & 0xC0:
            raise Damaged(f"there is no object's header at address {address}")
        flags = head[5]
        at = 6 + (16 if flags & 32 else 0) + (4 if flags & 16 else 0)
        width = 1 << (flags & 3)
        size = int.from_bytes(head[at : at + width], "little")
        extra = 2 if flags & 4 else 0
        pieces = [(address + at + width, size)]
        for place, length in pieces:
            if length > _HEADER_BYTES_MAX or len(pieces) > _PIECES_MAX:
                raise Damaged("its header is too long")
            piece = self._read(place, length + 4)  # with its checksum
            at = 0
            while at + 4 + extra <= length:
                kind, size, marks = _MESSAGE.unpack_from(piece, at)
                at += 4 + extra
                body = piece[at : at + size]
                at += size
                if at > length:
                    raise Damaged("a message reaches over the end of its header")
                if kind == _CONTINUED:
                    pieces.append(self._continuation(body))
                else:
                    yield kind, marks, body

    def _continuation(self, body: bytes) -> tuple[int, int]:
        if len(body) != _PLACE.size:
            raise Damaged("its header goes on nowhere")
        address, length = _PLACE.unpack(body)
        self._take(address)
        if length < 8 or self._read(address, 4) != b"OCHK":
            raise Damaged("its header goes on where none is")
        return address + 4, length - 8

    def _group(
        self, once: dict[int, bytes], links: dict[bytes, int | None], attributes: list[bytes]
    ) -> Group:
        body = once[_LINKS]
        if len(once) > 2 or not set(once) <= {_LINKS, _ATTRIBUTES} or len(body) != 18 or body[:2] != b"\0\0":
            raise Damaged("it is no group that a store has")
        heap, names = _PLACE.unpack_from(body, 2)
        if heap != _UNDEFINED:
            if links:
                raise Damaged("it has names in two places")
            self._dense_links(heap, names, links)
        return Group(links, self._wrong_attributes(once.get(_ATTRIBUTES, b""), attributes))

    def _wrong_attributes(self, many: bytes, attributes: list[bytes]) -> str:
        """Why HDF5 must not read any of a group's attributes."""
        try:
            if many and (many[:2] != b"\0\0" or _PLACE.unpack_from(many, 2)[0] != _UNDEFINED):
                raise Damaged("more attributes than a store has")
            for body in attributes:
                self._attribute(body)
        except (Damaged, struct.error) as error:
            return str(error)
        return ""

    def _attribute(self, body: bytes) -> None:
        """One number, or one string; the bytes of a string of any length are in a collection."""
        version, flags, name, type_, space = struct.unpack_from("<BBHHH", body)
        at = 9 + name
        kind, data = body[at : at + type_], body[at + type_ + space :]
        if (version, flags) != (3, 0) or body[at + type_ : at + type_ + space] != _SCALAR:
            raise Damaged("an attribute is not in a form that a store has")
        if kind == _STRING and len(data) == 16:
            length, address, index = struct.unpack("<IQI", data)
            self._collected(address, index, length)
        elif not (
            (len(kind) == 8 and kind[0] == 0x13 and len(data) == int.from_bytes(kind[4:], "little"))
            or kind in (type_bytes("<u8"), type_bytes("<i8"), type_bytes("<f8"))
        ):
            raise Damaged("an attribute is not in a form that a store has")

    def _collected(self, address: int, wanted: int, length: int) -> None:
        """A string among the others of a collection, which has no checksum."""
        signature, version, size = _COLLECTION.unpack(self._read(address, _COLLECTION.size))
        if signature != b"GCOL" or version != 1 or not 16 < size <= ATTRIBUTE_BYTES_MAX:
            raise Damaged("an attribute's string is nowhere")
        data, at, found = self._read(address, size), _COLLECTION.size, False
        while at + _COLLECTED.size <= size:
            index, _, held = _COLLECTED.unpack_from(data, at)
            if not index:  # the free space at the end
                if held > size - at:
                    raise Damaged("a collection of strings is longer than it is")
                break
            at += _COLLECTED.size + -(-held // 8) * 8
            if at > size:
                raise Damaged("a string reaches over the end of its collection")
            found = found or (index == wanted and held >= length)
        if not found:
            raise Damaged("an attribute's string is nowhere")

    # -- groups of many names --------------------------------------------------------------

    def _dense_links(self, heap: int, names: int, links: dict[bytes, int | None]) -> None:
        """Links out of a fractal heap, by the index of their names."""
        blocks = self._heap_blocks(heap)
        for record in self._records(names):
            id_, offset = record[4], int.from_bytes(record[5:9], "little")
            length = int.from_bytes(record[9:11], "little")
            block = next((each for each in blocks if each[0] <= offset < each[0] + each[1]), None)
            if id_ or block is None or not 17 <= offset - block[0] <= block[1] - length:
                raise Damaged("a name is nowhere")
            _add_link(links, self._read(block[2] + offset - block[0], length))

    def _heap_blocks(self, address: int) -> list[tuple[int, int, int]]:
        """(offset, size, address) of each block of names. A heap is made as HDF5 makes it for any group."""
        self._take(address)
        found = _HEAP.unpack(self._read(address, _HEAP.size))
        signature, version, id_bytes, filters, flags, object_max = found[:6]
        next_huge, huge_index, free, free_space, managed, taken, next_block, _, *large = found[6:18]
        width, start, direct_max, bits, _, root, rows = found[18:]
        made = (signature, version, id_bytes, filters, flags & 0xFE, object_max)
        if (
            made != (b"FRHP", 0, 7, 0, 2, 4096)
            or (width, start, direct_max, bits) != (4, 512, 65536, 32)
            or (next_huge, huge_index, any(large)) != (0, _UNDEFINED, False)
            or not max(free, taken, next_block) <= managed <= _HEAP_BYTES_MAX
            or (free_space != _UNDEFINED and self._read(free_space, 5) != b"FSHD\0")
        ):
            raise Damaged("its names are not kept in a form that a store has")
        if rows > _HEAP_ROWS_MAX:
            raise Damaged("it has more names than a store has")
        if not rows:
            places = [(0, start, root)]
        else:
            self._take(root)
            body = self._read(root, 17 + rows * width * 8 + 4)
            if body[:5] != b"FHIB\0" or int.from_bytes(body[5:13], "little") != address:
                raise Damaged("its names are not kept in a form that a store has")
            places, offset = [], 0
            for n, (child,) in enumerate(struct.iter_unpack("<Q", body[17:-4])):
                size = start << max(n // width - 1, 0)
                if child != _UNDEFINED:
                    places.append((offset, size, child))
                offset += size
        for offset, size, block in places:
            self._take(block)
            head = self._read(block, size)[:17]
            if head[:5] != b"FHDB\0" or struct.unpack("<QI", head[5:]) != (address, offset):
                raise Damaged("a block of names is not where it should be")
        return places

    def _records(self, address: int) -> Iterator[bytes]:
        """The records of an index of names."""
        self._take(address)
        found = _RECORDS.unpack(self._read(address, _RECORDS.size))
        signature, version, kind, node, record, depth, _, _, root, held, total = found
        made = (signature, version, kind, node, record)
        if made != (b"BTHD", 0, 5, _NODE_LINKS_BYTES, _RECORD_BYTES) or depth > 1:
            raise Damaged("its index of names is not in a form that a store has")
        nodes = [(root, held)] if total else []
        got = 0
        if depth:
            data = self._index_node(root, b"BTIN\0\x05", held, 9)
            end = 6 + held * _RECORD_BYTES
            yield from _cut(data[6:end])
            got = held
            pointers = data[end : end + (held + 1) * 9]
            nodes = list(struct.iter_unpack("<QB", pointers))
        for place, here in nodes:
            data = self._index_node(place, b"BTLF\0\x05", here, 0)
            got += here
            yield from _cut(data[6 : 6 + here * _RECORD_BYTES])
        if got != total:
            raise Damaged("its index of names does not add up")

    def _index_node(self, address: int, head: bytes, count: int, pointer: int) -> bytes:
        self._take(address)
        data = self._read(address, _NODE_LINKS_BYTES)
        used = 6 + count * _RECORD_BYTES + (count + 1) * pointer + 4
        if data[:6] != head or used > _NODE_LINKS_BYTES:
            raise Damaged("its index of names is not in a form that a store has")
        return data

    # -- chunks ----------------------------------------------------------------------------

    def _index(self, path: str, column: Column) -> None:
        """Look at a dataset's index of chunks, once; what is found wrong stays wrong."""
        if path in self._indexed:
            return
        try:
            self._chunks(path, column)
        except Damaged as error:
            self._found[path] = error
            raise
        self._indexed.add(path)

    def _chunks(self, path: str, column: Column) -> None:
        """Every chunk up to the extent is there, once, of a size that can be, and no two overlap."""
        chunks = -(-column.rows // column.chunk_rows)
        whole = column.chunk_rows * column.item_bytes
        least, most = (1, whole + whole // 1000 + 64) if column.filtered else (whole, whole)
        try:
            if chunks == 1:  # as in most tables; arrays would take longer
                used, data = self._node(column.tree, 0, _UNDEFINED, _UNDEFINED)
                size, row, inside, child = _CHUNK.unpack_from(data, _TREE.size)
                fits = used == 1 and row == inside == 0 and least <= size <= most
                fits = fits and child + size <= self._size
            else:
                entries = self._leaves(column.tree, chunks)
                fits = len(entries) == chunks and self._fit(entries, column.chunk_rows, least, most)
        except Damaged as error:
            raise Damaged(f"/{path}: {error}") from error
        if not fits:
            raise Damaged(f"/{path}: its {column.rows} rows are not all there, or not where it says")

    def _fit(self, entries: Array, chunk_rows: int, least: int, most: int) -> bool:
        if not len(entries):
            return True
        sizes, rows, inside, places = entries.T
        order = np.argsort(places)
        ends = (places + sizes)[order]
        return bool(
            np.array_equal(rows, np.arange(len(rows), dtype=np.uint64) * np.uint64(chunk_rows))
            and least <= sizes.min() <= sizes.max() <= most  # a filter's mask would make it larger
            and not inside.any()
            and places.max() < self._size
            and ends[-1] <= self._size
            and not np.any(ends[:-1] > places[order][1:])
        )

    def _leaves(self, tree: int, expected: int) -> Array:
        """The entries of all leaves of an index of chunks, in order."""
        if tree == _UNDEFINED:
            return np.zeros((0, 4), np.uint64)
        nodes, level = [(tree, 0)], self._read_alone(tree, 6)[5]
        while True:
            places = [_UNDEFINED, *(address for address, _ in nodes), _UNDEFINED]
            found = []
            for n, (address, first) in enumerate(nodes):
                used, data = self._node(address, level, places[n], places[n + 2])
                entries = np.frombuffer(data, "<u8", used * 4, _TREE.size).reshape(-1, 4)
                if (used or expected) and (not used or entries[0, 1] != first):
                    raise Damaged("its index of chunks is out of order")
                found.append(entries)
            below = np.concatenate(found)
            if len(below) > expected:
                raise Damaged("its index of chunks has more than there are")
            if not level:
                return below
            nodes, level = list(zip(below[:, 3].tolist(), below[:, 1].tolist(), strict=True)), level - 1

    def _node(self, address: int, level: int, left: int, right: int) -> tuple[int, bytes]:
        """A node of an index of chunks, which has no checksum: how many entries it has, and its bytes."""
        self._take(address)
        data = self._read_alone(address, _NODE_BYTES)
        found = _TREE.unpack_from(data)
        if found[:3] + found[4:] != (b"TREE", 1, level, left, right) or found[3] > _NODE_ENTRIES:
            raise Damaged("its index of chunks is not one")
        return found[3], data


class StoreFile(h5py.File):  # type: ignore[misc]
    """A store's HDF5 file, out of which things are opened by their whole path, looked at before that."""

    guard: Guard | None = None  # none over a file that we are making

    def at(self, path: str) -> h5py.Group:
        """The group at a path."""
        try:
            if self.guard is not None:
                self.guard.admit(path)
            return self[path]
        except (KeyError, OSError, RuntimeError) as error:
            raise Damaged(f"/{path} cannot be opened: {error}") from error

    def dataset(self, path: str, type_: str) -> h5py.h5d.DatasetID:
        """The dataset at a path, of numbers of a type. As HDF5 has it: h5py's own takes longer to make."""
        try:
            if self.guard is not None:
                self.guard.admit(path, type_)
            return h5py.h5d.open(self.id, path.encode("ascii"))
        except (KeyError, OSError, RuntimeError) as error:
            raise Damaged(f"/{path} cannot be opened: {error}") from error

    def make_group(self, path: str) -> None:
        """Make a group that is not there."""
        try:
            self.create_group(path)
        except FAILURES as error:
            raise Damaged(f"/{path} cannot be made: {error}") from error

    def has(self, path: str) -> bool:
        """Whether a name leads to something, whatever that is."""
        parent, _, name = path.rpartition("/")
        return name in self.names(parent)

    def names(self, path: str) -> list[str]:
        """The names in a group, without opening what they lead to."""
        if self.guard is None:
            return list(self[path or "/"])
        found = self.guard.names(path)
        return list(self[path or "/"]) if found is None else found

    def unlink(self, path: str) -> None:
        """Remove a group; another may be made in its place.

        HDF5 walks through all it removes. What must not be walked through gets another name, which means
        nothing to anybody, and goes with the next rewrite.
        """
        if self.guard is None or self.guard.is_sound(path):
            del self[path]
        else:
            parent, _, name = path.rpartition("/")
            number = next(n for n in count() if f"damaged-{name}-{n}" not in self.names(parent))
            self.move(path, f"{parent}/damaged-{name}-{number}")
        if self.guard is not None:
            self.guard.forget(path)


@cache
def type_bytes(type_: str) -> bytes:
    """How HDF5 writes a type of numbers down."""
    if type_ == BYTES:
        return type_bytes("<u1")
    if type_ in _FLOATS:
        return _FLOATS[type_]
    size = int(type_[2:])
    return struct.pack("<BBxxIHH", 0x10, 8 if type_[1] == "i" else 0, size, 0, 8 * size)


def _dataset(once: dict[int, bytes]) -> Column:
    """What the messages of a dataset's header say."""
    if not {_SPACE, _TYPE, _FILL, _LAYOUT} <= set(once):
        raise Damaged("it is no dataset that a store has")
    if len(once[_SPACE]) != _SPACE_FORM.size or len(once[_LAYOUT]) != _LAYOUT_FORM.size:
        raise Damaged("it is no list of numbers in chunks")
    form, rows, most = _SPACE_FORM.unpack(once[_SPACE])
    kind, tree, chunk_rows, item_bytes = _LAYOUT_FORM.unpack(once[_LAYOUT])
    if (form, most, kind) != (b"\2\1\1\1", _UNDEFINED, b"\3\2\2"):
        raise Damaged("it is no list of numbers in chunks")
    type_ = once[_TYPE]
    if item_bytes not in (1, 2, 4, 8) or type_[4:8] != item_bytes.to_bytes(4, "little"):
        raise Damaged("its chunks are not of its type")
    if not 0 < chunk_rows * item_bytes <= CHUNK_BYTES_MAX or rows >= 1 << 62:
        raise Damaged(f"chunks of {chunk_rows} rows are not a store's")
    fill, filters = once[_FILL], once.get(_FILTERS)
    if len(fill) != 2 or fill[0] != 3 or fill[1] & 0xE0:
        raise Damaged("it has a fill value")
    if filters is not None and not _is_ours(filters, item_bytes):
        raise Damaged("it has a filter that no store has")
    return Column(rows, chunk_rows, item_bytes, type_, filters is not None, tree)


def _is_ours(filters: bytes, item_bytes: int) -> bool:
    """Whether they are shuffle and then deflate."""
    shuffle = struct.pack("<HHHI", 2, 1, 1, item_bytes)
    deflate = struct.pack("<HHH", 1, 1, 1)
    return len(filters) == 22 and filters[:18] == b"\2\2" + shuffle + deflate and filters[18] <= 9


def _add_link(links: dict[bytes, int | None], body: bytes) -> None:
    """Note what a link message says."""
    try:
        flags, at, kind = body[1], 2, 0
        if flags & 8:
            kind, at = body[at], at + 1
        at += (8 if flags & 4 else 0) + (1 if flags & 16 else 0)
        width = 1 << (flags & 3)
        length = int.from_bytes(body[at : at + width], "little")
        name, rest = body[at + width : at + width + length], body[at + width + length :]
    except IndexError:
        raise Damaged("a name is cut short") from None
    if body[0] != 1 or flags & 0xE0 or not name or len(name) != length or name in links:
        raise Damaged("a name is not in a form that a store has")
    if not kind and len(rest) != 8:
        raise Damaged(f"the name {name!r} leads nowhere")
    links[name] = None if kind else int.from_bytes(rest, "little")


def _cut(data: bytes) -> Iterator[bytes]:
    return (data[at : at + _RECORD_BYTES] for at in range(0, len(data), _RECORD_BYTES))

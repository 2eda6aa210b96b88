"""Columns and streams inside an HDF5 file, written chunk by chunk.

Chunks are encoded here (byte shuffle, then deflate: both in every HDF5 library) and
handed over with HDF5's direct chunk write. A full chunk is deflated once. The last,
unfilled one is stored with deflate level 0: its size never changes, so HDF5 rewrites it
in place instead of leaving a hole behind with every commit. Deflate ends in an Adler-32,
so a rotten chunk of either sort is an error on read, not a wrong number.

They are decoded here as well, because HDF5's index of chunks has no checksum: to HDF5 a
chunk that one flipped bit made unfindable is a run of zeros, and no error (measured).
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

import numpy as np

from recollect.store.contract import Array
from recollect.store.hdf5.frames import Damaged, compress, decompress
from recollect.store.hdf5.guard import BYTES, StoreFile
from recollect.store.hdf5.layout import (
    BLOCK_BYTES,
    BLOCK_BYTES_MAX,
    BLOCKS,
    DATA_CHUNK_BYTES,
    LEVEL,
    ROWS_PER_CHUNK,
    TEXT_BYTES_MAX,
    WORDS_FREE_BYTES,
    WORDS_RATIO_MAX,
    Columns,
)
from recollect.store.hdf5.library import h5py

# Of each table: scattered rows are read again and again, a dozen columns each (10 entries of
# 150,000 at random: 15.6 ms with one chunk a column, 6 ms with these; 12 KB a chunk).
CHUNKS_KEPT = 2048
BLOCKS_KEPT = 64  # of a stream, unpacked: hits lie anywhere, and a block is unpacked whole for one of them
BLOCKS_KEPT_BYTES = 32 << 20  # and all of them together, unless a single one is larger


@contextlib.contextmanager
def _changing(path: str) -> Iterator[None]:
    """HDF5 looks at more when it writes: what it stumbles over then is damage too."""
    try:
        yield
    except (KeyError, OSError, RuntimeError) as error:
        raise Damaged(f"/{path.lstrip('/')} cannot be changed: {error}") from error


class Table:
    """One group of equally long columns. Appended rows can be read at once."""

    def __init__(self, file: StoreFile, path: str, columns: Columns) -> None:
        self._file = file
        self._path = path
        self._columns = columns
        self._datasets: dict[str, h5py.h5d.DatasetID] = {}
        self._tails: dict[str, Array] = {}  # the unfilled last chunk of each column, while writing
        self._decoded: OrderedDict[tuple[str, int], Array] = OrderedDict()  # the chunks last read
        name = next(iter(columns))
        first = self._datasets[name] = file.dataset(f"{path}/{name}", columns[name])
        self.rows: int = first.shape[0]
        self._chunk_rows: int = first.get_create_plist().get_chunk()[0]

    @staticmethod
    def create(parent: h5py.Group, name: str, columns: Columns, chunk_rows: int = ROWS_PER_CHUNK) -> None:
        group = parent.create_group(name)
        for column, dtype in columns.items():
            group.create_dataset(
                column,
                shape=(0,),
                maxshape=(None,),
                dtype=dtype,
                chunks=(chunk_rows,),
                shuffle=True,
                compression="gzip",
                compression_opts=6,
                track_times=False,
            )

    def read(self, column: str, start: int = 0, stop: int | None = None) -> Array:
        """Rows start to stop of a column."""
        stop = self.rows if stop is None else min(stop, self.rows)
        values: Array = np.empty(max(stop - start, 0), self._columns[column])
        for at in range(start // self._chunk_rows * self._chunk_rows, stop, self._chunk_rows):
            low, high = max(start, at), min(stop, at + self._chunk_rows)
            values[low - start : high - start] = self._decode(column, at)[low - at : high - at]
        return values

    def one(self, column: str, row: int) -> int:
        if not 0 <= row < self.rows:
            raise Damaged(f"table /{self._path} has no row {row}")
        inside = row % self._chunk_rows
        return int(self._decode(column, row - inside)[inside])

    def at(self, column: str, rows: Array) -> Array:
        """Scattered rows of a column, in the order asked for."""
        if len(rows) and not 0 <= rows.min() <= rows.max() < self.rows:
            raise Damaged(f"table /{self._path} has no rows {rows.min()} to {rows.max()}")
        values: Array = np.empty(len(rows), self._columns[column])
        chunks = rows // self._chunk_rows
        for chunk in np.unique(chunks).tolist():
            inside, start = chunks == chunk, chunk * self._chunk_rows
            values[inside] = self._decode(column, start)[rows[inside] - start]
        return values

    def append(self, values: Mapping[str, Array | list[int]]) -> int:
        """Add rows; every column is given, all of one length. Returns the first new row."""
        first = self.rows
        count = len(next(iter(values.values())))
        if not count:
            return first
        for column in self._columns:
            self._dataset(column)  # while they have as many rows as the others
        self.rows += count
        for column, dtype in self._columns.items():
            self._extend(column, np.asarray(values[column], dtype=dtype), first)
        return first

    def update(self, rows: Array, values: Mapping[str, Array]) -> None:
        """Overwrite some columns of some rows."""
        rows = np.asarray(rows, dtype=np.int64)
        for column, new in values.items():
            new = np.asarray(new, dtype=self._columns[column])
            for chunk in np.unique(rows // self._chunk_rows):
                inside = rows // self._chunk_rows == chunk
                start = int(chunk) * self._chunk_rows
                data = self._chunk(column, start)
                data[rows[inside] - start] = new[inside]
                self._store(column, start, data)

    def _extend(self, column: str, new: Array, first: int) -> None:
        with _changing(f"{self._path}/{column}"):
            self._dataset(column).set_extent((self.rows,))
        at = first // self._chunk_rows * self._chunk_rows
        filled = first - at
        while len(new):
            data = self._chunk(column, at) if filled else np.zeros(self._chunk_rows, self._columns[column])
            take = min(self._chunk_rows - filled, len(new))
            data[filled : filled + take] = new[:take]
            self._store(column, at, data)
            new, at, filled = new[take:], at + self._chunk_rows, 0

    def _chunk(self, column: str, start: int) -> Array:
        """A whole chunk, padded with zeros behind the last row."""
        if start == self._tail_start and column in self._tails:
            return self._tails[column]
        data = np.zeros(self._chunk_rows, self._columns[column])
        stored = self.read(column, start, min(start + self._chunk_rows, self.rows))
        data[: len(stored)] = stored
        return data

    def _store(self, column: str, start: int, data: Array) -> None:
        full = start + self._chunk_rows <= self.rows
        shuffled = data.view("u1").reshape(self._chunk_rows, data.itemsize).T.tobytes()
        packed = zlib.compress(shuffled, 6 if full else 0)
        with _changing(f"{self._path}/{column}"):
            self._dataset(column).write_direct_chunk((start,), packed, 0)
        self._decoded.pop((column, start), None)
        if full:
            self._tails.pop(column, None)
        else:
            self._tails[column] = data

    def _decode(self, column: str, start: int) -> Array:
        """The chunk that begins with a row, not to be changed."""
        held = self._decoded.get((column, start))
        if held is not None:
            return held
        whole = self._chunk_rows * np.dtype(self._columns[column]).itemsize
        try:
            _, packed = self._dataset(column).read_direct_chunk((start,))
            inflater = zlib.decompressobj()
            unpacked = inflater.decompress(packed, whole + 1)  # a byte more, to see that it ends
            if not inflater.eof or len(unpacked) != whole:
                raise ValueError(f"{len(packed)} bytes do not hold {whole}")
            shuffled = np.frombuffer(unpacked, "u1").reshape(-1, self._chunk_rows)
            values: Array = shuffled.T.copy().view(self._columns[column]).reshape(self._chunk_rows)
        except (OSError, RuntimeError, ValueError, zlib.error) as error:
            raise Damaged(f"column /{self._path}/{column}: rows from {start} on: {error}") from error
        self._decoded[column, start] = values
        if len(self._decoded) > CHUNKS_KEPT:
            self._decoded.popitem(last=False)
        return values

    @property
    def _tail_start(self) -> int:
        return self.rows // self._chunk_rows * self._chunk_rows

    def _dataset(self, column: str) -> h5py.h5d.DatasetID:
        dataset = self._datasets.get(column)
        if dataset is None:
            dataset = self._file.dataset(f"{self._path}/{column}", self._columns[column])
            chunk = dataset.get_create_plist().get_chunk()
            if dataset.shape != (self.rows,) or chunk != (self._chunk_rows,):
                raise Damaged(f"table /{self._path}: its columns differ in length")
            self._datasets[column] = dataset
        return dataset


@cache
def _unpacking() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(2, thread_name_prefix="recollect-zstd")


if hasattr(os, "register_at_fork"):  # a forked child has the pool, but not its threads
    os.register_at_fork(after_in_child=_unpacking.cache_clear)


class Stream:
    """A long run of bytes kept as zstd frames; compression runs beside the caller."""

    def __init__(self, file: StoreFile, path: str) -> None:
        self._name = f"/{path}"
        self._data = h5py.Dataset(file.dataset(f"{path}/data", BYTES))
        self.blocks = Table(file, f"{path}/blocks", BLOCKS)
        self._index: dict[str, Array] = {}
        self._cache: OrderedDict[int, bytes] = OrderedDict()
        self._kept_bytes = 0
        self._near = (0, 0, b"")  # the block last read: most reads want the same again
        self._open = bytearray()  # the block being filled
        self._busy: deque[tuple[int, Future[bytes]]] = deque()  # blocks being compressed, in order
        self._pool: ThreadPoolExecutor | None = None
        self.end = self.blocks.one("end", self.blocks.rows - 1) if self.blocks.rows else 0
        if self.end > self.blocks.rows * BLOCK_BYTES_MAX:
            raise Damaged(f"{self._name}: its blocks cannot be where it says")

    @staticmethod
    def create(parent: h5py.Group, name: str) -> h5py.Group:
        group = parent.create_group(name)
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk((DATA_CHUNK_BYTES,))
        properties.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        space = h5py.h5s.create_simple((0,), (h5py.h5s.UNLIMITED,))
        h5py.h5d.create(group.id, b"data", h5py.h5t.STD_U8LE, space, properties)
        Table.create(group, "blocks", BLOCKS)
        return group

    def append(self, data: bytes | bytearray) -> int:
        """Add bytes to the block being filled; returns where they start."""
        start = self.end
        self.end += len(data)
        self._open += data
        if len(self._open) >= BLOCK_BYTES:
            self._cut()
        return start

    def add_block(self, block: bytearray, level: int = LEVEL) -> None:
        """Add a whole block of its own, compressed while the caller goes on."""
        self._cut()
        self.end += len(block)
        self._submit(block, level)

    def add_frame(self, length: int, frame: bytes) -> None:
        """Add a block that is compressed already."""
        self.flush()
        self.end += length
        self._write(length, frame)

    def flush(self) -> None:
        """Bring every appended byte into the file."""
        self._cut()
        self._drain(0)

    def read(self, start: int, stop: int) -> bytes:
        """Bytes start to stop, checked against their block's checksum."""
        if not 0 <= stop - start <= TEXT_BYTES_MAX:
            raise Damaged(f"{self._name}: bytes {start} to {stop} are not a text of any store")
        if start == stop:
            return b""
        near, near_end, block = self._near
        if near <= start and stop <= near_end:
            return block[start - near : stop - near]
        filling = self.end - len(self._open)
        if start >= filling:
            return bytes(self._open[start - filling : stop - filling])
        if stop > filling:
            self._cut()
        numbers = self.blocks_of(start, stop)
        if len(numbers) == 1:
            base, end = self.block_span(numbers[0])
            block = self.block(numbers[0])
            self._near = base, end, block
            return block[start - base : stop - base]
        return b"".join(self._cut_out(number, start, stop) for number in numbers)

    def blocks_of(self, start: int, stop: int) -> range:
        """The blocks that hold some bytes."""
        self._drain(0)
        if start == stop:
            return range(0)
        ends = self.index["end"]
        first = int(np.searchsorted(ends, start, side="right"))
        last = int(np.searchsorted(ends, stop, side="left"))
        if last >= len(ends):
            raise Damaged(f"{self._name}: bytes {start} to {stop} lie behind the last block")
        return range(first, last + 1)

    def _cut_out(self, number: int, start: int, stop: int) -> bytes:
        """What a block has of some bytes."""
        base = self.block_span(number)[0]
        return self.block(number)[max(start - base, 0) : stop - base]

    def check_words(self, lengths: Array) -> None:
        """Refuse short texts that are more, all together, than what is packed here can be worth."""
        total = int(lengths.sum(dtype=np.uint64))
        if total <= WORDS_FREE_BYTES:
            return
        packed = int(self._data.shape[0])
        if total > WORDS_RATIO_MAX * packed:
            raise Damaged(f"{self._name}: {total} bytes of words are said to be in {packed}")

    def prefetch(self, spans: Sequence[tuple[int, int]]) -> None:
        """Have the blocks of some bytes at hand, unpacked beside one another."""
        self._drain(0)
        ends = self.index["end"]
        firsts = np.searchsorted(ends, [start for start, _ in spans], side="right")
        wanted = [n for n in np.unique(firsts).tolist() if n < len(ends) and n not in self._cache]
        if len(wanted) < 2 or len(wanted) > BLOCKS_KEPT:
            return
        lengths = [stop - start for start, stop in map(self.block_span, wanted)]
        if sum(lengths) > BLOCKS_KEPT_BYTES:
            return
        frames = (self.frame(number) for number in wanted)
        for number, block in zip(wanted, _unpacking().map(decompress, frames, lengths), strict=True):
            self._keep(number, block)

    def block(self, number: int) -> bytes:
        """One block's bytes, the last few kept at hand."""
        block = self._cache.get(number)
        if block is None:
            block = self._load(number)
            self._keep(number, block)
        else:
            self._cache.move_to_end(number)
        return block

    def _keep(self, number: int, block: bytes) -> None:
        self._cache[number] = block
        self._kept_bytes += len(block)
        while len(self._cache) > 1 and (
            len(self._cache) > BLOCKS_KEPT or self._kept_bytes > BLOCKS_KEPT_BYTES
        ):
            self._kept_bytes -= len(self._cache.popitem(last=False)[1])

    def frame(self, number: int) -> bytes:
        """One block as it is in the file, its checksum verified."""
        at, length = int(self.index["at"][number]), int(self.index["length"][number])
        try:
            frame: bytes = self._data[at : at + length].tobytes()
        except OSError as error:
            raise Damaged(str(error)) from error
        if len(frame) != length or zlib.crc32(frame) != int(self.index["crc"][number]):
            raise Damaged("fails its checksum")
        return frame

    def block_span(self, number: int) -> tuple[int, int]:
        """Which bytes of the stream a block holds."""
        ends = self.index["end"]
        return (int(ends[number - 1]) if number else 0), int(ends[number])

    @property
    def index(self) -> dict[str, Array]:
        """The whole `blocks` table, read once: one row a megabyte."""
        if not self._index or len(self._index["end"]) != self.blocks.rows:
            index = {column: self.blocks.read(column) for column in BLOCKS}
            self._check(index)
            self._index = index
        return self._index

    def _check(self, index: dict[str, Array]) -> None:
        """Blocks follow one another, none is larger than a block can be, and each frame is in `data`."""
        ends, extent = index["end"], self._data.shape[0]
        rises = np.all(ends[1:] > ends[:-1]) and not np.any(np.diff(ends) > BLOCK_BYTES_MAX)
        inside = np.all(index["at"] <= extent) and np.all(index["length"] <= extent - index["at"])
        if len(ends) and not (rises and 0 < ends[0] <= BLOCK_BYTES_MAX and inside):
            raise Damaged(f"{self._name}: its blocks cannot be where it says")

    def _load(self, number: int) -> bytes:
        start, stop = self.block_span(number)
        try:
            return decompress(self.frame(number), stop - start)
        except Damaged as error:
            raise Damaged(f"{self._name}: block {number}: {error}") from error

    def _cut(self) -> None:
        if self._open:
            block, self._open = self._open, bytearray()
            self._submit(block, LEVEL)

    def _submit(self, block: bytearray, level: int) -> None:
        # A block far above the size (a huge line) is cut, so that reading a bit of it stays cheap.
        for start in range(0, len(block), 4 * BLOCK_BYTES):
            piece = block[start : start + 4 * BLOCK_BYTES] if len(block) > 4 * BLOCK_BYTES else block
            if self._pool is None:
                self._pool = ThreadPoolExecutor(1, thread_name_prefix="recollect-zstd")
            self._busy.append((len(piece), self._pool.submit(compress, piece, level)))
            self._drain(6)

    def _drain(self, keep: int) -> None:
        while len(self._busy) > keep:
            length, future = self._busy.popleft()
            self._write(length, future.result())

    def _write(self, length: int, frame: bytes) -> None:
        at = self._data.shape[0]
        with _changing(f"{self._name}/data"):
            self._data.resize((at + len(frame),))
            self._data[at:] = np.frombuffer(frame, "u1")
        before = self.blocks.one("end", self.blocks.rows - 1) if self.blocks.rows else 0
        self.blocks.append(
            {"end": [before + length], "at": [at], "length": [len(frame)], "crc": [zlib.crc32(frame)]}
        )

    def close(self) -> None:
        """Stop the compressing thread."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

"""The embedded engine: one HDF5 file, a journal in front, kernel locks between processes.

Readers share a lock only while they read and look at the generation number each time;
the writer keeps readers out only for the moment in which a finished commit is put in
place. Threads are to each other what processes are: each has files of its own. An h5py
file left open at interpreter exit crashes the process, so every file opened here is
closed by a finaliser at the latest.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import math
import os
import re
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.light import locks
from recollect.light.aside import acknowledge, kept_aside
from recollect.light.disk import Disk, same_file
from recollect.light.journal import JOURNAL_SUFFIX, LOCK_SECONDS, Journal, journal_path, read_frames, size_of
from recollect.light.processes import start_python
from recollect.light.second_name import refuse_second_name
from recollect.light.store_header import PAGE_BYTES, Header, redo_path
from recollect.store.hdf5.forms import TextForm
from recollect.store.hdf5.frames import Damaged
from recollect.store.hdf5.guard import Guard, StoreFile
from recollect.store.hdf5.layout import LARGE, ROWS_PER_CHUNK, ROWS_PER_CHUNK_LARGE, STREAMS, TABLES
from recollect.store.hdf5.pager import Pager, recover
from recollect.store.hdf5.read import Hdf5View
from recollect.store.hdf5.readers import Readers
from recollect.store.hdf5.tables import Stream, Table
from recollect.store.leaving import NOTHING, Choice
from recollect.store.registry import location
from recollect.values.errors import (
    NotAStore,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreMissing,
    StoreWriteFailed,
)
from recollect.values.records import Flag, Framing, Kind, LineFlag, Relation, Role, Segment, SourceFlag
from recollect.values.stored import Finding, Footprint

if TYPE_CHECKING:
    from recollect.store.contract import Engine, Writer
    from recollect.store.hdf5.read import Salvage
    from recollect.store.hdf5.write import Hdf5Writer
    from recollect.values.reports import Progress

# Version 2 superblocks: their metadata carries checksums, and unlike version 3 they do
# not refuse to open after a crash because of a flag no tool in the wheel can clear.
_LIBVER = ("v108", "v108")
_READ_LOCK_SECONDS = 30.0
_APPLY_SECONDS = 0.25  # then the pages wait in the redo file: a writer never depends on a reader
_COPY_BYTES = 4 << 20
_AGAIN_SECONDS = 1.0  # after its last commit a writer lets others go first


class Hdf5Store:
    """A store in one file. Cheap to make: nothing is opened before it is asked for."""

    def __init__(self, path: Path, *, disk: Disk | None = None) -> None:
        # Side files stand beside the file itself: through a link there would be others.
        self.path = path = Path(os.path.realpath(path))
        self.told_as = path  # in errors: a replacement speaks of the file that it is made of
        self.disk = disk or Disk()
        self._journal = Journal(path, self.disk)
        self._written = -math.inf  # when this object last had the writer's lock
        self._journal_use = threading.Lock()  # its descriptor is one, and carries one lock
        self._readers = Readers[_OpenFile](path)

    @classmethod
    def open(cls, path: Path, *, create: bool = False, disk: Disk | None = None) -> Hdf5Store:
        """The store at `path`; with `create`, a new one if nothing is there."""
        store = cls(path, disk=disk)
        if not store.path.exists():
            if not create:
                raise StoreMissing(store.path)
            create_file(store.path, store.disk)
        elif not store.path.is_file():  # a pipe would never open
            raise NotAStore(store.path, "it is a folder" if store.path.is_dir() else "it is no regular file")
        store._adopt_journal(Path(os.path.abspath(path)))
        return store

    def __enter__(self) -> Hdf5Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def name(self) -> str:
        return str(self.path)

    def close(self) -> None:
        """Wait for threads that read or write, and let go of every file; who asks later is refused."""
        try:
            self._readers.close()
        finally:
            with self._journal_use:
                self._journal.close()

    # -- reading ---------------------------------------------------------------------------

    @contextlib.contextmanager
    def view(self) -> Iterator[Hdf5View]:
        """One consistent state; writers wait with putting theirs in place while this is open."""
        with self._readers.reading(self._ready_reader) as reader, _naming_file(self.path, reader.pager):
            yield reader.view

    @contextlib.contextmanager
    def rehearsal(self) -> Iterator[Hdf5Writer]:
        """A private writer over the committed state; its changes stay in memory."""
        from recollect.store.hdf5.write import Hdf5Writer

        with self._readers.reading(self._ready_reader), self.disk.opened(self.path) as fd:
            pager = Pager.open(self.path, fd, self.disk)
            with _OpenFile(self.path, fd, pager, "r+") as opened, _naming_file(self.path, pager):
                writer = Hdf5Writer(opened.file, pager.header, lambda folded: None)
                try:
                    yield writer
                finally:
                    writer.close()

    def _ready_reader(self, held: _OpenFile | None) -> _OpenFile:
        """The file under a shared lock, at its present generation; `held` where it is still that."""
        while True:
            fd = held.fd if held is not None else self._open_fd()
            try:
                if not locks.acquire(fd, locks.APPLY, shared=True, timeout=_READ_LOCK_SECONDS):
                    raise StoreBusy(self.path, _READ_LOCK_SECONDS)
                if same_file(fd, self.path):
                    pager = Pager.open(self.path, fd, self.disk)
                    if held is not None and held.pager.header == pager.header:
                        return held
                    if held is not None:
                        held.close()
                    return _OpenFile(self.path, fd, pager, "r")
            except BaseException:
                self._forget(held, fd)
                raise
            self._forget(held, fd)
            held = None

    def _forget(self, held: _OpenFile | None, fd: int) -> None:
        if held is not None:
            held.close()
        os.close(fd)

    def _open_fd(self) -> int:
        try:
            return self.disk.open(self.path)
        except FileNotFoundError:
            raise StoreMissing(self.path) from None
        except OSError as error:
            raise StoreError(
                f"{self.path}: cannot be opened: {error.strerror}", hint="check its permissions"
            ) from error

    # -- writing ---------------------------------------------------------------------------

    @contextlib.contextmanager
    def writer(self, *, timeout: float = 60.0) -> Iterator[Hdf5Writer]:
        from recollect.store.hdf5.write import Hdf5Writer

        with self._readers.working(), self.writer_lock(timeout) as fd:
            pager = Pager.open(self.path, fd, self.disk)
            with _OpenFile(self.path, fd, pager, "r+") as opened, _naming_file(self.told_as, pager):
                writer = Hdf5Writer(opened.file, pager.header, functools.partial(self._commit, opened, fd))
                try:
                    yield writer
                finally:
                    writer.close()

    @contextlib.contextmanager
    def writer_lock(self, timeout: float, *, recovering: bool = True) -> Iterator[int]:
        """The writer's lock on the file the path means now, with leftovers of a dead writer cleared."""
        while True:
            try:
                fd = self.disk.open(self.path, write=True)
            except FileNotFoundError:
                raise StoreMissing(self.path) from None
            except OSError as error:
                raise StoreWriteFailed(self.path, error) from error
            try:
                again = time.monotonic() - self._written < _AGAIN_SECONDS
                if not locks.acquire_in_turn(fd, locks.WRITER, timeout=timeout, again=again):
                    raise StoreBusy(self.path, timeout)
                if not same_file(fd, self.path):
                    continue
                refuse_second_name(self.path)
                try:
                    for left in _leftovers(self.path):
                        self.disk.unlink(left)  # of a rewrite that was killed
                    if recovering:
                        recover(self.disk, fd, self.path, functools.partial(self.without_readers, fd))
                except OSError as error:
                    raise StoreWriteFailed(self.path, error) from error
                yield fd
                self._written = time.monotonic()
                return
            finally:
                os.close(fd)

    @contextlib.contextmanager
    def without_readers(self, fd: int) -> Iterator[None]:
        if not locks.acquire(fd, locks.APPLY, timeout=_APPLY_SECONDS):
            raise BlockingIOError(errno.EAGAIN, "readers keep the store busy", str(self.path))
        try:
            yield
        finally:
            locks.release(fd, locks.APPLY)

    def _commit(self, opened: _OpenFile, fd: int, folded: int) -> None:
        """Bring what h5py holds into the pager, and the pager's pages to disk."""
        opened.file.flush()
        opened.pager.check()
        header = opened.pager.header.changed(folded=folded)
        opened.pager.commit(header, functools.partial(self.without_readers, fd))

    # -- whole-file work -------------------------------------------------------------------

    @contextlib.contextmanager
    def replacement(self, *, timeout: float = 60.0) -> Iterator[tuple[Hdf5View, Hdf5Store]]:
        """The present state and an empty store beside it, which takes this one's place at the end.

        Until then nothing changes; if anything fails or is wrong with it, nothing has changed.
        """
        from recollect.store.hdf5.check import verify

        with self._readers.working(), self.writer_lock(timeout) as fd:
            pager = Pager.open(self.path, fd, self.disk)
            temporary = self.temporary()
            header = pager.header.changed(epoch=pager.header.epoch + 1, size=0)
            try:
                _make(temporary, self.disk, header)
                with (
                    _OpenFile(self.path, fd, pager, "r", damaged=True) as opened,
                    Hdf5Store(temporary, disk=self.disk) as new,
                    _naming_file(self.path, pager),
                ):
                    new.told_as = self.path
                    yield opened.view, new
                    verify(new)
                with Hdf5Store(temporary, disk=self.disk).writer_lock(timeout):
                    pass  # a commit that is durable but not in place would lose its redo file with its name
                self.disk.rename(temporary, self.path)
                self.disk.sync_folder(self.path.parent)
            except OSError as error:
                raise StoreWriteFailed(self.path, error) from error
            finally:
                with contextlib.suppress(OSError):
                    self.disk.unlink(temporary)

    @contextlib.contextmanager
    def salvage(self, *, timeout: float = 60.0) -> Iterator[tuple[Salvage, Hdf5Store]]:
        """What can be read of a damaged file, and an empty store that takes its place; the file is kept."""
        from recollect.store.hdf5.mend import mend_redo

        aside = self._link_aside()
        try:
            with self._readers.working():
                mend_redo(self, timeout)
            with self.replacement(timeout=timeout) as (old, new):
                yield old.salvageable(moved_to=str(aside)), new
        except BaseException:
            with contextlib.suppress(OSError):  # what went wrong first is what is told
                if os.path.samefile(aside, self.path):  # else it is the only name the old file has
                    self.disk.unlink(aside)
            raise

    def temporary(self) -> Path:
        """A name beside the store for what may take its place; leftovers of that name are removed."""
        return _temporary(self.path, "tmp")

    def _link_aside(self) -> Path:
        """Give the file a second name, which it keeps when it is replaced."""
        stem, number = f"{self.path.name}.damaged-{time.strftime('%Y%m%dT%H%M%S')}", 0
        while (aside := self.path.with_name(f"{stem}-{number}" if number else stem)).exists():
            number += 1
        try:
            os.link(self.path, aside)
        except OSError as error:
            raise StoreWriteFailed(aside, error) from error
        return aside

    def compact(
        self,
        leave: Choice | None = None,
        then: Callable[[Writer], None] | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Rewrite the file without what nothing refers to, packed more densely, or without what goes."""
        from recollect.store.hdf5.rewrite import copy_store

        with self.replacement() as (old, new):
            leaving = leave(old) if leave is not None else NOTHING
            with new.writer() as writer:
                copy_store(old, writer, writer.commit, leaving, progress)
                writer.commit()
            if then is not None:
                with new.writer() as writer:  # another one, which knows what was copied
                    then(writer)
                    writer.commit()

    def footprint(self) -> Footprint:
        """The sizes of the file and its journal, and when the file was last written."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            raise StoreMissing(self.path) from None
        return Footprint(found.st_size + self.journal_bytes(), found.st_mtime_ns // 1_000_000)

    def check(self) -> list[Finding]:
        """Verify everything, in a child process: a damaged file can crash the HDF5 library itself."""
        from subprocess import PIPE

        with start_python(f"{__package__}.check", str(self.path), stdout=PIPE, stderr=PIPE) as child:
            told, _ = child.communicate()
        if child.returncode:
            return [Finding("error", f"reading it crashed the HDF5 library (exit {child.returncode})")]
        return [Finding(**finding) for finding in json.loads(told)]

    def copy_to(self, target: str) -> bool:
        """Write the present state, byte for byte, to a new file; False for what is no file."""
        path = location(target)
        if isinstance(path, Path):
            self._copy(path)
        return isinstance(path, Path)

    def _copy(self, target: Path) -> None:
        temporary = _temporary(target, "new")
        try:
            self.disk.make_folder(target.parent)
            with self._readers.reading(self._ready_reader) as reader:
                self._write_copy(reader.pager, temporary)
            _link(temporary, target)
            self.disk.sync_folder(target.parent)
        except OSError as error:
            raise StoreWriteFailed(target, error) from error
        finally:
            with contextlib.suppress(OSError):
                self.disk.unlink(temporary)

    def _write_copy(self, pager: Pager, target: Path) -> None:
        fd = self.disk.open(target, write=True, new=True)
        try:
            size = pager.header.size
            for start in range(0, size, _COPY_BYTES):
                pager.seek(start)
                piece = pager.read(min(_COPY_BYTES, size - start))
                pager.check()
                self.disk.write(fd, piece, start)
            self.disk.sync(fd)
        finally:
            os.close(fd)

    def contents(self) -> Iterator[tuple[str, bytes]]:
        """Every stream's blocks, unpacked, then all files of the store as they are on disk."""
        from recollect.store.hdf5.contents import file_pieces, unpacked

        with self.view() as view:
            yield from unpacked(view)
        beside = [self.path, journal_path(self.path), redo_path(self.path), *_leftovers(self.path)]
        for path in beside:
            yield from file_pieces(path)

    # -- the journal -----------------------------------------------------------------------

    def append(self, segment: Segment) -> int:
        with self._readers.working(), self._journal_use:
            return self._journal.append(segment.pack())

    def has_journal(self) -> bool:
        return os.path.exists(self._journal.path)

    def journal_bytes(self) -> int:
        if not self._journal_use.acquire(blocking=False):  # an append may wait for another process
            return size_of(self._journal.path)
        try:
            return self._journal.size()
        finally:
            self._journal_use.release()

    def pending(self, *, patient: bool = True) -> Iterator[tuple[int, Segment]]:
        if not self.has_journal():
            return
        with self.view() as view:
            folded = view.info().folded
        for number, payload in self._journal.frames(folded, patient=patient):
            yield number, Segment.unpack(payload)

    def _adopt_journal(self, named: Path) -> None:
        """Take over what an earlier version appended beside a link instead of beside the file."""
        stray = named.with_name(named.name + JOURNAL_SUFFIX)
        if named == self.path or not stray.exists() or os.path.realpath(stray) == self._journal.path:
            return
        fd = self.disk.open(stray, write=True)
        try:
            if not locks.acquire(fd, locks.APPEND, timeout=LOCK_SECONDS):
                raise StoreBusy(stray, LOCK_SECONDS)
            for _, payload in read_frames(stray):
                self._journal.append(payload)
            self.disk.truncate(fd, 0)
            self.disk.unlink(stray)
        finally:
            os.close(fd)

    def clear_journal(self, through: int) -> bool:
        with self._readers.working(), self._journal_use:
            return self._journal.clear(through)

    def kept_aside(self) -> list[str]:
        return kept_aside(self.path)

    def acknowledge(self) -> list[str]:
        try:
            return acknowledge(self.path, self.disk)
        except OSError as error:
            raise StoreWriteFailed(self.path, error) from error


class Hdf5Engine:
    """Stores in files. A hook may append before there ever was a store; then opening makes it."""

    def open(self, url: str, *, create: bool = False) -> Hdf5Store:
        path = Path(url)
        return Hdf5Store.open(path, create=create or journal_path(path).exists())

    def exists(self, url: str) -> bool:
        path = Path(url)
        return path.exists() or journal_path(path).exists()


ENGINE: Engine = Hdf5Engine()


class _OpenFile:
    """An h5py file over a pager, closed at the latest when the interpreter ends.

    The descriptor under it stays open: whoever opened that closes it, and with it the locks.
    """

    def __init__(self, path: Path, fd: int, pager: Pager, mode: str, *, damaged: bool = False) -> None:
        self.fd = fd
        self.pager = pager
        try:
            guard = Guard(pager, writable=mode == "r+")
            if not damaged:
                guard.admit_store()
            self.file = StoreFile(pager, mode, libver=_LIBVER)
            self.file.guard = guard
        except Damaged as error:
            pager.check()
            raise StoreCorrupt(path, str(error)) from error
        except (OSError, RuntimeError, KeyError) as error:
            pager.check()  # what HDF5 stumbled over may be the disk's fault
            raise StoreCorrupt(path, f"HDF5 cannot open it: {error}") from error
        self.view = Hdf5View(self.file, pager.header)
        self._finaliser = weakref.finalize(self, self.file.close)

    def __enter__(self) -> _OpenFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._finaliser()


@contextlib.contextmanager
def _naming_file(path: Path, pager: Pager) -> Iterator[None]:
    """Turn what HDF5 or a checksum complains about into an error that names the file."""
    try:
        yield
        pager.check()
    except Damaged as error:
        pager.check()
        raise StoreCorrupt(path, str(error)) from error


def create_file(path: Path, disk: Disk) -> None:
    """Make a new, empty store. It appears under its name whole, or not at all."""
    temporary = _temporary(path, "new")
    header = Header(store_id=secrets.token_bytes(16), created_ms=time.time_ns() // 1_000_000)
    try:
        disk.make_folder(path.parent)
        _make(temporary, disk, header)
        # Another process may have made the same store meanwhile; theirs is as good.
        with contextlib.suppress(FileExistsError):
            _link(temporary, path)
        disk.sync_folder(path.parent)
    except OSError as error:
        raise StoreWriteFailed(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            disk.unlink(temporary)


def _make(path: Path, disk: Disk, header: Header) -> None:
    fd = disk.open(path, write=True, new=True)
    try:
        pager = Pager.create(path, fd, disk, header)
        with StoreFile(pager, "w", libver=_LIBVER, userblock_size=PAGE_BYTES) as file:
            _lay_out(file)
            file.flush()
            pager.check()
            pager.commit(header, contextlib.nullcontext)
    finally:
        os.close(fd)


def _temporary(path: Path, kind: str) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}.{kind}")


def _leftovers(path: Path) -> list[Path]:
    """What a killed rewrite of this very store left; `.new` files belong to others who may be alive."""
    name = re.compile(re.escape(f".{path.name}.") + r"[0-9a-f]{12}\.tmp(-redo(-new)?)?")
    return [path.with_name(each) for each in os.listdir(path.parent) if name.fullmatch(each)]


def _link(temporary: Path, path: Path) -> None:
    """Give a finished file its name; unlike a rename, this refuses to replace another one."""
    os.link(temporary, path)


def _lay_out(file: StoreFile) -> None:
    file.attrs["about"] = "A Recollect store; docs/format.md of the project describes every dataset."
    for enumeration in (Kind, Flag, LineFlag, SourceFlag, Relation, Role, Framing, TextForm):
        names = json.dumps({member.name: int(member) for member in enumeration})
        file.attrs[enumeration.__name__] = names
    tables = file.create_group("tables")
    for name, columns in TABLES.items():
        Table.create(tables, name, columns, ROWS_PER_CHUNK_LARGE if name in LARGE else ROWS_PER_CHUNK)
    streams = file.create_group("streams")
    for name in STREAMS:
        Stream.create(streams, name)
    Table(file, "tables/names", TABLES["names"]).append({"at": [0], "length": [0]})

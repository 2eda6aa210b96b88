"""A store whose redo file is damaged: what the file and the good pages prove together.

The redo file holds the newest commit; some of its pages may be in place already. Two states can be whole:
the file with every page that still checks put in, and the file as it is. Both are built beside the store and
verified, and the better one takes its place; the redo file is kept aside as it was.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.light.aside import keep_aside
from recollect.light.store_header import PAGE_BYTES, Header, Redo, read_state, redo_bytes, redo_path
from recollect.store.hdf5.pager import put_in_place
from recollect.values.errors import StoreCorrupt, StoreWriteFailed

if TYPE_CHECKING:
    from recollect.store.hdf5.engine import Hdf5Store

_PIECE_BYTES = 1 << 20


def mend_redo(store: Hdf5Store, timeout: float) -> None:
    """Put the best state that a damaged redo file leaves in its store's place; nothing where it is whole."""
    with store.writer_lock(timeout, recovering=False) as fd:
        data = redo_bytes(store.path)
        if data is None or _is_readable(fd, store.path):
            return
        candidates: list[Path] = []
        try:
            for pages in (_proven(data, os.fstat(fd).st_size), None):
                candidates.append(store.temporary())
                _build(store, candidates[-1], pages)
            best = min(candidates, key=_errors)  # the first of equals: with the pages
            keep_aside(redo_path(store.path), data, store.disk)
            store.disk.rename(best, store.path)
            store.disk.sync_folder(store.path.parent)
            store.disk.unlink(redo_path(store.path))
        except OSError as error:
            raise StoreWriteFailed(store.path, error) from error
        finally:
            for each in candidates:
                with contextlib.suppress(OSError):
                    store.disk.unlink(each)


def _is_readable(fd: int, path: Path) -> bool:
    try:
        read_state(fd, path)
    except StoreCorrupt:
        return False
    return True


def _build(store: Hdf5Store, target: Path, redo: Redo | None) -> None:
    """A copy of the file with these pages in it."""
    fd = store.disk.open(target, write=True, new=True)
    try:
        with open(store.path, "rb") as source:
            for piece in iter(lambda: source.read(_PIECE_BYTES), b""):
                store.disk.write(fd, piece, source.tell() - len(piece))
        if redo is not None:
            put_in_place(redo, store.disk, fd)
        store.disk.sync(fd)
    finally:
        os.close(fd)


def _proven(data: bytes, size: int) -> Redo:
    """The pages of a redo file that check, and the file's size by what still can be believed."""
    redo, whole = Redo.unpack(data)
    size = redo.size if whole else size
    pages = redo.pages
    if 0 in pages:  # has a checksum of its own, twice
        header = Header.unpack(pages[0], "")
        size, pages = header.size, {**pages, 0: header.pack()}
    pages = {number: page for number, page in pages.items() if number * PAGE_BYTES < size}
    return Redo(redo.store_id, redo.base, redo.generation, size, pages)


def _errors(candidate: Path) -> int:
    from recollect.store.hdf5.engine import Hdf5Store

    with Hdf5Store(candidate) as store:
        return sum(finding.level == "error" for finding in store.check())

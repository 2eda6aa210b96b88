"""Writing a file so that it appears whole or not at all, and replaces nothing unasked."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from recollect.values.errors import StoreWriteFailed, UsageError

_SPOOL_BYTES = 16 << 20


def refuse(path: Path, *, force: bool) -> None:
    """Say what stands against writing there, before any work is done."""
    if path.is_dir():
        raise UsageError(f"{path}: is a folder", hint="name a file in it")
    if os.path.lexists(path) and not force:
        raise UsageError(f"{path}: already exists", hint="name another file, or replace it with --force")
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent}: no such folder", hint="make it first, or name another file")


def write_file(path: Path, pieces: Iterable[bytes], *, force: bool) -> int:
    """Write the pieces to a new file that only its owner may read; returns how many bytes."""
    refuse(path, force=force)
    temporary = path.with_name(f".recollect-{secrets.token_hex(8)}.tmp")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
            written = sum(file.write(piece) for piece in pieces)
            file.flush()
            os.fsync(file.fileno())
        _put_in_place(temporary, path, force)
    except OSError as error:
        raise StoreWriteFailed(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
    return written


def _put_in_place(temporary: Path, path: Path, force: bool) -> None:
    if force:
        os.replace(temporary, path)
        return
    try:
        os.link(temporary, path)  # unlike a rename, this refuses to replace what came meanwhile
    except FileExistsError:
        refuse(path, force=False)
        raise
    except OSError:  # a file system without links
        refuse(path, force=False)
        os.rename(temporary, path)


def spooled(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Take all pieces at once, and hand them on at whatever pace they are wanted.

    A pipe's reader may take hours, and a store must not be kept open for that long.
    """
    spool = tempfile.SpooledTemporaryFile(_SPOOL_BYTES)  # noqa: SIM115 (closed by the generator)
    spool.writelines(pieces)
    spool.seek(0)

    def read() -> Iterator[bytes]:
        with spool:
            while piece := spool.read(1 << 20):
                yield piece

    return read()

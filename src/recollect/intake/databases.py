"""Reading an agent's SQLite database while its client runs, without locking it out or writing to it.

A log grows; a database is changed in place. What is kept of it is a log that Recollect makes: a line for
each version of each row that was ever seen, one source for each session.

    {"table":"part","key":"prt_1","version":1794852390815,"row":{"id":"prt_1","data":"{...}"}}

A row that is gone has `"row":null`. Bytes that are no text are `{"base64":"..."}`.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson

from recollect.agents.contract import Database
from recollect.values.errors import SourceError
from recollect.values.stored import StoredLine

BATCH_BYTES = 16 << 20
_CELL_BYTES_MAX = 256 << 20
_WAL_VERSION = b"\2\2"  # at byte 18: read and written through a write-ahead log
_BESIDE = ("-wal", "-shm", "-journal")

State = tuple[tuple[int, ...], ...]  # of a database's files: what changes when one does


class DatabaseChanged(Exception):
    """It was written to while it was being read as a file that nobody writes."""


class OpenDatabase:
    """A database at one moment: whatever is asked, the answer is of that moment."""

    def __init__(self, connection: sqlite3.Connection, path: str, state: State | None) -> None:
        self.connection = connection
        self._path, self._state = path, state

    def check(self) -> None:
        """Raise DatabaseChanged if what was read since it was opened may be of several moments."""
        if self._state is not None and _state(self._path) != self._state:
            raise DatabaseChanged(self._path)


@contextlib.contextmanager
def open_database(path: str, *, plain_reads: bool = False) -> Iterator[OpenDatabase]:
    """Open it for reading.

    A client that is running has log and index beside it: then a reader sees one moment and hinders nobody.
    Without either nobody is writing, and it is read as it lies there. What a crash left half done is put in
    order in a copy. `plain_reads`: nothing but tables can be read, and the schema may have columns that are
    made by functions, which are not run.
    """
    with contextlib.ExitStack() as held:
        before = _state(path)
        has_log, has_index, has_journal = (bool(each and each[0]) for each in before[1:])
        if has_journal or (has_log and not has_index):
            folder = held.enter_context(tempfile.TemporaryDirectory(prefix="recollect-"))
            address, watched = _uri(_copied(path, folder)), False
        elif has_log and _is_logged(path):
            address, watched = _uri(path) + "?mode=ro", False
        else:
            address, watched = _uri(path) + "?mode=ro&immutable=1", True
        try:
            connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=5)
            held.callback(connection.close)
            _tame(connection, plain_reads=plain_reads)
            connection.execute("BEGIN")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # the moment begins here
            yield OpenDatabase(connection, path, before if watched else None)
        except sqlite3.Error as error:
            raise SourceError(
                f"{path}: {error}", hint="nothing of it is lost; the next ingest tries again"
            ) from error


def session_path(path: str, session: str) -> str:
    """What the source of one session in a database is known by."""
    return f"{path}#{quote(session, safe='')}"


def size_of(path: str) -> int:
    """Its bytes, with those that are still in its log."""
    return sum(each[0] for each in _state(path)[:2] if each)


def new_lines(
    database: Database, opened: OpenDatabase, session: str, stored: Iterable[StoredLine]
) -> Iterator[list[bytes]]:
    """What of a session's rows is not among the lines that are kept of it, a batch at a time."""
    known = _last_versions(stored)
    edge = max((version for version, _ in known.values()), default=0)
    batch: list[bytes] = []
    size = 0
    there = set()
    for table, key, version in database.rows(opened.connection, session):
        name = _name(table, key)
        there.add(name)
        was, content = known.get(name, (None, 0))
        # Two changes may bear the same time: what changed last is compared by its content.
        if was == version and version < edge:
            continue
        line = line_of(table, key, version, database.row(opened.connection, table, key))
        if was is not None and content == hash(line):
            continue
        batch.append(line)
        size += len(line)
        if size >= BATCH_BYTES:
            opened.check()
            yield batch
            batch, size = [], 0
    batch += [_gone(name) for name, (version, _) in known.items() if name not in there and version >= 0]
    opened.check()
    if batch:
        yield batch


def lines_now(database: Database, opened: OpenDatabase, session: str) -> Iterator[bytes]:
    """What a session's rows are now, as the lines that are taken of them."""
    for table, key, version in database.rows(opened.connection, session):
        yield line_of(table, key, version, database.row(opened.connection, table, key))
    opened.check()


def line_of(table: str, key: str, version: int, row: Mapping[str, Any] | None) -> bytes:
    """One version of a row."""
    told = None if row is None else {name: _told(value) for name, value in row.items()}
    record = {"table": table, "key": key, "version": version, "row": told}
    try:
        return orjson.dumps(record)
    except TypeError:  # half a character, which JSON has only as an escape
        return json.dumps(record, separators=(",", ":")).encode()


def _last_versions(stored: Iterable[StoredLine]) -> dict[bytes, tuple[int, int]]:
    """For each row its last version and a hash of the line that has it; -1 where it is gone."""
    found = {}
    for line in stored:
        name, _, rest = line.data.partition(b',"version":')
        version, _, row = rest.partition(b",")
        with contextlib.suppress(ValueError):
            found[name] = -1 if row == b'"row":null}' else int(version), hash(line.data)
    return found


def _name(table: str, key: str) -> bytes:
    """How every line of a row begins."""
    return line_of(table, key, 0, None).partition(b',"version":')[0]


def _gone(name: bytes) -> bytes:
    return name + b',"version":0,"row":null}'


def _told(value: Any) -> Any:
    return {"base64": base64.b64encode(value).decode()} if type(value) is bytes else value


# -- files ---------------------------------------------------------------------------------------


def _state(path: str) -> State:
    """The files of a database; an empty one that is not there. A link is none of its files."""
    found: list[tuple[int, ...]] = []
    for name in (path, *(path + end for end in _BESIDE)):
        try:
            each = os.lstat(name)
        except FileNotFoundError:
            found.append(())
            continue
        except OSError as error:
            raise SourceError(f"{name}: {error.strerror}") from error
        if not stat.S_ISREG(each.st_mode):
            raise SourceError(f"{name}: not a regular file")
        found.append((each.st_size, each.st_mtime_ns, each.st_ctime_ns, each.st_ino))
    if not found[0]:
        raise SourceError(f"{path}: no such file")
    return tuple(found)


def _is_logged(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(20)[18:] == _WAL_VERSION


def _copied(path: str, folder: str) -> str:
    """A copy of the database and of what is to be put in order."""
    copy = os.path.join(folder, "copy.db")
    for _ in range(3):
        before = _state(path)
        for end in ("", "-wal", "-journal"):
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(path + end, copy + end, follow_symlinks=False)
        if _state(path) == before:
            return copy
    raise SourceError(f"{path}: it changes faster than it can be copied", hint="the next ingest tries again")


def _uri(path: str) -> str:
    return Path(path).absolute().as_uri()


def _tame(connection: sqlite3.Connection, *, plain_reads: bool) -> None:
    """Anyone may have made the file: what its schema says is not run."""
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    connection.row_factory = sqlite3.Row
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _CELL_BYTES_MAX)
    # A schema that is not trusted may not even name a function. Where nothing but tables is read, it may.
    trusted = "ON" if plain_reads else "OFF"
    for pragma in (f"trusted_schema={trusted}", "query_only=ON", "cell_size_check=ON", "mmap_size=0"):
        connection.execute(f"PRAGMA {pragma}")
    if plain_reads:
        connection.set_authorizer(_plain_read)


def _plain_read(
    action: int, first: str | None, second: str | None, database: str | None, inner: str | None
) -> int:
    """Let pass what reads a table, and nothing that a view or a trigger would do."""
    allowed = inner is None and (
        action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_TRANSACTION)
        or (action == sqlite3.SQLITE_FUNCTION and second in ("count", "min"))
        or (action == sqlite3.SQLITE_PRAGMA and first == "table_xinfo")
    )
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

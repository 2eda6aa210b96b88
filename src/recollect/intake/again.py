"""Sources looked at again: whether a file still is what was taken of it, and taking back what was evicted.

Of an evicted line its key is left, so a file is compared line by line with what it was, whether or not the
store still has the bytes.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Self

from recollect.agents.contract import Agent
from recollect.agents.registry import agent_of
from recollect.intake.databases import DatabaseChanged, OpenDatabase, lines_now, open_database
from recollect.intake.exports import Origin, conversations_in, mark_of, open_export
from recollect.intake.parsing import parse_lines
from recollect.intake.reader import batches, chunks, open_source, whole_document
from recollect.light.sources import is_conversation
from recollect.store.contract import View, Writer
from recollect.values.errors import SourceError
from recollect.values.ids import line_key
from recollect.values.records import Framing, SourceFile
from recollect.values.retention import Elsewhere
from recollect.values.stored import Source

OF_NO_FILE = 1  # a window that no file has
_ORDER = (Elsewhere.GONE, Elsewhere.CHANGED, Elsewhere.UNKNOWN, Elsewhere.THERE)  # the worst first

Marks = set[tuple[int, int]]


class Look:
    """Whether sources still are where they were taken from; what several came from is read once.

    Leave it to let go of databases: while it lasts, all that is told of one is of one moment.
    """

    def __init__(self, view: View, host: str) -> None:
        self._view, self._host = view, host
        self._exports: dict[tuple[str, str], Marks] = {}
        self._databases: dict[str, OpenDatabase] = {}
        self._opened = contextlib.ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    def elsewhere(self, sources: Iterable[Source]) -> tuple[Elsewhere, str]:
        """Whether all that a session's sources said is still on this disk, and the file that decides.

        A file that looks as it did when it was taken is not read; any other is compared line by line.
        """
        found = [(self._standing(each), place_of(each)) for each in sources if not each.superseded]
        return min(found, key=lambda each: _ORDER.index(each[0]), default=(Elsewhere.UNKNOWN, ""))

    def _standing(self, source: Source) -> Elsewhere:
        if source.host != self._host:
            return Elsewhere.UNKNOWN
        try:
            if source.file.framing is Framing.ROWS:
                return self._in_database(source)
            return self._in_file(source) if source.file.has_file else self._in_export(source)
        except FileNotFoundError:
            return Elsewhere.GONE
        except (OSError, SourceError, DatabaseChanged, sqlite3.Error):
            return Elsewhere.UNKNOWN

    def _in_file(self, source: Source) -> Elsewhere:
        file = file_now(source.file)
        if file is None:
            return Elsewhere.GONE
        seen, cursor = os.stat(file.read_path, follow_symlinks=False), source.cursor
        stored = cursor.size, cursor.mtime_ns, cursor.ctime_ns, cursor.inode
        if stored == (seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino):
            return Elsewhere.THERE
        return Elsewhere.THERE if is_as_taken(self._view, source, file) else Elsewhere.CHANGED

    def _in_export(self, source: Source) -> Elsewhere:
        origin = Origin.noted(source.cursor.state)
        if origin is None:
            return Elsewhere.UNKNOWN
        seen = os.stat(origin.path)
        if (seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns) == origin[2:]:
            return Elsewhere.THERE
        if origin[:2] not in self._exports:
            self._exports[origin[:2]] = _marks(origin.export(source.file.agent))
        is_there = (source.cursor.size, source.cursor.ctime_ns) in self._exports[origin[:2]]
        return Elsewhere.THERE if is_there else Elsewhere.CHANGED

    def _in_database(self, source: Source) -> Elsewhere:
        path = source.file.read_path
        if not os.path.lexists(path):
            return Elsewhere.GONE
        if path not in self._databases:
            self._databases[path] = self._opened.enter_context(open_database(path))
        there = rows_as_taken(self._view, source, self._databases[path])
        return Elsewhere.CHANGED if there is None else Elsewhere.THERE


def place_of(source: Source) -> str:
    """Where a source is looked for: its own path, of a conversation that came in an export that file's."""
    origin = Origin.noted(source.cursor.state)
    return source.file.path if origin is None or source.file.has_file else origin.path


def _marks(export: SourceFile) -> Marks:
    """Size and content of every conversation of an export."""
    with open_export(export) as pieces:
        found = (mark_of(data) for data in conversations_in(pieces, export.path))
        return {(each.size, each.ctime_ns) for each in found}


def rows_as_taken(view: View, source: Source, opened: OpenDatabase) -> list[bytes] | None:
    """The lines that were taken of a session's rows, from these; None where not all are what they were.

    A database has no earlier versions of a row, and nothing of one that is gone.
    """
    database = agent_of(source.file.agent).database()
    assert database is not None, "rows of an agent that has no database"
    now = {line_key(line): line for line in lines_now(database, opened, source.session)}
    found = [now.get(key) for key in view.line_keys(source)]
    return None if None in found else [line for line in found if line is not None]


def file_now(file: SourceFile) -> SourceFile | None:
    """A source's file as it lies on the disk, compressed by its agent or not; None where it is gone."""
    for compressed in (False, True):
        now = replace(file, compressed=compressed)
        if os.path.lexists(now.read_path):
            return now
    return None


def is_as_taken(view: View, source: Source, file: SourceFile) -> bool:
    """Whether a file begins with every line that was taken of a source; of a document, is all of them."""
    keys = list(view.line_keys(source))
    if source.cursor.waiting:
        del keys[-1]  # the half of a line, which was to be replaced
    pieces = source_pieces(agent_of(file.agent), file)
    for key in keys:
        piece = next(pieces, None)
        if piece is None or line_key(piece) != key:
            return False
    return file.framing is not Framing.DOCUMENT or next(pieces, None) is None


def look_again(writer: Writer, host: str, masks: frozenset[bytes] = frozenset()) -> None:
    """Let the next ingest, or sync, take all of each file that has more than is left of it here.

    Of what was erased no row is left, so it is seen by its absence: lines that were only evicted have their
    keys; so have those that were altered, which are known by `masks`, their keys. The caller commits.
    """
    view = writer.view()
    for source in view.sources():
        if not source.thinned or source.superseded or not is_conversation(source.file.agent):
            continue
        if source.host == host and source.file.framing is not Framing.ROWS and source.file.has_file:
            file = file_now(source.file)
            try:
                if file is None:
                    continue
                if masks.isdisjoint(view.line_keys(source)) and is_as_taken(view, source, file):
                    continue
            except (OSError, SourceError):
                pass  # the next ingest says what is wrong with it
        # It stays known that its lines are not its file; only the file is not known any more.
        forgotten = replace(source.cursor, mtime_ns=0, ctime_ns=0, window=OF_NO_FILE)
        writer.touch(source.host, source.file.path, forgotten)


def source_pieces(agent: Agent, file: SourceFile) -> Iterator[bytes]:
    """A file's lines, or what its agent cuts a document into, as they would be taken."""
    with open_source(file.read_path) as opened:
        content = chunks(opened, compressed=file.compressed)
        if file.framing is Framing.LINES:
            for batch in batches(content):
                yield from (data for data, _ in batch)
            return
        parser = agent.parser(file, {})
        for batch in whole_document(content):
            for data, flags in batch:
                yield from (line.data for line in parse_lines(parser, file.framing, data, flags))

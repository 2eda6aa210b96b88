"""Sources looked at again: whether a file still is what was taken of it, and taking back what was evicted.

Of an evicted line its key is left, so a file is compared line by line with what it was, whether or not the
store still has the bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace

from recollect.agents.contract import Agent
from recollect.agents.registry import agent_of
from recollect.intake.parsing import parse_lines
from recollect.intake.reader import batches, chunks, open_source, whole_document
from recollect.store.contract import View, Writer
from recollect.values.errors import SourceError
from recollect.values.ids import line_key
from recollect.values.records import Framing, SourceFile
from recollect.values.retention import Elsewhere
from recollect.values.stored import Source

_OF_NO_FILE = 1  # a window that no file has
_ORDER = (Elsewhere.GONE, Elsewhere.CHANGED, Elsewhere.UNKNOWN, Elsewhere.THERE)  # the worst first


def elsewhere(view: View, sources: Iterable[Source], host: str) -> tuple[Elsewhere, str]:
    """Whether all that a session's sources said is still on this machine's disk, and the file that decides.

    A file that looks as it did when it was taken is not read; any other is compared line by line.
    """
    found = [(_standing(view, each, host), each.file.path) for each in sources if not each.superseded]
    return min(found, key=lambda each: _ORDER.index(each[0]), default=(Elsewhere.UNKNOWN, ""))


def _standing(view: View, source: Source, host: str) -> Elsewhere:
    if source.host != host or source.file.framing is Framing.ROWS or not source.file.has_file:
        return Elsewhere.UNKNOWN
    file = file_now(source.file)
    if file is None:
        return Elsewhere.GONE
    try:
        seen, cursor = os.stat(file.read_path, follow_symlinks=False), source.cursor
        stored = cursor.size, cursor.mtime_ns, cursor.ctime_ns, cursor.inode
        if stored == (seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino):
            return Elsewhere.THERE
        return Elsewhere.THERE if is_as_taken(view, source, file) else Elsewhere.CHANGED
    except FileNotFoundError:
        return Elsewhere.GONE
    except (OSError, SourceError):
        return Elsewhere.UNKNOWN


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


def look_again(writer: Writer, host: str) -> None:
    """Let the next ingest, or sync, take all of each file that has more than is left of it here.

    Of what was erased no row is left, so it is seen by its absence: lines that were only evicted have their
    keys. The caller commits.
    """
    view = writer.view()
    for source in view.sources():
        if not source.thinned or source.superseded:
            continue
        if source.host == host and source.file.framing is not Framing.ROWS:
            file = file_now(source.file)
            try:
                if file is None or is_as_taken(view, source, file):
                    continue
            except (OSError, SourceError):
                pass  # the next ingest says what is wrong with it
        # It stays known that its lines are not its file; only the file is not known any more.
        forgotten = replace(source.cursor, mtime_ns=0, ctime_ns=0, window=_OF_NO_FILE)
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

"""What was evicted of a source, read again from where it still is; nothing that a key does not prove.

That is its own file, its rows in a database, the export in which it came, or a file that a person names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from recollect.agents.registry import agent_of
from recollect.intake.again import file_now, is_as_taken, place_of, rows_as_taken
from recollect.intake.databases import DatabaseChanged, open_database
from recollect.intake.discover import discover
from recollect.intake.exports import Origin, conversations_in, mark_of, open_export
from recollect.intake.ingest import Ingest
from recollect.intake.parsing import parse_lines
from recollect.intake.reader import batches, chunks, open_source, whole_document
from recollect.store.contract import View
from recollect.values.errors import SourceError
from recollect.values.ids import line_key
from recollect.values.records import Cursor, Framing, SourceFile
from recollect.values.stored import Source

Pieces = list[tuple[bytes, int]]


@dataclass(frozen=True, slots=True)
class Back:
    """A source that can be taken again, and the path it is read from.

    `content` is what proves itself by its keys; None for its own file, all of which is taken. `seen` is what
    the cursor is to know of where it came from.
    """

    source: Source
    path: str
    file: SourceFile
    content: Pieces | None = None
    seen: Cursor = field(default_factory=Cursor)

    def take(self, ingest: Ingest) -> None:
        if self.content is None:
            ingest.take_again(self.file, self.source)
        else:
            ingest.take_content(self.file, self.source, self.content, self.seen)


def find_back(view: View, source: Source, host: str, given: Sequence[Path], parent: str) -> Back:
    """Where all that was taken of a source is; SourceError where it is nowhere, with the reason.

    `given` are files in which to look as well. `parent` is the session that started this one.
    """
    file = replace(source.file, parent=parent)
    found = _own_place(view, source, file, host)
    for path in given:
        if isinstance(found, Back):
            break
        found = _given(view, source, file, path.resolve()) or SourceError(
            f"{path}: has not what was read of {place_of(source)}", hint="nothing was changed"
        )
    if isinstance(found, SourceError):
        raise found
    return found


def _own_place(view: View, source: Source, file: SourceFile, host: str) -> Back | SourceError:
    """Where it was taken from."""
    path, id_ = place_of(source), source.session[:8]
    named = f"with a copy of it: `recollect retention restore {id_} --from FILE`"
    if source.host != host:
        return SourceError(f"{path}: was read on {source.host}", hint=f"{named}, or restore it there")
    origin = Origin.noted(source.cursor.state)
    if not file.has_file and origin is None:
        return SourceError(f"{path}: came with an export, and nobody knows in which file", hint=named)
    now = file_now(file) if origin is None else origin.export(file.agent)
    if now is None or not os.path.lexists(now.read_path):
        return SourceError(
            f"{path}: is gone, and with it what was evicted",
            hint=f"{named}; `recollect digest {id_}` still tells of it",
        )
    if file.framing is Framing.ROWS:
        return _in_database(view, source, file, now.read_path)
    if now.framing is Framing.EXPORT:
        back = _in_export(view, source, file, now)
    else:
        back = Back(source, now.path, now) if is_as_taken(view, source, now) else None
    return back or SourceError(f"{path}: is not what was read of it", hint=f"nothing was changed; {named}")


def _given(view: View, source: Source, file: SourceFile, path: Path) -> Back | SourceError | None:
    """What a person named, if it has all of it."""
    if file.framing is Framing.ROWS:
        return _in_database(view, source, file, str(path))
    if not file.has_file:
        exports = (each.file for each in discover([path]).found if each.file.framing is Framing.EXPORT)
        found = (_in_export(view, source, file, each) for each in exports if each.agent == file.agent)
        return next((each for each in found if each is not None), None)
    with open_source(path) as opened:
        read = batches if file.framing is Framing.LINES else whole_document
        content = chunks(opened, compressed=path.suffix == ".zst")
        pieces = [each for batch in read(content) for each in batch]
    proven = _proven(view, source, file, pieces)
    return None if proven is None else Back(source, str(path), file, proven)


def _in_export(view: View, source: Source, file: SourceFile, export: SourceFile) -> Back | None:
    """The conversation of an export that is what was taken of a source."""
    with open_export(export) as pieces:
        for data in conversations_in(pieces, export.path):
            if len(data) == source.cursor.offset and (proven := _proven(view, source, file, [(data, 0)])):
                seen = mark_of(data, source.cursor.mtime_ns // 1_000_000, Origin.of(export).state)
                return Back(source, export.read_path, file, proven, seen)
    return None


def _in_database(view: View, source: Source, file: SourceFile, path: str) -> Back | SourceError:
    """The rows of a session, if each line that was taken is one of them as it is now."""
    try:
        with open_database(path) as opened:
            lines = rows_as_taken(view, source, opened)
    except DatabaseChanged:
        return SourceError(f"{path}: it changes faster than it can be read", hint="try again later")
    if lines is None:
        return SourceError(
            f"{path}: its rows are not what was read of them, and a database keeps no earlier versions",
            hint="nothing was changed; a copy of the database from then would do: --from FILE",
        )
    return Back(source, path, file, [(line, 0) for line in lines])


def _proven(view: View, source: Source, file: SourceFile, pieces: Pieces) -> Pieces | None:
    """As many of these as were taken, if their keys are those that were; None where one is not."""
    keys = list(view.line_keys(source))
    if source.cursor.waiting:
        del keys[-1]  # the half of a line, which was to be replaced
    if file.framing is Framing.LINES:
        pieces = pieces[: len(keys)]
    return pieces if list(_keys(file, pieces)) == keys else None


def _keys(file: SourceFile, pieces: Pieces) -> Iterator[bytes]:
    parser = agent_of(file.agent).parser(file, {})
    for data, flags in pieces:
        if file.framing is Framing.LINES:
            yield line_key(data)
        else:
            yield from (line_key(line.data) for line in parse_lines(parser, file.framing, data, flags))

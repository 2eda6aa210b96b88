"""Taking sources into a store: what is new in each file, once, with a count of everything.

A source's cursor moves in the same commit as its lines, so a kill at any moment loses
only work, never lines. Every line read is counted as exactly one of: taken, duplicate,
bad, blank, waiting (the half-written end of a file).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import BinaryIO

from recollect.agents.contract import Agent, Conversations, CutsRecords, Database, Parser, TellsFirst
from recollect.agents.decode import BadLine, decode, records_inside
from recollect.agents.registry import agent_of
from recollect.intake.checkpoints import Checkpoints
from recollect.intake.databases import DatabaseChanged, OpenDatabase, new_lines, open_database, session_path
from recollect.intake.discover import Found
from recollect.intake.erased import erased as what_was_erased
from recollect.intake.exports import conversations_in, is_usable, made_id, mark_of, open_export, source_of
from recollect.intake.masked import Masking
from recollect.intake.own import OwnLogs
from recollect.intake.reader import PIECE_BYTES, batches, chunks, open_source
from recollect.light.project import project_of
from recollect.store.contract import Writer
from recollect.values.erasures import Erased
from recollect.values.errors import SourceError
from recollect.values.ids import line_key
from recollect.values.records import (
    Cursor,
    Framing,
    Line,
    LineFlag,
    Provenance,
    Segment,
    SessionFacts,
    SourceFile,
)
from recollect.values.reports import Progress, Report
from recollect.values.stored import Source, TakeResult, source_bytes

COMMIT_BYTES = 64 << 20  # of source per commit: bounds memory and what a crash has to do again
_WINDOW_BYTES = 4096
_PLACES_MAX = 20
_TRIES = 5  # to read a database that is written to without a log


class OtherContent(Exception):
    """A copy of a file's end does not go on where what is stored of it ends: all of it is needed."""


@dataclass(frozen=True, slots=True)
class Copy:
    """Where a file of another machine lies here: all of it, or what it has from `start` on.

    `seen` is the file as it was there. Below `beside` lie, under their own paths, files that say something
    about it: what has the same path on this machine is another's.
    """

    path: str
    seen: Cursor
    start: int = 0
    beside: str = ""


class Ingest:
    """One pass over sources and journal segments, through one writer."""

    def __init__(
        self,
        writer: Writer,
        host: str,
        progress: Progress | None = None,
        own: OwnLogs | None = None,
        erased: Erased | None = None,
    ) -> None:
        """`own` says which sources are this person's; without it they are taken as they are marked.

        `erased` is what does not come back; without it, what the writer's store says of that.
        """
        self.erased = erased if erased is not None else what_was_erased(writer.view())
        self.report = Report()
        self.began: list[tuple[str, str]] = []  # the sources, by host and path, whose first record came
        self.dirty = False  # whether the writer was given anything that a commit would keep
        self._writer = writer
        self._host = host
        self._own = own
        self._progress = progress or (lambda path, done, total: None)
        self._uncommitted = 0
        self._done = 0
        self._total = 0
        self._tail = ("", "", 0, b"")  # a source's last bytes as stored: host, path, offset of the first
        self._captured: dict[str, tuple[Agent, SourceFile]] = {}  # what segments of this host came from

    def sweep(self, found: Sequence[Found]) -> None:
        """Take what is new in each file; a file that cannot be read is noted, the rest goes on."""
        self._total = self._total or sum(each.size for each in found)
        for each in found:
            self.report.sources += 1
            self.report.bytes_source += each.size
            self._progress(each.file.path, self._done, self._total)
            before = self._done
            try:
                changed = self._file(each.agent, each.file)
                self.report.changed += changed
                self.report.unchanged += not changed
            except SourceError as error:
                self.report.failed[each.file.path] = str(error)
            self._done = before + each.size
        self._progress("", self._done, self._total)

    def plan(self, size: int) -> None:
        """Say how many bytes all sweeps together will cover, for the progress shown."""
        self._total = size

    def adopt(self, portion: Report, path: str, size: int) -> None:
        """Count what a worker did, as if it had been done here."""
        for name in Report.__slots__:
            counted, theirs = getattr(self.report, name), getattr(portion, name)
            if isinstance(counted, Counter | dict):
                counted.update(theirs)
            elif isinstance(counted, list):
                counted.extend(theirs[: _PLACES_MAX - len(counted)])
            else:
                setattr(self.report, name, counted + theirs)
        self.dirty = True
        self._done += size
        self._moved(path, size)

    def take_copy(self, agent: Agent, file: SourceFile, copy: Copy) -> bool:
        """Take what is new in a file of another machine, by its copy; False when there is nothing to note.

        OtherContent where its end alone does not do.
        """
        self.report.sources += 1
        file = self._marked(file, self._host)
        if file.framing is Framing.ROWS:
            return self._database(agent, file, copy.path)
        if self._is_gone(agent, file.session):
            return False
        held = self._writer.source(self._host, file.path)
        with open_source(copy.path) as opened:
            if is_plain(file):
                start = _copy_start(opened, held, copy)
                if start is None and held is not None and held.thinned:
                    start = self._resume_thinned_copy(opened, file, held, copy)
                pieces = batches(chunks(opened, compressed=False, start=(start or 0) - copy.start))
            else:
                start = 0 if held is None else self._resume_at(opened, file, held, copy.seen)
                content = chunks(opened, compressed=file.compressed, start=start or 0)
                lines = file.framing == Framing.LINES
                pieces = batches(content) if lines else whole_document(content)
            restart = start is None
            self.report.restarted += restart
            taking = _Taking(agent, file, self._host, held, start or 0, restart, copy.beside)
            taking.seen = copy.seen
            return self._take_all(taking, pieces)

    def note_own(self, agent: Agent, file: SourceFile) -> bool:
        """Let a source of which nothing is new count as own, if it is; False where nothing changed."""
        return self._note_own(agent, self._marked(file, self._host))

    def fold(self, pending: Iterable[tuple[int, Segment]]) -> int:
        """Take what the journal holds; returns the last sequence number taken."""
        last = 0
        for number, segment in pending:
            self._segment(segment)
            self._writer.folded(number)
            last = number
        return last

    def compare_captured(self) -> None:
        """Take anew each file that was folded and no longer begins with what was taken of it before.

        A hook that captures what is new does not look so far back.
        """
        for agent, file in self._captured.values():
            held = self._writer.source(self._host, file.path)
            if held is None:
                continue
            sums = Checkpoints.split(held.cursor.state, held.cursor.offset)[1]
            with contextlib.suppress(SourceError):
                with open_source(file.read_path) as opened:
                    same = sums is not None and sums.hold(opened)
                if not same:
                    self._writer.touch(self._host, file.path, replace(held.cursor, mtime_ns=0, ctime_ns=0))
                    self._file(agent, file)
        self._captured.clear()

    def take_again(self, file: SourceFile, held: Source) -> None:
        """Take all of a source's file as a new version of it: what was evicted of the one before is back."""
        agent, file = agent_of(file.agent), self._marked(file, self._host)
        with open_source(file.read_path) as opened:
            taking = _Taking(agent, file, self._host, held, 0, restart=True)
            taking.opened, taking.seen = opened, _seen(opened)
            read = batches if file.framing is Framing.LINES else whole_document
            # In one go, because it is to stand where the version before stood.
            pieces = [each for batch in read(chunks(opened, compressed=file.compressed)) for each in batch]
            self._take_all(taking, iter([pieces]))

    # -- one source ----------------------------------------------------------------------

    def _file(self, agent: Agent, file: SourceFile) -> bool:
        """Take what is new in one file; False when the store has nothing to note about it."""
        file = self._marked(file, self._host)
        if file.framing is Framing.ROWS:
            return self._database(agent, file)
        if file.framing is Framing.EXPORT:
            return self._export(agent, file)
        if self._is_gone(agent, file.session):
            return False
        with open_source(file.read_path) as opened:
            seen = _seen(opened)
            if self._writer.is_current(self._host, file.path, seen):
                return self._note_own(agent, file)
            held = self._writer.source(self._host, file.path)
            start = 0 if held is None else self._resume_at(opened, file, held, seen)
            restart = start is None
            self.report.restarted += restart
            taking = _Taking(agent, file, self._host, held, start or 0, restart)
            taking.opened, taking.seen = opened, seen
            if taking.sums is None and start and is_plain(file):
                taking.sums = Checkpoints.read(opened, start)
            if file.framing == Framing.LINES:
                pieces = batches(chunks(opened, compressed=file.compressed, start=start or 0))
            elif held is None or restart:
                pieces = whole_document(chunks(opened, compressed=False))
            else:
                pieces = iter(())
            return self._take_all(taking, pieces)

    def _database(self, agent: Agent, file: SourceFile, copy: str = "") -> bool:
        """Take what is new in each session of a database, or of a copy of it."""
        database = agent.database()
        assert database is not None, "a database of an agent that has none"
        for _ in range(_TRIES):
            try:
                with open_database(copy or file.path) as opened:
                    found = list(database.sessions(opened.connection))
                    opened.check()
                    changed = [self._rows(agent, database, opened, file, *each) for each in found]
                return any(changed)
            except DatabaseChanged:
                continue
        raise SourceError(f"{file.path}: it changes faster than it can be read", hint="ingest again later")

    def _rows(
        self,
        agent: Agent,
        database: Database,
        opened: OpenDatabase,
        file: SourceFile,
        session: str,
        mark: tuple[int, int, int],
    ) -> bool:
        """Take what is new in one session of a database; a `mark` is to it what times are to a file."""
        if self._is_gone(agent, session):
            return False
        file = replace(file, path=session_path(file.path, session), session=session)
        size, mtime_ns, ctime_ns = mark
        seen = Cursor(size=size, mtime_ns=mtime_ns, ctime_ns=ctime_ns)
        if self._writer.is_current(self._host, file.path, seen):
            return self._note_own(agent, file)
        held = self._writer.source(self._host, file.path)
        stored = self._writer.view().lines(held) if held is not None else iter(())
        taking = _Taking(agent, file, self._host, held, held.cursor.offset if held else 0, restart=False)
        taking.seen = seen
        news = new_lines(database, opened, session, stored)
        if held is not None and held.thinned:  # what was evicted is not new
            known = self._known_rows(held)
            news = ([line for line in lines if line_key(line) not in known] for lines in news)
        return self._take_all(taking, ([(line, 0) for line in lines] for lines in news))

    def _known_rows(self, held: Source) -> set[bytes]:
        """The keys of the rows that are stored, without those whose secrets may come back."""
        view = self._writer.view()
        back = {line.key for line in view.lines(held) if line.key and not self.erased.is_masked(line.key)}
        return set(view.line_keys(held)) - back

    def _export(self, agent: Agent, file: SourceFile) -> bool:
        """Take what is new in each conversation of a document that lists many."""
        conversations = agent.conversations()
        assert conversations is not None, "an export of an agent that has none"
        changed = False
        with open_export(file) as pieces:
            for number, data in enumerate(conversations_in(pieces, file.path), 1):
                if not data:
                    why = f"a conversation longer than {PIECE_BYTES >> 20} MiB"
                    self.report.failed[f"{file.path}:{number}"] = why
                    continue
                id_, changed_ms = _identity(conversations, data)
                seen = mark_of(data, changed_ms)
                changed |= self._conversation(agent, source_of(file, id_), data, seen)
        return changed

    def _conversation(self, agent: Agent, file: SourceFile, data: bytes, seen: Cursor) -> bool:
        """Take one version of a conversation; what was the newest before stays that if this one is older."""
        if self._is_gone(agent, file.session):
            return False
        held = self._writer.source(self._host, file.path)
        if held is not None and (file.path, seen.size, seen.ctime_ns) in self._versions:
            self._done += len(data)
            self._moved(file.path, 0)
            return False
        self._versions.add((file.path, seen.size, seen.ctime_ns))
        if held is not None and held.thinned and held.cursor.mtime_ns > seen.mtime_ns:
            return False  # the newer one was evicted, and cannot be put behind this one
        takes = [(data, seen)]
        if held is not None and held.cursor.mtime_ns > seen.mtime_ns:
            takes.append((self._stored(held, 0), held.cursor))
            self._uncommitted -= len(data) + 1  # no commit between the two: a crash would leave the older one
        self.report.restarted += held is not None
        restart = held is not None
        for content, mark in takes:
            taking = _Taking(agent, file, self._host, held, 0, restart)
            taking.seen = mark
            self._take_all(taking, iter([[(content, 0)]]))
            restart = True
        return True

    @functools.cached_property
    def _versions(self) -> set[tuple[str, int, int]]:
        """Every version of every conversation of an export: what was taken once is not taken again."""
        return {
            (each.file.path, each.cursor.size, each.cursor.ctime_ns)
            for each in self._writer.view().sources()
            if each.host == self._host and each.file.framing is Framing.DOCUMENT
        }

    def _marked(self, file: SourceFile, host: str) -> SourceFile:
        return self._own.marked(file, host) if self._own is not None else file

    def _note_own(self, agent: Agent, file: SourceFile) -> bool:
        """Let a source that was imported count as own once it is found to be; False where nothing changed."""
        if file.provenance is not Provenance.OWN:
            return False
        held = self._writer.source(self._host, file.path)
        if held is None or not held.imported or held.cursor.waiting:
            return False
        taking = _Taking(agent, file, self._host, held, held.cursor.offset, restart=False)
        self._writer.take(file, self._host, [], held.cursor, taking.facts(), parser=held.parser)
        self.dirty = True
        return True

    def _resume_at(self, opened: BinaryIO, file: SourceFile, held: Source, seen: Cursor) -> int | None:
        """Where the new part of a file begins; None when the file is not what it was."""
        cursor = held.cursor
        if seen.size < cursor.offset and not file.compressed:
            return None
        if held.thinned:
            return self._resume_thinned(opened, file, held)
        # A file that changed without growing was written over in place: no window shows where.
        grown = cursor.window and cursor.inode == seen.inode and cursor.size != seen.size
        sums = Checkpoints.split(cursor.state, cursor.offset)[1] if grown and is_plain(file) else None
        if sums is not None:
            same = window_of(opened, cursor.offset) == cursor.window and sums.hold(opened)
        else:
            same = self._same_start(opened, file, held)
        if not same:
            return None
        if cursor.terminated or cursor.waiting or file.framing == Framing.DOCUMENT:
            return cursor.offset
        # The last line was taken without its newline: that must be what comes next.
        following = next(chunks(opened, compressed=file.compressed, start=cursor.offset), b"")[:1]
        return {b"": cursor.offset, b"\n": cursor.offset + 1}.get(following)

    def _resume_thinned(self, opened: BinaryIO, file: SourceFile, held: Source) -> int | None:
        """The same of a source some of whose lines are not what they were: sums tell, not bytes."""
        from recollect.intake.again import OF_NO_FILE, is_as_taken

        cursor = held.cursor
        if cursor.window == OF_NO_FILE:  # what was erased may come back
            return None
        if not is_plain(file):
            return cursor.offset if is_as_taken(self._writer.view(), held, file) else None
        if not cursor.window:  # nobody here saw the file: what was merged may say anything of it
            is_same = is_as_taken(self._writer.view(), held, file)
            return _behind(opened, cursor) if is_same else None
        sums = Checkpoints.split(cursor.state, cursor.offset)[1]
        if window_of(opened, cursor.offset) != cursor.window or (sums is not None and not sums.hold(opened)):
            return None
        return _behind(opened, cursor)

    def _resume_thinned_copy(
        self, opened: BinaryIO, file: SourceFile, held: Source, copy: Copy
    ) -> int | None:
        """The same of a copy that is all of a file: each line is compared by its key."""
        from recollect.intake.again import OF_NO_FILE, is_as_taken

        if held.cursor.window == OF_NO_FILE:
            return None
        is_same = is_as_taken(self._writer.view(), held, replace(file, path=copy.path))
        return _behind(opened, held.cursor) if is_same else None

    def _same_start(self, opened: BinaryIO, file: SourceFile, held: Source) -> bool:
        """Whether the file begins with every byte that was taken of it, compared in full."""
        content = _Bytes(chunks(opened, compressed=file.compressed))
        left = held.cursor.offset
        for piece in source_bytes(held, self._writer.view().lines(held)):
            piece = piece[:left]
            if content.take(len(piece)) != piece:
                return False
            left -= len(piece)
        return file.framing != Framing.DOCUMENT or not content.take(1)

    def _segment(self, segment: Segment) -> None:
        """Take one journal segment, as far as it reaches beyond what is there."""
        agent = agent_of(segment.source.agent)
        if self.erased and self.erased.has_session(agent.name, segment.host, segment.source.session):
            self.report.erased += 1
            return
        segment = replace(segment, source=self._marked(segment.source, segment.host))
        if segment.host == self._host and is_plain(segment.source):
            self._captured[segment.source.path] = agent, segment.source
        held = self._writer.source(segment.host, segment.source.path)
        place = self._place(held, segment)
        if place is None and segment.host == self._host and os.path.isfile(segment.source.read_path):
            # Something before it was never captured, but the file may still have it.
            with contextlib.suppress(SourceError):
                self._file(agent, segment.source)
                held = self._writer.source(segment.host, segment.source.path)
                place = self._place(held, segment)
        if place is None:
            # What comes before it is lost. It is kept, and no half line before it is given up for it.
            place = segment.offset, segment.data, held is not None and not held.cursor.terminated
        start, data, restart = place
        if data or (held is not None and start > held.cursor.offset):
            taking = _Taking(agent, segment.source, segment.host, held, start, restart)
            whole = segment.source.framing == Framing.DOCUMENT
            with self._still_there(taking, segment):
                self._take_all(taking, (whole_document if whole else batches)(iter([data])))

    @contextlib.contextmanager
    def _still_there(self, taking: _Taking, segment: Segment) -> Iterator[None]:
        """Note how the file looks, if it still holds what was captured: a sweep then need not compare it."""
        if segment.host != self._host or segment.source.compressed:
            yield
            return
        try:
            opened = open_source(segment.source.path)
        except SourceError:
            yield
            return
        with opened:
            opened.seek(segment.offset)
            if opened.read(len(segment.data)) == segment.data:
                seen, end = _seen(opened), segment.offset + len(segment.data)
                taking.opened = opened
                taking.seen = seen if seen.size == end else Cursor(size=end, inode=seen.inode)
            yield

    def _place(self, held: Source | None, segment: Segment) -> tuple[int, bytes, bool] | None:
        """Where a segment's news begin, these bytes, and whether they are a new version of the source.

        None when something is missing between what is stored and the segment.
        """
        if held is None:
            return (0, segment.data, False) if not segment.offset else None
        end, lines = held.cursor.offset, held.file.framing == Framing.LINES
        if segment.offset == end and held.cursor.terminated and lines:
            return end, segment.data, False
        if held.thinned:
            return self._place_behind(held, segment)
        first = min(segment.offset, end)
        known = self._stored(held, first)  # with the half-written line behind the cursor, if there is one
        inside = segment.offset - first
        common = min(len(known) - inside, len(segment.data))
        if common < 0:
            return None
        if known[inside : inside + common] != segment.data[:common]:
            return 0, self._stored(held, 0)[: segment.offset] + segment.data, True
        if common == len(segment.data):
            return end, b"", False
        news = (known[:inside] + segment.data)[end - first :]
        if lines and (held.cursor.terminated or held.cursor.waiting):
            return end, news, False
        if lines and news[:1] == b"\n":
            return end + 1, news[1:], False
        return 0, self._stored(held, 0)[:end] + news, True

    def _place_behind(self, held: Source, segment: Segment) -> tuple[int, bytes, bool] | None:
        """`_place` where the bytes before are not there to compare with: what is new is behind the cursor.

        That the file is another by now shows when it is compared (`compare_captured`).
        """
        end, lines = held.cursor.offset, held.file.framing == Framing.LINES
        if segment.offset == 0 and not lines:
            return 0, segment.data, True
        if segment.offset > end or not lines:
            return None
        news = segment.data[end - segment.offset :]
        if held.cursor.terminated or held.cursor.waiting or not news:
            return end, news, False
        return (end + 1, news[1:], False) if news[:1] == b"\n" else None

    def _stored(self, held: Source, start: int) -> bytes:
        """A source's bytes from an offset to the end of what is stored of it."""
        name = (held.host, held.file.path)
        if self._tail[:2] != name or self._tail[2] > start:
            kept, at = [], 0
            for piece in source_bytes(held, self._writer.view().lines(held)):
                kept.append(piece[max(start - at, 0) :])
                at += len(piece)
            self._tail = (*name, start, b"".join(kept))
        return self._tail[3][start - self._tail[2] :]

    def _take_all(self, taking: _Taking, found: Iterator[list[tuple[bytes, int]]]) -> bool:
        """Take every batch; False when there was none, and no source to note that of."""
        self._tail = ("", "", 0, b"")
        batch: list[tuple[bytes, int]] = []
        for following in found:
            if batch:
                self._take(taking, batch, done=False)
            batch = following
        if batch:
            self._take(taking, batch, done=True)
            if taking.begins:
                self.began.append((taking.host, taking.file.path))
        elif taking.held is not None:
            self._writer.touch(taking.host, taking.file.path, taking.cursor(done=True))
            self.dirty = True
        return bool(batch) or taking.held is not None

    def _take(self, taking: _Taking, batch: list[tuple[bytes, int]], *, done: bool) -> None:
        """Hand one batch to the store. Only with the last one is the file marked as seen."""
        lines = []
        masking = Masking.of(self.erased, self._writer.view, taking.file, taking.before)
        for data, flags in batch:
            if self.erased.has_lines and self._is_erased(data):  # before a parser learns anything of it
                taking.pass_over(Line(data, flags & ~LineFlag.PENDING), ended=not flags & LineFlag.PENDING)
                taking.thinned = True
                self.report.erased += 1
                continue
            for piece, line in self._parsed(taking, masking, data, flags):
                said = line if line is not None and not line.key else Line(piece, line.flags if line else 0)
                taking.pass_over(said, ended=not flags & LineFlag.PENDING)
                taking.thinned |= said is not line
                if line is None or (self.erased.has_lines and piece is not data and self._is_erased(piece)):
                    taking.thinned = True  # a record of a document
                    self.report.erased += 1
                    continue
                lines.append(line)
            self.report.bytes_parsed += len(data)
        if self.erased and self._leaves_out(taking, lines):
            return
        self.dirty = True
        taken = self._writer.take(
            taking.file,
            taking.host,
            lines,
            taking.cursor(done=done),
            taking.facts(),
            parser=taking.agent.version,
            restart=taking.restart,
        )
        taking.restart = False
        self._count(taking, lines, taken)
        read = sum(len(data) + 1 for data, _ in batch)
        self._done += read
        self._moved(taking.file.path, read)

    def _parsed(
        self, taking: _Taking, masking: Masking, data: bytes, flags: int
    ) -> Iterable[tuple[bytes, Line | None]]:
        """The lines of some bytes, each with its own; None for one whose secrets cannot be masked again."""
        if not self.erased.has_masks:
            return (
                (each.data, each) for each in parse_lines(taking.parser, taking.file.framing, data, flags)
            )
        return masking.parse(taking.parser, taking.file, data, flags, parse_lines)

    def _is_erased(self, data: bytes) -> bool:
        return bool(data.strip()) and self.erased.has_line(line_key(data))

    def _is_gone(self, agent: Agent, session: str) -> bool:
        """Whether a session was erased."""
        return bool(self.erased) and self.erased.has_session(agent.name, self._host, session)

    def _leaves_out(self, taking: _Taking, lines: list[Line]) -> bool:
        """Whether nothing is to be taken: of a session that was erased, or of a file all of which was."""
        if self.erased.has_session(taking.agent.name, taking.host, taking.facts().id):
            self.report.erased += len(lines)
            return True
        return not lines and taking.held is None and taking.thinned

    def _moved(self, path: str, size: int) -> None:
        """Show how far we are, and commit now and then."""
        self._progress(path, min(self._done, self._total), self._total)
        self._uncommitted += size
        if self._uncommitted >= COMMIT_BYTES:
            self._writer.commit()
            self._uncommitted = 0

    def _count(self, taking: _Taking, lines: Sequence[Line], taken: TakeResult) -> None:
        """Put each line under one heading; the pieces of a long one are one line, counted at its end."""
        report = self.report
        report.entries += taken.entries
        for line, known in zip(lines, taken.known, strict=True):
            flags = line.flags
            if flags & LineFlag.CONTINUES:
                taking.long = True
                continue
            report.lines += 1
            taking.number += 1
            if known:
                report.duplicate += 1
            elif flags & LineFlag.PENDING:
                report.waiting += 1
            elif flags & LineFlag.BAD:
                self._note_bad(taking, line)
            elif flags & LineFlag.BLANK:
                report.blank += 1
            else:
                report.taken += 1
                report.lenient += bool(flags & LineFlag.LENIENT)
                if flags & LineFlag.UNKNOWN and line.parsed is not None:
                    report.unknown_types[line.parsed.type] += 1
            taking.long = False

    def _note_bad(self, taking: _Taking, line: Line) -> None:
        self.report.bad += 1
        reason = f"longer than {PIECE_BYTES >> 20} MiB"
        if not taking.long:
            try:
                decode(line.data)
            except BadLine as error:
                reason = str(error)
        self.report.bad_reasons[reason] += 1
        if len(self.report.bad_places) < _PLACES_MAX:
            self.report.bad_places.append(f"{taking.file.path}:{taking.number}: {reason}")


def parse_lines(parser: Parser, framing: Framing, data: bytes, flags: int) -> list[Line]:
    """One line of a log parsed, or a document, cut into records where its parser does that."""
    if flags & LineFlag.ALTERED:
        found = parse_lines(parser, framing, data, flags & ~LineFlag.ALTERED)
        return [replace(line, flags=line.flags | LineFlag.ALTERED) for line in found]
    if framing != Framing.DOCUMENT or flags & LineFlag.BAD:
        return [_parse_line(parser, data, flags)]
    if not isinstance(parser, CutsRecords):
        return [Line(data, flags, parser.document(data))]
    records = list(parser.records(data))
    if not records:
        return [Line(data, flags | LineFlag.BAD)]
    assert b"".join(piece for _, piece in records) == data, "records that are not their document"
    lines = [(piece, parser.record(key, piece)) for key, piece in records]
    return [Line(piece, 0 if parsed.known else LineFlag.UNKNOWN, parsed) for piece, parsed in lines]


def _parse_line(parser: Parser, data: bytes, flags: int) -> Line:
    """Decode and parse one line; a bad one is data, not an exception."""
    if flags & LineFlag.BAD:
        return Line(data, flags)
    if not data.strip():
        return Line(data, flags or LineFlag.BLANK)
    try:
        record, lenient = decode(data)
    except BadLine:
        return _spliced(parser, data) if not flags else Line(data, flags)
    if flags & LineFlag.PENDING:
        # Without a newline only a value that marks its own end is known to be whole.
        if data[-1:] not in (b"}", b"]", b'"'):
            return Line(data, flags)
        flags = 0
    parsed = parser.parse(record)
    flags |= LineFlag.LENIENT if lenient else 0
    return Line(data, flags if parsed.known else flags | LineFlag.UNKNOWN, parsed)


def _spliced(parser: Parser, data: bytes) -> Line:
    """A line that is no record: with what the records inside of it say, where the adapter knows them."""
    parsed = [each for record in records_inside(data) if (each := parser.parse(record)).known]
    if not parsed:
        return Line(data, LineFlag.BAD)
    whole = replace(
        parsed[0],
        entries=tuple(entry for each in parsed for entry in each.entries),
        usages=tuple(usage for each in parsed for usage in each.usages),
        replaces=tuple(uuid for each in parsed for uuid in each.replaces),
    )
    return Line(data, LineFlag.BAD | LineFlag.SPLICED, whole)


def _identity(conversations: Conversations, data: bytes) -> tuple[str, int]:
    """Which conversation it is, and when it last changed; what is none is known by its bytes."""
    try:
        found = conversations.identity(decode(data)[0])
    except BadLine:
        found = None
    return found if found is not None and is_usable(found[0]) else (made_id(data), 0)


class _Taking:
    """A source being read: where we are in it, and what its parser has seen."""

    def __init__(
        self,
        agent: Agent,
        file: SourceFile,
        host: str,
        stored: Source | None,
        start: int,
        restart: bool,
        beside: str = "",
    ) -> None:
        held = None if restart else stored
        self.agent, self.file, self.host, self.held, self.before = agent, file, host, held, stored
        self.session = stored.session if stored is not None else ""  # while nothing in it says whose it is
        self.restart = restart
        known = Cursor() if held is None else held.cursor
        state, sums = Checkpoints.split(known.state, known.offset)
        if not known.offset and is_plain(file):
            sums = Checkpoints()
        if sums is not None and start == known.offset + 1:
            sums.add(b"\n")  # of a line that was taken without it
        self.sums = sums if start - known.offset in (0, 1) else None
        self._passed: list[bytes] = []  # what is not in the sums yet
        self.parser: Parser = agent.parser(replace(file, path=beside + file.path) if beside else file, state)
        self._first = self.parser.first if isinstance(self.parser, TellsFirst) else ""
        self.offset = start
        self.number = held.lines - held.cursor.waiting if held is not None else 0
        self.long = False  # inside a line that comes in pieces
        self.terminated = True
        self.waiting = False
        self.thinned = known.thinned
        self.opened: BinaryIO | None = None
        self.seen = Cursor()
        if held is not None and start == held.cursor.offset:
            self.terminated, self.waiting = held.cursor.terminated, held.cursor.waiting

    @property
    def begins(self) -> bool:
        """Whether the first record of a conversation came only now."""
        return not self._first and isinstance(self.parser, TellsFirst) and bool(self.parser.first)

    def pass_over(self, line: Line, *, ended: bool) -> None:
        """Move behind a line that was just read; `ended`: by a newline."""
        self.waiting = bool(line.flags & LineFlag.PENDING)
        piece = self.file.framing == Framing.DOCUMENT or line.flags & LineFlag.CONTINUES
        self.terminated = ended and self.file.framing != Framing.DOCUMENT
        if not self.waiting:
            self.offset += len(line.data) + (self.terminated and not piece)
            self._passed += (line.data, b"\n") if self.terminated and not piece else (line.data,)

    def cursor(self, *, done: bool) -> Cursor:
        """How far we are. A file not read to its end is not marked as seen, so it is looked at again."""
        window = 0
        if self.opened is not None and not self.file.compressed:
            window = window_of(self.opened, self.offset)
        state = self.parser.state()
        if self.sums is not None:
            self.sums.add(b"".join(self._passed))
            state = self.sums.joined(state)
        self._passed.clear()
        seen = self.seen if done else Cursor(inode=self.seen.inode)
        return replace(
            seen,
            offset=self.offset,
            window=window,
            terminated=self.terminated,
            waiting=self.waiting,
            state=state,
            thinned=self.thinned,
        )

    def facts(self) -> SessionFacts:
        facts = self.parser.facts
        return replace(
            facts,
            id=facts.id or self.file.session or self.session or PurePath(self.file.path).name.split(".")[0],
            project=facts.project or project_of(facts.cwd),
        )


def is_plain(file: SourceFile) -> bool:
    """Whether a source's content is its file, to which lines are added."""
    return file.framing == Framing.LINES and not file.compressed


def _copy_start(opened: BinaryIO, held: Source | None, copy: Copy) -> int | None:
    """Where the news of a copy begin; None where the copy is all of a file that is not what it was."""
    if held is None or not held.lines:
        if copy.start:
            raise OtherContent
        return 0
    cursor = held.cursor
    if copy.start != cursor.offset:
        if copy.start:
            raise OtherContent
        return None
    if cursor.terminated or cursor.waiting:
        return cursor.offset
    # The last line was taken without its newline: that must be what comes next.
    following = next(chunks(opened, compressed=False), b"")[:1]
    if following not in (b"", b"\n"):
        raise OtherContent
    return cursor.offset + len(following)


def _behind(opened: BinaryIO, cursor: Cursor) -> int | None:
    """Where the lines behind those that a cursor knows begin in their file; None where that cannot be."""
    if cursor.terminated or cursor.waiting:
        return cursor.offset
    # The last line was taken without its newline: that must be what comes next.
    following = next(chunks(opened, compressed=False, start=cursor.offset), b"")[:1]
    return {b"": cursor.offset, b"\n": cursor.offset + 1}.get(following)


def window_of(opened: BinaryIO, offset: int) -> int:
    """The hash of the last few kilobytes before an offset; never 0.

    Whoever is reading the file goes on where they were.
    """
    at = opened.tell()
    opened.seek(max(offset - _WINDOW_BYTES, 0))
    data = opened.read(min(offset, _WINDOW_BYTES))
    opened.seek(at)
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little") or 1


def _seen(opened: BinaryIO) -> Cursor:
    now = os.fstat(opened.fileno())
    return Cursor(size=now.st_size, mtime_ns=now.st_mtime_ns, ctime_ns=now.st_ctime_ns, inode=now.st_ino)


def whole_document(pieces: Iterator[bytes]) -> Iterator[list[tuple[bytes, int]]]:
    """A document as one line, or as pieces of one when it is huge."""
    carry = bytearray()
    flags = 0
    for piece in pieces:
        carry += piece
        if len(carry) >= PIECE_BYTES:
            flags = int(LineFlag.BAD)
            yield [(bytes(carry), LineFlag.BAD | LineFlag.CONTINUES)]
            carry.clear()
    if carry:
        yield [(bytes(carry), flags)]


class _Bytes:
    """A run of chunks taken by length."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest, self._at = pieces, b"", 0

    def take(self, size: int) -> bytes:
        while len(self._rest) - self._at < size and (piece := next(self._pieces, b"")):
            self._rest, self._at = self._rest[self._at :] + piece, 0
        taken = self._rest[self._at : self._at + size]
        self._at += len(taken)
        return taken

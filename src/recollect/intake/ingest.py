"""Taking sources into a store: what is new in each file, once, with a count of everything.

A source's cursor moves in the same commit as its lines, so a kill at any moment loses
only work, never lines. Every line read is counted as exactly one of: taken, duplicate,
bad, blank, waiting (the half-written end of a file).
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from recollect.agents.contract import Agent, Database
from recollect.agents.registry import agent_of
from recollect.intake.checkpoints import Checkpoints
from recollect.intake.counting import add_report, count_lines
from recollect.intake.databases import DatabaseChanged, OpenDatabase, new_lines, open_database, session_path
from recollect.intake.discover import Found
from recollect.intake.erased import erased as what_was_erased
from recollect.intake.exports import Origin, conversations_in, identity_of, mark_of, open_export, source_of
from recollect.intake.masked import Masking
from recollect.intake.news import Copy, is_plain, start_in_copy, start_in_thinned_copy, start_of_news
from recollect.intake.own import OwnLogs
from recollect.intake.parsing import parse_lines
from recollect.intake.placing import Placing, joined
from recollect.intake.reader import PIECE_BYTES, batches, chunks, open_source, whole_document
from recollect.intake.taking import Taking, look_of
from recollect.store.contract import Writer
from recollect.values.erasures import Erased
from recollect.values.errors import SourceError
from recollect.values.ids import line_key
from recollect.values.records import BEHIND, Cursor, Framing, Line, LineFlag, Provenance, Segment, SourceFile
from recollect.values.reports import Progress, Report
from recollect.values.stored import Source

COMMIT_BYTES = 64 << 20  # of source per commit: bounds memory and what a crash has to do again
_TRIES = 5  # to read a database that is written to without a log


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
        self.left_out: dict[str, bytes] = {}  # files whose session was erased, by path: the salt of that
        self.dirty = False  # whether the writer was given anything that a commit would keep
        self._writer = writer
        self._host = host
        self._own = own
        self._progress = progress or (lambda path, done, total: None)
        self._uncommitted = 0
        self._done = 0
        self._total = 0
        self._placing = Placing(writer)
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
        add_report(self.report, portion)
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
        if (salt := self.erased.salt_of_session(agent.name, self._host, file.session)) is not None:
            self.left_out[file.path] = salt
            return False
        held, writer = self._writer.source(self._host, file.path), self._writer
        with open_source(copy.path) as opened:
            if is_plain(file):
                start = start_in_copy(opened, held, copy)
                if start is None and held is not None and held.thinned:
                    start = start_in_thinned_copy(writer, opened, file, held, copy)
                pieces = batches(chunks(opened, compressed=False, start=(start or 0) - copy.start))
            else:
                start = 0 if held is None else start_of_news(writer, opened, file, held, copy.seen)
                content = chunks(opened, compressed=file.compressed, start=start or 0)
                lines = file.framing == Framing.LINES
                pieces = batches(content) if lines else whole_document(content)
            restart = start is None
            self.report.restarted += restart
            taking = Taking(agent, file, self._host, held, start or 0, restart, copy.beside)
            taking.seen = copy.seen
            return self._take_all(taking, pieces)

    def note_own(self, agent: Agent, file: SourceFile) -> bool:
        """Let a source of which nothing is new count as own, if it is; False where nothing changed."""
        return self._note_own(agent, self._marked(file, self._host))

    def fold(self, pending: Iterable[tuple[int, Segment]]) -> int:
        """Take what the journal holds; returns the last sequence number taken."""
        last = 0
        for number, segment in joined(pending):
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
            taking = Taking(agent, file, self._host, held, 0, restart=True)
            taking.opened, taking.seen = opened, look_of(opened)
            read = batches if file.framing is Framing.LINES else whole_document
            # In one go, because it is to stand where the version before stood.
            pieces = [each for batch in read(chunks(opened, compressed=file.compressed)) for each in batch]
            self._take_all(taking, iter([pieces]))

    def take_content(
        self, file: SourceFile, held: Source, content: list[tuple[bytes, int]], seen: Cursor
    ) -> None:
        """The same with what was read before, which need not be the source's file; `seen` as it is kept."""
        agent, file = agent_of(file.agent), self._marked(file, held.host)
        taking = Taking(agent, file, held.host, held, 0, restart=True)
        taking.seen = seen
        self._take_all(taking, iter([content]))

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
            seen = look_of(opened)
            if self._writer.is_current(self._host, file.path, seen):
                return self._note_own(agent, file)
            held = self._writer.source(self._host, file.path)
            start = 0 if held is None else start_of_news(self._writer, opened, file, held, seen)
            restart = start is None
            self.report.restarted += restart
            taking = Taking(agent, file, self._host, held, start or 0, restart)
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
        taking = Taking(agent, file, self._host, held, held.cursor.offset if held else 0, restart=False)
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
        changed, origin = False, Origin.of(file).state
        with open_export(file) as pieces:
            for number, data in enumerate(conversations_in(pieces, file.path), 1):
                if not data:
                    why = f"a conversation longer than {PIECE_BYTES >> 20} MiB"
                    self.report.failed[f"{file.path}:{number}"] = why
                    continue
                id_, changed_ms = identity_of(conversations, data)
                seen = mark_of(data, changed_ms, origin)
                changed |= self._conversation(agent, source_of(file, id_), data, seen)
        return changed

    def _conversation(self, agent: Agent, file: SourceFile, data: bytes, seen: Cursor) -> bool:
        """Take one version of a conversation; what was the newest before stays that if this one is older."""
        if self._is_gone(agent, file.session):
            return False
        held = self._writer.source(self._host, file.path)
        if held is not None and (file.path, seen.size, seen.ctime_ns) in self._versions:
            self._note_origin(held, seen)
            self._done += len(data)
            self._moved(file.path, 0)
            return False
        self._versions.add((file.path, seen.size, seen.ctime_ns))
        if held is not None and held.thinned and held.cursor.mtime_ns > seen.mtime_ns:
            return False  # the newer one was evicted, and cannot be put behind this one
        takes = [(data, seen)]
        if held is not None and held.cursor.mtime_ns > seen.mtime_ns:
            takes.append((self._placing.stored(held, 0), held.cursor))
            self._uncommitted -= len(data) + 1  # no commit between the two: a crash would leave the older one
        self.report.restarted += held is not None
        restart = held is not None
        for content, mark in takes:
            taking = Taking(agent, file, self._host, held, 0, restart)
            taking.seen = mark
            self._take_all(taking, iter([[(content, 0)]]))
            restart = True
        return True

    def _note_origin(self, held: Source, seen: Cursor) -> None:
        """Remember in which file a conversation is, where the one that is known is not there any more."""
        cursor, known = held.cursor, Origin.noted(held.cursor.state)
        is_same = (cursor.size, cursor.ctime_ns) == (seen.size, seen.ctime_ns)
        if is_same and (known is None or not os.path.exists(known.path)):
            state = {**cursor.state, **seen.state}
            self._writer.touch(held.host, held.file.path, replace(cursor, state=state))
            self.dirty = True

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
        taking = Taking(agent, file, self._host, held, held.cursor.offset, restart=False)
        self._writer.take(file, self._host, [], held.cursor, taking.facts(), parser=held.parser)
        self.dirty = True
        return True

    def _segment(self, segment: Segment) -> None:
        """Take one journal segment, as far as it reaches beyond what is there."""
        agent = agent_of(segment.source.agent)
        if self.erased and self.erased.has_session(agent.name, segment.host, segment.source.session):
            self.report.erased += 1
            return
        segment = replace(segment, source=self._marked(segment.source, segment.host))
        if segment.offset == BEHIND:
            self._behind(agent, segment)
            return
        if segment.host == self._host and is_plain(segment.source):
            self._captured[segment.source.path] = agent, segment.source
        held = self._writer.source(segment.host, segment.source.path)
        place = self._placing.place(held, segment)
        if place is None and segment.host == self._host and os.path.isfile(segment.source.read_path):
            # Something before it was never captured, but the file may still have it.
            with contextlib.suppress(SourceError):
                self._file(agent, segment.source)
                held = self._writer.source(segment.host, segment.source.path)
                place = self._placing.place(held, segment)
        if place is None:
            # What comes before it is lost. It is kept, and no half line before it is given up for it.
            place = segment.offset, segment.data, held is not None and not held.cursor.terminated
        start, data, restart = place
        if data or (held is not None and start > held.cursor.offset):
            taking = Taking(agent, segment.source, segment.host, held, start, restart)
            whole = segment.source.framing == Framing.DOCUMENT
            with self._still_there(taking, segment):
                self._take_all(taking, (whole_document if whole else batches)(iter([data])))

    def _behind(self, agent: Agent, segment: Segment) -> None:
        """Take lines that stand nowhere else, behind those that the source has."""
        held = self._writer.source(segment.host, segment.source.path)
        start = held.cursor.offset if held is not None else 0
        taking = Taking(agent, segment.source, segment.host, held, start, restart=False)
        self._take_all(taking, batches(iter([segment.data])))

    @contextlib.contextmanager
    def _still_there(self, taking: Taking, segment: Segment) -> Iterator[None]:
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
                seen, end = look_of(opened), segment.offset + len(segment.data)
                taking.opened = opened
                taking.seen = seen if seen.size == end else Cursor(size=end, inode=seen.inode)
            yield

    def _take_all(self, taking: Taking, found: Iterator[list[tuple[bytes, int]]]) -> bool:
        """Take every batch; False when there was none, and no source to note that of."""
        self._placing.forget()
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

    def _take(self, taking: Taking, batch: list[tuple[bytes, int]], *, done: bool) -> None:
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
        count_lines(self.report, taking, lines, taken)
        read = sum(len(data) + 1 for data, _ in batch)
        self._done += read
        self._moved(taking.file.path, read)

    def _parsed(
        self, taking: Taking, masking: Masking, data: bytes, flags: int
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

    def _leaves_out(self, taking: Taking, lines: list[Line]) -> bool:
        """Whether nothing is to be taken: of a session that was erased, or of a file all of which was."""
        salt = self.erased.salt_of_session(taking.agent.name, taking.host, taking.facts().id)
        if salt is not None:
            self.report.erased += len(lines)
            self.left_out[taking.file.path] = salt
            return True
        return not lines and taking.held is None and taking.thinned

    def _moved(self, path: str, size: int) -> None:
        """Show how far we are, and commit now and then."""
        self._progress(path, min(self._done, self._total), self._total)
        self._uncommitted += size
        if self._uncommitted >= COMMIT_BYTES:
            self._writer.commit()
            self._uncommitted = 0

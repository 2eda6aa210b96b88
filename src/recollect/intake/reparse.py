"""Deriving everything again from the stored lines, with the adapters of today.

The source files are not needed. The same walk repairs a damaged store: handed a view that
leaves out what cannot be read, it builds everything else anew.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from recollect.agents.contract import Agent, CutsRecords, Parser
from recollect.agents.head import Head
from recollect.agents.registry import agent_of, agents
from recollect.intake.checkpoints import Checkpoints
from recollect.intake.exports import noted_origin
from recollect.intake.forks import note_forks
from recollect.intake.parsing import parse_lines
from recollect.store.contract import PackedLines, View, Writer, carry_vectors
from recollect.store.derived import carry_derived
from recollect.values.records import (
    Cursor,
    Framing,
    KeptLine,
    Line,
    LineFlag,
    Parsed,
    Role,
    SessionFacts,
    SourceFile,
)
from recollect.values.reports import Progress, ReparseReport
from recollect.values.stored import Source, StoredLine

_LINES_AT_ONCE = 4096
_BYTES_AT_ONCE = 16 << 20
_HEAD_LINES = 8


def reparse(old: View, writer: Writer, progress: Progress | None = None) -> ReparseReport:
    """Fill an empty store from another one's lines."""
    report = ReparseReport()
    sessions = {(s.facts.agent, s.host, s.facts.id): s.facts for s in old.sessions()}
    sources = old.sources()
    seen: set[tuple[str, str]] = set()
    in_all = sum(source.lines for source in sources)
    for source in sources:
        if progress is not None:
            progress(source.file.path, report.lines, max(in_all, report.lines))
        facts = sessions.get((source.file.agent, source.host, source.session))
        restart = (source.host, source.file.path) in seen
        seen.add((source.host, source.file.path))
        blank = SessionFacts(source.file.agent, source.session)
        agent = _agent_for(old, source)
        again = Again(source, old.lines(source), facts or blank, kept_of(old, source), restart)
        take_again(writer, again, report, agent)
    if progress is not None:
        progress("", report.lines, report.lines)
    note_forks(writer, seen)
    carry_vectors(old, writer)
    carry_derived(old, writer)
    writer.commit()
    return report


@dataclass(slots=True)
class Again:
    """A source to take from a store as if it were read from its file; its lines are read when wanted.

    `before`: what was known of its session. `kept`: what is left of its evicted lines. `restart`: it is a
    newer version of one that was taken. `seen`: it is still known how its file looked; without that the next
    ingest of the file compares all of it. `repeats`: another source before it may have lines of it.
    `packed`: its lines for another process, if they are below so many bytes.
    """

    source: Source
    lines: Iterator[StoredLine]
    before: SessionFacts
    kept: Sequence[KeptLine] = ()
    restart: bool = False
    seen: bool = True
    repeats: bool = False
    packed: Callable[[int], PackedLines | None] = lambda bytes_max: None


def kept_of(view: View, source: Source) -> Sequence[KeptLine]:
    """What is left of a source's evicted lines; costs nothing where there are none."""
    return view.kept_lines(source) if source.thinned else ()


def take_again(writer: Writer, again: Again, report: ReparseReport, agent: Agent | None = None) -> None:
    """Take a source's lines, derived anew."""
    source, before, kept, restart, seen = again.source, again.before, again.kept, again.restart, again.seen
    agent = agent or agent_of(source.file.agent)
    # A subagent's parent comes from its folder, which only its first reading saw.
    parent = "" if source.file.role == Role.MAIN else before.parent
    file = replace(source.file, agent=agent.name, parent=parent)
    parser = agent.parser(file, {})
    _, sums = Checkpoints.split(source.cursor.state, source.cursor.offset)
    counted = _Counted(again.lines)
    lines = _derived(parser, file, counted, iter(kept))
    # Of a document a new version is known only from all of it.
    whole = file.framing == Framing.DOCUMENT
    offset, altered = 0, False
    while True:
        batch, done = (list(lines), True) if whole else _next(lines)
        offset += sum(_size(file, line) for line in batch)
        altered = altered or any(line.key for line in batch)
        known = parser.facts
        stem = PurePath(file.path).stem
        facts = replace(known, id=source.session or known.id or stem, project=known.project or before.project)
        if kept:  # what is known of the session was read in lines that are gone
            facts = replace(before, agent=file.agent, id=facts.id)
        # A half-written line comes last; said any sooner, it would cost the line before it.
        waiting = source.cursor.waiting and done
        state = parser.state() if sums is None or not seen else sums.joined(parser.state())
        state = {**state, **noted_origin(source.cursor.state)} if seen else state
        cursor = replace(source.cursor, state=source.cursor.state if kept else state, waiting=waiting)
        if not seen:
            # When it was last changed tells the age of a version; nothing else here is taken for proof.
            open_end = done and not (whole or cursor.terminated or waiting)
            # What is gone has no length any more, and what is altered another one.
            reached = cursor.offset if kept or altered else offset - open_end
            cursor = replace(cursor, offset=reached, size=0, ctime_ns=0, inode=0, window=0)
        if done and counted.count < source.lines:
            # Some lines are lost. Knowing nothing of its file, the next ingest compares all of it.
            cursor = Cursor(offset, terminated=file.framing != Framing.DOCUMENT, state=parser.state())
        taken = writer.take(file, source.host, batch, cursor, facts, parser=agent.version, restart=restart)
        restart = False
        report.lines += len(batch)
        report.entries_after += taken.entries
        for line in batch:
            if line.flags & LineFlag.UNKNOWN and line.parsed is not None:
                report.unknown_types[line.parsed.type] += 1
        if done:
            return


def _next(lines: Iterator[Line]) -> tuple[list[Line], bool]:
    """The next lines, few enough for memory; and whether they are the last."""
    batch, size = [], 0
    for line in lines:
        batch.append(line)
        size += len(line.data)
        if len(batch) >= _LINES_AT_ONCE or size >= _BYTES_AT_ONCE:
            return batch, False
    return batch, True


def _agent_for(old: View, source: Source) -> Agent:
    """By the agent's name; where a repair could not read that, by what the first lines look like."""
    if source.file.agent:
        return agent_of(source.file.agent)
    lines = [line.data for line in itertools.islice(old.lines(source), _HEAD_LINES)]
    head = Head(lambda: b"\n".join(lines))
    path = PurePath(source.file.path)
    return next((agent for agent in agents() if agent.recognise(path, head) is not None), agent_of(""))


def _derived(
    parser: Parser, file: SourceFile, lines: Iterator[StoredLine], kept: Iterator[KeptLine]
) -> Iterator[Line]:
    if file.framing == Framing.DOCUMENT and isinstance(parser, CutsRecords):
        pieces = list(lines)
        if any(piece.key for piece in pieces) and (whole := _whole(pieces)) is not pieces:
            yield from _altered(parse_lines(parser, file.framing, whole[0].data, 0), pieces)
            return
        lines = iter(_whole(pieces))
    long = False  # inside a line that was too long for one piece
    for stored in lines:
        if stored.is_evicted:
            yield Line(b"", stored.flags, Parsed(stored.type, ()), next(kept, None))
            continue
        piece = long or stored.flags & LineFlag.CONTINUES
        long = bool(stored.flags & LineFlag.CONTINUES)
        flags = stored.flags & (LineFlag.PENDING | LineFlag.CONTINUES | LineFlag.ALTERED) | (
            LineFlag.BAD if piece else 0
        )
        parsed = parse_lines(parser, file.framing, stored.data, flags)
        yield from (replace(line, key=stored.key) for line in parsed) if stored.key else parsed


def _altered(lines: Sequence[Line], pieces: Sequence[StoredLine]) -> Iterator[Line]:
    """The records of a document some of which were altered, each known by what its source had."""
    keys = {piece.data: piece.key for piece in pieces if piece.key}
    for line in lines:
        key = keys.get(line.data, b"")
        yield replace(line, flags=line.flags | LineFlag.ALTERED, key=key) if key else line


def _whole(pieces: list[StoredLine]) -> list[StoredLine]:
    """A document that was cut, to be cut again; one too long for one piece stays as it is."""
    if not pieces or any(piece.is_evicted or piece.flags & LineFlag.CONTINUES for piece in pieces):
        return pieces
    return [StoredLine(b"".join(piece.data for piece in pieces), 0, "")]


class _Counted:
    """Lines, and how many there were so far."""

    def __init__(self, lines: Iterator[StoredLine]) -> None:
        self._lines = lines
        self.count = 0

    def __iter__(self) -> Iterator[StoredLine]:
        return self

    def __next__(self) -> StoredLine:
        line = next(self._lines)
        self.count += 1
        return line


def _size(file: SourceFile, line: Line) -> int:
    """How many bytes of its file a line stands for."""
    cut = file.framing == Framing.DOCUMENT or line.flags & LineFlag.CONTINUES
    return 0 if line.flags & LineFlag.PENDING else len(line.data) + (not cut)

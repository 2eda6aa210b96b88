"""Deriving everything again from the stored lines, with the adapters of today.

The source files are not needed. The same walk repairs a damaged store: handed a view that
leaves out what cannot be read, it builds everything else anew.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field, replace

from recollect.adapters import Adapter, Parser, adapter_of
from recollect.ingest import Progress, parse_line
from recollect.records import Line, LineFlag, Role, SessionFacts, SourceFile
from recollect.store.base import Source, StoredLine, View, Writer

_LINES_AT_ONCE = 4096


@dataclass(slots=True)
class ReparseReport:
    """What deriving again gave."""

    lines: int = 0
    entries_before: int = 0
    entries_after: int = 0
    unknown_types: Counter[str] = field(default_factory=Counter)


def reparse(old: View, writer: Writer, progress: Progress | None = None) -> ReparseReport:
    """Fill an empty store from another one's lines."""
    report = ReparseReport()
    sessions = {(s.facts.agent, s.host, s.facts.id): s.facts for s in old.sessions()}
    sources = old.sources()
    seen: set[tuple[str, str]] = set()
    for number, source in enumerate(sources):
        if progress is not None:
            progress(source.file.path, number, len(sources))
        facts = sessions.get((source.file.agent, source.host, source.session))
        restart = (source.host, source.file.path) in seen
        seen.add((source.host, source.file.path))
        blank = SessionFacts(source.file.agent, source.session)
        _source(old, writer, source, facts or blank, adapter_of(source.file.agent), restart, report)
    writer.commit()
    return report


def _source(
    old: View, writer: Writer, source: Source, before: SessionFacts, adapter: Adapter,
    restart: bool, report: ReparseReport,
) -> None:  # fmt: skip
    # A subagent's parent comes from its folder, which only its first reading saw.
    file = replace(source.file, parent="" if source.file.role == Role.MAIN else before.parent)
    parser = adapter.parser(file, {})
    lines = old.lines(source)
    while True:
        batch = [_derive(parser, file, stored) for stored in itertools.islice(lines, _LINES_AT_ONCE)]
        known = parser.facts
        facts = replace(known, id=source.session, project=known.project or before.project)
        done = len(batch) < _LINES_AT_ONCE
        # A half-written line comes last; said any sooner, it would cost the line before it.
        waiting = source.cursor.waiting and done
        cursor = replace(source.cursor, state=parser.state(), waiting=waiting)
        taken = writer.take(
            file, source.host, batch, cursor, facts, parser=adapter.version, restart=restart
        )
        restart = False
        report.lines += len(batch)
        report.entries_after += taken.entries
        for line in batch:
            if line.flags & LineFlag.UNKNOWN and line.parsed is not None:
                report.unknown_types[line.parsed.type] += 1
        if done:
            return


def _derive(parser: Parser, file: SourceFile, stored: StoredLine) -> Line:
    if stored.flags & LineFlag.CONTINUES:
        return Line(stored.data, stored.flags)
    return parse_line(parser, file.framing, stored.data, stored.flags & LineFlag.PENDING)

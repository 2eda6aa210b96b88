"""Forks that name no parent are known by the records they begin with.

A client may copy a session's records into a file of another session: their own ids stay.
The two may come in any order, at once or years apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from recollect.agents.contract import TellsFirst
from recollect.agents.registry import agent_of
from recollect.intake.checkpoints import Checkpoints
from recollect.intake.parsing import parse_lines
from recollect.store.contract import Writer
from recollect.values.records import Line, Relation, Role, SessionFacts
from recollect.values.stored import Session, Source


def note_forks(writer: Writer, began: Iterable[tuple[str, str]]) -> int:
    """Tell the parents of forks, looking at sources (host, path) that are new; returns how many were told."""
    firsts = list(dict.fromkeys(first for name in began if (first := _first(writer.source(*name)))))
    if not firsts:
        return 0
    return sum(_tell(writer, sessions) for sessions in writer.sessions_with(firsts) if len(sessions) > 1)


def _first(source: Source | None) -> str:
    if source is None or source.file.role is not Role.MAIN:
        return ""
    state, _ = Checkpoints.split(source.cursor.state, source.cursor.offset)
    parser = agent_of(source.file.agent).parser(source.file, state)
    return parser.first if isinstance(parser, TellsFirst) else ""


_Record = tuple[str, int, str]  # its id, or its type where it has none; its time and text


class _Told(NamedTuple):
    """A session, and its records in the form in which a copy is equal to them."""

    session: Session
    source: Source
    records: set[_Record]


def _tell(writer: Writer, sessions: Sequence[Session]) -> int:
    """Tell the parents among sessions, the first seen first, that have a record in common."""
    told = [each for session in sessions if (each := _records(writer, session))]
    count = 0
    for child in told:
        facts = child.session.facts
        parents = [each for each in told if each is not child and _is_forked(child, each, told)]
        if facts.relation is Relation.NONE and parents:
            parent = max(parents, key=lambda each: len(child.records & each.records))
            news = SessionFacts(facts.agent, facts.id, parent=parent.session.facts.id, relation=Relation.FORK)
            source = child.source
            # Whoever takes anything of a source takes the half-written line at its end anew.
            half = list(writer.view().lines(source))[-1:] if source.cursor.waiting else []
            lines = [Line(each.data, each.flags) for each in half]
            writer.take(source.file, source.host, lines, source.cursor, news, parser=source.parser)
            count += 1
    return count


def _records(writer: Writer, session: Session) -> _Told | None:
    main = [each for each in writer.view().sources(session) if each.file.role is Role.MAIN]
    if not main:
        return None
    source = main[-1]
    parser = agent_of(source.file.agent).parser(source.file, {})
    records: set[_Record] = set()
    for stored in writer.view().lines(source):
        for line in parse_lines(parser, source.file.framing, stored.data, 0):
            if line.parsed is not None and line.parsed.entries:
                entry = line.parsed.entries[0]
                if line.parsed.uuid or entry.time_ms:
                    records.add((line.parsed.uuid or line.parsed.type, entry.time_ms, entry.text))
    return _Told(session, source, records)


def _is_forked(child: _Told, parent: _Told, in_order: Sequence[_Told]) -> bool:
    """Whether one was forked from the other.

    A copy has nothing of its own from before it was made. Where neither has, the parent is the one that did
    not go on, and where both did, the one that was seen first.
    """
    one, other = child.session, parent.session
    if (one.facts.agent, one.host, one.imported) != (other.facts.agent, other.host, other.imported):
        return False
    shared = child.records & parent.records
    if not shared:
        return False
    copied = max(time_ms for _, time_ms, _ in shared)
    own, others = child.records - shared, parent.records - shared
    was_before, others_were = (any(time_ms < copied for _, time_ms, _ in each) for each in (own, others))
    if was_before != others_were:
        return others_were
    if bool(own) != bool(others):
        return bool(own)
    return not was_before and in_order.index(parent) < in_order.index(child)

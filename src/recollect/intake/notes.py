"""Lines that Recollect itself writes into a store: what a person saved or decided. Decisions are read too."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recollect.agents.decisions import PROJECTS, decision_of, record_of
from recollect.agents.decode import BadLine, decode
from recollect.agents.registry import agent_of
from recollect.agents.saved import decisions_file
from recollect.light.sources import is_conversation
from recollect.values.records import Cursor, Framing
from recollect.values.text import ascii_json

if TYPE_CHECKING:
    from recollect.store.contract import SessionClues, View, Writer
    from recollect.values.projects import Decision
    from recollect.values.records import SourceFile


def note(writer: Writer, file: SourceFile, host: str, record: dict[str, Any]) -> None:
    """Add a record to a source that no disk has; the caller commits."""
    from recollect.intake.ingest import parse_lines

    held, agent = writer.source(host, file.path), agent_of(file.agent)
    parser = agent.parser(file, held.cursor.state if held is not None else {})
    data = ascii_json(record).encode("ascii")
    (line,) = parse_lines(parser, Framing.LINES, data, 0)
    offset = (held.cursor.offset if held is not None else 0) + len(data) + 1
    cursor = Cursor(offset, state=parser.state())
    writer.take(file, host, [line], cursor, parser.facts, parser=agent.version)


def decisions(view: View, told: SessionClues) -> list[Decision]:
    """What was decided about projects, in order; imported lines decide nothing."""
    found: list[Decision] = []
    for row, at in zip(told.rows.tolist(), told.at.tolist(), strict=True):
        if is_conversation(told.clues[at].agent):
            continue
        session = view.session_rows()[row]
        for source in view.sources(session) if session.facts.id == PROJECTS else ():
            lines = () if source.superseded or source.imported else view.lines(source)
            found += filter(None, (_decision(line.data) for line in lines))
    return sorted(found, key=lambda each: each.time_ms)


def decide(writer: Writer, host: str, decision: Decision, *, now_ms: int) -> None:
    """Note a decision, as the newest one even where a clock was once ahead; the caller commits."""
    view = writer.view()
    last_ms = max((each.time_ms for each in decisions(view, view.session_clues())), default=0)
    note(writer, decisions_file(), host, record_of(replace(decision, time_ms=max(now_ms, last_ms + 1))))


def _decision(line: bytes) -> Decision | None:
    with contextlib.suppress(BadLine):
        return decision_of(decode(line)[0])
    return None

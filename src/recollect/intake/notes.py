"""Lines that Recollect itself writes into a store: what a person saved, decided or pinned.

Decisions and pins are read too.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recollect.agents.decisions import PROJECTS, decision_of, record_of
from recollect.agents.decode import BadLine, decode
from recollect.agents.pins import PINS, Pin, pin_of, pin_record
from recollect.agents.registry import agent_of
from recollect.agents.saved import decisions_file, pins_file
from recollect.light.sources import is_conversation
from recollect.values.records import Cursor, Framing
from recollect.values.text import ascii_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.store.contract import SessionClues, View, Writer
    from recollect.values.projects import Decision
    from recollect.values.records import SourceFile
    from recollect.values.retention import SessionName


def note(writer: Writer, file: SourceFile, host: str, record: dict[str, Any]) -> None:
    """Add a record to a source that no disk has; the caller commits."""
    from recollect.intake.parsing import parse_lines

    held, agent = writer.source(host, file.path), agent_of(file.agent)
    parser = agent.parser(file, held.cursor.state if held is not None else {})
    data = ascii_json(record).encode("ascii")
    (line,) = parse_lines(parser, Framing.LINES, data, 0)
    offset = (held.cursor.offset if held is not None else 0) + len(data) + 1
    cursor = Cursor(offset, state=parser.state())
    writer.take(file, host, [line], cursor, parser.facts, parser=agent.version)


def decisions(view: View, told: SessionClues) -> list[Decision]:
    """What was decided about projects, in order; imported lines decide nothing."""
    found = filter(None, map(decision_of, _noted(view, told, PROJECTS)))
    return sorted(found, key=lambda each: each.time_ms)


def decide(writer: Writer, host: str, decision: Decision, *, now_ms: int) -> None:
    """Note a decision, as the newest one even where a clock was once ahead; the caller commits."""
    view = writer.view()
    last_ms = max((each.time_ms for each in decisions(view, view.session_clues())), default=0)
    note(writer, decisions_file(), host, record_of(replace(decision, time_ms=max(now_ms, last_ms + 1))))


def pinned(view: View) -> set[SessionName]:
    """The sessions that are pinned; imported lines pin nothing."""
    found = filter(None, map(pin_of, _noted(view, view.session_clues(), PINS)))
    last = {each.name: each.pinned for each in sorted(found, key=lambda each: each.time_ms)}
    return {name for name, is_pinned in last.items() if is_pinned}


def pin(writer: Writer, host: str, name: SessionName, is_pinned: bool, *, now_ms: int) -> None:
    """Note that a session is pinned, or is not any more; the caller commits."""
    view = writer.view()
    noted = filter(None, map(pin_of, _noted(view, view.session_clues(), PINS)))
    time_ms = max([now_ms, *(each.time_ms + 1 for each in noted)])  # the newest, whatever the clock says
    note(writer, pins_file(), host, pin_record(Pin(name, is_pinned, time_ms)))


def _noted(view: View, told: SessionClues, id_: str) -> Iterator[Any]:
    """The records of this person's own that are kept as a session of this id."""
    for row, at in zip(told.rows.tolist(), told.at.tolist(), strict=True):
        if is_conversation(told.clues[at].agent):
            continue
        session = view.session_rows()[row]
        for source in view.sources(session) if session.facts.id == id_ else ():
            for line in () if source.superseded or source.imported else view.lines(source):
                with contextlib.suppress(BadLine):
                    yield decode(line.data)[0]

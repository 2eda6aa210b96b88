"""Lines that Recollect itself writes into a store: what a person saved or decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.agents.registry import agent_of
from recollect.intake.ingest import parse_lines
from recollect.values.records import Cursor, Framing
from recollect.values.text import ascii_json

if TYPE_CHECKING:
    from recollect.store.contract import Writer
    from recollect.values.records import SourceFile


def note(writer: Writer, file: SourceFile, host: str, record: dict[str, Any]) -> None:
    """Add a record to a source that no disk has; the caller commits."""
    held, agent = writer.source(host, file.path), agent_of(file.agent)
    parser = agent.parser(file, held.cursor.state if held is not None else {})
    data = ascii_json(record).encode("ascii")
    (line,) = parse_lines(parser, Framing.LINES, data, 0)
    offset = (held.cursor.offset if held is not None else 0) + len(data) + 1
    cursor = Cursor(offset, state=parser.state())
    writer.take(file, host, [line], cursor, parser.facts, parser=agent.version)

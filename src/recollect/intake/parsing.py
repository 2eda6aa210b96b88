"""What an agent's parser says of a line as it was read; a bad one is data, not an exception."""

from __future__ import annotations

from dataclasses import replace

from recollect.agents.contract import CutsRecords, Parser
from recollect.agents.decode import BadLine, decode, records_inside
from recollect.values.records import Framing, Line, LineFlag


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

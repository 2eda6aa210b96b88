"""Lines whose secrets were erased come in again: each as it was altered, known by the line its source has.

Whether a line is one of them a keyed hash tells. Its secrets are masked anew; where redaction finds none in
it any more, it is left out. What a source states again in other bytes, as a document that is saved whole or a
row that changed does, is masked too while anything of that source is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from recollect.agents.contract import CutsRecords, Parser
from recollect.redact import redact
from recollect.redact.raw import mask_raw
from recollect.values.ids import line_key
from recollect.values.records import Framing, Line, LineFlag
from recollect.values.stored import StoredLine

if TYPE_CHECKING:
    from recollect.store.contract import View
    from recollect.values.erasures import Erased
    from recollect.values.records import SessionFacts, SourceFile
    from recollect.values.stored import Source

MASKED_FACTS = ("title", "project", "cwd", "branch", "slug")
Parse = Callable[[Parser, Framing, bytes, int], list[Line]]


@dataclass(frozen=True, slots=True)
class Masking:
    """What is to be masked in a source that comes in; `restated`: all of it, since it says the same again."""

    erased: Erased
    restated: bool = False

    @classmethod
    def of(cls, erased: Erased, view: Callable[[], View], file: SourceFile, held: Source | None) -> Masking:
        """What is known of a source, by what the store holds of it."""
        if held is None or not held.thinned or not erased.has_masks:
            return cls(erased)
        if file.framing is Framing.LINES and not held.cursor.waiting:
            return cls(erased)
        lines = list(view().lines(held))[-1:] if file.framing is Framing.LINES else view().lines(held)
        return cls(erased, any(line.key and erased.is_masked(line.key) for line in lines))

    def parse(
        self, parser: Parser, file: SourceFile, data: bytes, flags: int, parse: Parse
    ) -> list[tuple[bytes, Line | None]]:
        """The lines that a line or a document gives, each with its bytes in the source; None: left out."""
        pieces = _pieces(parser, file.framing, data, flags)
        made = [self._masked(each) for each in pieces]
        if all(each == piece for each, piece in zip(made, pieces, strict=True)):
            return [(line.data, line) for line in parse(parser, file.framing, data, flags)]
        if len(pieces) == 1:
            return [(data, self._altered(parse, parser, file.framing, data, made[0], flags))]
        joined = b"".join(piece if each is None else each for each, piece in zip(made, pieces, strict=True))
        lines = parse(parser, file.framing, joined, flags)
        if len(lines) != len(pieces):  # a mask moved an edge: nothing of it can be told apart
            return [(data, None)]
        return [
            (piece, None if each is None else _marked(line, piece))
            for piece, each, line in zip(pieces, made, lines, strict=True)
        ]

    def _masked(self, piece: bytes) -> bytes | None:
        if not piece.strip():
            return piece
        if not self.erased.is_masked(line_key(piece)):
            return mask_raw(piece).data if self.restated else piece
        masked = mask_raw(piece).data
        return masked if masked != piece else None

    @staticmethod
    def _altered(
        parse: Parse, parser: Parser, framing: Framing, data: bytes, made: bytes | None, flags: int
    ) -> Line | None:
        if made is None:
            return None
        (line,) = parse(parser, framing, made, flags)
        return _marked(line, data)


def _pieces(parser: Parser, framing: Framing, data: bytes, flags: int) -> list[bytes]:
    if framing != Framing.DOCUMENT or flags & LineFlag.BAD or not isinstance(parser, CutsRecords):
        return [data]
    return [piece for _, piece in parser.records(data)] or [data]


def _marked(line: Line, piece: bytes) -> Line:
    """A line known by what its source has in its place."""
    if line.data == piece:
        return line
    return replace(line, flags=line.flags | LineFlag.ALTERED, key=line_key(piece))


def masked_facts(facts: SessionFacts) -> SessionFacts:
    """What is known of a session, of which some was told by lines as they were."""
    changed: dict[str, Any] = {name: redact(getattr(facts, name)).text for name in MASKED_FACTS}
    return replace(facts, **changed)


def altered_lines(views: Iterable[View]) -> dict[bytes, bytes]:
    """What lines were altered to in some stores, by the keys of what their sources had."""
    found: dict[bytes, bytes] = {}
    for view in views:
        for source in view.sources():
            for line in view.lines(source) if source.thinned else ():
                if line.key:
                    # Of several the one with most masks: whichever store came first.
                    found[line.key] = max((found.get(line.key, b""), line.data), key=_masks)
    return found


def as_altered(line: StoredLine, erased: Erased, known: Mapping[bytes, bytes]) -> StoredLine | None:
    """A line of a store as it is when its secrets stay erased; None where it is left out."""
    if line.is_evicted or not line.data.strip():
        return line
    key = line.key or line_key(line.data)
    if not erased.is_masked(key):
        return line
    data = known.get(key) or mask_raw(line.data).data
    if not line.key and data == line.data:
        return None
    return StoredLine(data, line.flags | LineFlag.ALTERED, line.type, key)


def _masks(data: bytes) -> tuple[int, bytes]:
    return data.count(b"[redacted:"), data

"""Where the bytes of a journal's segment belong, compared with what is stored of their source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from recollect.store.contract import Writer
from recollect.values.records import BEHIND, Framing, Segment
from recollect.values.stored import Source, source_bytes

JOINED_BYTES = 4 << 20  # of appends that are taken as one


class Placing:
    """Places segments; keeps the end of the source it last compared with, where the next one goes on."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._tail = ("", "", 0, b"")  # a source's last bytes as stored: host, path, offset of the first

    def forget(self) -> None:
        """Read a source anew when it is next asked for: something was added."""
        self._tail = ("", "", 0, b"")

    def place(self, held: Source | None, segment: Segment) -> tuple[int, bytes, bool] | None:
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
        known = self.stored(held, first)  # with the half-written line behind the cursor, if there is one
        inside = segment.offset - first
        common = min(len(known) - inside, len(segment.data))
        if common < 0:
            return None
        if known[inside : inside + common] != segment.data[:common]:
            return 0, self.stored(held, 0)[: segment.offset] + segment.data, True
        if common == len(segment.data):
            return end, b"", False
        news = (known[:inside] + segment.data)[end - first :]
        if lines and (held.cursor.terminated or held.cursor.waiting):
            return end, news, False
        if lines and news[:1] == b"\n":
            return end + 1, news[1:], False
        return 0, self.stored(held, 0)[:end] + news, True

    def _place_behind(self, held: Source, segment: Segment) -> tuple[int, bytes, bool] | None:
        """`place` where the bytes before are not there to compare with: what is new is behind the cursor.

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

    def stored(self, held: Source, start: int) -> bytes:
        """A source's bytes from an offset to the end of what is stored of it."""
        name = (held.host, held.file.path)
        if self._tail[:2] != name or self._tail[2] > start:
            kept, at = [], 0
            for piece in source_bytes(held, self._writer.view().lines(held)):
                kept.append(piece[max(start - at, 0) :])
                at += len(piece)
            self._tail = (*name, start, b"".join(kept))
        return self._tail[3][start - self._tail[2] :]


def joined(pending: Iterable[tuple[int, Segment]]) -> Iterator[tuple[int, Segment]]:
    """The same segments, those that come behind one another in a source as one, under the last one's number.

    What is saved one by one is many of them, and each that is taken costs as much as a hundred lines.
    """
    together: list[Segment] = []
    size, last = 0, 0
    for number, segment in pending:
        first = together[0] if together else None
        if first is not None and (
            segment.offset != BEHIND
            or (segment.source, segment.host) != (first.source, first.host)
            or size >= JOINED_BYTES
        ):
            yield last, replace(first, data=b"".join(each.data for each in together))
            together, size = [], 0
        if segment.offset == BEHIND:
            together.append(segment)
            size += len(segment.data)
        else:
            yield number, segment
        last = number
    if together:
        yield last, replace(together[0], data=b"".join(each.data for each in together))

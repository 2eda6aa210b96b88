"""A segment's bytes in the journal: a short JSON head, then what was captured, as it was.

Apart from `records`, because a hook makes them and has no time for dataclasses.
"""

from __future__ import annotations

from recollect.light.stdlib import dumps, loads

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from recollect.light.sources import Place


def pack_segment(
    agent: str,
    path: str,
    place: Place,
    host: str,
    offset: int,
    data: bytes,
    *,
    compressed: bool = False,
    own: bool = False,
) -> bytes:
    """Bytes of a source from `offset` on, with what the source is.

    `own`: whoever took them saw that the file lies where its agent keeps its logs. Said here, because
    whoever folds them may be told of other folders.
    """
    return segment_head(agent, path, place, host, offset, compressed=compressed, own=own) + data


def segment_head(
    agent: str, path: str, place: Place, host: str, offset: int, *, compressed: bool, own: bool
) -> bytes:
    """All of a segment that comes before its data."""
    told = [agent, path, *place, compressed, host, offset]
    head = dumps([*told, True] if own else told).encode("ascii")
    return len(head).to_bytes(4, "little") + head


def unpack_segment(payload: bytes) -> tuple[str, str, Place, bool, str, int, bool, bytes]:
    """What was packed: agent, path, place, compressed, host, offset, own, data."""
    length = int.from_bytes(payload[:4], "little")
    agent, path, role, framing, session, parent, compressed, host, offset, *own = loads(
        payload[4 : 4 + length]
    )
    place = (role, framing, session, parent)
    return agent, path, place, compressed, host, offset, bool(own and own[0]), payload[4 + length :]

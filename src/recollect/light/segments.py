"""A segment's bytes in the journal: a short JSON head, then what was captured, as it was.

Apart from `records`, because a hook makes them and has no time for dataclasses.
"""

from __future__ import annotations

from recollect.light.stdlib import dumps, loads

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from recollect.light.sources import Place


def pack_segment(
    agent: str, path: str, place: Place, host: str, offset: int, data: bytes, *, compressed: bool = False
) -> bytes:
    """Bytes of a source from `offset` on, with what the source is."""
    head = dumps([agent, path, *place, compressed, host, offset]).encode("ascii")
    return b"".join((len(head).to_bytes(4, "little"), head, data))


def unpack_segment(payload: bytes) -> tuple[str, str, Place, bool, str, int, bytes]:
    """What was packed: agent, path, place, compressed, host, offset, data."""
    length = int.from_bytes(payload[:4], "little")
    agent, path, role, framing, session, parent, compressed, host, offset = loads(payload[4 : 4 + length])
    return agent, path, (role, framing, session, parent), compressed, host, offset, payload[4 + length :]

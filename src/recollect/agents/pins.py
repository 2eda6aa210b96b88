"""Which sessions a person wants to keep word for word as long as possible, as lines that Recollect writes.

As what was decided about projects (`recollect.agents.decisions`) they are lines of a source on no disk, and
are only ever added: the last one about a session counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from recollect.agents.fields import INJECTED, NAME_CHARS_MAX, count_of, dict_of, text_of, unknown
from recollect.values.records import Entry, Kind, Parsed, SessionFacts
from recollect.values.retention import SessionName

PINS: Final = "retention"  # the session that they are
PIN: Final = "pin"
UNPIN: Final = "unpin"

_TIME_MS_MAX: Final = 2**53 - 1


class Pin(NamedTuple):
    """That a session is pinned from a moment on, or is not any more."""

    name: SessionName
    pinned: bool
    time_ms: int


def pin_record(pin: Pin) -> dict[str, Any]:
    told = {"agent": pin.name.agent, "host": pin.name.host, "session": pin.name.id}
    return {"type": PIN if pin.pinned else UNPIN, "time_ms": pin.time_ms, **told}


def pin_of(record: Any) -> Pin | None:
    """A record's pin; None for what no person could have said."""
    record = dict_of(record)
    name = SessionName(*(text_of(record.get(part)) for part in ("agent", "host", "session")))
    kind = record.get("type")
    if kind not in (PIN, UNPIN) or not name.id or max(map(len, name)) > NAME_CHARS_MAX:
        return None
    return Pin(name, kind == PIN, min(count_of(record.get("time_ms")), _TIME_MS_MAX))


class PinParser:
    """One entry a pin, which nobody searches for."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self.facts = SessionFacts("recollect", PINS, root=PINS)

    def parse(self, record: Any, /) -> Parsed:
        pin = pin_of(record)
        if pin is None:
            return unknown(text_of(dict_of(record).get("type")))
        self.facts.saw(pin.time_ms)
        return Parsed(PIN if pin.pinned else UNPIN, (Entry(Kind.EVENT, "", INJECTED, pin.time_ms),))

    def document(self, data: bytes, /) -> Parsed:
        return unknown("document")

    def state(self) -> dict[str, Any]:
        return {}

"""What was erased, as lines of a source that Recollect itself writes into the store.

As with decisions about projects (`recollect.agents.decisions`) there is no such file on any disk; whatever
carries a store's lines carries them. They hold no text: keyed hashes, numbers, what kind of choice it was.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from recollect.agents.fields import INJECTED, count_of, dict_of, text_of, unknown
from recollect.values.erasures import HASH_BYTES, SALT_BYTES, Erasure
from recollect.values.records import Entry, Kind, Parsed, SessionFacts

ERASURES: Final = "erasures"  # the session that they are
ERASURE: Final = "erasure"
FORGET: Final = "forget-erasure"
CLEARED: Final = "erasure-cleared"
UNCLEARED: Final = "erasure-uncleared"

_TIME_MS_MAX: Final = 2**53 - 1
_ID_CHARS_MAX: Final = 64


def record_of(erasure: Erasure) -> dict[str, Any]:
    return {
        "type": ERASURE,
        "id": erasure.id,
        "time_ms": erasure.time_ms,
        "by": erasure.by,
        "salt": erasure.salt.hex(),
        "sessions": _packed(erasure.sessions),
        "lines": _packed(erasure.lines),
        "names": _packed(erasure.names),
        "entries": _packed(erasure.entries),
        "masks": _packed(erasure.masks),
        "counts": dict(erasure.counts),
    }


def forgetting(id_: str, time_ms: int) -> dict[str, Any]:
    """The record that takes an erasure back."""
    return {"type": FORGET, "id": id_, "time_ms": time_ms}


def clearing(id_: str, time_ms: int) -> dict[str, Any]:
    """The record that nothing is left of what was made of erased rows."""
    return {"type": CLEARED, "id": id_, "time_ms": time_ms}


def reopening(id_: str, time_ms: int) -> dict[str, Any]:
    """The record that something may be left of it here: an erasure of another store, cleared there alone."""
    return {"type": UNCLEARED, "id": id_, "time_ms": time_ms}


def erasure_of(record: Any) -> Erasure | None:
    """A record's erasure; None for what we could not have written."""
    record = dict_of(record)
    id_, by = text_of(record.get("id")), text_of(record.get("by"))
    if record.get("type") != ERASURE or not 0 < len(id_) <= _ID_CHARS_MAX or len(by) > _ID_CHARS_MAX:
        return None
    try:
        salt = bytes.fromhex(text_of(record.get("salt")))
        sessions, lines = _unpacked(record.get("sessions")), _unpacked(record.get("lines"))
        names, entries = _unpacked(record.get("names")), _unpacked(record.get("entries"))
        masks = _unpacked(record.get("masks"))
    except (ValueError, binascii.Error):
        return None
    if len(salt) != SALT_BYTES:
        return None
    counts = tuple((name, count_of(n)) for name, n in dict_of(record.get("counts")).items())
    time_ms = min(count_of(record.get("time_ms")), _TIME_MS_MAX)
    return Erasure(id_, time_ms, by, salt, sessions, lines, counts, names, entries, masks)


def forgotten_of(record: Any) -> str:
    """The id of the erasure that a record takes back, "" for any other record."""
    return _id_of(record, FORGET)


def cleared_of(record: Any) -> str:
    """The id of the erasure that a record says is cleared, "" for any other record."""
    return _id_of(record, CLEARED)


def uncleared_of(record: Any) -> str:
    """The id of the erasure that a record says is not cleared here, "" for any other record."""
    return _id_of(record, UNCLEARED)


def noted_of(record: Any) -> tuple[int, int]:
    """When a record was written; of one moment, what follows from another comes after it."""
    record = dict_of(record)
    order = (ERASURE, UNCLEARED, CLEARED, FORGET)
    kind = record.get("type")
    time_ms = min(count_of(record.get("time_ms")), _TIME_MS_MAX)
    return time_ms, order.index(kind) if kind in order else len(order)


def _id_of(record: Any, type_: str) -> str:
    record = dict_of(record)
    return text_of(record.get("id"))[:_ID_CHARS_MAX] if record.get("type") == type_ else ""


class ErasureParser:
    """One entry a record, which nobody searches for."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self.facts = SessionFacts("recollect", ERASURES, root=ERASURES)

    def parse(self, record: Any, /) -> Parsed:
        kind = text_of(dict_of(record).get("type"))
        is_of_one = forgotten_of(record) or cleared_of(record) or uncleared_of(record)
        if erasure_of(record) is None and not is_of_one:
            return unknown(kind)
        time_ms = min(count_of(dict_of(record).get("time_ms")), _TIME_MS_MAX)
        self.facts.saw(time_ms)
        return Parsed(kind, (Entry(Kind.EVENT, "", INJECTED, time_ms),))

    def document(self, data: bytes, /) -> Parsed:
        return unknown("document")

    def state(self) -> dict[str, Any]:
        return {}


def _packed(hashes: frozenset[bytes]) -> str:
    return base64.b64encode(b"".join(sorted(hashes))).decode("ascii")


def _unpacked(value: Any) -> frozenset[bytes]:
    data = base64.b64decode(text_of(value), validate=True)
    return frozenset(data[at : at + HASH_BYTES] for at in range(0, len(data) - HASH_BYTES + 1, HASH_BYTES))

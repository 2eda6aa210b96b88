"""A session as JSON lines: one object per entry, in order, each naming its schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.present.sessions import entry_object
from recollect.values.text import ascii_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from recollect.values.stored import StoredEntry

SCHEMA = "recollect.entry/1"


def jsonl(entries: Iterable[StoredEntry]) -> Iterator[bytes]:
    """The lines, pure ASCII, so that nothing in them can act on a terminal."""
    for each in entries:
        yield ascii_json({"schema": SCHEMA, **entry_object(each)}).encode("ascii") + b"\n"

"""Notes read out of a view: which sessions have them, and all that their lines say."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from recollect.agents.memory.records import NOTE, note_of
from recollect.values.records import HIDDEN

if TYPE_CHECKING:
    from recollect.store.contract import View
    from recollect.values.notes import Note

_AT_ONCE = 4096


def read_notes(view: View, session: str, entries: Iterable[Any]) -> Iterator[Note]:
    """The notes that entries of a session are, with all that their lines say."""
    shown = (each for each in entries if each.type.startswith(f"{NOTE}/") and not each.entry.flags & HIDDEN)
    while part := list(itertools.islice(shown, _AT_ONCE)):
        lines = view.columns_at([each.row for each in part], "line")["line"].tolist()
        for line in view.lines_at(lines):
            note = note_of(decoded(line.data), session, line.data)
            if note is not None:
                yield note


def decoded(line: bytes) -> dict[str, Any]:
    """The record of a line; {} for one that is none."""
    from recollect.agents.decode import BadLine, decode

    try:
        record = decode(line)[0]
    except BadLine:
        return {}
    return record if isinstance(record, dict) else {}

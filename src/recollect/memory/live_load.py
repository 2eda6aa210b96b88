"""The process that reads notes for another one (`live.py`): a line for each, and a last one that says so."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any

from recollect.agents.memory.records import line_of, note_record
from recollect.insight.noted import read_notes
from recollect.memory import Memory
from recollect.memory.live import is_below
from recollect.search.saved_sessions import own_sessions
from recollect.values.errors import RecollectError


def main() -> None:
    """Print the notes of the sessions below a name; a reader that is gone ends this."""
    store, below = sys.argv[1:3]
    out = os.fdopen(os.dup(1), "wb", 1 << 20)
    os.dup2(2, 1)  # what a library prints is no note
    try:
        for record in _records(store, below):
            out.write(line_of(record) + b"\n")
        out.flush()
    except BrokenPipeError:
        os._exit(1)


def _records(store: str, below: str) -> Iterable[dict[str, Any]]:
    try:
        with Memory.open(store) as memory, memory._notes_view() as view:
            # What is in the journal besides is told by it once more, and so nothing is missed.
            info = view.info()
            yield {"folded": info.folded, "epoch": info.epoch}
            for row, session in own_sessions(view).items():
                if is_below(session, below):
                    for note in read_notes(view, session, view.entries(view.session_rows()[row])):
                        yield {"session": session, **note_record(note, again=False)}
        yield {"end": True}
    except RecollectError as error:
        yield {"error": str(error), "hint": error.hint}

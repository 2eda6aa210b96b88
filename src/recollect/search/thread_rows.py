"""Which sessions are one thread, by row: worked out once for each state of a store."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from recollect.search.joining import joined_sessions
from recollect.search.projects import by_name
from recollect.search.state_file import StateFile

if TYPE_CHECKING:
    from recollect.store.contract import View

RULES = 1  # raised with every change of those by which sessions are joined


def thread_rows(view: View) -> dict[int, int]:
    """For the row of each session that of the first one of its thread."""
    known = by_name(view)
    kept = StateFile(view, known.cache, "threads", RULES) if known.cache is not None else None
    if kept is not None:
        with contextlib.suppress(LookupError, TypeError, ValueError):
            told = kept.read()
            return {int(row): int(first) for row, first in zip(told["rows"], told["firsts"], strict=True)}
    found = known.worked_out(joined_sessions).threads
    if kept is not None:
        kept.write({"rows": list(found), "firsts": list(found.values())})
    return found

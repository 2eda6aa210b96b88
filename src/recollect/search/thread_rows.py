"""Which sessions are one thread, by row: worked out once for each state of a store."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, cast

from recollect.search.joining import joined
from recollect.search.state_file import StateFile
from recollect.search.ties import kept_ties

if TYPE_CHECKING:
    from recollect.search.projects import NamedView
    from recollect.store.contract import View

RULES = 1  # raised with every change of those by which sessions are joined


def thread_rows(view: NamedView) -> dict[int, int]:
    """For the row of each session that of the first one of its thread."""
    plain = cast("View", view)
    kept = StateFile(plain, view.cache, "threads", RULES) if view.cache is not None else None
    if kept is not None:
        with contextlib.suppress(LookupError, TypeError, ValueError):
            told = kept.read()
            return {int(row): int(first) for row, first in zip(told["rows"], told["firsts"], strict=True)}
    found = joined(dict(view.session_rows().items()), kept_ties(plain)).threads
    if kept is not None:
        kept.write({"rows": list(found), "firsts": list(found.values())})
    return found

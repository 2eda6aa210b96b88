"""What goes with entries that are erased: facts that cite nothing else, and how far sessions were read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

import numpy as np

from recollect.agents.fields import dict_of, list_of
from recollect.agents.memory.records import NOTE
from recollect.insight.noted import decoded
from recollect.memory.facts import mark_id
from recollect.search.saved_sessions import own_sessions
from recollect.values.facts import is_of_facts

if TYPE_CHECKING:
    from recollect.store.contract import Array, View


def lines_citing(view: View, going: Callable[[], Collection[str]], sessions: Iterable[int]) -> Array:
    """The lines of facts that cite only entries that are going, in all their versions; marks of sessions."""
    rows = view.session_rows()
    kept = [rows[row] for row in own_sessions(view) if is_of_facts(rows[row])]
    if not kept:
        return np.zeros(0, np.int64)
    entries = going()
    gone: set[str] = {mark_id(rows[row]) for row in sessions}
    lines: dict[int, str] = {}
    for session in kept:
        for source in view.sources(session):
            for line, stored in zip(view.line_rows(source).tolist(), view.lines(source), strict=True):
                record = decoded(stored.data)
                id_ = str(record.get("id", ""))
                lines[line] = id_
                cited = list_of(dict_of(record.get("metadata")).get("entries"))
                if record.get("type") == NOTE and cited and all(each in entries for each in cited):
                    gone.add(id_)
    return np.array(sorted(line for line, id_ in lines.items() if id_ in gone), np.int64)

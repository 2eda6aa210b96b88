"""What goes of notes when a store is rewritten: those that were deleted or changed, and what only they had.

The line that says that a note was deleted stays, so that an older copy of the store does not bring it back.
So does the first statement of what the graph still says: since then it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.agents.decode import BadLine, decode
from recollect.agents.fields import text_of
from recollect.agents.memory.graph_records import ENTITY, RELATION
from recollect.agents.memory.records import ARTIFACT, DELETE, NOTE, note_of
from recollect.light.sources import MEMORY
from recollect.search.graph.replay import saved_graph
from recollect.search.vectors.pieces import pieces_of
from recollect.store.leaving import NOTHING, Leaving
from recollect.values.ids import name_key
from recollect.values.records import HIDDEN

if TYPE_CHECKING:
    from recollect.store.contract import Array, View

_AT_ONCE = 4096


def taken_back(view: View) -> Leaving:
    """The lines that go; nothing where no note was ever deleted or changed."""
    sessions = {
        row
        for row, session in view.session_rows().items()
        if session.facts.agent == MEMORY and not session.imported
    }
    rows = view.replaced().tolist() if sessions else []
    if not rows:
        return NOTHING
    columns = view.columns_at(rows, "session", "line")
    mine = np.isin(columns["session"], sorted(sessions))
    lines = np.unique(columns["line"][mine].astype(np.int64))
    touched = np.unique(columns["session"][mine]).tolist()
    kept = _lines_at(view, lines.tolist())
    stay = _first_statements(view, kept)
    gone = [line for line, record in kept.items() if record.get("type") != DELETE and line not in stay]
    for session in touched:
        gone += _unused_artifacts(view, session)
    if not gone:
        return NOTHING
    going = set(gone)
    replaced = [row for row, line in zip(rows, columns["line"].tolist(), strict=True) if line in going]
    return Leaving(lines=np.array(sorted(going), np.int64), vectors=_vectors(view, replaced))


def _first_statements(view: View, replaced: Mapping[int, Mapping[str, Any]]) -> set[int]:
    """Of what the graph still says, the lines that said it first; `replaced` are rising."""
    told = {
        line: text_of(record.get("id"))
        for line, record in replaced.items()
        if record.get("type") in (ENTITY, RELATION, DELETE)
    }
    living = saved_graph(view).stated if told else {}
    first: dict[str, int] = {}
    for line, id_ in told.items():
        if replaced[line].get("type") == DELETE:
            first.pop(id_, None)
        elif id_ in living:
            first.setdefault(id_, line)
    return set(first.values())


def _unused_artifacts(view: View, session: int) -> list[int]:
    """The pieces of artifacts that no note of a session refers to any more."""
    columns = view.session_columns(session, "row", "line", "flags")
    entries = view.entries_at(columns["row"].tolist())
    lines = dict(zip(columns["line"].astype(np.int64).tolist(), entries, strict=False))
    pieces = [line for line, entry in lines.items() if entry.type == ARTIFACT]
    if not pieces:
        return []
    notes = [
        line for line, e in lines.items() if e.type.startswith(f"{NOTE}/") and not e.entry.flags & HIDDEN
    ]
    found = (note_of(record, "") for record in _lines_at(view, notes).values())
    used = {kept.key for note in found if note is not None for kept in note.artifacts}
    named = _lines_at(view, pieces)
    return [line for line, record in named.items() if _key_of(record) not in used]


def _key_of(record: Mapping[str, Any]) -> str:
    return str(record.get("id", "")).removeprefix(f"{ARTIFACT}:").rpartition("/")[0]


def _lines_at(view: View, lines: list[int]) -> dict[int, Mapping[str, Any]]:
    found: dict[int, Mapping[str, Any]] = {}
    for at in range(0, len(lines), _AT_ONCE):
        part = lines[at : at + _AT_ONCE]
        for line, stored in zip(part, view.lines_at(part), strict=True):
            try:
                record = decode(stored.data)[0]
            except BadLine:
                record = {}
            found[line] = record if isinstance(record, dict) else {}
    return found


def _vectors(view: View, rows: Iterable[int]) -> Array:
    """The keys of the vectors of entries that go; a text that stays elsewhere is embedded again."""
    texts = (replace(each.entry, flags=0) for each in view.entries_at(list(rows)))
    return np.array(sorted({name_key(piece) for each in texts for piece in pieces_of(each)}), np.uint64)

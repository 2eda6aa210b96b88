"""What a question does not say, and its entities bring to mind: entries on what these are related to.

Off unless it is asked for; `python -m benchmarks.memory_graph` measures what it gains and what it costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.agents.memory.graph_records import decoded
from recollect.agents.memory.records import note_of
from recollect.search.graph.graph import Graph
from recollect.values.errors import NotFound

if TYPE_CHECKING:
    from recollect.store.contract import Array, View

STEPS, DECAY = 2, 0.5
NAME_WORDS_MAX = 6  # of a name that is looked for in a question
BROUGHT_MAX = 12  # entities
ROWS_MAX = 48  # of the latest entries that mention one of them
_AROUND = "?!.,;:\"'`()[]{}<>"

Holding = Callable[[str, int], "Array"]


@dataclass(frozen=True, slots=True)
class Brought:
    """Rows of entries, each with how much of it came to mind, at most 1; and the entities that did."""

    rows: Mapping[int, float]
    names: Mapping[str, float]


def bring(view: View, question: str, holding: Holding) -> Brought:
    """What a question brings to mind; `holding` gives rows of entries that hold a name, so many at most."""
    graph = Graph(view)
    seeds = dict.fromkeys(named_in(graph, question), 1.0)
    if not seeds:
        return Brought({}, {})
    spread = graph.spread(seeds, steps=STEPS, decay=DECAY)
    reached = sorted((-value, key) for key, value in spread.items() if key not in seeds)[:BROUGHT_MAX]
    most = -reached[0][0] if reached else 1.0
    rows: dict[int, float] = {}
    for negative, key in reached:
        value = -negative / most
        for row in (*_mentioning(graph, key, holding), *_showing(view, graph, seeds, key)):
            rows[row] = max(rows.get(row, 0.0), value)
    return Brought(rows, {graph.entity(key).name: round(-value, 3) for value, key in reached})


def named_in(graph: Graph, question: str) -> Iterator[str]:
    """The entities that a question names, the longest names first where they overlap."""
    words = [word.strip(_AROUND) for word in question.split()]
    at = 0
    while at < len(words):
        for length in range(min(NAME_WORDS_MAX, len(words) - at), 0, -1):
            key = graph.saved.key(" ".join(words[at : at + length]))
            if key and graph.has(key):
                yield key
                at += length - 1
                break
        at += 1


def _mentioning(graph: Graph, key: str, holding: Holding) -> list[int]:
    """The latest entries that mention an entity, or else hold its name."""
    number = graph.mentioned.number(key)
    if number >= 0:
        found: list[int] = graph.mentioned.rows(number)[-ROWS_MAX:].tolist()
        return found
    return [int(row) for row in holding(graph.entity(key).name, ROWS_MAX)]


def _showing(view: View, graph: Graph, seeds: Mapping[str, float], key: str) -> Iterator[int]:
    """What was given as evidence of what relates it to the question."""
    for edge in graph.saved.edges(key):
        if edge.other in seeds:
            for id_ in edge.relation.evidence:
                row = _row_of(view, id_)
                if row >= 0:
                    yield row


def _row_of(view: View, id_: str) -> int:
    """The row of an entry, or of a note as it is now; -1 for what is gone."""
    (lines,) = view.record_lines([id_])
    if lines:
        (line,) = view.lines_at([lines[-1][0]])
        note = note_of(decoded(line.data), "", line.data)
        id_ = note.entry if note is not None else id_
    try:
        return view.find_entry(id_).row
    except NotFound:
        return -1

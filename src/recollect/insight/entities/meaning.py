"""What was meant when a thing was spoken of, first and lately: by the vectors of what was said of it.

For each of the two periods one real entry, the one nearest to the centre of all that were looked at. How
alike the centres are says little alone, as everything said of one thing is alike: beside it stands how
alike they would be if time made no difference, from the same entries shared out in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from recollect.store.contract import Array, View
from recollect.values.digests import Statement
from recollect.values.entities import Meaning
from recollect.values.records import Kind
from recollect.values.text import one_line

SAMPLE = 48  # entries of each period that are looked at, spread over it
SAMPLE_LEAST = 6
_TEXT_CELLS = 200

VectorsOf = Callable[[Sequence[int]], Mapping[int, Array]]  # of entries, as far as they have one, of length 1


def meaning(view: View, name: str, first: Array, last: Array, vectors_of: VectorsOf) -> Meaning | None:
    """What two periods, as rows of entries, were about; None where too little was said in one of them."""
    said = [_spread(_said(view, rows)) for rows in (first, last)]
    if min(map(len, said)) < SAMPLE_LEAST:
        return None
    known = vectors_of(sorted({*said[0], *said[1]}))
    periods = [[row for row in rows if row in known] for rows in said]
    if min(map(len, periods)) < SAMPLE_LEAST:
        return None
    then, now = (_central(view, name, rows, known) for rows in periods)
    every = [row for rows in periods for row in rows]
    return Meaning(
        then,
        now,
        _likeness(*([known[row] for row in rows] for rows in periods)),
        _likeness([known[row] for row in every[::2]], [known[row] for row in every[1::2]]),
    )


def _said(view: View, rows: Array) -> list[int]:
    """Those that a person or an agent said, each once."""
    unique = np.unique(rows)
    kinds = view.columns_at(unique.tolist(), "kind")["kind"]
    found: list[int] = unique[np.isin(kinds, (int(Kind.PROMPT), int(Kind.ANSWER)))].tolist()
    return found


def _spread(rows: Sequence[int]) -> list[int]:
    """At most so many of them, evenly, the same ones each time."""
    if len(rows) <= SAMPLE:
        return list(rows)
    return [rows[n * len(rows) // SAMPLE] for n in range(SAMPLE)]


def _central(view: View, name: str, rows: Sequence[int], known: Mapping[int, Array]) -> Statement:
    """The entry nearest to the centre: the line of it that has the name, or how it begins."""
    centre = _centre([known[row] for row in rows])
    best = max(rows, key=lambda row: (float(known[row] @ centre), -row))
    (stored,) = view.entries_at([best])
    wanted, text = name.rpartition("/")[2].casefold(), stored.entry.text
    line = next((each for each in text.splitlines() if wanted in each.casefold()), text)
    return Statement(one_line(line.strip(), _TEXT_CELLS), stored.id)


def _likeness(one: Sequence[Array], other: Sequence[Array]) -> float:
    return round(float(_centre(one) @ _centre(other)), 3)


def _centre(vectors: Sequence[Array]) -> Array:
    total: Array = np.sum(np.stack(vectors).astype(np.float64), axis=0)
    length = float(np.linalg.norm(total))
    return total / length if length else total

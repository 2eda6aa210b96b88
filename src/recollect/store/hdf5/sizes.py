"""What lines take of a store's file, session by session: each its share of what it is packed into.

A line's bytes are packed with those around it, so it takes its part of its block; so do texts of its entries
that are kept beside it. What its row and those of its entries take (a few bytes each) is not counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import numpy as np

from recollect.store.contract import Array, RawSizes
from recollect.store.hdf5.forms import TextForm
from recollect.store.hdf5.tables import Stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.store.hdf5.read import Hdf5View


def raw_sizes(view: Hdf5View) -> RawSizes:
    """The sizes of all sessions at once; reads columns, and no line."""
    before = np.concatenate([[0.0], np.cumsum(_line_bytes(view))])
    sessions = view.table("sessions").rows
    own, lines = np.zeros(sessions), np.zeros(sessions, np.int64)
    shared: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for first, end, owners in _runs(view):
        taken = float(before[end] - before[first])
        if len(owners) == 1:
            own[owners[0]] += taken
            lines[owners[0]] += end - first
        else:
            shared[owners] += taken
    together = [(owners, _whole(taken)) for owners, taken in shared.items()]
    of_each = np.array([_whole(taken) for taken in own.tolist()], np.int64)
    total = int(of_each.sum()) + sum(taken for _, taken in together)
    return RawSizes(total, np.arange(sessions), of_each, lines, together)


def _whole(taken: float) -> int:
    """Whole bytes, and 0 only for nothing: a line of two bytes packs to less than one, and is there."""
    return max(round(taken), 1) if taken > 0 else 0


def _runs(view: Hdf5View) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Runs of lines that the same sessions have, and these; a half line that was replaced is in none."""
    sessions, firsts, ends = view.session_spans()
    places = np.concatenate([firsts, ends])
    order = np.argsort(places, kind="stable").tolist()
    sessions, count = sessions.tolist() * 2, len(firsts)
    held, at = Counter[int](), 0
    for edge, place in zip(order, places[order].tolist(), strict=True):
        if place > at and held:
            yield at, place, tuple(sorted(held))
        at, session = place, sessions[edge]
        held[session] += 1 if edge < count else -1
        if not held[session]:
            del held[session]


def _line_bytes(view: Hdf5View) -> Array:
    """What each line takes, with texts of its entries that are kept beside it."""
    ends = _packed(view.line_stream, view.table("lines").read("end"))
    taken = np.diff(ends, prepend=0.0)
    entries = view.table("entries")
    stored = np.flatnonzero(entries.read("form") == TextForm.STORED)
    if len(stored):
        each = entries.at("length", stored) * _density(view.text_stream)
        taken += np.bincount(entries.at("line", stored).astype(np.int64), each, minlength=len(taken))
    return taken


def _packed(stream: Stream, places: Array) -> Array:
    """How many packed bytes there are before each place of a stream; inside of a block as if it were even."""
    ends, lengths = stream.index["end"], stream.index["length"]
    before = np.concatenate([[0.0], np.cumsum(lengths, dtype=np.float64)])
    known = np.concatenate([[0.0], ends.astype(np.float64)])
    found: Array = np.interp(places.astype(np.float64), known, before)
    return found


def _density(stream: Stream) -> float:
    return float(stream.index["length"].sum(dtype=np.float64)) / stream.end if stream.end else 0.0

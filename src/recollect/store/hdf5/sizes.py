"""What lines take of a store's file, session by session: each its share of what it is packed into.

A line's bytes are packed with those around it, so it takes its part of its block; so do texts of its entries
that are kept beside it. What its row and those of its entries take (a few bytes each) is not counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.store.contract import Array, RawSizes
from recollect.store.hdf5.forms import TextForm
from recollect.store.hdf5.tables import Stream

if TYPE_CHECKING:
    from recollect.store.hdf5.read import Hdf5View

_NOBODY = -1  # has a line: it was half written, and the whole took its place
_SEVERAL = -2


def raw_sizes(view: Hdf5View) -> RawSizes:
    """The sizes of all sessions at once; reads columns, and no line."""
    owners, taken = _owners(view), _line_bytes(view)
    sessions = view.table("sessions").rows
    mine = owners >= 0
    own = np.bincount(owners[mine], taken[mine], minlength=sessions)
    lines = np.bincount(owners[mine], minlength=sessions)
    total = float(taken[owners != _NOBODY].sum())
    return RawSizes(round(total), np.arange(sessions), np.round(own).astype(np.int64), lines)


def _owners(view: Hdf5View) -> Array:
    """For each line the session whose sources alone have it."""
    owners = np.full(view.table("lines").rows, _NOBODY, np.int64)
    spans = view.table("spans")
    of_source = view.table("sources").read("session").astype(np.int64)
    sessions = of_source[spans.read("source")]
    firsts, counts = spans.read("first").astype(np.int64), spans.read("count").astype(np.int64)
    for session, first, count in zip(sessions.tolist(), firsts.tolist(), counts.tolist(), strict=True):
        part = owners[first : first + count]
        part[:] = np.where((part == _NOBODY) | (part == session), session, _SEVERAL)
    return owners


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

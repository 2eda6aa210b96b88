"""Which rows of every table stay in a rewrite, and what they refer to then.

Row order is kept, so every reference is mapped by counting what stays before it; and what stays of an
interval of rows is an interval again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recollect.store.contract import Array
from recollect.store.derived import SessionName
from recollect.store.hdf5.layout import TABLES
from recollect.store.hdf5.read import Hdf5View
from recollect.store.leaving import Leaving
from recollect.values.records import LineFlag

# Which columns hold rows of `names`.
NAMED = {
    "lines": ("type",),
    "entries": ("tool", "model"),
    "usage": ("model",),
    "sessions": (
        "agent", "host", "project", "cwd", "branch", "slug", "model", "version", "parent", "root",
    ),
    "sources": ("agent", "host"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a table that stay, as a mask, and how many of them come before each, the end included."""

    stays: Array
    before: Array

    @classmethod
    def of(cls, stays: Array) -> Rows:
        return cls(stays, np.concatenate([np.zeros(1, np.int64), np.cumsum(stays)]))

    def count(self, first: Array, count: Array) -> Array:
        """How much stays of each of some intervals."""
        return np.asarray(self.before[first + count] - self.before[first])


@dataclass(frozen=True, slots=True)
class Staying:
    """What stays of a store. `evicted` are lines that stay without bytes and entries.

    `entry_owner` and `usage_owner` are the sessions, by old row, that entries and responses are then of;
    `told` are the sessions, by name, that lost something other than by eviction.
    """

    lines: Rows
    evicted: Array
    entries: Rows
    usage: Rows
    sessions: Rows
    sources: Rows
    names: Rows
    entry_owner: Array
    usage_owner: Array
    thinned: Array  # sources that lose bytes and stay
    told: list[SessionName]


def staying(old: Hdf5View, leaving: Leaving) -> Staying:
    """What stays of a view when this goes, and what nothing refers to."""
    spans = {c: old.table("spans").read(c).astype(np.int64) for c in ("source", "first", "count")}
    extents = {c: old.table("extents").read(c).astype(np.int64) for c in ("session", "first", "count")}
    extents["first"][extents["count"] == 0] = 0  # what is empty may be anywhere
    spans["first"][spans["count"] == 0] = 0
    of_source = old.table("sources").read("session").astype(np.int64)
    rows = {name: old.table(name).rows for name in TABLES}
    named = _mask(leaving.sessions, rows["sessions"])
    flags = old.table("lines").read("flags")
    left = ~named[of_source]
    has = _covered(spans, left[spans["source"]], rows["lines"])
    lines = Rows.of(has & ~_whole_lines(_mask(leaving.lines, rows["lines"]), flags))
    evicted = _whole_lines(_mask(leaving.evicted, rows["lines"]), flags) & lines.stays
    had = np.bincount(spans["source"], spans["count"], rows["sources"])
    has_left = np.bincount(spans["source"], lines.count(spans["first"], spans["count"]), rows["sources"])
    sources = Rows.of(left & ~((had > 0) & (has_left == 0)))
    entry_line = old.table("entries").read("line").astype(np.int64)
    entries = Rows.of(lines.stays[entry_line] & ~evicted[entry_line])
    shows = np.bincount(
        extents["session"], entries.count(extents["first"], extents["count"]), rows["sessions"]
    )
    had_source = np.bincount(of_source, minlength=rows["sessions"]) > 0
    has_source = np.bincount(of_source[sources.stays], minlength=rows["sessions"]) > 0
    sessions = Rows.of(~named & ~(had_source & ~has_source & (shows == 0)))
    usage_line = old.table("usage").read("line").astype(np.int64)
    usage = Rows.of(lines.stays[usage_line])
    held_spans = {c: v[sources.stays[spans["source"]]] for c, v in spans.items()}
    held_spans["owner"] = of_source[held_spans.pop("source")]
    owners = _Owners(sessions.stays, held_spans)
    shown = {c: v[sessions.stays[extents["session"]]] for c, v in extents.items()}
    shown["owner"] = shown.pop("session")
    lost_bytes = Rows.of(lines.stays & ~evicted)
    loses = lost_bytes.count(spans["first"], spans["count"]) < spans["count"]
    thinned = _mask(spans["source"][loses], rows["sources"]) & sources.stays
    changed = ~sessions.stays
    lost = lines.count(spans["first"], spans["count"]) < spans["count"]
    changed = changed | _mask(of_source[spans["source"][lost]], rows["sessions"])
    changed |= _mask(leaving.facts, rows["sessions"])
    if leaving.is_empty:
        changed[:] = False
    keep = {
        "lines": lines.stays, "entries": entries.stays, "usage": usage.stays, "sources": sources.stays,
        "sessions": sessions.stays & ~_mask(leaving.facts, rows["sessions"]),
    }  # fmt: skip
    return Staying(
        lines,
        evicted,
        entries,
        usage,
        sessions,
        sources,
        _names(old, keep),
        owners.of_entries(old.table("entries").read("session"), entries.stays, entry_line, shown),
        owners.of_lines(old.table("usage").read("session"), usage.stays, usage_line),
        thinned,
        [_session_name(old, row) for row in np.flatnonzero(changed).tolist()],
    )


class _Owners:
    """Whose something is when the session that it was first seen in goes: of the first other that has it."""

    def __init__(self, sessions: Array, spans: dict[str, Array]) -> None:
        self._stays, self._spans = sessions, spans

    def of_entries(self, sessions: Array, stays: Array, lines: Array, shown: dict[str, Array]) -> Array:
        owner = sessions.astype(np.int64)
        homeless = np.flatnonzero(stays & ~self._stays[owner])
        if len(homeless):
            owner[homeless] = _holder(shown, homeless)
            unseen = homeless[owner[homeless] < 0]  # nobody shows what was replaced
            owner[unseen] = _holder(self._spans, lines[unseen])
        return owner

    def of_lines(self, sessions: Array, stays: Array, lines: Array) -> Array:
        owner = sessions.astype(np.int64)
        homeless = np.flatnonzero(stays & ~self._stays[owner])
        owner[homeless] = _holder(self._spans, lines[homeless])
        return owner


def _holder(held: dict[str, Array], rows: Array) -> Array:
    """For each row the least owner of an interval that it is in, -1 for none."""
    wanted, back = np.unique(rows, return_inverse=True)
    found = np.full(len(wanted), -1, np.int64)
    starts = np.searchsorted(wanted, held["first"])
    stops = np.searchsorted(wanted, held["first"] + held["count"])
    touching = np.flatnonzero(starts < stops)
    for n in touching[np.argsort(held["owner"][touching], kind="stable")][::-1].tolist():
        found[starts[n] : stops[n]] = held["owner"][n]
    return np.asarray(found[back])


def _covered(spans: dict[str, Array], chosen: Array, count: int) -> Array:
    """Which rows are in any of the chosen intervals."""
    edges = np.zeros(count + 1, np.int64)
    np.add.at(edges, spans["first"][chosen], 1)
    np.add.at(edges, (spans["first"] + spans["count"])[chosen], -1)
    return np.asarray(np.cumsum(edges[:-1]) > 0)


def _whole_lines(chosen: Array, flags: Array) -> Array:
    """The chosen rows, with all other pieces of lines that were too long for one."""
    goes_on = flags & int(LineFlag.CONTINUES) != 0
    if not (chosen.any() and goes_on.any()):
        return chosen
    line = np.concatenate([np.zeros(1, np.int64), np.cumsum(~goes_on[:-1])])  # which line a row is of
    return np.asarray(_mask(line[chosen], int(line[-1]) + 1)[line])


def _mask(rows: object, count: int) -> Array:
    mask = np.zeros(count, bool)
    chosen: Array = np.asarray(rows if isinstance(rows, np.ndarray) else list(rows), np.int64)  # type: ignore[call-overload]
    mask[chosen] = True
    return mask


def _names(old: Hdf5View, keep: dict[str, Array]) -> Rows:
    used = np.zeros(old.table("names").rows, bool)
    used[:1] = True
    for table, columns in NAMED.items():
        for column in columns:
            used[old.table(table).read(column)[keep[table]]] = True
    return Rows.of(used)


def _session_name(old: Hdf5View, row: int) -> SessionName:
    session = old.session_at(row)
    return session.facts.agent, session.host, session.facts.id

"""A sweep carried out: what goes is chosen under the writer's lock, and noted in the same change.

Raw lines and their entries go, with the vectors of what these said. Rows of sessions and sources, usage,
digests and ties stay. What the entries mentioned is counted by session, thing and day, and stays as that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np

from recollect.insight.entities import table as entities
from recollect.insight.retention.gather import Gathered, gather
from recollect.insight.retention.plan import plan_sweep
from recollect.search.evicted import EVICTED_MENTIONS, EVICTIONS
from recollect.search.mentions import TYPES, Mentions
from recollect.search.vectors.pieces import pieces_of
from recollect.store.contract import Array, View, Writer
from recollect.store.derived import Column
from recollect.store.leaving import NOTHING, Leaving
from recollect.values.ids import name_key
from recollect.values.retention import RetentionSettings, SessionName, SweepPlan, Why

_ENTRIES_AT_ONCE = 4096

Pinned = Callable[[View], Collection[SessionName]]


class Sweep:
    """One sweep over a store: `plan` to look, `choose` and `note` for `Store.compact`."""

    def __init__(
        self,
        settings: RetentionSettings,
        *,
        now_ms: int,
        pinned: Pinned,
        read_ms: Mapping[SessionName, int],
        can_digest: bool = True,
    ) -> None:
        self.settings, self._now_ms = settings, now_ms
        self._pinned, self._read_ms = pinned, read_ms
        self.can_digest = can_digest
        self._counted: frozenset[SessionName] = frozenset()
        self.gathered: Gathered
        self.planned: SweepPlan

    def count_digested(self, names: Collection[SessionName]) -> None:
        """Plan from now on as if these were digested: to see what would be done."""
        self._counted = frozenset(names)

    def plan(self, view: View) -> SweepPlan:
        """What is to be done about a view's sessions."""
        self.gathered = gather(view, self._pinned(view), self._read_ms, self._counted)
        self.planned = plan_sweep(
            self.gathered.held,
            self.settings,
            shared=self.gathered.shared,
            used_bytes=self.gathered.used_bytes,
            now_ms=self._now_ms,
            can_digest=self.can_digest,
        )
        return self.planned

    def digestible(self, names: Iterable[SessionName]) -> list[SessionName]:
        """Those of some sessions that have anything to tell of."""
        return [name for name in names if self.gathered.rows[name][1].entries]

    def choose(self, view: View) -> Leaving:
        """What of a view goes; all that is to be noted of it is worked out now, while it is there."""
        plan = self.plan(view)
        rows = {name: self.gathered.rows[name] for name, _, _ in plan.evict}
        lines = view.lines_only_of([row for row, _ in rows.values()])
        lines = lines[view.line_lengths(lines.tolist()) > 0]  # what went before stays gone
        if not len(lines):
            return NOTHING
        self._before = {name: session.entries for name, (_, session) in rows.items()}
        self._lines = _line_counts(view, rows, lines)
        is_gone = np.zeros(int(lines.max()) + 1, bool)
        is_gone[lines] = True
        self._mentioned = _mentioned(view, is_gone, {row: name for name, (row, _) in rows.items()})
        gone = _entries_of(view, [row for row, _ in rows.values()], is_gone)
        return Leaving(evicted=lines, vectors=_vector_keys(view, gone))

    def note(self, writer: Writer) -> None:
        """Write down what went and what it had mentioned."""
        if not self.planned.evict:
            return
        view = writer.view()
        left = dict.fromkeys(self._before, 0)
        for session in view.sessions():
            name = SessionName(session.facts.agent, session.host, session.facts.id)
            if name in left:
                left[name] = session.entries
        evicted = self.planned.evict
        columns: dict[str, Column] = {
            "agent": [each.name.agent for each in evicted],
            "host": [each.name.host for each in evicted],
            "session": [each.name.id for each in evicted],
            "time": np.full(len(evicted), self._now_ms, np.int64),
            "lines": np.array([self._lines[each.name] for each in evicted], np.uint32),
            "entries": np.array([self._before[each.name] - left[each.name] for each in evicted], np.uint32),
            "bytes": np.array([each.bytes for each in evicted], np.uint64),
            "loss": np.array([each.why is Why.DATA_LOSS for each in evicted], np.uint8),
        }
        writer.add_derived(EVICTIONS, columns, built_to=0)
        writer.add_derived(EVICTED_MENTIONS, self._mentioned, built_to=0)


def _line_counts(
    view: View, rows: Mapping[SessionName, tuple[int, object]], lines: Array
) -> dict[SessionName, int]:
    """How many of the lines that go each session has."""
    found = dict.fromkeys(rows, 0)
    for source in view.sources():
        name = SessionName(source.file.agent, source.host, source.session)
        if name in found and not source.superseded:
            found[name] += int(np.isin(view.line_rows(source), lines).sum())
    return found


def _entries_of(view: View, sessions: Sequence[int], is_gone: Array) -> list[int]:
    """The entries of lines that go, in order."""
    found: list[int] = []
    for session in sessions:
        columns = view.session_columns(session, "row", "line")
        found += columns["row"][_among(is_gone, columns["line"])].tolist()
    return sorted(found)


def _among(is_gone: Array, lines: Array) -> Array:
    inside = lines.astype(np.int64)
    found: Array = np.zeros(len(inside), bool)
    there = inside < len(is_gone)
    found[there] = is_gone[inside[there]]
    return found


def _vector_keys(view: View, rows: Sequence[int]) -> Array:
    """The keys of all vectors of some entries; another entry that says the same is embedded anew."""
    if not view.vector_models():
        return np.zeros(0, np.uint64)
    keys: set[int] = set()
    for start in range(0, len(rows), _ENTRIES_AT_ONCE):
        for stored in view.entries_at(rows[start : start + _ENTRIES_AT_ONCE]):
            keys.update(name_key(piece) for piece in pieces_of(stored.entry))
    return np.array(sorted(keys), np.uint64)


def _shown(made: entities.Read, replaced: Array) -> entities.Read:
    """What was read, without entries that were replaced."""
    chosen = ~np.isin(made.entries.astype(np.int64), replaced)
    return entities.Read(made.things, made.entries[chosen], made.places[chosen], made.days[chosen])


def _mentioned(view: View, is_gone: Array, names: Mapping[int, SessionName]) -> dict[str, Column]:
    """What entries of lines that go mention, as rows of the table: counts by session, thing and day."""
    known = Mentions(view)
    first = int(np.searchsorted(known.entries, np.zeros(1, known.entries.dtype))[0])
    rows, things, days = (column[first:] for column in (known.entries, known.things, known.days))
    told = {number: (int(type_), "") for number, type_ in enumerate(known.types.tolist())}
    if known.unread:  # since the store was last written anew, nobody looked at these
        made = _shown(entities.read(view, known.read_to, view.info().rows_end), view.replaced())
        numbers = np.arange(len(told), len(told) + len(made.things))
        told |= {
            n: (TYPES.index(type_), name)
            for n, (type_, name) in zip(numbers.tolist(), made.things, strict=True)
        }
        rows = np.concatenate([rows.astype(np.int64), made.entries.astype(np.int64)])
        things = np.concatenate([things.astype(np.int64), numbers[made.places]])
        days = np.concatenate([days, made.days])
    cells = view.columns_at(rows.tolist(), "line", "session")
    chosen = _among(is_gone, cells["line"])
    cube = np.stack(
        [cells["session"][chosen].astype(np.int64), things[chosen], days[chosen].astype(np.int64)]
    )
    found, counts = np.unique(cube, axis=1, return_counts=True)
    sessions, numbers, on = found
    name_of = {n: told[n][1] or known.name(n) for n in np.unique(numbers).tolist()}
    return {
        "session": np.array([name_key(*names[row]) for row in sessions.tolist()], np.uint64),
        "type": np.array([told[n][0] for n in numbers.tolist()], np.uint8),
        "name": [name_of[n] for n in numbers.tolist()],
        "day": on.astype(np.uint16),
        "mentions": counts.astype(np.uint32),
    }

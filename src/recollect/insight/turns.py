"""The walker of conversations, turn by turn and from columns alone: only what is shown is read.

A turn is what a person said and all that came of it; what stands before the first prompt of a session
is a turn too. Sessions grow side by side, so the rows of a turn need not be next to each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recollect.store.contract import Array, View
from recollect.store.walks import is_said
from recollect.values.records import HIDDEN, Flag, Kind
from recollect.values.stored import StoredEntry

Key = tuple[int, int]  # a session's row, the number of the turn in it

BOOKKEEPING = (Kind.EVENT, Kind.IMAGE)  # no part of what was said and done
UNSPOKEN = (*BOOKKEEPING, Kind.CONTEXT, Kind.UNKNOWN)  # nor what a harness put in front of a model


class Turns:
    """The courses of sessions, each read when first asked for.

    Left out is what has a flag of `hidden`, is of a kind in `silent`, or, unless asked for, `imported`.
    """

    def __init__(
        self, view: View, *, hidden: int = HIDDEN, silent: Sequence[Kind] = BOOKKEEPING, imported: bool = True
    ) -> None:
        self._view, self._hidden, self._silent = view, hidden, silent
        self._imported = imported
        self._known: dict[int, Course] = {}

    def __getitem__(self, session_row: int) -> Course:
        known = self._known.get(session_row)
        if known is None:
            known = self._known[session_row] = self._read(session_row)
        return known

    def of(self, stored: StoredEntry) -> Key:
        """The turn that an entry is part of."""
        return stored.session_row, self[stored.session_row].turn_at(stored.row)

    def rows(self, key: Key) -> list[int]:
        """What a turn shows, in order; nothing for one that is not there."""
        return self[key[0]].rows_of(key[1])

    def _read(self, session_row: int) -> Course:
        columns = self._view.session_columns(session_row, "row", "kind", "flags", "time", "call", "imported")
        shown = ~np.isin(columns["kind"], self._silent) & (columns["flags"] & self._hidden == 0)
        shown &= ~columns["imported"] | self._imported
        return Course({name: values[shown] for name, values in columns.items()})


class Course:
    """What one session shows, in order, without its texts."""

    def __init__(self, columns: dict[str, Array]) -> None:
        self._rows, self._kinds, self._flags = columns["row"], columns["kind"], columns["flags"]
        self._times, self._calls = columns["time"], columns["call"]
        self._starts = np.flatnonzero(is_said(columns))

    # -- turns -----------------------------------------------------------------------------------

    def turn_at(self, row: int) -> int:
        """The number of the turn that a row is part of."""
        return int(np.searchsorted(self._starts, self._at(row), "right"))

    def rows_of(self, turn: int) -> list[int]:
        """What a turn shows, in order; nothing for one that is not there."""
        return self._listed(self._rows[self._span(turn)])

    def prompt_of(self, row: int) -> int | None:
        """What a person said that an entry came of, itself if it is that; None where nobody had yet."""
        turn = self.turn_at(row)
        return int(self._rows[self._starts[turn - 1]]) if turn else None

    def time_ms(self, turn: int) -> int:
        """When a turn began, as far as any of its entries says."""
        times = self._times[self._span(turn)]
        return next((int(time) for time in times if time), 0)

    def answers_after(self, row: int) -> list[int]:
        """What the model answered behind an entry, in the same turn."""
        rest = slice(self._at(row) + 1, self._span(self.turn_at(row)).stop)
        return self._listed(self._rows[rest][self._kinds[rest] == Kind.ANSWER])

    def closing_answers(self) -> list[int]:
        """The last answer of each turn that has one."""
        answers = np.flatnonzero(self._kinds == Kind.ANSWER)
        turns = np.searchsorted(self._starts, answers, "right")
        last = np.append(turns[1:] != turns[:-1], True) if len(turns) else turns
        return self._listed(self._rows[answers[last.astype(bool)]])

    def prompts(self) -> list[int]:
        """Everything that a person said."""
        return self._listed(self._rows[self._starts])

    # -- calls -----------------------------------------------------------------------------------

    def with_halves(self, wanted: set[int], turn: int) -> set[int]:
        """Some rows of a turn, and the other half of each call among them."""
        places = [self._at(row) for row in wanted]
        span = self._span(turn)
        calls = np.unique(self._calls[places]) if places else np.zeros(0, self._calls.dtype)
        same = np.isin(self._calls[span], calls[calls != 0])
        return wanted | set(self._listed(self._rows[span][same]))

    def result_of(self, row: int) -> int | None:
        """The result of a call, None for one that has none."""
        found = self._same_call(row, Kind.RESULT)
        return int(self._rows[found[0]]) if len(found) else None

    def call_of(self, row: int) -> int | None:
        """The call that a result is of, None for none."""
        found = self._same_call(row, Kind.CALL)
        found = found[found < self._at(row)]
        return int(self._rows[found[-1]]) if len(found) else None

    def has_failed(self, row: int) -> bool:
        """Whether an entry is an error."""
        return bool(self._flags[self._at(row)] & Flag.ERROR)

    # -- places ----------------------------------------------------------------------------------

    def distance(self, row: int, other: int) -> int:
        """How many steps it is from one entry to another: 1 for those next to each other."""
        return abs(self._at(other) - self._at(row))

    def rows_after(self, row: int, count: int | None = None) -> list[int]:
        """What comes behind an entry in its session; only the next few if asked."""
        at = self._at(row) + 1
        return self._listed(self._rows[at : None if count is None else at + count])

    def only(self, rows: Sequence[int], *kinds: Kind) -> list[int]:
        """Those of some rows that are of these kinds."""
        places = np.searchsorted(self._rows, np.asarray(rows, np.int64))
        return self._listed(self._rows[places[np.isin(self._kinds[places], kinds)]])

    def all(self, *kinds: Kind) -> list[int]:
        """Everything that is of these kinds."""
        return self._listed(self._rows[np.isin(self._kinds, kinds)])

    def _same_call(self, row: int, kind: Kind) -> Array:
        key = self._calls[self._at(row)]
        return np.flatnonzero((self._calls == key) & (self._kinds == kind) & (self._calls != 0))

    def _span(self, turn: int) -> slice:
        if not 0 <= turn <= len(self._starts):
            return slice(0, 0)
        start = int(self._starts[turn - 1]) if turn else 0
        return slice(start, int(self._starts[turn]) if turn < len(self._starts) else len(self._rows))

    def _at(self, row: int) -> int:
        return int(np.searchsorted(self._rows, row))

    @staticmethod
    def _listed(rows: Array) -> list[int]:
        return [int(row) for row in rows]

"""What a rewrite leaves out: whole sessions, single lines, or the bytes of lines of which a row stays.

Rows are those of the state they were chosen in, so whoever chooses is handed that state under the writer's
lock (`Store.compact`), and nothing can come in between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from recollect.store.contract import View
    from recollect.values.records import SessionFacts
    from recollect.values.stored import Source

Array = np.ndarray[Any, Any]
Choice = Callable[["View"], "Leaving"]


def _no_rows() -> Array:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Leaving:
    """What goes, by row. What another session's source has too stays, unless its line is named itself.

    `sessions` go with their sources and every line that no other source has. `lines` go from all sources; a
    source or a session of which then nothing is left goes too. `evicted` lines lose their bytes and entries,
    and keep their row: usage, places in sources and cursors stay as they are. `vectors` are the keys of
    those that go. `facts` (by session) and `states` (of sources, what a parser remembers) are told anew,
    because what was known came from lines that go.
    """

    sessions: frozenset[int] = frozenset()
    lines: Array = field(default_factory=_no_rows)
    evicted: Array = field(default_factory=_no_rows)
    vectors: Array = field(default_factory=lambda: np.zeros(0, np.uint64))
    facts: Mapping[int, SessionFacts] = field(default_factory=dict)
    states: Sequence[tuple[Source, dict[str, Any]]] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing goes."""
        return not (self.sessions or len(self.lines) or len(self.evicted))


NOTHING = Leaving()

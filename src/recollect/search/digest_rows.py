"""What digests tell of sessions in columns alone: how each ended, its title, and of which classes it is.

The table is written, and read whole, by `recollect.insight.digest.kept`; filters and lists need these only.
"""

from __future__ import annotations

from recollect.store.contract import View
from recollect.store.derived import NAME, TEXT, DerivedTable, Rewrite, no_rows
from recollect.values.digests import PATTERNS, Heading, Outcome
from recollect.values.errors import DerivedDamaged
from recollect.values.lazy import lazy
from recollect.values.stored import Session

Key = tuple[str, str, str]  # a session's agent, host and id

DIGESTS = DerivedTable(
    "digests",
    4,
    (
        ("agent", NAME),
        ("host", NAME),
        ("session", TEXT),
        ("entries", "<u4"),
        ("outcome", NAME),
        ("patterns", "<u2"),  # a bit for each, in the order of PATTERNS
        ("title", TEXT),
        ("digest", TEXT),
    ),
    Rewrite.CARRY,
    ("agent", "host", "session"),
)
_FEW = ("agent", "host", "session", "entries", "outcome", "patterns")


def key_of(session: Session) -> Key:
    return session.facts.agent, session.host, session.facts.id


class DigestRows:
    """The rows of a view's digests. A session has none, or one that was made of all of its entries."""

    def __init__(self, view: View) -> None:
        self._view = view
        try:
            columns = view.derived(DIGESTS, only=_FEW)
        except DerivedDamaged:
            columns = no_rows(DIGESTS, _FEW)
        keys = zip(columns["agent"], columns["host"], columns["session"], strict=True)
        self._rows: dict[Key, int] = {
            (str(agent), str(host), str(session)): row for row, (agent, host, session) in enumerate(keys)
        }
        self._entries, self._patterns = columns["entries"], columns["patterns"]
        self._outcomes = columns["outcome"]

    def row_of(self, session: Session) -> int | None:
        """Where the digest of a session is kept, None for one that has none, or has more entries by now."""
        row = self._rows.get(key_of(session))
        return row if row is not None and int(self._entries[row]) >= session.entries else None

    def outcome(self, row: int) -> Outcome:
        """How the session ended whose digest is kept there."""
        return Outcome(self._outcomes[row])

    def bad_end(self, session: Session) -> str:
        """How a session ended, where a digest is kept of it and that was not well: failed, abandoned."""
        row = self.row_of(session)
        outcome = Outcome.UNKNOWN if row is None else self.outcome(row)
        return str(outcome) if outcome in (Outcome.FAILED, Outcome.ABANDONED) else ""

    def patterns(self, row: int) -> tuple[str, ...]:
        """The classes that its exchanges are of."""
        bits = int(self._patterns[row])
        return tuple(name for place, name in enumerate(PATTERNS) if bits >> place & 1)

    def heading(self, session: Session) -> Heading | None:
        """Title and outcome of a session, as far as they are kept."""
        row = self.row_of(session)
        return None if row is None else Heading(self.titles[row], self.outcome(row))

    @lazy
    def titles(self) -> list[str]:
        """What each row's session is called, "" where that does not read."""
        try:
            return list(map(str, self._view.derived(DIGESTS, only=("title",))["title"]))
        except DerivedDamaged:
            return [""] * len(self._entries)

    def last_rows(self) -> list[int]:
        """The rows that count, in order: one for each session."""
        return sorted(self._rows.values())

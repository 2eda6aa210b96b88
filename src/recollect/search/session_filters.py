"""Which sessions a filter means: `project: label: agent: host: branch: session: thread: outcome: pattern:`.

What is known of a session changes while it goes on, so nothing of it is in the text index;
a filter becomes a set of session rows at the moment it is asked. Which sessions are one thread
`recollect.search.joining` decides, for the filter and for whoever lists threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from recollect.light.sources import is_conversation
from recollect.search.digest_rows import DigestRows
from recollect.search.projects import by_name
from recollect.search.thread_rows import thread_rows
from recollect.values.lazy import lazy
from recollect.values.records import Flag
from recollect.values.stored import Called, Session
from recollect.values.text import hyphenated
from recollect.values.vocabulary import DIGEST_FIELDS

if TYPE_CHECKING:
    from recollect.store.contract import View

SESSION_FIELDS = ("agent", "branch", "host", "label", "project", "session", "thread", *DIGEST_FIELDS)


class Sessions:
    """The sessions of one view, read when a filter first needs them."""

    def __init__(self, view: View) -> None:
        self._view = by_name(view)
        self._known: dict[int, Session] = {}

    def __getitem__(self, row: int) -> Session:
        known = self._known.get(row)
        if known is None:
            known = self._known[row] = self._view.session_at(row)
        return known

    def __iter__(self) -> Iterator[Session]:
        return iter(self._all.values())

    def where(self, field: str, value: str) -> list[int]:
        """The rows of the sessions that a filter lets through, in order."""
        if field == "thread":
            return self._thread(value)
        if called := _CALLED.get(field):
            return self._view.rows_called(lambda project: called(project, value))
        if field in DIGEST_FIELDS:
            return [row for row, session in self._all.items() if value in self.told(session, field)]
        matches = _MATCHES[field]
        wanted = value.lower()
        return [row for row, session in self._all.items() if matches(session, wanted)]

    def told(self, session: Session, field: str) -> tuple[str, ...]:
        """What a session's digest says it is, as a filter names it; nothing where there is none yet."""
        row = self._digests.row_of(session)
        if row is None:
            return ()
        if field == "outcome":
            return (str(self._digests.outcome(row)),)
        return tuple(map(hyphenated, self._digests.patterns(row)))

    def undigested(self) -> int:
        """How many conversations have no digest yet, or went on since."""
        talks = (each for each in self if each.entries and is_conversation(each.facts.agent))
        return sum(self._digests.row_of(each) is None for each in talks)

    def imported(self) -> list[int]:
        """The rows of the sessions that only imported logs know, in order."""
        return [row for row, session in self._all.items() if session.imported]

    def copies_among(self, rows: Sequence[int]) -> list[int]:
        """Those of some entries that are copies by now."""
        copied = self._view.columns_at(rows, "flags")["flags"] & Flag.COPY != 0
        return [row for row, is_copy in zip(rows, copied.tolist(), strict=True) if is_copy]

    def _thread(self, value: str) -> list[int]:
        """Every session that goes on from, or led to, one whose id or slug fits: the whole thread."""
        wanted = value.lower()
        found = {
            self.threads[row]
            for row, session in self._all.items()
            if session.facts.slug.lower() == wanted or session.facts.id.lower().startswith(wanted)
        }
        return [row for row, thread in self.threads.items() if thread in found]

    @lazy
    def threads(self) -> dict[int, int]:
        """For the row of each session that of the first one of its thread."""
        return self._view.worked_out(thread_rows)

    @lazy
    def _digests(self) -> DigestRows:
        return self._view.worked_out(DigestRows)

    @property
    def _all(self) -> dict[int, Session]:
        return self._view.every


_MATCHES: dict[str, Callable[[Session, str], bool]] = {
    "agent": lambda session, value: value in session.facts.agent.lower(),
    "branch": lambda session, value: value in session.facts.branch.lower(),
    "host": lambda session, value: value in session.host.lower(),
    "session": lambda session, value: session.facts.id.lower().startswith(value),
}
_CALLED = {"label": Called.is_labelled, "project": Called.is_of_project}

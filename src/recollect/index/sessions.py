"""Which sessions a filter means: `project: agent: host: branch: session: thread:`.

What is known of a session changes while it goes on, so nothing of it is in the text index;
a filter becomes a set of session rows at the moment it is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from recollect.store.base import Session, SessionRows

SESSION_FIELDS = ("agent", "branch", "host", "project", "session", "thread")


class Sessions:
    """The sessions of one view, read when a filter first needs them."""

    def __init__(self, rows: SessionRows) -> None:
        self._rows = rows
        self._known: dict[int, Session] = {}

    def __getitem__(self, row: int) -> Session:
        known = self._known.get(row)
        if known is None:
            known = self._known[row] = self._rows[row]
        return known

    def __iter__(self) -> Iterator[Session]:
        return iter(self._all)

    def where(self, field: str, value: str) -> list[int]:
        """The rows of the sessions that a filter lets through, in order."""
        if field == "thread":
            return sorted(self._thread(value))
        matches = _MATCHES[field]
        wanted = value.lower()
        return [row for row, session in enumerate(self._all) if matches(session, wanted)]

    def _thread(self, value: str) -> set[int]:
        """Every session that goes on from, or led to, one whose id or slug fits: the whole thread."""
        wanted = value.lower()
        found = {
            row
            for row, session in enumerate(self._all)
            if session.facts.slug.lower() == wanted or session.facts.id.lower().startswith(wanted)
        }
        while True:
            links = set(_links(self._all[row] for row in found))
            more = {row for row, session in enumerate(self._all) if links & set(_links([session]))}
            if more <= found:
                return found
            found |= more

    @cached_property
    def _all(self) -> list[Session]:
        return list(self._rows)


def _links(sessions: Iterable[Session]) -> Iterable[str]:
    """The names that tie sessions together; a slug is shared by what continues one another."""
    for session in sessions:
        facts = session.facts
        yield "id " + facts.id
        for kind, name in (("id", facts.root), ("id", facts.parent), ("slug", facts.slug)):
            if name:
                yield f"{kind} {name}"


_MATCHES: dict[str, Callable[[Session, str], bool]] = {
    "agent": lambda session, value: value in session.facts.agent.lower(),
    "branch": lambda session, value: value in session.facts.branch.lower(),
    "host": lambda session, value: value in session.host.lower(),
    "project": lambda session, value: value in session.facts.project.lower(),
    "session": lambda session, value: session.facts.id.lower().startswith(value),
}

"""What is in the store, as it lies there: the verbs that show sessions, entries, lines and what they cost.

What a verb needs is imported by it: an agent asks one question per process.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.memory.known import find_session
from recollect.memory.part import Part, now_ms
from recollect.memory.retained import refuse_evicted
from recollect.values.errors import NotFound
from recollect.values.records import Role
from recollect.values.stored import Session, Source, StoredEntry, source_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from recollect.values.reports import Standing
    from recollect.values.usage import SessionUsage, UsageFilter, UsageLine, UsageReport


class Looking(Part):
    """The part of a `Memory` that shows what was taken in."""

    def sessions(self) -> list[Session]:
        """Every session, the most recently active last.

        A copy of ours counts once somebody went on in it, or where what it was copied from is not there.
        """
        from recollect.light.sources import is_conversation

        with self.view() as view:
            found = [each for each in view.sessions() if is_conversation(each.facts.agent)]
        found = [each for each in found if not each.copied]
        return sorted(found, key=lambda s: (s.facts.ended_ms, s.facts.id))

    def session(self, prefix: str) -> Session:
        """The session whose id starts so."""
        with self.view() as view:
            return find_session(view, prefix)

    def find(self, id_: str) -> tuple[Session, StoredEntry | None]:
        """A session by the beginning of its id; or an entry by its id, with its session."""
        with self.view() as view:
            try:
                return find_session(view, id_), None
            except NotFound as error:
                try:
                    entry = view.find_entry(id_)
                except NotFound:
                    raise error from None
                return view.session_rows()[entry.session_row], entry

    def around(self, entry: StoredEntry, before: int, after: int) -> list[StoredEntry]:
        """An entry between those that come before and after it in its session."""
        with self.view() as view:
            return view.neighbours(entry.row, before, after)

    def show(self, prefix: str) -> Iterator[StoredEntry]:
        """Everything a session shows, in order."""
        with self.view() as view:
            session = find_session(view, prefix)
            self.note_read(session)
            yield from view.entries(session)

    def tail(self, prefix: str, count: int = 20) -> list[StoredEntry]:
        """The last entries of a session."""
        with self.view() as view:
            return list(view.entries(find_session(view, prefix), last=count))

    def sources(self, prefix: str | None = None) -> list[Source]:
        """All sources, or one session's, replaced versions too."""
        with self.view() as view:
            return view.sources(find_session(view, prefix) if prefix is not None else None)

    def raw(self, prefix: str) -> Iterator[bytes]:
        """A session's transcript file, byte for byte, piece by piece; `Evicted` where that is not there."""
        with self.view() as view:
            session = find_session(view, prefix)
            refuse_evicted(view, session)
            source = main_source(view.sources(session), prefix)
            yield from source_bytes(source, view.lines(source))

    def altered(self, prefix: str) -> list[int]:
        """The numbers of the lines of a session's transcript that are not what its file has: secrets in them
        were erased.
        """
        with self.view() as view:
            sources = view.sources(find_session(view, prefix))
            if not any(each.thinned for each in sources):
                return []
            source = main_source(sources, prefix)
            return [number for number, line in enumerate(view.lines(source), 1) if line.key]

    def usage(self, by: str = "", *, only: UsageFilter | None = None) -> UsageReport:
        """Tokens and cost of everything, or of `only` some, grouped by day, model, project, session or agent.

        By two of them: `project,model`.
        """
        from recollect.insight.usage import summarise
        from recollect.values.usage import UsageFilter

        with self.view() as view:
            return summarise(view.usage(), by, self.config.prices, only or UsageFilter())

    def session_usage(self, prefix: str) -> SessionUsage:
        """Tokens and cost of a session, and of the subagents that were started in it."""
        from recollect.insight.usage import session_usage

        with self.view() as view:
            return session_usage(view.usage(), find_session(view, prefix).facts.id, self.config.prices)

    def usage_lines(
        self, by: str = "", group: str = "", limit: int | None = None, *, only: UsageFilter | None = None
    ) -> list[UsageLine]:
        """The responses behind the figures of a group, dearest first, each with its line in a log."""
        from recollect.insight.usage import explain
        from recollect.values.usage import UsageFilter

        with self.view() as view:
            prices, wanted = self.config.prices, only or UsageFilter()
            return explain(view, view.usage(), prices, by=by, group=group, limit=limit, only=wanted)

    def odd_lines(self) -> dict[str, int]:
        """Lines that are not simply entries, by what is odd about them."""
        from recollect.values.records import LineFlag

        with self.view() as view:
            counts = view.flag_counts()
        return {flag.name.lower(): counts.get(flag, 0) for flag in LineFlag if flag is not LineFlag.CONTINUES}

    def types(self) -> dict[str, tuple[int, bool]]:
        """How many lines there are of each record type, and whether this version knows it."""
        with self.view() as view:
            return view.types()

    def standing(self) -> Standing:
        """How the logs on this machine's disk stand: which changed, which are gone or soon deleted."""
        from recollect.intake.at_risk import standing

        home = Path.home()
        return standing(self.sources(), host=self.config.host, home=home, environ=os.environ, now_ms=now_ms())


def main_source(sources: Iterable[Source], prefix: str) -> Source:
    """The newest version of a session's own transcript; an imported one only where there is no other."""
    mains = [s for s in sources if s.file.role in (Role.MAIN, Role.SUBAGENT) and not s.superseded]
    mains = [s for s in mains if not s.imported] or mains
    if not mains:
        raise NotFound(f"session {prefix!r} has no transcript of its own in the store")
    return max(mains, key=lambda source: source.lines)

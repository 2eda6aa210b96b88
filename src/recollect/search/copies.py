"""What an export of ours wrote is a copy for as long as what it was copied from is in the store.

Only then is it left out of all that is remembered; where the copy is all there is, it is the conversation.
Nothing of it is written: the order in which logs come plays no part. The store says which entries an export
wrote (`Flag.EXPORTED`) and which session each session came from; the rest is decided as a view is read. Of
a session that was assembled from several, the first is the one it came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from recollect.store.walks import neighbours_of, turn_of
from recollect.values.errors import NotFound
from recollect.values.lazy import lazy
from recollect.values.records import UNSAID, Flag, Kind
from recollect.values.stored import Session, StoredEntry

if TYPE_CHECKING:
    from recollect.store.contract import Array, SessionClues, SessionRows, UsageColumns, View

_COPY, _EXPORTED = int(Flag.COPY), int(Flag.EXPORTED)
_SPOKEN = (Kind.PROMPT, Kind.ANSWER)


class CopyView:
    """A view that knows which sessions and entries are copies. Everything else is the view's own."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._has_origin: dict[int, bool] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)

    # -- sessions --------------------------------------------------------------------------------

    def sessions(self) -> list[Session]:
        return list(map(self._told, self._view.sessions()))

    def find_session(self, prefix: str) -> Session:
        return self._told(self._view.find_session(prefix))

    def session_rows(self) -> SessionRows:
        return ChangedRows(self._view.session_rows(), self._told)

    def usage(self) -> UsageColumns:
        columns = self._view.usage()
        return replace(columns, sessions=ChangedRows(columns.sessions, self._told))

    def session_clues(self) -> SessionClues:
        told = self._view.session_clues()
        if not self._timeless:
            return told
        clues, ended_ms, at = list(told.clues), list(told.ended_ms), told.at.copy()
        for row, session in self._timeless.values():
            if not session.copied:
                clues.append(session.clue)
                ended_ms.append(session.facts.ended_ms)
                at[told.rows == row] = len(clues) - 1
        return replace(told, clues=clues, ended_ms=ended_ms, at=at)

    def is_hidden(self, row: int) -> bool:
        """Whether what an export wrote into a session is there once more, where it was copied from."""
        known = self._has_origin.get(row)
        if known is None:
            known = self._has_origin[row] = self._leads_back(self._view.session_rows()[row])
        return known

    def _told(self, session: Session) -> Session:
        return self._timeless[_key(session)][1] if session.copied else session

    @lazy
    def _timeless(self) -> dict[tuple[str, str, str], tuple[int, Session]]:
        """The forks without a time, with their rows: which of them are copies, and when the others were."""
        told = self._view.session_clues()
        doubtful = [n for n, clue in enumerate(told.clues) if clue.copied]
        rows = told.rows[np.isin(told.at, doubtful)].tolist() if doubtful else []
        found = [(row, self._view.session_rows()[row]) for row in rows]
        return {_key(session): (row, self._decided(row, session)) for row, session in found}

    def _decided(self, row: int, session: Session) -> Session:
        columns = self._view.session_columns(row, "kind", "flags", "time")
        exported = columns["flags"] & _EXPORTED != 0
        spoken = np.isin(columns["kind"], _SPOKEN) & (columns["flags"] & (UNSAID | _EXPORTED) == 0)
        if exported.any() and not spoken.any() and self.is_hidden(row):
            return session
        facts = replace(session.facts)
        for time_ms in columns["time"][exported].tolist():
            facts.saw(time_ms)
        return replace(session, facts=facts, copied=False)

    def _leads_back(self, session: Session) -> bool:
        """Whether it came from a session that is there, and not, in the end, from itself."""
        first = at = self._origin(session)
        seen = set()
        while at is not None and at.facts.id not in seen:
            if at.facts.id == session.facts.id:
                return False
            seen.add(at.facts.id)
            at = self._origin(at)
        return first is not None

    def _origin(self, session: Session) -> Session | None:
        """The session it came from, or the first of that chain; an imported one too.

        What strangers wrote would otherwise count as own once it was resumed. A session of which no time is
        known has nothing but a file beside its log.
        """
        for id_ in (session.facts.parent, session.facts.root):
            if not id_ or id_ == session.facts.id:
                continue
            try:
                found = self._view.find_session(id_)
            except NotFound:
                continue
            if found.facts.id == id_ and (found.facts.ended_ms or found.copied):
                return found
        return None

    # -- entries ---------------------------------------------------------------------------------

    def entries(self, session: Session, *, last: int | None = None) -> Iterator[StoredEntry]:
        return map(self._marked, self._view.entries(session, last=last))

    def entry_range(self, start: int, stop: int) -> Iterator[StoredEntry]:
        return map(self._marked, self._view.entry_range(start, stop))

    def entries_at(self, rows: Sequence[int]) -> list[StoredEntry]:
        return list(map(self._marked, self._view.entries_at(rows)))

    def find_entry(self, prefix: str) -> StoredEntry:
        return self._marked(self._view.find_entry(prefix))

    def columns_at(self, rows: Sequence[int], *names: str) -> dict[str, Array]:
        found = self._view.columns_at(rows, *names)
        if "flags" in names and (exported := found["flags"] & _EXPORTED != 0).any():
            session = self._view.columns_at(np.asarray(rows)[exported].tolist(), "session")["session"]
            hidden = [row for row in np.unique(session).tolist() if self.is_hidden(row)]
            found["flags"] = found["flags"].copy()
            found["flags"][exported] |= np.where(np.isin(session, hidden), _COPY, 0).astype(
                found["flags"].dtype
            )
        return found

    def session_columns(self, session: int, *names: str) -> dict[str, Array]:
        found = self._view.session_columns(session, *names)
        if (
            "flags" in names
            and (exported := found["flags"] & _EXPORTED != 0).any()
            and self.is_hidden(session)
        ):
            found["flags"] = np.where(exported, found["flags"] | _COPY, found["flags"])
        return found

    def neighbours(self, row: int, before: int, after: int, *, hidden: int = _COPY) -> list[StoredEntry]:
        return neighbours_of(cast("View", self), row, before, after, hidden)

    def turn_of(self, row: int) -> list[int]:
        return turn_of(cast("View", self), row)

    def _marked(self, stored: StoredEntry) -> StoredEntry:
        if not stored.entry.flags & _EXPORTED or not self.is_hidden(stored.session_row):
            return stored
        return replace(stored, entry=replace(stored.entry, flags=stored.entry.flags | _COPY))


class ChangedRows:
    """Sessions by row, each changed when it is asked for."""

    def __init__(self, rows: SessionRows, change: Callable[[Session], Session]) -> None:
        self._rows, self._change = rows, change

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, row: int, /) -> Session:
        return self._change(self._rows[row])

    def items(self) -> Iterator[tuple[int, Session]]:
        return ((row, self._change(session)) for row, session in self._rows.items())


def knowing_copies(view: View) -> View:
    """The same view, in which what is there once more is a copy."""
    return cast("View", CopyView(view))


def _key(session: Session) -> tuple[str, str, str]:
    return session.facts.agent, session.host, session.facts.id

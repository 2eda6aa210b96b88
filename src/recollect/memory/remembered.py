"""What was saved, asked for again: notes as they are now, their artifacts, what a session is about."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from recollect.agents.memory.records import dims_of, note_of, piece_id, piece_of, session_id
from recollect.insight.noted import decoded, read_notes
from recollect.light.sources import MEMORY
from recollect.memory.part import Part
from recollect.search.saved_sessions import own_sessions
from recollect.values.errors import NotFound

if TYPE_CHECKING:
    from recollect.store.contract import View
    from recollect.values.notes import Artifact, KeptArtifact, Note
    from recollect.values.stored import Session

READ_BYTES = 1 << 20  # of a journal that a look at notes folds in memory: above, it is folded for good


class Remembered(Part):
    """The part of a `Memory` that gives back what was saved."""

    _dims = 0  # of the caller's vectors, once that is known

    def get(self, id: str, *, session: str = "") -> Note:
        """The note of an id, as it is now; NotFound where there is none, or several sessions have one."""
        (note,) = self.get_many([id], session=session)
        if note is None:
            raise NotFound(f"there is no note {id[:80]!r}" + (f" in session {session!r}" if session else ""))
        return note

    def get_many(self, ids: Sequence[str], *, session: str = "") -> list[Note | None]:
        """The notes of some ids, in their order; None for one that is not there."""
        with self._notes_view() as view:
            sessions = own_sessions(view)
            lines = newest_lines(view, ids, sessions, session)
            stored = iter(view.lines_at([line for line, _ in lines.values()]))
            found = {id_: (next(stored).data, sessions[row]) for id_, (_, row) in lines.items()}
        notes = {id_: note_of(decoded(data), name, data) for id_, (data, name) in found.items()}
        return [notes.get(id_) for id_ in ids]

    def notes(
        self, *, session: str = "", tag: str = "", channel: str = "", last: int | None = None
    ) -> Iterator[Note]:
        """The notes of a session, or of all, in order, those with a tag or of a channel; the `last` few."""
        found = self._living(session)
        if tag or channel:
            found = (
                note
                for note in found
                if (not tag or tag in note.tags) and (not channel or channel == note.channel)
            )
        if last is None:
            yield from found
            return
        if session and not (tag or channel):
            yield from self._last(session, last)
            return
        from collections import deque

        yield from deque(found, maxlen=last)

    def count(self, *, session: str = "") -> int:
        """How many notes there are, in a session or in all."""
        import numpy as np

        from recollect.values.records import HIDDEN, Kind

        total = 0
        with self._notes_view() as view:
            for row, name in own_sessions(view).items():
                if not session or name == session:
                    columns = view.session_columns(row, "kind", "flags")
                    shown = ~np.isin(columns["kind"], (int(Kind.EVENT), int(Kind.SUMMARY), int(Kind.UNKNOWN)))
                    total += int((shown & (columns["flags"] & HIDDEN == 0)).sum())
        return total

    def artifact(self, id: str, name: str, *, session: str = "") -> Artifact:
        """An array or bytes that a note was saved with, bit for bit."""
        from recollect.agents.memory.artifacts import unpacked

        note = self.get(id, session=session)
        kept = next((each for each in note.artifacts if each.name == name), None)
        if kept is None:
            named = ", ".join(repr(each.name) for each in note.artifacts) or "none"
            raise NotFound(f"note {id!r} has no artifact {name!r}", hint=f"it has {named}")
        with self._notes_view() as view:
            return unpacked(kept, self._pieces(view, kept, note.session))

    def summary(self, id: str) -> str:
        """What was last said of a session as its summary; "" where nothing was."""
        with self._notes_view() as view:
            sessions = own_sessions(view)
            found = newest_lines(view, [session_id(id)], sessions, id)
            if not found:
                return ""
            ((line, _),) = found.values()
            record = decoded(view.lines_at([line])[0].data)
        return str(record.get("summary") or "")

    def vector_dims(self) -> int:
        """How many numbers the caller's own vectors have; 0 while there are none."""
        if not self._dims:
            with self._notes_view() as view:
                rows = view.session_rows()
                sources = (source for row in own_sessions(view) for source in view.sources(rows[row]))
                self._dims = next(filter(None, (dims_of(each.cursor.state) for each in sources)), 0)
        return self._dims

    def _living(self, session: str) -> Iterator[Note]:
        with self._notes_view() as view:
            for row, name in own_sessions(view).items():
                if not session or name == session:
                    yield from read_notes(view, name, view.entries(view.session_rows()[row]))

    def _last(self, session: str, count: int) -> list[Note]:
        """The last few notes of a session, without reading the others."""
        with self._notes_view() as view:
            held, asked = _own_session(view, session), count
            if held is None or count <= 0:
                return []
            while True:
                entries = list(view.entries(held, last=asked))
                found = list(read_notes(view, session, entries))
                if len(found) >= count or len(entries) < asked:
                    return found[-count:]
                asked *= 4

    def _pieces(self, view: View, kept: KeptArtifact, session: str) -> Iterator[bytes]:
        ids = [piece_id(kept.key, number) for number in range(kept.pieces)]
        found = newest_lines(view, ids, own_sessions(view), session)
        for id_ in ids:
            if id_ in found:
                yield piece_of(decoded(view.lines_at([found[id_][0]])[0].data))

    @contextlib.contextmanager
    def _notes_view(self) -> Iterator[View]:
        if self._store.journal_bytes() > READ_BYTES:
            self._fold_if_free()
        with self.view() as view:
            yield view


def _own_session(view: View, id_: str) -> Session | None:
    """This person's session of notes of that id; found without reading the others where no other has it."""
    with contextlib.suppress(NotFound):
        found = view.find_session(id_)
        if (found.facts.id, found.facts.agent, found.imported) == (id_, MEMORY, False):
            return found
    row = next((row for row, name in own_sessions(view).items() if name == id_), None)
    return None if row is None else view.session_rows()[row]


def newest_lines(
    view: View, records: Sequence[str], sessions: Mapping[int, str], session: str
) -> dict[str, tuple[int, int]]:
    """Of each record the line that holds now and the row of its session; NotFound for one in several."""
    found: dict[str, tuple[int, int]] = {}
    for id_, lines in zip(records, view.record_lines(records), strict=True):
        mine = [(line, row) for line, row in lines if row in sessions and session in ("", sessions[row])]
        if len({row for _, row in mine}) > 1:
            named = ", ".join(sorted({sessions[row] for _, row in mine}))
            raise NotFound(f"{id_[:80]!r} is in several sessions: {named}", hint="name one: session=...")
        if mine:
            found[id_] = mine[-1]
    return found

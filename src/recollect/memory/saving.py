"""What code saves and asks for again: the verbs of the facade that make it a memory for any agent.

A save is one append to the journal: durable when it returns, seen by every process at once, and folded into
the store with whatever else waits there. What was saved is a line of a session like any other, so everything
that Recollect does with a log it does with a note.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from recollect.agents.memory.records import NOTE, delete_record, line_of, note_of, notes_file
from recollect.insight.noted import decoded
from recollect.memory.note_lines import (
    changed_note,
    checked_metadata,
    checked_new,
    checked_note,
    checked_session,
    checked_vector,
    frames,
    fresh_id,
    note_line,
    session_line,
    with_artifacts,
)
from recollect.memory.part import now_ms
from recollect.memory.remembered import Remembered, newest_lines
from recollect.memory.weighing import Weighing
from recollect.search.saved_sessions import own_sessions
from recollect.values.errors import NotFound, UsageError
from recollect.values.notes import (
    TAG_CHARS_MAX,
    NewNote,
    Note,
    Speaker,
    checked_name,
    checked_text,
    milliseconds,
)
from recollect.values.records import BEHIND, Segment

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.memory.note_lines import Time
    from recollect.values.notes import Artifact, Vector

FOLD_BYTES = 32 << 20  # of a journal that a save leaves behind: above, it is folded first
LOOK_BYTES = 1 << 20  # of appends, after which the journal's size is looked at

UNCHANGED: Any = object()


class Saving(Remembered, Weighing):
    """The part of a `Memory` that is written by whoever uses it."""

    _appended = LOOK_BYTES  # bytes since the journal's size was looked at
    _written_ms = 0  # when something was last saved

    def save(
        self,
        text: str,
        *,
        id: str = "",
        session: str = "",
        role: str = NOTE,
        tags: Sequence[str] = (),
        channel: str = "",
        project: str = "",
        author: str = "",
        time: Time = None,
        metadata: Mapping[str, Any] | None = None,
        vector: Vector | None = None,
        artifacts: Mapping[str, Artifact] | None = None,
        gate: bool = False,
    ) -> str:
        """Keep a note for good; returns its id. It is durable, and everyone sees it, when this returns.

        One of an `id` that the session has takes the earlier one's place. Without a `session` it is one of
        the notes of its `project`, or of no project. With a `gate` it is kept only if it is `worth` it, and
        the id is "" where it is not.
        """
        if gate and self.worth(text):
            return ""
        name, moment_ms = id or fresh_id(), self._moment_ms()
        note = checked_note(
            moment_ms, text, name, session, role, tags, channel, project, author, time, metadata, vector
        )
        if artifacts or note.vector:
            self._keep([(note, bool(id), artifacts)])
        else:
            self._append(note.session, note_line(note, again=bool(id)) + b"\n")
        return name

    def save_batch(self, notes: Iterable[NewNote | str]) -> list[str]:
        """Keep some notes with one write: all of them, or none; returns their ids.

        Those of several sessions are a write for each session, and more than 48 MiB are several.
        """
        moment_ms, made = self._moment_ms(), []
        for each in notes:
            given = NewNote(each) if isinstance(each, str) else each
            made.append((checked_new(moment_ms, given), bool(given.id), given.artifacts))
        self._keep(made)
        return [note.id for note, _, _ in made]

    def update(
        self,
        id: str,
        *,
        session: str = "",
        text: str = UNCHANGED,
        role: str = UNCHANGED,
        tags: Sequence[str] = UNCHANGED,
        channel: str = UNCHANGED,
        author: str = UNCHANGED,
        time: Time = UNCHANGED,
        metadata: Mapping[str, Any] | None = UNCHANGED,
        vector: Vector | None = UNCHANGED,
        artifacts: Mapping[str, Artifact] | None = UNCHANGED,
    ) -> Note:
        """Change what is given of a note, and nothing else; NotFound where there is none of this id."""
        given = {
            "text": text,
            "role": role,
            "tags": tags,
            "channel": channel,
            "author": author,
            "time": time,
            "metadata": metadata,
            "vector": vector,
            "artifacts": artifacts,
        }
        changes = {name: value for name, value in given.items() if value is not UNCHANGED}
        return self.update_batch([(self.get(id, session=session), changes)])[0]

    def update_batch(self, changes: Iterable[tuple[Note, Mapping[str, Any]]]) -> list[Note]:
        """Change some notes with one write, each as `update` does; returns them as they then are."""
        moment_ms, made = self._moment_ms(), []
        lines: dict[str, list[bytes]] = {}
        for note, given in changes:
            changed, artifacts = changed_note(note, given, moment_ms)
            pieces: list[bytes] = []
            if artifacts is not None:
                changed, pieces = with_artifacts(changed, artifacts)
            line = note_line(changed, again=True)
            lines.setdefault(changed.session, []).extend([*pieces, line])
            made.append(cast("Note", note_of(decoded(line), changed.session, line)))
        self._check_dims(made)
        self._append_lines(lines)
        return made

    def delete(self, ids: str | Iterable[str], *, session: str = "", author: str = "") -> int:
        """Take notes back; returns how many there were. `compact` gives back their room."""
        wanted = [ids] if isinstance(ids, str) else list(ids)
        found = [note for note in self.get_many(wanted, session=session) if note is not None]
        moment_ms = self._moment_ms()
        lines: dict[str, list[bytes]] = {}
        for note in found:
            time_ms = max(moment_ms, note.updated_ms + 1)  # whatever a clock says
            line = line_of(delete_record(note.id, time_ms, checked_name(author, "an author")))
            lines.setdefault(note.session, []).append(line)
        self._append_lines(lines)
        return len(found)

    def undo(self, id: str, *, session: str = "") -> Note | None:
        """Let a note be what it was before it was last saved, changed or deleted.

        None where there was none before: then it is deleted. What `compact` dropped is gone.
        """
        with self._notes_view() as view:
            sessions = own_sessions(view)
            row = newest_lines(view, [id], sessions, session).get(id, (0, -1))[1]
            lines = [line for line, held in view.record_lines([id])[0] if held == row]
            if not lines:
                raise NotFound(f"there is no note {id[:80]!r}, and never was")
            told = [each.data for each in view.lines_at(lines[-2:])]
        before = note_of(decoded(told[0]), sessions[row]) if len(told) > 1 else None
        moment_ms = self._moment_ms()
        if before is None:
            line = line_of(delete_record(id, moment_ms))
        else:
            line = note_line(replace(before, updated_ms=moment_ms), again=True)
        self._append_lines({sessions[row]: [line]})
        return None if before is None else self.get(id, session=sessions[row])

    # -- asked for again -------------------------------------------------------------------

    def speaker(self, text: str, folder: str = "") -> Speaker:
        """Which running conversation asks for a text to be kept, and whether only a tool ever said it."""
        from recollect.memory.vouching import speaker

        return speaker(cast("Memory", self), text, folder or os.getcwd())

    def add_session(
        self,
        id: str,
        *,
        title: str = "",
        summary: str = "",
        channel: str = "",
        project: str = "",
        started: Time = None,
        ended: Time = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Say what a session is about: its title, its summary, its time. Said again, the last word counts."""
        told = {
            "time_ms": self._moment_ms(),
            "title": checked_text(title),
            "summary": checked_text(summary),
            "channel": checked_name(channel, "a channel", TAG_CHARS_MAX),
            "project": checked_name(project, "a project"),
            "started_ms": milliseconds(started, 0),
            "ended_ms": milliseconds(ended, 0),
            "metadata": checked_metadata(metadata),
        }
        self._append_lines({checked_session(id, project): [session_line(told)]})

    # -- underneath ------------------------------------------------------------------------

    def _moment_ms(self) -> int:
        """Now, and never twice: what was written later is known to be later, in whichever store it stands."""
        self._written_ms = max(now_ms(), self._written_ms + 1)
        return self._written_ms

    def _keep(self, made: Sequence[tuple[Note, bool, Mapping[str, Artifact] | None]]) -> None:
        """Append notes with their artifacts; of each, whether there may be one of its id already."""
        self._check_dims([note for note, _, _ in made])
        lines: dict[str, list[bytes]] = {}
        for note, again, artifacts in made:
            together = lines.setdefault(note.session, [])
            if artifacts:
                note, pieces = with_artifacts(note, artifacts)
                together += pieces
            together.append(note_line(note, again=again))
        self._append_lines(lines)

    def _append_lines(self, lines: Mapping[str, Sequence[bytes]]) -> None:
        """Make the lines of some sessions durable, those of one session together."""
        for session, each in lines.items():
            for data in frames(each):
                self._append(session, data)

    def _append(self, session: str, data: bytes) -> None:
        """Make lines of a session durable with one write."""
        self._appended += len(data)
        if self._appended > LOOK_BYTES:
            self._fold_long_journal()
        self._store.append(Segment(notes_file(session), self.config.host, BEHIND, data))

    def _fold_long_journal(self) -> None:
        """Fold what is in the journal where that is much, so that whoever reads need not."""
        self._appended = 0
        if self._store.journal_bytes() > FOLD_BYTES:
            self._fold_if_free()

    def _check_dims(self, notes: Iterable[Note]) -> None:
        """All of the caller's vectors are of one size: that of the first that was saved."""
        sizes = {len(note.vector) // 4 for note in notes if note.vector}
        if not sizes:
            return
        known = self.vector_dims() or min(sizes)
        if sizes != {known}:
            raise UsageError(
                f"a vector of {max(sizes - {known})} numbers, where those of this memory have {known}",
                hint="use one model for all vectors of a memory",
            )
        self._dims = known

    def _checked_question(self, vector: Vector | None) -> bytes:
        """A vector to search with; UsageError where it cannot be compared with those there are."""
        given = checked_vector(vector)
        dims = self.vector_dims() if given else 0
        if given and not dims:
            raise UsageError("no note of this memory has a vector", hint="save(..., vector=...) gives it one")
        if given and len(given) != 4 * dims:
            raise UsageError(f"a vector of {len(given) // 4} numbers, where those of this memory have {dims}")
        return given

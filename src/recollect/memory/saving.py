"""What code saves and asks for again: the verbs of the facade that make it a memory for any agent.

A save is one append to the journal: durable when it returns, seen by every process at once, and folded into
the store with whatever else waits there. What was saved is a line of a session like any other, so everything
that Recollect does with a log it does with a note.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from recollect.agents.memory.records import (
    NOTE,
    SESSION,
    artifact_record,
    delete_record,
    dims_of,
    line_of,
    metadata_fits,
    note_of,
    note_record,
    notes_file,
    piece_id,
    piece_of,
    session_id,
)
from recollect.insight.noted import decoded, read_notes
from recollect.light.sources import MEMORY
from recollect.search.saved_sessions import own_sessions
from recollect.values.errors import NotFound, UsageError
from recollect.values.notes import (
    METADATA_BYTES_MAX,
    TAG_CHARS_MAX,
    KeptArtifact,
    NewNote,
    Note,
    Speaker,
    checked_name,
    checked_role,
    checked_tags,
    checked_text,
    milliseconds,
)
from recollect.values.notes import SESSION as DEFAULT_SESSION
from recollect.values.records import BEHIND, Segment

if TYPE_CHECKING:
    import datetime

    from recollect.memory import Memory
    from recollect.memory.activation import Activation
    from recollect.store.contract import View
    from recollect.values.hits import Results
    from recollect.values.notes import Artifact, Vector
    from recollect.values.stored import Session

    Time = float | datetime.datetime | None

FRAME_BYTES = 48 << 20  # of lines in one append; a batch that is longer is several
FOLD_BYTES = 32 << 20  # of a journal that a save leaves behind: above, it is folded first
LOOK_BYTES = 1 << 20  # of appends, after which the journal's size is looked at
READ_BYTES = 1 << 20  # of a journal that a look at notes folds in memory: above, it is folded for good

_UNCHANGED: Any = object()


class Saving:
    """The part of a `Memory` that is written by whoever uses it."""

    _dims = 0  # of the caller's vectors, once that is known
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
        name, now_ms = id or _fresh_id(), self._moment_ms()
        note = _checked(
            now_ms, text, name, session, role, tags, channel, project, author, time, metadata, vector
        )
        if artifacts or note.vector:
            self._keep([(note, bool(id), artifacts)])
        else:
            self._append(note.session, _line(note, again=bool(id)) + b"\n")
        return name

    def save_batch(self, notes: Iterable[NewNote | str]) -> list[str]:
        """Keep some notes with one write: all of them, or none; returns their ids.

        Those of several sessions are a write for each session, and more than 48 MiB are several.
        """
        now_ms, made = self._moment_ms(), []
        for each in notes:
            given = NewNote(each) if isinstance(each, str) else each
            made.append((_checked_new(now_ms, given), bool(given.id), given.artifacts))
        self._keep(made)
        return [note.id for note, _, _ in made]

    def update(
        self,
        id: str,
        *,
        session: str = "",
        text: str = _UNCHANGED,
        role: str = _UNCHANGED,
        tags: Sequence[str] = _UNCHANGED,
        channel: str = _UNCHANGED,
        author: str = _UNCHANGED,
        time: Time = _UNCHANGED,
        metadata: Mapping[str, Any] | None = _UNCHANGED,
        vector: Vector | None = _UNCHANGED,
        artifacts: Mapping[str, Artifact] | None = _UNCHANGED,
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
        changes = {name: value for name, value in given.items() if value is not _UNCHANGED}
        return self.update_batch([(self.get(id, session=session), changes)])[0]

    def update_batch(self, changes: Iterable[tuple[Note, Mapping[str, Any]]]) -> list[Note]:
        """Change some notes with one write, each as `update` does; returns them as they then are."""
        now_ms, made = self._moment_ms(), []
        lines: dict[str, list[bytes]] = {}
        for note, given in changes:
            changed, artifacts = _changed(note, given, now_ms)
            pieces: list[bytes] = []
            if artifacts is not None:
                changed, pieces = _with_artifacts(changed, artifacts)
            line = _line(changed, again=True)
            lines.setdefault(changed.session, []).extend([*pieces, line])
            made.append(cast("Note", note_of(decoded(line), changed.session, line)))
        self._check_dims(made)
        self._append_lines(lines)
        return made

    def delete(self, ids: str | Iterable[str], *, session: str = "", author: str = "") -> int:
        """Take notes back; returns how many there were. `compact` gives back their room."""
        wanted = [ids] if isinstance(ids, str) else list(ids)
        found = [note for note in self.get_many(wanted, session=session) if note is not None]
        now_ms = self._moment_ms()
        lines: dict[str, list[bytes]] = {}
        for note in found:
            time_ms = max(now_ms, note.updated_ms + 1)  # whatever a clock says
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
            row = _newest_lines(view, [id], sessions, session).get(id, (0, -1))[1]
            lines = [line for line, held in view.record_lines([id])[0] if held == row]
            if not lines:
                raise NotFound(f"there is no note {id[:80]!r}, and never was")
            told = [each.data for each in view.lines_at(lines[-2:])]
        before = note_of(decoded(told[0]), sessions[row]) if len(told) > 1 else None
        now_ms = self._moment_ms()
        if before is None:
            line = line_of(delete_record(id, now_ms))
        else:
            line = _line(replace(before, updated_ms=now_ms), again=True)
        self._append_lines({sessions[row]: [line]})
        return None if before is None else self.get(id, session=sessions[row])

    # -- asked for again -------------------------------------------------------------------

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
            lines = _newest_lines(view, ids, sessions, session)
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

    def worth(self, text: str) -> str:
        """Why a sentence is not worth keeping; "" where it is. Nothing is kept for having been asked.

        Stock phrases and empty words are not, nor what something that is kept already says as well.
        """
        from recollect.insight.worth import KNOWN_COSINE, NEAREST, why_not

        if why := why_not(checked_text(text)):
            return why
        self._memory._fold_if_free()
        with self._memory.indexes.asking(meaning=True) as search:
            near = search.cosines(text, NEAREST)
        return "the same is kept already" if max(near, default=0.0) > KNOWN_COSINE else ""

    def tick(self) -> None:
        """Let fade what `search(activated=True)` lifts: to be called once a session, or once a day."""
        self._activation().tick()

    def _activated(self, results: Results, limit: int) -> Results:
        activation = self._activation()
        hits = activation.ordered(results.hits)[:limit]
        activation.reinforce([hit.id for hit in hits])
        return replace(results, hits=hits)

    def _activation(self) -> Activation:
        from recollect.memory.activation import Activation

        return Activation(self._memory.config.cache, self._memory.info().id)

    def speaker(self, text: str, folder: str = "") -> Speaker:
        """Which running conversation asks for a text to be kept, and whether only a tool ever said it."""
        from recollect.memory.vouching import speaker

        return speaker(self._memory, text, folder or os.getcwd())

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
        self._append_lines({_checked_session(id, project): [session_line(told)]})

    def summary(self, id: str) -> str:
        """What was last said of a session as its summary; "" where nothing was."""
        with self._notes_view() as view:
            sessions = own_sessions(view)
            found = _newest_lines(view, [session_id(id)], sessions, id)
            if not found:
                return ""
            ((line, _),) = found.values()
            record = decoded(view.lines_at([line])[0].data)
        return str(record.get("summary") or "")

    # -- underneath ------------------------------------------------------------------------

    def _moment_ms(self) -> int:
        """Now, and never twice: what was written later is known to be later, in whichever store it stands."""
        self._written_ms = max(_now_ms(), self._written_ms + 1)
        return self._written_ms

    def _keep(self, made: Sequence[tuple[Note, bool, Mapping[str, Artifact] | None]]) -> None:
        """Append notes with their artifacts; of each, whether there may be one of its id already."""
        self._check_dims([note for note, _, _ in made])
        lines: dict[str, list[bytes]] = {}
        for note, again, artifacts in made:
            together = lines.setdefault(note.session, [])
            if artifacts:
                note, pieces = _with_artifacts(note, artifacts)
                together += pieces
            together.append(_line(note, again=again))
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
        memory = self._memory
        memory._store.append(Segment(notes_file(session), memory.config.host, BEHIND, data))

    def _fold_long_journal(self) -> None:
        """Fold what is in the journal where that is much, so that whoever reads need not."""
        self._appended = 0
        if self._memory._store.journal_bytes() > FOLD_BYTES:
            self._memory._fold_if_free()

    @contextlib.contextmanager
    def _notes_view(self) -> Iterator[View]:
        memory = self._memory
        if memory._store.journal_bytes() > READ_BYTES:
            memory._fold_if_free()
        with memory.view() as view:
            yield view

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
        found = _newest_lines(view, ids, own_sessions(view), session)
        for id_ in ids:
            if id_ in found:
                yield piece_of(decoded(view.lines_at([found[id_][0]])[0].data))

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
        given = _checked_vector(vector)
        dims = self.vector_dims() if given else 0
        if given and not dims:
            raise UsageError("no note of this memory has a vector", hint="save(..., vector=...) gives it one")
        if given and len(given) != 4 * dims:
            raise UsageError(f"a vector of {len(given) // 4} numbers, where those of this memory have {dims}")
        return given

    def vector_dims(self) -> int:
        """How many numbers the caller's own vectors have; 0 while there are none."""
        if not self._dims:
            with self._notes_view() as view:
                rows = view.session_rows()
                sources = (source for row in own_sessions(view) for source in view.sources(rows[row]))
                self._dims = next(filter(None, (dims_of(each.cursor.state) for each in sources)), 0)
        return self._dims

    @property
    def _memory(self) -> Memory:
        return cast("Memory", self)


def _checked(
    now_ms: int,
    text: str,
    id_: str,
    session: str,
    role: str,
    tags: Sequence[str],
    channel: str,
    project: str,
    author: str,
    time: Time,
    metadata: Mapping[str, Any] | None,
    vector: Vector | None,
) -> Note:
    """A note as it is kept; UsageError for what cannot be."""
    project = checked_name(project, "a project") if project else ""
    time_ms = milliseconds(time, now_ms)
    return Note(
        checked_name(id_, "an id"),
        _checked_session(session, project),
        checked_text(text),
        checked_role(role),
        checked_tags(tags) if tags else (),
        checked_name(channel, "a channel", TAG_CHARS_MAX) if channel else "",
        project,
        checked_name(author, "an author") if author else "",
        time_ms,
        now_ms,
        checked_metadata(metadata),
        _checked_vector(vector),
    )


def _checked_new(now_ms: int, given: NewNote) -> Note:
    return _checked(
        now_ms,
        given.text,
        given.id or _fresh_id(),
        given.session,
        given.role,
        given.tags,
        given.channel,
        given.project,
        given.author,
        given.time,
        given.metadata,
        given.vector,
    )


def _checked_session(session: str, project: str) -> str:
    """The session a note is of: the one named, or that of the notes of its project."""
    default = f"{DEFAULT_SESSION}/{project}" if project else DEFAULT_SESSION
    return checked_name(session or default, "a session")


def checked_metadata(metadata: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if not metadata:
        return {}
    if not all(isinstance(key, str) for key in metadata):
        raise UsageError("the names in metadata are texts")
    try:
        fits = metadata_fits(metadata)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"metadata is what JSON can say: {error}") from error
    if not fits:
        raise UsageError(
            f"metadata has at most {METADATA_BYTES_MAX >> 20} MiB", hint="save it as an artifact"
        )
    return metadata


def _checked_vector(vector: Vector | None) -> bytes:
    if vector is None:
        return b""
    from recollect.agents.memory.vectors import float32_bytes

    return float32_bytes(vector)


def _changed(note: Note, given: Mapping[str, Any], now_ms: int) -> tuple[Note, dict[str, Artifact] | None]:
    """A note with what is given changed; and its artifacts, where those change."""
    made = _checked(
        now_ms,
        given.get("text", note.text),
        note.id,
        note.session,
        given.get("role", note.role),
        given.get("tags", note.tags),
        given.get("channel", note.channel),
        note.project,
        given.get("author", note.author),
        given.get("time", note.time_ms / 1000),
        given.get("metadata", note.metadata),
        given.get("vector"),
    )
    vector = made.vector if "vector" in given else note.vector
    moment = max(now_ms, note.updated_ms + 1)
    changed = replace(made, updated_ms=moment, vector=vector, artifacts=note.artifacts)
    return changed, dict(given["artifacts"] or {}) if "artifacts" in given else None


def _with_artifacts(note: Note, artifacts: Mapping[str, Artifact]) -> tuple[Note, list[bytes]]:
    """A note that refers to its artifacts, and the lines that these are."""
    from recollect.agents.memory.artifacts import packed, pieces

    lines, kept = [], []
    for name, value in artifacts.items():
        told, data = packed(name, value)
        kept.append(told)
        lines += [line_of(artifact_record(told.key, number, piece)) for number, piece in pieces(data)]
    return replace(note, artifacts=tuple(kept)), lines


def session_line(told: Mapping[str, Any]) -> bytes:
    """The line that says what a session is about: of what is told, what is not empty."""
    record: dict[str, Any] = {"type": SESSION, "time_ms": told["time_ms"]}
    return line_of(record | {key: value for key, value in told.items() if value})


def _line(note: Note, *, again: bool) -> bytes:
    return line_of(note_record(note, again=again))


def checked_line(given: NewNote, at_ms: int) -> bytes:
    """The line of a note that has an id; UsageError for what cannot be kept."""
    return _line(_checked_new(at_ms, given), again=True)


def frames(lines: Sequence[bytes]) -> Iterator[bytes]:
    """Lines as the bytes of appends, as few as there can be."""
    if len(lines) == 1:
        yield lines[0] + b"\n"
        return
    together: list[bytes] = []
    size = 0
    for line in lines:
        if together and size + len(line) > FRAME_BYTES:
            yield b"\n".join([*together, b""])
            together, size = [], 0
        together.append(line)
        size += len(line) + 1
    if together:
        yield b"\n".join([*together, b""])


def _own_session(view: View, id_: str) -> Session | None:
    """This person's session of notes of that id; found without reading the others where no other has it."""
    with contextlib.suppress(NotFound):
        found = view.find_session(id_)
        if (found.facts.id, found.facts.agent, found.imported) == (id_, MEMORY, False):
            return found
    row = next((row for row, name in own_sessions(view).items() if name == id_), None)
    return None if row is None else view.session_rows()[row]


def _newest_lines(
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


def _fresh_id() -> str:
    """An id that nobody has: 16 hexadecimal digits."""
    return os.urandom(8).hex()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000

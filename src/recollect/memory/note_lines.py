"""A note as it was given, checked; and as the lines that are appended. Pure: nothing is written here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recollect.agents.memory.records import SESSION, artifact_record, line_of, metadata_fits, note_record
from recollect.values.errors import UsageError
from recollect.values.notes import (
    METADATA_BYTES_MAX,
    TAG_CHARS_MAX,
    NewNote,
    Note,
    checked_name,
    checked_role,
    checked_tags,
    checked_text,
    milliseconds,
)
from recollect.values.notes import SESSION as DEFAULT_SESSION

if TYPE_CHECKING:
    import datetime

    from recollect.values.notes import Artifact, Vector

    Time = float | datetime.datetime | None

FRAME_BYTES = 48 << 20  # of lines in one append; a batch that is longer is several


def checked_note(
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
        checked_session(session, project),
        checked_text(text),
        checked_role(role),
        checked_tags(tags) if tags else (),
        checked_name(channel, "a channel", TAG_CHARS_MAX) if channel else "",
        project,
        checked_name(author, "an author") if author else "",
        time_ms,
        now_ms,
        checked_metadata(metadata),
        checked_vector(vector),
    )


def checked_new(now_ms: int, given: NewNote) -> Note:
    return checked_note(
        now_ms,
        given.text,
        given.id or fresh_id(),
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


def checked_session(session: str, project: str) -> str:
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


def checked_vector(vector: Vector | None) -> bytes:
    if vector is None:
        return b""
    from recollect.agents.memory.vectors import float32_bytes

    return float32_bytes(vector)


def changed_note(
    note: Note, given: Mapping[str, Any], now_ms: int
) -> tuple[Note, dict[str, Artifact] | None]:
    """A note with what is given changed; and its artifacts, where those change."""
    made = checked_note(
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


def with_artifacts(note: Note, artifacts: Mapping[str, Artifact]) -> tuple[Note, list[bytes]]:
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


def note_line(note: Note, *, again: bool) -> bytes:
    return line_of(note_record(note, again=again))


def checked_line(given: NewNote, at_ms: int) -> bytes:
    """The line of a note that has an id; UsageError for what cannot be kept."""
    return note_line(checked_new(at_ms, given), again=True)


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


def fresh_id() -> str:
    """An id that nobody has: 16 hexadecimal digits."""
    return os.urandom(8).hex()

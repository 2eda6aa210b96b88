"""Notes as records of a session's source, there and back.

    note      one note; the same id again takes the earlier one's place
    delete    that the note of an id is gone
    session   what is said of the session itself: its title, its summary, its time
    mark      how far something was read by a program, which nobody searches for
    artifact  a piece of an array or of bytes that a note refers to

Whatever a line holds, reading it gives a value or None: a store may come from anywhere.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from recollect.agents.fields import count_of, dict_of, list_of, text_of
from recollect.light.sources import MEMORY
from recollect.values.ids import entry_id
from recollect.values.notes import (
    DIMS_MAX,
    METADATA_BYTES_MAX,
    NAME_CHARS_MAX,
    ROLES,
    TAG_CHARS_MAX,
    TAGS_MAX,
    KeptArtifact,
    Note,
)
from recollect.values.records import Provenance, SourceFile

NOTE: Final = "note"
DELETE: Final = "delete"
SESSION: Final = "session"
ARTIFACT: Final = "artifact"
MARK: Final = "mark"
DIMS: Final = "dims"  # in the state of a parser

_PLAIN: Final = (str, int, bool, type(None))  # what both writers of JSON write alike
_ARTIFACTS_MAX: Final = 10_000
_FLOAT_BYTES: Final = 4


@lru_cache(256)
def notes_file(session: str) -> SourceFile:
    """The source that the notes of a session are kept in."""
    return SourceFile(MEMORY, f"{MEMORY}:{session}", session=session, provenance=Provenance.OWN)


def note_record(note: Note, *, again: bool) -> dict[str, Any]:
    """A note as a record; `again`: there may be one of this id, whose place it takes."""
    told: dict[str, Any] = {"type": NOTE, "id": note.id, "time_ms": note.time_ms, "text": note.text}
    if again:
        told["again"] = True
    if note.updated_ms != note.time_ms:
        told["updated_ms"] = note.updated_ms
    if note.role != NOTE:
        told["role"] = note.role
    if note.channel:
        told["channel"] = note.channel
    if note.project:
        told["project"] = note.project
    if note.author:
        told["author"] = note.author
    if note.tags:
        told["tags"] = note.tags
    if note.metadata:
        told["metadata"] = note.metadata
    if note.vector:
        told["vector"] = base64.b64encode(note.vector).decode("ascii")
    if note.artifacts:
        told["artifacts"] = [
            {
                "name": each.name,
                "form": each.form,
                "bytes": each.bytes,
                "key": each.key,
                "pieces": each.pieces,
            }
            for each in note.artifacts
        ]
    return told


def artifact_record(key: str, number: int, data: bytes) -> dict[str, Any]:
    """A piece of an artifact."""
    return {"type": ARTIFACT, "id": piece_id(key, number), "data": base64.b64encode(data).decode("ascii")}


def piece_id(key: str, number: int) -> str:
    """What the record of a piece of an artifact is known by."""
    return f"{ARTIFACT}:{key}/{number}"


def piece_of(record: Any) -> bytes:
    """The bytes of a piece; none where it holds none."""
    try:
        return base64.b64decode(text_of(dict_of(record).get("data")), validate=True)
    except (binascii.Error, ValueError):
        return b""


def mark_record(id_: str, told: Mapping[str, Any]) -> dict[str, Any]:
    """How far something was read; the last one of an id counts."""
    return {"type": MARK, "id": id_, **told}


def session_id(session: str) -> str:
    """What the record is known by that speaks of a session itself."""
    return f"{SESSION}:{session}"


def delete_record(id_: str, time_ms: int, author: str = "") -> dict[str, Any]:
    told = {"type": DELETE, "id": id_, "time_ms": time_ms}
    return {**told, "author": author} if author else told


def line_of(record: Mapping[str, Any]) -> bytes:
    """A record as the bytes of its line; ValueError or TypeError for what JSON cannot say."""
    import orjson  # which help and mistakes do not need

    try:
        return orjson.dumps(record)
    except orjson.JSONEncodeError:  # long numbers, lone surrogates: the standard library writes them
        return json.dumps(record, separators=(",", ":"), allow_nan=False).encode("ascii")


def note_of(record: Any, session: str, line: bytes = b"") -> Note | None:
    """The note that a record is; None where it is none."""
    record = dict_of(record)
    id_, text = text_of(record.get("id")), record.get("text")
    if record.get("type") != NOTE or not 0 < len(id_) <= NAME_CHARS_MAX or type(text) is not str:
        return None
    time_ms = count_of(record.get("time_ms"))
    return Note(
        id_,
        session,
        text,
        role_of(record),
        tags_of(record),
        channel_of(record),
        _name(record.get("project")),
        _name(record.get("author")),
        time_ms,
        count_of(record.get("updated_ms")) or time_ms,
        dict_of(record.get("metadata")),
        _vector(record.get("vector")),
        _artifacts(record.get("artifacts")),
        entry_id(line, 0) if line else "",
    )


def role_of(record: Mapping[str, Any]) -> str:
    role = record.get("role")
    return role if type(role) is str and role in ROLES else NOTE


def tags_of(record: Mapping[str, Any]) -> tuple[str, ...]:
    tags = (each for each in list_of(record.get("tags"))[:TAGS_MAX] if type(each) is str)
    return tuple(dict.fromkeys(each for each in tags if 0 < len(each) <= TAG_CHARS_MAX))


def channel_of(record: Mapping[str, Any]) -> str:
    return text_of(record.get("channel"))[:TAG_CHARS_MAX]


def dims_of(state: Mapping[str, Any]) -> int:
    """How many numbers the vectors of a source's notes have, by what its parser remembers; 0 for none."""
    return count_of(state.get(DIMS))


def metadata_fits(metadata: Mapping[str, Any]) -> bool:
    """Whether metadata is JSON that comes back as it was; TypeError or ValueError where it is none."""
    if all(type(value) in _PLAIN for value in metadata.values()):
        return len(line_of(metadata)) <= METADATA_BYTES_MAX
    return len(json.dumps(metadata, allow_nan=False)) <= METADATA_BYTES_MAX


def _name(value: Any) -> str:
    return text_of(value)[:NAME_CHARS_MAX]


def _vector(value: Any) -> bytes:
    try:
        made = base64.b64decode(text_of(value), validate=True)
    except (binascii.Error, ValueError):
        return b""
    return made if len(made) % _FLOAT_BYTES == 0 and len(made) <= DIMS_MAX * _FLOAT_BYTES else b""


def _artifacts(value: Any) -> tuple[KeptArtifact, ...]:
    found = []
    for each in map(dict_of, list_of(value)[:_ARTIFACTS_MAX]):
        named = text_of(each.get("name")), text_of(each.get("form"))
        size, key, pieces = (
            count_of(each.get("bytes")),
            text_of(each.get("key")),
            count_of(each.get("pieces")),
        )
        if named[0] and key:
            found.append(KeptArtifact(*named, size, key, pieces))
    return tuple(found)

"""What was saved, as every face shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.values.notes import Note


def note_object(note: Note) -> dict[str, Any]:
    """A note as JSON; of a vector how many numbers it has, of artifacts what they are."""
    return {
        "id": note.id,
        "entry": note.entry,
        "session": note.session,
        "project": note.project,
        "role": note.role,
        "text": note.text,
        "tags": list(note.tags),
        "channel": note.channel,
        "author": note.author,
        "time_ms": note.time_ms,
        "updated_ms": note.updated_ms,
        "metadata": dict(note.metadata),
        "vector_dims": len(note.vector) // 4,
        "artifacts": [
            {"name": each.name, "form": each.form.partition("+")[0], "bytes": each.bytes}
            for each in note.artifacts
        ],
    }

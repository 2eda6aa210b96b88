"""A lesson as a JSON object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.values.lessons import Lesson


def lesson_object(lesson: Lesson) -> dict[str, Any]:
    return {
        "kind": lesson.kind,
        "text": lesson.text,
        "times": lesson.times,
        "sessions": [each.facts.id for each in lesson.sessions],
        "projects": list(lesson.projects),
        "agents": list(lesson.agents),
        "imported": lesson.imported,
        "entries": list(lesson.entries),
        "recovered": lesson.recovered,
        "command": lesson.command,
        "ended_by": lesson.ended_by,
        "line": lesson.line,
        "files": list(lesson.files),
    }

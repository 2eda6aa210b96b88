"""Projects as people name them, and what they probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from recollect.values.close import did_you_mean, near_names

if TYPE_CHECKING:
    from recollect.values.projects import Project
    from recollect.values.stored import Session


def project_object(project: Project) -> dict[str, Any]:
    """A project as JSON has it. A time that is not known is null."""
    return {
        "name": project.name,
        "aliases": list(project.aliases),
        "labels": list(project.labels),
        "folders": list(project.folders),
        "agents": list(project.agents),
        "sessions": project.sessions,
        "entries": project.entries,
        "started_ms": project.started_ms or None,
        "ended_ms": project.ended_ms or None,
        "imported": project.imported,
    }


def unknown_project_note(part: str, sessions: Iterable[Session]) -> str:
    """What to say of a part of a name that no project has in it, "" where one does."""
    known = list(sessions)
    if not part or any(session.is_of_project(part) for session in known):
        return ""
    names = {name for session in known for name in (session.facts.project, *session.aliases)} - {""}
    asked = did_you_mean(near_names(part, sorted(names)))
    return "; ".join(filter(None, (f"no project's name has {part!r} in it", asked)))

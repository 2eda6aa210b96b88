"""Things that conversations speak of as JSON objects, and their days and types as people say them."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from recollect.present.sessions import session_object

if TYPE_CHECKING:
    from recollect.values.entities import Entity, EntityProfile

_EPOCH = date(1970, 1, 1)


def day_name(day: int) -> str:
    """A day, counted from 1970-01-01, as it is written; "" for an unknown one."""
    return (_EPOCH + timedelta(days=day)).isoformat() if day else ""


def entity_object(entity: Entity) -> dict[str, Any]:
    return {
        "type": entity.type,
        "name": entity.name,
        "mentions": entity.mentions,
        "first_day": day_name(entity.first_day) or None,
        "last_day": day_name(entity.last_day) or None,
    }


def profile_object(profile: EntityProfile) -> dict[str, Any]:
    return {
        **entity_object(profile.entity),
        "also": list(profile.namesakes),
        "days": [{"day": day_name(day) or None, "mentions": count} for day, count in profile.days],
        "projects": [{"project": name, "mentions": count} for name, count in profile.projects],
        "session_count": profile.session_count,
        "sessions": [
            {"session": session_object(session), "mentions": count} for session, count in profile.sessions
        ],
        "neighbours": [
            {"type": each.type, "name": each.name, "shared": each.shared} for each in profile.neighbours
        ],
        "entries": list(profile.entries),
        "unread": profile.unread,
    }

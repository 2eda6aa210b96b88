"""Things that conversations speak of as JSON objects, and their days and curves as people read them."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from recollect.present.sessions import session_object, thread_object

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recollect.values.entities import Entity, EntityProfile, Momentum, Neighbour

_EPOCH = date(1970, 1, 1)
_BARS = "▁▂▃▄▅▆▇█"


def day_name(day: int) -> str:
    """A day, counted from 1970-01-01, as it is written; "" for an unknown one."""
    return (_EPOCH + timedelta(days=day)).isoformat() if day else ""


def bars(counts: Sequence[int]) -> str:
    """Counts as a line of bars, the largest as high as there is; none is a blank."""
    most = max(counts, default=0)
    return "".join(_BARS[-(-count * len(_BARS) // most) - 1] if count else " " for count in counts)


def entity_object(entity: Entity) -> dict[str, Any]:
    return {
        "type": entity.type,
        "name": entity.name,
        "mentions": entity.mentions,
        "first_day": day_name(entity.first_day) or None,
        "last_day": day_name(entity.last_day) or None,
    }


def listed_object(entity: Entity) -> dict[str, Any]:
    return {**entity_object(entity), "in_projects": list(entity.projects)}


def momentum_object(momentum: Momentum) -> dict[str, Any]:
    return {
        "first_day": day_name(momentum.first_day) or None,
        "last_day": day_name(momentum.last_day) or None,
        "before_day": day_name(momentum.before_day) or None,
        "total": momentum.total,
        "unread": momentum.unread,
        "moves": [
            {
                "entity": listed_object(each.entity),
                "state": each.state,
                "mentions": each.mentions,
                "usual": round(each.usual, 2),
                "score": round(each.score, 2),
                "day": day_name(each.day) or None,
                "curve": list(each.curve),
            }
            for each in momentum.moves
        ],
    }


def profile_object(profile: EntityProfile, names: Mapping[str, str]) -> dict[str, Any]:
    """`names`: the shortest pieces of the ids of sessions."""
    return {
        **entity_object(profile.entity),
        "also": [{"type": type_, "name": name} for type_, name in profile.namesakes],
        "days": [{"day": day_name(day) or None, "mentions": count} for day, count in profile.days],
        "projects": [{"project": name, "mentions": count} for name, count in profile.projects],
        "session_count": profile.session_count,
        "sessions": [
            {"session": session_object(session), "mentions": count} for session, count in profile.sessions
        ],
        "thread_count": profile.thread_count,
        "threads": [
            {"thread": thread_object(thread, names.get(thread.id, thread.id)), "mentions": count}
            for thread, count in profile.threads
        ],
        "neighbours": _neighbours(profile.neighbours),
        "then": _neighbours(profile.then),
        "now": _neighbours(profile.now),
        "meaning": asdict(profile.meaning) if profile.meaning else None,
        "links": [asdict(each) for each in profile.links],
        "decisions": [asdict(each) for each in profile.decisions],
        "entries": list(profile.entries),
        "unread": profile.unread,
    }


def _neighbours(found: Sequence[Neighbour]) -> list[dict[str, Any]]:
    return [asdict(each) for each in found]

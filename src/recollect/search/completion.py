"""The values a query's field can have in one store: what completion offers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from recollect.light.sources import is_conversation
from recollect.search.mentions import Mentions
from recollect.search.session_filters import Sessions
from recollect.search.text.fields import mark_term, path_term
from recollect.search.text.index import TextIndex
from recollect.search.text.match import ROLES
from recollect.values.errors import UsageError
from recollect.values.records import Kind
from recollect.values.stored import Session
from recollect.values.vocabulary import DIGEST_FIELDS, FLAG_FIELDS, QUERY_FIELDS

_OF_SESSIONS: dict[str, Callable[[Session], tuple[str, ...]]] = {
    "agent": lambda session: (session.facts.agent,),
    "branch": lambda session: (session.facts.branch,),
    "host": lambda session: (session.host,),
    "label": lambda session: session.labels,
    "project": lambda session: (session.facts.project,),
    "session": lambda session: (session.facts.id,),
    "thread": lambda session: (session.facts.slug,),
}
_OF_TERMS = {each: each for each in ("tool", "model", "file", "dir", "tag", "channel")}
_FIXED = {
    "kind": [kind.name.lower() for kind in Kind],
    "role": list(ROLES),
    **{field: list(values) for field, values in FLAG_FIELDS.items()},
    "last": ["24h", "7d", "30d", "6m", "1y"],
    "on": ["today", "yesterday"],
    "after": ["yesterday"],
    "before": ["today", "yesterday"],
    "time": [">yesterday"],
}


def values(
    text: TextIndex, sessions: Sessions, mentions: Mentions, field: str, prefix: str, limit: int
) -> list[tuple[str, int]]:
    """Values that begin so, with how many entries have each; the most frequent first."""
    if field in _OF_SESSIONS:
        found = _counted(sessions, field, prefix.lower())
    elif field == "entity":
        return mentions.beginning(prefix, limit)
    elif field in DIGEST_FIELDS:
        found = _told(sessions, field, prefix.lower())
    elif field in _OF_TERMS:
        return _terms(text, field, prefix, limit)
    elif field in _FIXED:
        found = Counter({value: 0 for value in _FIXED[field] if value.startswith(prefix)})
    else:
        raise UsageError(f"there is no field {field!r}", hint="fields: " + ", ".join(sorted(QUERY_FIELDS)))
    ranked = sorted(found.items(), key=lambda item: -item[1])
    return ranked[:limit]


def _counted(sessions: Sessions, field: str, prefix: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for session in sessions:
        for value in _OF_SESSIONS[field](session) if is_conversation(session.facts.agent) else ():
            if value and value.lower().startswith(prefix):
                found[value] += session.entries
    return found


def _told(sessions: Sessions, field: str, prefix: str) -> Counter[str]:
    found = Counter({value: 0 for value in DIGEST_FIELDS[field] if value.startswith(prefix)})
    for session in sessions:
        for value in sessions.told(session, field):
            if value in found:
                found[value] += session.entries
    return found


def _terms(text: TextIndex, field: str, prefix: str, limit: int) -> list[tuple[str, int]]:
    if field == "tag":  # those of what was saved, then the types of records
        saved, begun = text.terms("tag", mark_term(prefix), limit), prefix.lower().removeprefix("raw:")
        types = [(f"raw:{term}", count) for term, count in text.terms("type", begun, limit)]
        return [*saved, *types][:limit]
    begun = path_term(prefix) if field in ("file", "dir") else prefix.lower()
    return text.terms(_OF_TERMS[field], begun, limit)

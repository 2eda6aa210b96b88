"""Hits as JSON objects, and what a reader should know of how much was searched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.present.sessions import flag_names, session_object
from recollect.values.text import many, one_line, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.values.hits import Fresh, Hit, SessionHits
    from recollect.values.recalled import Brief, Said

ASKED_CELLS = 140  # of what was asked: about a head's tokens

HIT_FIELDS = (
    "id", "score", "kind", "project", "thread", "time_ms", "snippet", "matches", "session", "agent", "host",
    "branch", "tool", "model", "flags", "imported", "tokens", "folded", "similar", "parts", "text",
)  # fmt: skip


def hit_object(hit: Hit, fields: Sequence[str] = HIT_FIELDS) -> dict[str, Any]:
    """A hit's fields by name; docs/json.md explains each."""
    made = _all_fields(hit)
    return {name: made[name] for name in fields}


def _all_fields(hit: Hit) -> dict[str, Any]:
    entry, facts = hit.stored.entry, hit.session.facts
    return {
        "id": hit.id,
        "score": round(hit.score, 6),
        "kind": entry.kind.name.lower(),
        "project": facts.project,
        "thread": facts.headline,
        "time_ms": entry.time_ms or None,
        "snippet": hit.snippet.text,
        "matches": _matches(hit),
        "session": hit.stored.session,
        "agent": facts.agent,
        "host": hit.session.host,
        "branch": facts.branch,
        "tool": entry.tool,
        "model": entry.model,
        "flags": flag_names(entry.flags),
        "imported": hit.stored.imported,
        "tokens": hit.tokens,
        "folded": hit.folded,
        "similar": list(hit.similar),
        "parts": {name: round(value, 6) for name, value in hit.parts.items()},
        "text": entry.text,
    }


def session_hits_object(found: SessionHits) -> dict[str, Any]:
    """A session's hits by their ids, best first, with what they are an answer to and what came of it."""
    return {
        "session": session_object(found.session),
        "prompt": found.prompt and found.prompt.id,
        "asked": one_line(found.prompt.entry.text, ASKED_CELLS) if found.prompt else "",
        "answer": found.answer and found.answer.id,
        "conclusion": found.conclusion,
        "hits": [hit.id for hit in found.hits],
    }


def _matches(hit: Hit) -> list[list[int]]:
    found, at = [], 0
    for part, marked in hit.snippet.parts:
        if marked:
            found.append([at, at + len(part)])
        at += len(part)
    return found


def brief_object(found: Brief) -> dict[str, Any]:
    """The sentences that say most, each with where it is from."""
    return {
        "sentences": [_said_object(said) for said in found.sentences],
        "hits": found.hits,
        "fresh": fresh_object(found.fresh),
        "notes": list(found.notes),
    }


def _said_object(said: Said) -> dict[str, Any]:
    return {
        "id": said.stored.id,
        "text": said.text,
        "kind": said.stored.entry.kind.name.lower(),
        "time_ms": said.stored.entry.time_ms or None,
        "session": said.stored.session,
        "project": said.session.facts.project,
        "imported": said.stored.imported,
    }


def fresh_object(fresh: Fresh) -> dict[str, int | str]:
    """How much of the store was searched."""
    return {
        "entries": fresh.entries,
        "text_indexed": fresh.text,
        "vectors_indexed": fresh.vectors,
        "waiting": fresh.waiting,
        "stopped": fresh.stopped,
    }


def behind_note(fresh: Fresh) -> str:
    """What the index does not hold yet, and what to do about it."""
    waiting = f" and {many(fresh.waiting, 'append')} still in the journal" if fresh.waiting else ""
    behind = f"{short(fresh.unindexed)} of {short(fresh.entries)} entries are not indexed yet{waiting}"
    if fresh.unindexed and fresh.stopped:
        return f"{behind}: {fresh.stopped}"
    return f"{behind}; each search does some, `recollect index` does all"

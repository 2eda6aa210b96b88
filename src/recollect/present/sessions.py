"""Sessions, entries and threads as JSON objects, and how one session came out of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.values.records import Flag, Relation
from recollect.values.text import one_line

if TYPE_CHECKING:
    from recollect.values.history import Thread
    from recollect.values.stored import Session, StoredEntry

_FLAGS = tuple((int(flag), flag.name.lower()) for flag in Flag)


def session_object(session: Session) -> dict[str, Any]:
    """A session's facts. A time that is not known is null, a name that is not known is ""."""
    facts = session.facts
    return {
        "id": facts.id,
        "agent": facts.agent,
        "host": session.host,
        "project": facts.project,
        "labels": list(session.labels),
        "cwd": facts.cwd,
        "branch": facts.branch,
        "slug": facts.slug,
        "title": facts.headline,
        "model": facts.model,
        "version": facts.version,
        "started_ms": facts.started_ms or None,
        "ended_ms": facts.ended_ms or None,
        "relation": facts.relation.name.lower(),
        "parent": facts.parent,
        "root": facts.root,
        "entries": session.entries,
        "imported": session.imported,
    }


def entry_object(stored: StoredEntry) -> dict[str, Any]:
    """An entry, its text whole. `call` is the same on a tool call and on its result."""
    entry = stored.entry
    return {
        "id": stored.id,
        "session": stored.session,
        "kind": entry.kind.name.lower(),
        "type": stored.type,
        "time_ms": entry.time_ms or None,
        "tool": entry.tool,
        "call": entry.call,
        "model": entry.model,
        "flags": flag_names(entry.flags),
        "imported": stored.imported,
        "text": entry.text,
    }


def flag_names(flags: int) -> list[str]:
    """The names of the bits that are set, as `recollect.values.records.Flag` has them."""
    return [name for bit, name in _FLAGS if flags & bit] if flags else []


def last_names(project: str) -> str:
    """`owner/name` of `host/owner/name`: what tells projects apart where there is little room."""
    return "/".join(project.split("/")[-2:])


def relation_text(session: Session, names: dict[str, str]) -> str:
    """How a session came about: `fork of 3f2a9c01`, "" for one that began fresh."""
    facts = session.facts
    if facts.relation == Relation.NONE:
        return ""
    words = {Relation.SUBAGENT: "subagent of", Relation.FORK: "fork of", Relation.CONTINUATION: "continues"}
    parent = names.get(facts.parent) or one_line(facts.parent, 40) or "an unknown session"
    return f"{words[facts.relation]} {parent}"


def thread_object(thread: Thread, short: str) -> dict[str, Any]:
    """A thread as JSON has it: its sessions by id, in time order."""
    return {
        "id": thread.id,
        "short": short,
        "title": thread.title,
        "project": thread.project,
        "branch": thread.branch,
        "agents": list(thread.agents),
        "sessions": [session.facts.id for session in thread.sessions],
        "subagents": thread.subagents,
        "entries": thread.entries,
        "imported": thread.imported,
        "started_ms": thread.started_ms,
        "ended_ms": thread.ended_ms,
    }

"""Entries as messages, for an agent that has no reader: what was said, asked of tools and given back.

A reader gives the very objects of the log; this gives what was parsed of them. Thoughts are left out, as
they go with a signature that no entry holds, and pictures, whose bytes none holds either.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from itertools import takewhile
from typing import Any

from recollect.values.conversation import Block, Conversation, Message, Role
from recollect.values.errors import NotFound
from recollect.values.records import HIDDEN, Flag, Kind
from recollect.values.stored import Session, StoredEntry

_ROLES: dict[Kind, Role] = {
    Kind.PROMPT: "user",
    Kind.RESULT: "user",
    Kind.SUMMARY: "user",
    Kind.NOTE: "user",
    Kind.ANSWER: "assistant",
    Kind.CALL: "assistant",
}
_LOST = {Kind.THOUGHT: "thought", Kind.IMAGE: "image", Kind.CONTEXT: "attached context"}


def conversation_of(
    session: Session,
    entries: Iterable[StoredEntry],
    *,
    until: StoredEntry | None = None,
    before_compaction: bool = False,
) -> Conversation:
    """A session from what it shows; up to the entry `until`, or to where it was last compacted."""
    facts = session.facts
    shown = [each for each in entries if not each.entry.flags & (HIDDEN | Flag.SIDECHAIN)]
    if until is not None:
        shown = [*takewhile(lambda each: each.id != until.id, shown), until]
    if before_compaction:
        shown = _before_boundary(shown, facts.id)
    messages = [message for each in shown if (message := message_of(each, facts.agent)) is not None]
    lost = Counter(_LOST[each.entry.kind] for each in shown if each.entry.kind in _LOST)
    return Conversation(
        tuple(messages),
        title=facts.headline,
        cwd=facts.cwd,
        project=facts.project,
        branch=facts.branch,
        agents=(facts.agent,),
        left_out=lost,
    )


def message_of(stored: StoredEntry, agent: str) -> Message | None:
    """The message that one entry is, None where it is no part of a conversation."""
    entry = stored.entry
    role, body = _ROLES.get(entry.kind), _body(stored)
    if role is None or not body:
        return None
    return Message(
        role,
        (Block(body, stored.id, time_ms=entry.time_ms),),
        agent,
        stored.session,
        entry.time_ms,
        entry.model if role == "assistant" else "",
        note=entry.kind in (Kind.SUMMARY, Kind.NOTE),
        meta=bool(entry.flags & Flag.META),
    )


def _body(stored: StoredEntry) -> dict[str, Any]:
    """The block that an entry is; empty where it says nothing."""
    entry = stored.entry
    if entry.kind is Kind.CALL and entry.call:
        given = {"type": "tool_use", "id": f"call_{entry.call}", "name": entry.tool or "tool"}
        return {**given, "input": _input(entry.text)}
    if entry.kind is Kind.RESULT and entry.call:
        body = {"type": "tool_result", "tool_use_id": f"call_{entry.call}", "content": entry.text}
        return {**body, "is_error": True} if entry.flags & Flag.ERROR else body
    return {"type": "text", "text": entry.text} if entry.text.strip() else {}


def _input(text: str) -> dict[str, Any]:
    """What a tool was given, as an object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    return value if isinstance(value, dict) else {"input": value}


def _before_boundary(shown: list[StoredEntry], session: str) -> list[StoredEntry]:
    for n in range(len(shown) - 1, -1, -1):
        if shown[n].entry.flags & Flag.BOUNDARY:
            return shown[:n]
    raise NotFound(f"session {session} was never compacted", hint="leave out --before-compaction")

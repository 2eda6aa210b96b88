"""What the tools do that keep something: each names who asked, can be undone, keeps no words of a tool."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.light.project import project_of
from recollect.mcp.answers import Answer
from recollect.values.errors import UsageError
from recollect.values.text import printable

if TYPE_CHECKING:
    from recollect.memory import Memory

CHANNEL = "agent"


def remember(
    memory: Memory, client: str, *, text: str, tags: list[str], id: str, project: str | None = None
) -> Answer:
    """Keep a note for the agent that asks."""
    author = _author(memory, client, text)
    about = project_of(os.getcwd()) if project is None else project
    earlier = memory.get(id) if id else None
    if earlier is not None:
        memory.update(id, session=earlier.session, text=text, tags=tags or earlier.tags, author=author)
        kept, about = id, earlier.project
    else:
        kept = memory.save(text, tags=tags, project=about, author=author, channel=CHANNEL)
    return Answer(
        values={
            "id": kept,
            "project": printable(about),
            "author": printable(author),
            "undo": f"recollect notes undo {printable(kept)}",
        }
    )


def forget(memory: Memory, client: str, *, id: str) -> Answer:
    """Take back a note."""
    note = memory.get(id)
    author = client or "an agent"
    memory.delete(note.id, session=note.session, author=author)
    told = {"id": printable(note.id), "author": printable(author)}
    return Answer(values={**told, "undo": f"recollect notes undo {printable(note.id)}"})


def relate(memory: Memory, client: str, *, source: str, relation: str, target: str, weight: float) -> Answer:
    """State a relation for the agent that asks."""
    call = f"source {source} relation {relation} target {target}"  # as its log has the arguments
    author = _author(memory, client, f"{source} {relation} {target}", call)
    kept = memory.graph.relate(source, relation, target, weight=weight, author=author)
    told = {"id": kept, "author": printable(author)}
    return Answer(values={**told, "undo": f"recollect graph undo {kept}"})


def _author(memory: Memory, client: str, text: str, call: str = "") -> str:
    """Who asks for a text to be kept; UsageError where only a tool ever said it.

    `call` is what the arguments of the call are, where that is not the text.
    """
    speaker = memory.speaker(text)
    if call:
        speaker = replace(memory.speaker(call), only_returned=speaker.only_returned)
    if speaker.only_returned:
        raise UsageError(
            "this was not kept: as far as the conversation shows, only a tool returned it",
            hint="keep what the person said or agreed to, in their words; ask them if in doubt",
        )
    told = client or speaker.agent or "an agent"
    return f"{told}, session {speaker.session}" if speaker.session else f"{told}, session unknown"


WRITES: dict[str, Callable[..., Answer]] = {"remember": remember, "forget": forget, "relate": relate}

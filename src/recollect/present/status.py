"""What the whole of a memory is: its store as files, what it holds, what hooks did last."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from recollect.values.text import many

if TYPE_CHECKING:
    from recollect.memory import Memory


def store_object(memory: Memory) -> dict[str, Any]:
    """The store as a whole: where, how large, how old, and what waits in its journal."""
    info, footprint = memory.info(), memory.footprint()
    return {
        "path": memory.name,
        "id": info.id,
        "format": info.format,
        "generation": info.generation,
        "created_ms": info.created_ms,
        "written_ms": footprint.written_ms,
        "bytes": footprint.bytes,
        "line_bytes": info.line_bytes,
        "sources": info.sources,
        "journal_pending": memory.waiting(),
        "kept_aside": memory.kept_aside(),
    }


def unproven_objects(memory: Memory) -> list[dict[str, Any]]:
    """The agents with sessions here for which no client was run, and how many these are."""
    from recollect.agents.registry import agents

    counted = Counter(session.facts.agent for session in memory.sessions())
    found = [agent for agent in agents() if not agent.is_proven and counted[agent.name]]
    return [{"agent": agent.name, "title": agent.title, "sessions": counted[agent.name]} for agent in found]


def unproven_text(unproven: list[dict[str, Any]]) -> str:
    named = ", ".join(f"{each['title']} ({many(each['sessions'], 'session')})" for each in unproven)
    return f"no client was run for {named}" if named else ""


def odd_text(odd: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in odd.items() if count)


def totals_object(memory: Memory) -> dict[str, Any]:
    """What the whole store holds now."""
    info, total = memory.info(), memory.usage().total
    return {
        "sessions": len(memory.sessions()),
        "subagents": info.subagents,
        "entries": info.entries,
        "lines": info.lines,
        "responses": total.responses,
        "tokens": total.tokens,
        "cost_microdollars": total.cost_microdollars,
        "unpriced_responses": total.unpriced_responses,
        "unpriced_models": list(total.unpriced_models),
    }

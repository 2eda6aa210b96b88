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


def unproven_object(memory: Memory) -> dict[str, int]:
    """How many sessions are of agents for which no client was run, by their titles."""
    from recollect.agents.registry import agents

    titles = {agent.name: agent.title for agent in agents() if not agent.is_proven}
    counted = Counter(session.facts.agent for session in memory.sessions())
    return {title: counted[name] for name, title in titles.items() if counted[name]}


def unproven_text(unproven: dict[str, int]) -> str:
    named = ", ".join(f"{title} ({many(count, 'session')})" for title, count in unproven.items())
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

"""Facts, and what an extraction would do and did, as every face shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.values.facts import Origin

if TYPE_CHECKING:
    from recollect.values.facts import Extracted, ExtractionPlan, Fact


def fact_object(fact: Fact) -> dict[str, Any]:
    return {
        "tag": fact.tag,
        "text": fact.text,
        "project": fact.project,
        "entries": list(fact.entries),
        "time_ms": fact.time_ms,
        "origin": str(fact.origin),
        "by": fact.by,
        "id": fact.id,
        "imported": fact.imported,
    }


def plan_object(plan: ExtractionPlan) -> dict[str, Any]:
    return {
        "agent": plan.agent,
        "model": plan.model,
        "sessions": plan.sessions,
        "chunks": len(plan.chunks),
        "tokens": plan.tokens,
        "dollars": None if plan.dollars is None else round(plan.dollars, 4),
        "left": plan.left,
    }


def extracted_object(done: Extracted) -> dict[str, Any]:
    return {
        "read": done.chunks,
        "facts": [fact_object(each) for each in done.facts],
        "repeated": done.repeated,
        "superseded": done.superseded,
        "dropped": dict(done.dropped),
        "failed": dict(done.failed),
        "dollars": round(done.dollars, 4),
        "unpriced": done.unpriced,
        "stopped": done.stopped,
    }


def told_by(fact: Fact) -> str:
    """Who says so, where that is not simply found in what was said."""
    if fact.origin is Origin.MODEL:
        return f"told by a model ({fact.by})" if fact.by else "told by a model"
    return "saved" if fact.origin is Origin.NOTE else ""

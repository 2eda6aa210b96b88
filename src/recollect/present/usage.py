"""Tokens and cost as JSON objects, and money in words."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from recollect.values.text import dollars, many, short

if TYPE_CHECKING:
    from recollect.values.usage import UsageRow


def usage_object(row: UsageRow) -> dict[str, Any]:
    lists = {"unpriced_models": list(row.unpriced_models), "groups": list(row.groups)}
    return {**asdict(row), **lists, "tokens": row.tokens}


def usage_amounts(row: UsageRow) -> str:
    """Tokens and their cost, in few words."""
    cost = "cost unknown" if row.cost_microdollars is None else dollars(row.cost_microdollars)
    known = f"{cost} + unknown" if row.unpriced_responses and row.cost_microdollars is not None else cost
    return f"{short(row.tokens)} tokens, {known}"


def cost_text(totals: dict[str, Any]) -> str:
    """Money, or that it is unknown, or both; never a zero that stands for unknown."""
    cost, missing = totals["cost_microdollars"], totals["unpriced_responses"]
    known = "unknown" if cost is None else dollars(cost)
    if not missing or cost is None:
        return known
    return f"{known} and unknown for {many(missing, 'response')} of {', '.join(totals['unpriced_models'])}"

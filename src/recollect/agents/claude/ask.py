"""Asking `claude -p` one question: without tools, hooks, plugins, MCP servers, skills or a transcript."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from recollect.agents.asking import Answered, Asked
from recollect.agents.fields import dict_of, text_of

PROGRAM = "claude"
MODEL = "sonnet"
MODELS: Mapping[str, str] = {
    "sonnet": "claude-sonnet-5",
    "opus": "claude-opus-5-5",
    "haiku": "claude-haiku-4-5",
}
FORGETS: tuple[str, ...] = ("CLAUDECODE",)  # by which it knows that it was started inside of itself

_LIMITS: Final = ("rate_limit", "usage limit", "limit reached", "credit balance", "invalid api key", "/login")


def question(
    role: str, text: str, schema: Mapping[str, Any], *, model: str, dollars: float, environ: Mapping[str, str]
) -> Asked:
    words = (
        "-p",
        "--output-format",
        "json",
        "--json-schema",
        json.dumps(schema),
        "--system-prompt",
        role,
        "--tools",
        "",
        "--safe-mode",
        "--strict-mcp-config",
        "--disable-slash-commands",
        "--no-session-persistence",
        "--max-budget-usd",
        f"{dollars:.4f}",
        *(("--model", model) if model else ()),
    )
    return Asked(words, text.encode("utf-8", "replace"), {})


def answer(code: int, output: bytes, errors: bytes) -> Answered:
    """The last object that was printed: the result, with what it cost."""
    try:
        told = dict_of(json.loads(output.decode("utf-8", "replace") or "null"))
    except (ValueError, RecursionError):
        told = {}
    said = text_of(told.get("result")) or errors.decode("utf-8", "replace")
    cost = told.get("total_cost_usd")
    dollars = float(cost) if isinstance(cost, int | float) and 0 <= cost < 1e6 else None
    model = next(iter(dict_of(told.get("modelUsage"))), "")
    is_limit = any(mark in said.lower() for mark in _LIMITS)
    if code or told.get("is_error") is True or told.get("type") != "result":
        trouble = " ".join(said.split())[:200] or f"it ended with {code}"
        return Answered(None, dollars, model, trouble, is_limit)
    value = told.get("structured_output")
    if value is None:
        return Answered(None, dollars, model, "no answer in the form that was asked for")
    return Answered(value, dollars, model)

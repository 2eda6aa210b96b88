"""claude-mem's own database: sessions, prompts, observations, summaries and what tools were asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.intake.migrate.contract import SESSION, Look, Rule, Schema
from recollect.intake.migrate.tables import Tables

_TIME = ("created_at_epoch", "created_at")


class ClaudeMem(Schema):
    name = "claude-mem"
    rules = (
        Rule(
            "sdk_sessions",
            ("id",),
            ("user_prompt",),
            makes=SESSION,
            session="content_session_id",
            project="project",
            channel="platform_source",
            title="custom_title",
            time=("started_at_epoch", "started_at"),
            ended="completed_at_epoch",
        ),
        Rule(
            "user_prompts", ("id",), ("prompt_text",), role="user", session="content_session_id", time=_TIME
        ),
        Rule(
            "observations",
            ("id",),
            ("title", "subtitle", "narrative", "text", "facts"),
            tag="observation",
            session="memory_session_id",
            project="project",
            tags=("type", "concepts"),
            time=_TIME,
        ),
        Rule(
            "session_summaries",
            ("id",),
            ("request", "investigated", "learned", "completed", "next_steps", "notes"),
            tag="summary",
            session="memory_session_id",
            project="project",
            time=_TIME,
        ),
        Rule(
            "tool_uses",
            ("id",),
            ("tool_name", "tool_input", "tool_response"),
            role="tool",
            session="content_session_id",
            project="project",
            channel="platform_source",
            time=_TIME,
        ),
    )

    def recognise(self, tables: Tables) -> bool:
        return tables.has("sdk_sessions", "id", "content_session_id") and tables.has("observations", "id")

    def looker(self, tables: Tables, rule: Rule) -> Look:
        """The session that a row is of: by the agent's id, its own, or the number of the row."""
        if rule.makes == SESSION:
            return super().looker(tables, rule)
        known: dict[Any, dict[str, Any]] = {}
        for values in tables.rows("sdk_sessions"):
            if isinstance(values, dict):
                told = {
                    "session": values.get("content_session_id"),
                    "project": values.get("project"),
                    "channel": values.get("platform_source"),
                }
                for name in ("content_session_id", "memory_session_id"):
                    if isinstance(values.get(name), str):
                        known.setdefault(values[name], told)
                known.setdefault(("row", values.get("id")), told)

        def look(values: Mapping[str, Any]) -> Mapping[str, Any]:
            by_row = known.get(("row", values.get("session_db_id")))
            told = by_row or known.get(_hashable(values.get(rule.session))) or {}
            # A row's own project is the one that holds: a session may have gone on elsewhere.
            return {name: value for name, value in told.items() if name == "session" or not values.get(name)}

        return look


def _hashable(value: Any) -> Any:
    return value if isinstance(value, str | int) else None

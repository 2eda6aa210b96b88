"""What a person decided about projects, as lines of a source that Recollect itself writes into the store.

As with saved threads (`recollect.agents.saved`) there is no such file on any disk, and lines are only
ever added: `recollect.search.projects` says what they come to. Whatever carries a store's lines carries
them: a rewrite, a snapshot, another engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from recollect.agents.fields import INJECTED, count_of, dict_of, text_of, unknown
from recollect.values.errors import UsageError
from recollect.values.names import checked_name
from recollect.values.projects import JOIN, LABEL, PROJECT_CHARS_MAX, RENAME, SPLIT, Decision, checked_label
from recollect.values.records import Entry, Kind, Parsed, SessionFacts

PROJECTS: Final = "projects"  # the session that they are
DECISION: Final = "project"

_TIME_MS_MAX: Final = 2**53 - 1


def record_of(decision: Decision) -> dict[str, Any]:
    told = {"op": decision.op, "project": decision.project, "name": decision.name, "key": decision.key}
    return {"type": DECISION, "time_ms": decision.time_ms, **{k: v for k, v in told.items() if v}}


def decision_of(record: Any) -> Decision | None:
    """A record's decision; None for what no person could have decided."""
    record = dict_of(record)
    op, project = text_of(record.get("op")), text_of(record.get("project"))
    name, key = text_of(record.get("name")), text_of(record.get("key"))
    if record.get("type") != DECISION or not 0 < len(project) <= PROJECT_CHARS_MAX:
        return None
    try:
        if op == RENAME:
            checked_name(name)
        elif op == LABEL:
            checked_label(f"{key}={name}")
        elif op == JOIN and not 0 < len(name) <= PROJECT_CHARS_MAX:
            return None
    except UsageError:
        return None
    time_ms = min(count_of(record.get("time_ms")), _TIME_MS_MAX)
    return Decision(op, project, name, key, time_ms) if op in (JOIN, SPLIT, RENAME, LABEL) else None


class DecisionParser:
    """One entry a decision, which nobody searches for."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self.facts = SessionFacts("recollect", PROJECTS, root=PROJECTS)

    def parse(self, record: Any, /) -> Parsed:
        decision = decision_of(record)
        if decision is None:
            return unknown(text_of(dict_of(record).get("type")))
        self.facts.saw(decision.time_ms)
        return Parsed(f"{DECISION}/{decision.op}", (Entry(Kind.EVENT, "", INJECTED, decision.time_ms),))

    def document(self, data: bytes, /) -> Parsed:
        return unknown("document")

    def state(self) -> dict[str, Any]:
        return {}

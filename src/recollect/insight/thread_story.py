"""A piece of work over all its sessions: what was planned, asked, changed and committed, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace

import numpy as np

from recollect.insight.digest.session import digest_of
from recollect.insight.digest.steps import exchanges
from recollect.insight.plans import begun_plan, plan_name, proposed_plan
from recollect.insight.threads import beginning, listed
from recollect.insight.topology import Sessions, rewinds
from recollect.insight.usage import summarise
from recollect.search.digest_rows import key_of
from recollect.search.joining import Joined, joined
from recollect.search.ties import kept_ties
from recollect.store.contract import UsageColumns, View
from recollect.values.digests import Statement
from recollect.values.errors import NotFound
from recollect.values.history import Link, Thread, ThreadStory, ThreadTree
from recollect.values.lazy import lazy
from recollect.values.stored import Session, StoredEntry
from recollect.values.text import one_line

_PLAN_CELLS = 120

Prices = Mapping[str, Mapping[str, float]]


class Threads:
    """The threads of a view, with all that is known of each."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._sessions = dict(view.session_rows().items())
        self._joined = joined(self._sessions, kept_ties(view))

    def trees(self, project: str, label: str, limit: int) -> list[ThreadTree]:
        """How the sessions of the threads hang together, the most recently active first."""
        found = listed(self._sessions, self._joined, project, label)
        return [
            self._tree(thread, Sessions(self._view, group, self._usage_columns))
            for thread, group in found[: limit or None]
        ]

    def story(self, prefix: str, prices: Prices) -> ThreadStory:
        """The piece of work that a session is part of; the beginning of its id is enough."""
        thread, group = self._found(prefix)
        known = Sessions(self._view, group, self._usage_columns)
        tree = self._tree(thread, known)
        links = (*tree.links, *rewinds(self._view, thread.sessions))
        rows = {key_of(session): row for row, session in group.items()}
        parts = [(each, digest_of(known.entries(rows[key_of(each)]), each.facts)) for each in thread.sessions]
        plans: dict[str, Statement] = {}
        for session in thread.sessions:
            for text, entry in _plans(known.entries(rows[key_of(session)])):
                name = one_line(plan_name(text), _PLAN_CELLS)
                plans.setdefault(name, Statement(name, entry))
        usage = summarise(_only(self._usage_columns(), list(group)), "", prices).total
        return ThreadStory(replace(tree, links=links), tuple(parts), tuple(plans.values()), usage)

    def _found(self, prefix: str) -> tuple[Thread, dict[int, Session]]:
        wanted = key_of(self._view.find_session(prefix))
        row = next(row for row, session in self._sessions.items() if key_of(session) == wanted)
        first = self._joined.threads[row]
        group = {number: self._sessions[number] for number, of in self._joined.threads.items() if of == first}
        found = listed(group, Joined(dict.fromkeys(group, first), []))
        if not found:
            raise NotFound(f"session {prefix} is of no thread", hint="`recollect threads` lists them")
        return found[0]

    def _tree(self, thread: Thread, known: Sessions) -> ThreadTree:
        rows = set(known.sessions)
        ordered = sorted(known.sessions.values(), key=beginning)
        told = [
            Link(self._sessions[one].facts.id, self._sessions[other].facts.id, how, confidence, why)
            for one, other, how, confidence, why in self._joined.joints
            if {one, other} & rows
        ]
        return ThreadTree(thread, tuple(ordered), (*known.links(), *told))

    @lazy
    def _usage(self) -> UsageColumns:
        return self._view.usage()

    def _usage_columns(self) -> UsageColumns:
        return self._usage


def _plans(entries: Sequence[StoredEntry]) -> Iterator[tuple[str, str]]:
    """The plans that a session begins with or proposes, each with its entry."""
    made = exchanges(entries)
    first = next((each.prompt for each in made if each.prompt is not None and not each.is_command), None)
    if first is not None and (begun := begun_plan(first.entry.text)):
        yield begun, first.id
    for each in made:
        for step in each.steps:
            if text := proposed_plan(step):
                yield text, step.call.id


def _only(columns: UsageColumns, rows: list[int]) -> UsageColumns:
    """The responses of some sessions."""
    chosen = np.isin(columns.session, rows)
    arrays = [each.name for each in fields(columns) if each.name not in ("sessions", "models")]
    return replace(columns, **{name: getattr(columns, name)[chosen] for name in arrays})

"""A piece of work over all its sessions: what was planned, asked, changed and committed, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

import numpy as np

from recollect.insight.digest.kept import Digests
from recollect.insight.period import time_worked
from recollect.insight.threads import beginning, listed
from recollect.insight.topology import Sessions, rewinds
from recollect.insight.usage import summarise
from recollect.search.digest_rows import key_of
from recollect.search.joining import Joined, joined_sessions
from recollect.search.projects import by_name, worked_out
from recollect.store.contract import UsageColumns, View
from recollect.values.errors import NotFound
from recollect.values.history import Link, Thread, ThreadStory, ThreadTree
from recollect.values.lazy import lazy
from recollect.values.stored import Session

Prices = Mapping[str, Mapping[str, float]]


class Threads:
    """The threads of a view, with all that is known of each."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._sessions = by_name(view).every
        self._joined = worked_out(view, joined_sessions)
        # What is found in whole logs, of threads that were asked for, by the row of their first session.
        self._told: dict[int, tuple[Link, ...]] = {}
        self._left: dict[int, tuple[Link, ...]] = {}

    def trees(self, project: str, label: str, limit: int) -> list[ThreadTree]:
        """How the sessions of the threads hang together, the most recently active first."""
        found = listed(self._sessions, self._joined, project, label)
        return [self._tree(thread, group) for thread, group in found[: limit or None]]

    def story(self, prefix: str, prices: Prices) -> ThreadStory:
        """The piece of work that a session is part of; the beginning of its id is enough."""
        thread, group = self._found(prefix)
        tree = self._tree(thread, group)
        links = (*tree.links, *self._rewinds(thread, group))
        digests = worked_out(self._view, Digests)
        parts = tuple((each, digests.of(each)) for each in thread.sessions)
        plans = {plan.text: plan for _, digest in reversed(parts) for plan in reversed(digest.plans)}
        moments = [self._view.session_columns(row, "time")["time"] for row in group]
        active_ms = time_worked(np.concatenate(moments))
        usage = summarise(_only(self._usage, list(group)), "", prices).total
        return ThreadStory(
            replace(tree, links=links), parts, tuple(reversed(plans.values())), usage, active_ms
        )

    def _found(self, prefix: str) -> tuple[Thread, dict[int, Session]]:
        wanted = key_of(self._view.find_session(prefix))
        row = next(row for row, session in self._sessions.items() if key_of(session) == wanted)
        first = self._joined.threads[row]
        group = {number: self._sessions[number] for number, of in self._joined.threads.items() if of == first}
        found = listed(group, Joined(dict.fromkeys(group, first), []))
        if not found:
            raise NotFound(f"session {prefix} is of no thread", hint="`recollect threads` lists them")
        return found[0]

    def _tree(self, thread: Thread, group: Mapping[int, Session]) -> ThreadTree:
        ordered = sorted(group.values(), key=beginning)
        told = [
            Link(self._sessions[one].facts.id, self._sessions[other].facts.id, how, confidence, why)
            for one, other, how, confidence, why in self._joined.joints
            if one in group or other in group
        ]
        return ThreadTree(thread, tuple(ordered), (*self._links(group), *told))

    def _links(self, group: Mapping[int, Session]) -> tuple[Link, ...]:
        first = min(group)
        if first not in self._told:
            self._told[first] = tuple(Sessions(self._view, group, lambda: self._usage).links())
        return self._told[first]

    def _rewinds(self, thread: Thread, group: Mapping[int, Session]) -> tuple[Link, ...]:
        first = min(group)
        if first not in self._left:
            self._left[first] = tuple(rewinds(self._view, thread.sessions))
        return self._left[first]

    @lazy
    def _usage(self) -> UsageColumns:
        return self._view.usage()


def _only(columns: UsageColumns, rows: list[int]) -> UsageColumns:
    """The responses of some sessions."""
    chosen = np.isin(columns.session, rows)
    arrays = [each.name for each in fields(columns) if each.name not in ("sessions", "models")]
    return replace(columns, **{name: getattr(columns, name)[chosen] for name in arrays})

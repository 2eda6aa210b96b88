"""Ties: what of a session can show that another one goes on with the same work, kept as a few numbers.

A tie is a kind and the hash of something: a prompt at its moment, a plan, an issue, a file, a word. The table
is made where sessions are understood (`recollect.insight.tying`) and read here, where it is decided which
sessions are one thread (`recollect.search.joining`). It speaks of no row and no text, so it outlives both.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import numpy as np

from recollect.store.contract import View
from recollect.store.derived import Column, DerivedTable, Rewrite
from recollect.values.errors import DerivedDamaged
from recollect.values.ids import name_key
from recollect.values.stored import Session

Array = np.ndarray[Any, Any]


class Tie(enum.IntEnum):
    """What a tie's key is the hash of."""

    MARK = 0  # nothing: the first row of a session; its key is the moment, in ms, of the first prompt
    SAID = 1  # a prompt and its moment: what a resume or a fork copies
    NAMED = 2  # the id of another session that the first prompt names
    PROPOSED = 3  # a plan that the person was asked to approve
    BEGUN = 4  # a plan that the first prompt is made of
    ASKED = 5  # the first prompt
    ISSUE = 6  # an issue or pull request in the first prompt
    DOCUMENT = 7  # a plan or specification among the changed files
    FILE = 8  # a changed file
    WORD = 9  # a word of what the session is about


TIES = DerivedTable(
    "ties", 1, (("session", "<u8"), ("kind", "<u1"), ("key", "<u8")), Rewrite.CARRY, ("session",)
)


@dataclass(frozen=True, slots=True)
class Ties:
    """The ties of some sessions, as columns; a session is named by `session_key`."""

    session: Array
    kind: Array
    key: Array

    def of_kinds(self, *kinds: Tie) -> Ties:
        chosen = np.isin(self.kind, kinds)
        return Ties(self.session[chosen], self.kind[chosen], self.key[chosen])


NO_TIES = Ties(np.zeros(0, "<u8"), np.zeros(0, "<u1"), np.zeros(0, "<u8"))


def session_key(session: Session) -> int:
    """What a session is called in the table, whatever its row."""
    return name_key(session.facts.agent, session.host, session.facts.id)


def kept_ties(view: View) -> Ties:
    """The ties of all sessions, as far as they are made; none of a table that does not read."""
    try:
        return current(view.derived(TIES))
    except DerivedDamaged:
        return NO_TIES


def marked(view: View) -> set[int]:
    """The sessions that were looked at."""
    columns = view.derived(TIES, only=("session", "kind"))
    session, kind = np.asarray(columns["session"]), np.asarray(columns["kind"])
    return set(session[kind == Tie.MARK].tolist())


def current(columns: dict[str, Column]) -> Ties:
    """Those rows of the table that count: of a session that went on, the ones made last."""
    session, kind, key = (np.asarray(columns[name]) for name in ("session", "kind", "key"))
    if not len(session):
        return NO_TIES
    batch = np.cumsum(kind == Tie.MARK)
    names, last = np.unique(session[::-1], return_index=True)
    newest = batch[::-1][last][np.searchsorted(names, session)]
    chosen = batch == newest
    return Ties(session[chosen], kind[chosen], key[chosen])

"""Which sessions are one thread, from what is known of them and from their ties alone.

Strong ties make groups: names that logs give (an id, a parent, a slug), prompts that were copied, a plan that
was handed over, the same request or issue again. A weak one (`recollect.search.weak_ties`) adds a group to an
earlier one, with a stated confidence, and never to one that was itself added so: no chain of guesses grows.
Nothing here depends on the order in which sessions came.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from recollect.search.projects import by_name
from recollect.search.ties import NO_TIES, Array, Tie, Ties, kept_ties, session_key
from recollect.search.weak_ties import Guess, Known, guesses
from recollect.store.contract import View
from recollect.values.history import JOINED, How
from recollect.values.ids import name_key
from recollect.values.records import Relation
from recollect.values.stored import Session
from recollect.values.text import many

_DAY = 24 * 3_600_000
_PLAN_MS = 30 * _DAY
_REQUEST_MS = 3 * _DAY
_ISSUE_MS = 30 * _DAY
_REQUESTS_MAX = 3  # groups that begin with the same words; more of them, and it is a template
_ISSUES_MAX = 6


class Joint(NamedTuple):
    """Two sessions, by number, that a tie makes one piece of work, and how sure that is."""

    earlier: int
    later: int
    how: How
    confidence: float
    why: str


class Joined(NamedTuple):
    """For each session's number that of the first one of its thread; and what ties them, besides names.

    Of `joints` those below `JOINED` are only worth telling.
    """

    threads: dict[int, int]
    joints: list[Joint]


def joined_sessions(view: View) -> Joined:
    """The threads of all sessions of a view, by row."""
    return joined(by_name(view).every, kept_ties(view))


def joined(sessions: Mapping[int, Session], ties: Ties = NO_TIES) -> Joined:
    """The threads of these sessions.

    Two are one also through a session that is not there: forks of a lost conversation belong together.
    """
    return _Joining(sessions, ties).joined()


class _Joining:
    def __init__(self, sessions: Mapping[int, Session], ties: Ties) -> None:
        self._numbers = list(sessions)
        self._sessions = list(sessions.values())
        self._leaders = list(range(len(self._numbers)))
        self._joints: list[Joint] = []
        self._ties = self._placed(ties) if len(ties.key) else ties
        self._begun = [each.facts.started_ms for each in self._sessions]
        marks = self._ties.of_kinds(Tie.MARK)
        for at, moment in zip(marks.session.tolist(), marks.key.tolist(), strict=True):
            self._begun[at] = moment or self._begun[at]

    def joined(self) -> Joined:
        self._join_facts()
        if len(self._ties.key):
            self._join_copies()
            self._join_named()
            self._join_plans()
            self._join_again(Tie.ASKED, How.REQUEST, _REQUESTS_MAX, _REQUEST_MS, 0.9, "the same request")
            self._join_again(Tie.ISSUE, How.ISSUE, _ISSUES_MAX, _ISSUE_MS, 0.85, "the same issue")
            self._join_weakly()
        firsts: dict[int, int] = {}
        for at, number in enumerate(self._numbers):
            leader = self._leader(at)
            firsts[leader] = min(firsts.get(leader, number), number)
        threads = {number: firsts[self._leader(at)] for at, number in enumerate(self._numbers)}
        return Joined(threads, self._joints)

    def _join_facts(self) -> None:
        """Join by the names that sessions have and give.

        A slug survives "clear context and start from the plan", but it is three words out of a hat: it ties
        only what is known to be of one project. What begins with a plan goes on with whoever made that plan,
        which `_join_plans` knows.
        """
        named: dict[str, int] = {}
        slugs = defaultdict[tuple[str, str], list[int]](list)
        for at, session in enumerate(self._sessions):
            facts = session.facts
            for name in {facts.id, facts.root, facts.parent}:
                if name:
                    self._union(at, named.setdefault(name, at))
            if facts.slug and facts.project:
                slugs[facts.slug, facts.project].append(at)
        planned = set(self._ties.of_kinds(Tie.BEGUN).session.tolist())
        for group in slugs.values():
            sides: tuple[list[int], list[int]] = ([], [])
            for at in group:
                sides[self._sessions[at].facts.relation == Relation.SUBAGENT].append(at)
            for one, other in pairwise([at for side in sides for at in self._in_time(side)]):
                if self._leader(one) != self._leader(other) and other not in planned:
                    self._join(one, other, How.SLUG, 1.0, "the same slug")

    def _join_copies(self) -> None:
        groups = self._shared(self._ties.of_kinds(Tie.SAID))
        copied = Counter(pair for group in groups for pair in pairwise(self._in_time(group)))
        for (one, other), count in copied.items():
            self._join(one, other, How.FORK, 1.0, f"{many(count, 'prompt')} of the same moment")

    def _join_named(self) -> None:
        named = self._ties.of_kinds(Tie.NAMED)
        if not len(named.key):
            return
        known = {name_key(each.facts.id): at for at, each in enumerate(self._sessions)}
        for at, key in zip(named.session.tolist(), named.key.tolist(), strict=True):
            other = known.get(key)
            if other is not None and other != at:
                self._join(other, at, How.HANDOVER, 1.0, "its first prompt names the other's log")

    def _join_plans(self) -> None:
        planned = set(self._ties.of_kinds(Tie.BEGUN).session.tolist())
        for group in self._shared(self._ties.of_kinds(Tie.PROPOSED, Tie.BEGUN)):
            ordered = self._in_time(group)
            for n, at in enumerate(ordered):
                before = [each for each in ordered[:n] if self._is_near(each, at, _PLAN_MS)]
                if at in planned and before:
                    self._join(before[-1], at, How.PLAN, 0.95, "begins with the plan made there")

    def _join_again(
        self, tie: Tie, how: How, groups_max: int, within_ms: int, confidence: float, why: str
    ) -> None:
        """Join what begins with the same, unless so many do that it is a template."""
        for group in self._shared(self._ties.of_kinds(tie)):
            by_project = defaultdict[str, list[int]](list)
            for at in group:
                by_project[self._sessions[at].facts.project].append(at)
            for project, same in by_project.items():
                if not project or len({self._leader(at) for at in same}) > groups_max:
                    continue
                for one, other in pairwise(self._in_time(same)):
                    if self._leader(one) != self._leader(other) and self._is_near(one, other, within_ms):
                        self._join(one, other, how, confidence, why)

    def _join_weakly(self) -> None:
        """Let each group follow the earlier session that its first one most likely goes on from."""
        known = self._known()
        found = defaultdict[int, list[Guess]](list)
        for guess in guesses(known, self._ties):
            found[guess.later].append(guess)
        followers: set[int] = set()
        for later in self._in_time(found):
            likely = [each for each in found[later] if known.group[each.earlier] not in followers]
            if likely:
                best = max(likely, key=lambda each: (each.confidence, self._end(each.earlier)))
                if best.confidence >= JOINED:
                    followers.add(known.group[later])
                self._join(*best)

    def _known(self) -> Known:
        """What is known of the sessions; of those that count here it is known when and where they were."""
        group = [self._leader(at) for at in range(len(self._leaders))]
        names = sorted({each.facts.project for each in self._sessions} - {""})
        numbers = {name: n + 1 for n, name in enumerate(names)}
        project, is_first = np.zeros(len(group), np.int64), np.zeros(len(group), bool)
        seen: set[int] = set()
        for at in self._in_time(range(len(group))):
            session = self._sessions[at]
            is_main = session.facts.relation != Relation.SUBAGENT and not session.copied
            if is_main and self._begun[at] and session.facts.project:
                project[at] = numbers[session.facts.project]
                is_first[at] = group[at] not in seen
                seen.add(group[at])
        has_plan = np.zeros(len(group), bool)
        has_plan[self._ties.of_kinds(Tie.BEGUN).session] = True
        return Known(
            np.array(group),
            project,
            np.array(self._begun, np.int64),
            np.array([self._end(at)[0] for at in range(len(group))], np.int64),
            is_first,
            has_plan,
            [each.facts.branch for each in self._sessions],
        )

    # -- helpers -------------------------------------------------------------------------------------

    def _placed(self, ties: Ties) -> Ties:
        """The ties of these sessions, each named by its position."""
        keys = np.fromiter((session_key(each) for each in self._sessions), np.uint64, len(self._sessions))
        order = np.argsort(keys)
        at = np.searchsorted(keys[order], ties.session)
        found = at < len(keys)
        found[found] = keys[order][at[found]] == ties.session[found]
        return Ties(order[at[found]], ties.kind[found], ties.key[found])

    def _shared(self, ties: Ties) -> Iterator[list[int]]:
        """The positions of the sessions that share a key, for each that several have."""
        order = np.lexsort((ties.session, ties.key))
        for start, stop in _runs(ties.key[order]):
            yield sorted(set(ties.session[order[start:stop]].tolist()))

    def _in_time(self, group: Iterable[int]) -> list[int]:
        def moment(at: int) -> tuple[int, str, str]:
            return self._begun[at], self._sessions[at].facts.id, self._sessions[at].host

        return sorted(group, key=moment)

    def _end(self, at: int) -> tuple[int, str]:
        facts = self._sessions[at].facts
        return max(facts.ended_ms, self._begun[at]), facts.id

    def _is_near(self, one: int, other: int, within_ms: int) -> bool:
        """Whether they are of one project, the second not long behind the first."""
        a, b = self._sessions[one].facts, self._sessions[other].facts
        return a.project == b.project and self._begun[other] - self._end(one)[0] <= within_ms

    def _join(self, one: int, other: int, how: How, confidence: float, why: str) -> None:
        self._joints.append(Joint(self._numbers[one], self._numbers[other], how, confidence, why))
        if confidence >= JOINED:
            self._union(one, other)

    def _union(self, one: int, other: int) -> None:
        first, second = self._leader(one), self._leader(other)
        self._leaders[max(first, second)] = min(first, second)

    def _leader(self, at: int) -> int:
        """The first session of a group; the way there is halved, so that no chain grows long."""
        leaders = self._leaders
        while leaders[at] != at:
            leaders[at] = at = leaders[leaders[at]]
        return at


def _runs(ordered: Array) -> Iterator[tuple[int, int]]:
    """Where equal values stand, for each that stands there more than once."""
    if len(ordered) < 2:
        return
    edges = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1], [True]]))
    long = np.flatnonzero(np.diff(edges) > 1)
    yield from zip(edges[long].tolist(), edges[long + 1].tolist(), strict=True)

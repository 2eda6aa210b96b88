"""The second pass: many searches, one list of hits with a score for each facet.

    both, words, meaning    the description as a whole, by three rankings
    facet                   each part of it alone
    phrase, name, file      what is to be found as it is written
    project, time           the whole again, within what it names
    digest                  the whole again, in the conversations whose digests fit best
    thread                  the whole again, in the threads that have most
    near                    what is like the best hits
    newest                  later looks at the files that hits look at

Scores of all searches are of one scale (`search/rank`), so the best one counts, and a little more
for each other search that agrees. A part of a description is heard in the light of the whole, so a
hit of a facet counts less in a thread where the whole finds nothing.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from recollect.insight.digest.kept import Digests
from recollect.insight.digest.lookup import lookup
from recollect.insight.turns import UNSPOKEN
from recollect.recall.assemble.files import is_read, same_file
from recollect.recall.excerpt import has_text
from recollect.recall.fitting import relevant_hits
from recollect.search.projects import worked_out
from recollect.search.query import AllOf, AnyOf, Between, Is, Node, Phrase, Word
from recollect.search.run import Request
from recollect.search.text.fields import files_of, path_term
from recollect.values.assembly import FILE, NAME, PHRASE, Ask, Facet, Plan, Strategy
from recollect.values.records import HIDDEN, Flag, Kind

if TYPE_CHECKING:
    from recollect.search.run import Search
    from recollect.values.hits import Fresh
    from recollect.values.stored import StoredEntry

LIMIT_MIN, LIMIT_MAX = 24, 40  # hits of one search
LIMIT_TOKENS = 600  # of the budget, for each hit of a search
AGREE = 0.04  # for each other search that found it
SCORE_MAX = 1.0  # a name alone is its own quotation, which search doubles
THREADS = 3
DIGESTED = 3  # conversations, by their digests
NEAR = 3
FILE_SCORE = 0.5  # of the newest call that names a file; older ones have less
FILES = 6  # of hits that look at files, whose newest look is wanted
CALLS = 40  # that name a file
APART = 0.35  # of its score, for a facet's hit where the whole finds nothing
ELSEWHERE = 0.4  # in another project than the named
BEFORE = 0.7  # outside of the time that is named
OLDEST = 0.7  # of what there is, if the latest is wanted
OUTPUT = 0.8  # of a tool that did its work: mostly bulk

_WEIGHTS = {"words": 0.8, "meaning": 0.8, "name": 0.8, "near": 0.6, "thread": 0.9, "digest": 0.9}


@dataclass(slots=True)
class Hit:
    """An entry that was found: how well it fits each facet, and which strategies say so."""

    stored: StoredEntry
    scores: list[float]
    why: list[int] = field(default_factory=list)

    @property
    def row(self) -> int:
        return self.stored.row

    @property
    def best(self) -> float:
        return max(self.scores)


@dataclass(frozen=True, slots=True)
class Gathered:
    """What all searches found together, best first, and the thread of each session."""

    hits: list[Hit]
    strategies: list[Strategy]
    threads: dict[int, int]
    fresh: Fresh
    notes: tuple[str, ...]


def gather(search: Search, plan: Plan, budget_tokens: int, now: datetime.datetime) -> Gathered:
    """Everything the store has on a plan, as far as a budget could use it."""
    return _Gathering(search, plan, budget_tokens, now).run()


class _Gathering:
    def __init__(self, search: Search, plan: Plan, budget_tokens: int, now: datetime.datetime) -> None:
        self._search, self._plan, self._now = search, plan, now
        self._limit = min(max(budget_tokens // LIMIT_TOKENS, LIMIT_MIN), LIMIT_MAX)
        self._threads = search.sessions.threads
        self._hits: dict[int, Hit] = {}
        self._strategies: list[Strategy] = []
        self._notes: list[str] = []
        self._fresh: Fresh | None = None

    def run(self) -> Gathered:
        self._whole()
        for number, facet in enumerate(self._plan.facets):
            if number:
                self._ask("facet", facet.asks[0].text, number)
            self._written(number, facet)
        self._within()
        self._digested()
        self._further()
        self._newest()
        assert self._fresh is not None
        hits = self._settled()
        return Gathered(hits, self._strategies, self._threads, self._fresh, tuple(dict.fromkeys(self._notes)))

    # -- the strategies --------------------------------------------------------------------------

    def _whole(self) -> None:
        text = self._plan.facets[0].asks[0].text
        self._ask("both", text, 0)
        self._ask("words", text, 0, mode="text")
        self._ask("meaning", text, 0, mode="vector")

    def _written(self, number: int, facet: Facet) -> None:
        """Quotations, names and files; those of the whole are asked where a part has them too."""
        later = {ask for each in self._plan.facets[1:] for ask in each.asks[1:]} if not number else set()
        for ask in facet.asks[1:]:
            if ask not in later:
                self._one(ask, number)

    def _one(self, ask: Ask, number: int) -> None:
        if ask.kind == PHRASE:
            self._ask(PHRASE, ask.text, number, mode="text", only=Phrase(ask.text))
        elif ask.kind == NAME:
            self._ask(NAME, ask.text, number, mode="text")
        elif ask.kind == FILE:
            rows = self._search.rows(Is("file", path_term(ask.text)), CALLS).tolist()
            calls = self._search.view.entries_at(rows)
            scored = [(each, FILE_SCORE * (1 - n / CALLS / 2)) for n, each in enumerate(calls)]
            self._add(FILE, ask.text, number, scored)

    def _within(self) -> None:
        text = self._plan.facets[0].asks[0].text
        if self._plan.projects:
            only = AnyOf(tuple(Is("project", name) for name in self._plan.projects))
            self._ask("project", text, 0, only=only, told=f"{text} in {', '.join(self._plan.projects)}")
        if self._plan.window is not None:
            self._ask("time", text, 0, only=Between(*self._plan.window))

    def _digested(self) -> None:
        """The whole again in the conversations whose digests have most of its words.

        A digest says in a title, a decision, an ending what a conversation never says in one place.
        """
        text = self._plan.facets[0].asks[0].text
        words = AllOf(tuple(Word(each) for each in text.split()))
        digests = worked_out(self._search.view, Digests)
        for found in lookup(self._search.sessions, digests, words, DIGESTED).hits:
            id_ = found.session.facts.id
            self._ask("digest", text, 0, only=Is("session", id_), told=f"{text} in {id_[:13]}")

    def _further(self) -> None:
        """What the best hits lead to: the rest of their threads, and what is like them."""
        text = self._plan.facets[0].asks[0].text
        for row in self._best_threads():
            id_ = self._search.sessions[row].facts.id
            self._ask("thread", text, 0, only=Is("thread", id_), told=f"{text} in thread {id_[:13]}")
        near = tuple(hit.stored.id for hit in sorted(self._hits.values(), key=_order)[:NEAR])
        if near:
            self._ask("near", "", 0, mode="vector", near=near, told=f"like {', '.join(near)}")

    def _best_threads(self) -> list[int]:
        """The first sessions of the threads with most, each with others that could have more."""
        scores: dict[int, float] = {}
        for hit in self._hits.values():
            thread = self._threads[hit.stored.session_row]
            scores[thread] = scores.get(thread, 0.0) + hit.best
        return sorted(scores, key=lambda thread: (-round(scores[thread], 6), thread))[:THREADS]

    def _newest(self) -> None:
        """Of a file that a hit looks at, the last look there is: what it shows is what holds."""
        looks = [hit for hit in sorted(self._hits.values(), key=_order) if is_read(hit.stored.entry)][:FILES]
        scored = []
        for hit in looks:
            path = files_of(hit.stored.entry)[0]
            rows = self._search.rows(Is("file", path_term(path)), CALLS).tolist()
            calls = [each for each in self._search.view.entries_at(rows) if is_read(each.entry)]
            same = [each for each in calls if same_file(self._search, each, hit.stored)]
            if same and same[0].row != hit.row:
                scored.append((same[0], hit.best))
        if scored:
            self._add("newest", "files that were looked at", 0, scored)

    # -- one list --------------------------------------------------------------------------------

    def _ask(
        self,
        name: str,
        text: str,
        facet: int,
        *,
        mode: str = "hybrid",
        only: Node | None = None,
        near: tuple[str, ...] = (),
        told: str = "",
    ) -> None:
        asked = Request(
            text, mode, self._limit, plain=True, near=near, collapse=False, now=self._now, only=only
        )
        results = self._search.run(asked)
        self._fresh = results.fresh
        self._notes += results.notes if name == "both" else ()
        weight = _WEIGHTS.get(name, 1.0)
        scored = [(hit.stored, min(hit.score, SCORE_MAX) * weight) for hit in relevant_hits(results)]
        self._add(name, told or text, facet, scored)

    def _add(self, name: str, asked: str, facet: int, scored: Iterable[tuple[StoredEntry, float]]) -> None:
        number, count = len(self._strategies), 0
        for stored, score in scored:
            if not _tells(stored):
                continue
            count += 1
            hit = self._hits.setdefault(stored.row, Hit(stored, [0.0] * len(self._plan.facets)))
            hit.scores[facet] = max(hit.scores[facet], score)
            hit.why.append(number)
        self._strategies.append(Strategy(name, asked, facet, count))

    def _settled(self) -> list[Hit]:
        """Every hit with what speaks for and against it."""
        whole = self._whole_by_thread()
        ages = _ages(self._hits.values()) if self._plan.latest else {}
        for hit in self._hits.values():
            light = whole.get(self._threads[hit.stored.session_row], 0.0)
            factor = self._factor(hit) * (OLDEST + (1 - OLDEST) * ages.get(hit.row, 1.0))
            agreeing = AGREE * (len(hit.why) - 1)
            for number, score in enumerate(hit.scores):
                heard = score if not number else score * (APART + (1 - APART) * light)
                hit.scores[number] = (heard + agreeing) * factor if score else 0.0
        return sorted(self._hits.values(), key=_order)

    def _whole_by_thread(self) -> dict[int, float]:
        """How much of the whole description a thread has, in the best thread's terms."""
        best: dict[int, float] = {}
        for hit in self._hits.values():
            thread = self._threads[hit.stored.session_row]
            best[thread] = max(best.get(thread, 0.0), hit.scores[0])
        most = max(best.values(), default=0.0) or 1.0
        return {thread: score / most for thread, score in best.items()}

    def _factor(self, hit: Hit) -> float:
        entry, plan = hit.stored.entry, self._plan
        factor = 1.0
        if plan.projects:
            project = self._search.sessions[hit.stored.session_row].facts.project
            factor *= 1.0 if project in plan.projects else ELSEWHERE
        if plan.window is not None and not plan.window[0] <= entry.time_ms < plan.window[1]:
            factor *= BEFORE
        if entry.kind == Kind.RESULT and not entry.flags & Flag.ERROR:
            factor *= OUTPUT
        return factor


def _tells(stored: StoredEntry) -> bool:
    """Whether an entry is something that was said or done."""
    return stored.entry.kind not in UNSPOKEN and not stored.entry.flags & HIDDEN and has_text(stored)


def _ages(hits: Iterable[Hit]) -> dict[int, float]:
    """Each entry's place between the oldest and the newest that was found, from 0 to 1."""
    ordered = sorted(hits, key=lambda hit: (hit.stored.entry.time_ms, hit.row))
    return {hit.row: n / max(len(ordered) - 1, 1) for n, hit in enumerate(ordered)}


def _order(hit: Hit) -> tuple[float, int]:
    return -round(hit.best, 6), -hit.row

"""Finding entries: gather by words and by meaning, fuse, fold what says the same, show why.

One search is one pass: the query is read, filters and words go to the text index, the
question's vector to the vector index, and both lists of candidates are ranked together. What an
index has not reached yet is not searched, and the results say how much that is.

Filters are evaluated by the text index alone, also for what was found by meaning, so that a
filter can never mean two things.
"""

from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.search import rank as fuse
from recollect.search.by_session import by_session, turn_ends
from recollect.search.candidates import Gathering, Meaning, Passing, Side
from recollect.search.graph.spread import Brought, bring
from recollect.search.mentions import Mentions
from recollect.search.patterns import Patterns
from recollect.search.query import (
    QUERY_CHARS_MAX,
    AllOf,
    Node,
    Word,
    asks_digests,
    is_of_names,
    names_of,
    parse,
    words_of,
)
from recollect.search.session_filters import Sessions
from recollect.search.snippet import WINDOWS, Highlighter, highlighter
from recollect.search.text.index import Found, TextIndex
from recollect.search.text.match import Matcher, patterns
from recollect.search.time_words import is_of_present, window
from recollect.search.weights import CANDIDATES, DENSE_FLOOR, NOT_NEAR_WEIGHT
from recollect.store.contract import Array, View
from recollect.values.errors import EmbedderFailed, UsageError
from recollect.values.hits import Fresh, Hit, Results, SessionHits
from recollect.values.records import Kind
from recollect.values.stored import StoredEntry
from recollect.values.text import many
from recollect.values.vocabulary import FUSIONS, MODES

if TYPE_CHECKING:
    from recollect.search.text.exchanges import ExchangeIndex
    from recollect.search.vectors.given import GivenVectors
    from recollect.search.vectors.index import VectorIndex

_Pointed = tuple[StoredEntry, float]  # an entry that was pointed at, and how much it counts

PATTERN_SECONDS = 2.0  # of a question with regular expressions: to read, to match and to mark
PATTERN_FIND_SHARE, PATTERN_SHARE = 0.85, 0.95  # then marking begins, and then what does not end is ended
PATTERN_ROWS = 16  # read at a time, newest first: however long they are, not much of the time
FOLDED_MAX = 150  # of the best: what comes behind them is not compared
WEIGHT_MAX = 1_000.0
SIMILAR_NAMED = 10
UNREAD = "what {} mention was not looked at yet, only whether they hold the name: recollect index"
BY_MEANING = "no entry has any of these words; these are the nearest by meaning"


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked. `near` and `not_near` are entry ids, with a weight as in "3f2a^2".

    `only` is a filter beside those of the query; `given` a vector (float32 bytes) that is compared with those
    that notes were saved with, in place of what an embedder makes of texts; `plain` takes the query as words
    and nothing else; `by_session` tells of the hits' sessions too; `spread` lifts what mentions things that
    are related, in the graph, to those that the query names.
    """

    query: str = ""
    mode: str = "hybrid"
    limit: int = 10
    offset: int = 0
    plain: bool = False
    near: tuple[str, ...] = ()
    not_near: tuple[str, ...] = ()
    fusion: str = "minmax"
    strategy: str = "auto"
    recency: bool = False
    project_boost: str = ""
    collapse: bool = True
    now: datetime.datetime | None = None
    by_session: bool = False
    only: Node | None = None
    spread: bool = False
    given: bytes = b""

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise UsageError(f"there is no mode {self.mode!r}", hint=f"one of {', '.join(MODES)}")
        if self.fusion not in FUSIONS:
            raise UsageError(f"there is no fusion {self.fusion!r}", hint=f"one of {', '.join(FUSIONS)}")
        if self.mode == "text" and (self.near or self.not_near or self.given):
            raise UsageError("near, not_near and a vector compare meaning, which mode text leaves out")
        if self.limit < 0 or self.offset < 0:
            raise UsageError("limit and offset count from 0")
        if len(self.query) > QUERY_CHARS_MAX:
            raise UsageError(f"the query is longer than {QUERY_CHARS_MAX:,} characters")


class Search:
    """One state of a store and its indexes, ready to be asked."""

    def __init__(
        self,
        view: View,
        text: TextIndex,
        sessions: Sessions,
        vectors: VectorIndex | None = None,
        *,
        mentions: Mentions,
        passing: Passing,
        fresh: Fresh,
        exchanges: ExchangeIndex | None = None,
        given: GivenVectors | None = None,
    ) -> None:
        self._view, self._text, self._sessions, self._mentions = view, text, sessions, mentions
        self._vectors, self._passing, self._fresh = vectors, passing, fresh
        self._given = given
        self._matcher, self._exchanges = Matcher(text, sessions, mentions), None
        if exchanges is not None:
            self._exchanges = Side(exchanges, Matcher(exchanges, sessions, mentions))

    def run(self, request: Request) -> Results:
        """The answer to one request."""
        started = time.monotonic()
        # A local time without a zone: so that a date in summer means summer time, whatever it is now.
        now = request.now or datetime.datetime.now()
        node = AllOf(tuple(map(Word, request.query.split()))) if request.plain else parse(request.query, now)
        words, chosen = list(words_of(node)), bool(request.near or request.not_near or request.given)
        if node == AllOf(()) and not chosen:
            raise UsageError("nothing to search for", hint="give a word, a filter, or --near ID")
        node = node if request.only is None else _both(node, request.only)
        with contextlib.closing(Patterns(patterns(node))) as wanted:
            if wanted:
                listed = self._by_pattern(node, wanted, request, started)
            elif request.given and request.mode == "vector":
                listed = self._by_vector(node, request)
            elif words or chosen:
                listed = self._by_rank(node, " ".join(words), request, now)
            else:
                listed = self._newest(node, request)
            found = time.monotonic()
            marks = partial(wanted.marks, deadline=started + PATTERN_SHARE * PATTERN_SECONDS)
            shown = [*words, *names_of(node)]
            showing = highlighter(shown, self._text.analyze, marks if wanted.have_marks else None)
            hits, sessions = self._present(listed, words, request, showing)
        spent = {"find": found - started, "show": time.monotonic() - found}
        spent = {name: round(seconds * 1000, 2) for name, seconds in spent.items()}
        explain = {"mode": request.mode, **listed.explain, "ms": spent}
        notes = listed.notes if hits else tuple(note for note in listed.notes if note != BY_MEANING)
        if is_of_names(node) and (unread := self._mentions.unread):
            notes += (UNREAD.format(many(unread, "entry", "entries")),)
        notes += self._undigested() if asks_digests(node) else ()
        return Results(hits, listed.total, self._fresh, notes, explain, sessions)

    def _undigested(self) -> tuple[str, ...]:
        """What a filter on digests could not look at."""
        count = self._sessions.undigested()
        left_out = f"{many(count, 'conversation')} without a digest yet cannot be found so"
        return (f"{left_out}; `recollect index` makes digests",) if count else ()

    @property
    def view(self) -> View:
        return self._view

    @property
    def text(self) -> TextIndex:
        return self._text

    @property
    def sessions(self) -> Sessions:
        return self._sessions

    @property
    def mentions(self) -> Mentions:
        return self._mentions

    def nearness(self, words: str, texts: Sequence[str]) -> list[float]:
        """How near texts are to some words by meaning, from -1 to 1; 0 where nothing can tell."""
        if self._vectors is None or not texts:
            return [0.0] * len(texts)
        embedder = self._vectors.embedder
        try:
            near = embedder.encode(texts) @ embedder.encode_query(words, self._text.idf)
        except EmbedderFailed:
            return [0.0] * len(texts)
        return [float(each) for each in near]

    def cosines(self, text: str, count: int) -> list[float]:
        """How near the nearest entries are to a text by meaning, -1 to 1; none where nobody can tell."""
        if self._vectors is None or not text.strip():
            return []
        try:
            (vector,) = self._vectors.embedder.encode([text])
        except EmbedderFailed:
            return []
        return [float(each) for each in self._vectors.nearest(vector, count)[1]]

    def rows(self, node: Node, limit: int) -> Array:
        """The entries that satisfy a query, the newest first."""
        return self._text.newest(self._matcher.ranked(node), limit).rows

    # -- three ways to find ------------------------------------------------------------------

    def _newest(self, node: Node, request: Request) -> _Listed:
        """Filters alone: what satisfies them, the newest first."""
        query = self._matcher.ranked(node)
        found = self._text.newest(query, _depth(request))
        return _Listed(found, found.scores, self._text.count(query))

    def _by_pattern(self, node: Node, wanted: Patterns, request: Request, started: float) -> _Listed:
        """Read texts, the newest first, until there are enough or the time is up."""
        enough, deadline = _depth(request), started + PATTERN_FIND_SHARE * PATTERN_SECONDS
        every = self._text.newest(self._matcher.ranked(node), self._text.rows)
        fitting, read = _matching(self._view, every.rows.tolist(), wanted, enough, deadline)
        notes: tuple[str, ...] = ()
        if read < len(every) and len(fitting) < enough:
            reached = f"{read:,} of {len(every):,} entries were read in {PATTERN_SECONDS:.0f} s"
            notes = (f"only the newest {reached}; narrow it down with a word or a filter",)
        found = every.taken(np.array(fitting, np.int64))
        total = len(found) if read == len(every) else -1
        return _Listed(found, found.scores, total, notes, {"read": read})

    def _by_rank(self, node: Node, words: str, request: Request, now: datetime.datetime) -> _Listed:
        """Both lists of candidates, ranked as one."""
        near, not_near = list(map(self._entry, request.near)), list(map(self._entry, request.not_near))
        meaning, notes = self._meaning(words, near, not_near, request)
        gathering = Gathering(
            Side(self._text, self._matcher),
            self._exchanges if request.mode != "text" else None,  # whose hits hold the words themselves
            self._passing,
            node,
            by_words=request.mode != "vector" and bool(words),
            meaning=meaning,
        )
        gathering.run()
        brought = bring(self._view, words, self._holding) if request.spread else Brought({}, {})
        gathering.include(list(brought.rows))
        if meaning is not None and gathering.explain.get("text") == 0:
            notes = (*notes, BY_MEANING)
        options = self._options(node, words, request, now)
        found, candidates = gathering.found(), gathering.candidates()
        if brought.rows:
            spread = np.array([brought.rows.get(row, 0.0) for row in found.rows.tolist()])
            candidates = replace(candidates, spread=spread)
        if options.present:
            own = ~np.isin(found.sessions, self._sessions.imported())
            candidates = replace(candidates, alike=gathering.alike(candidates, own))
        ranking = fuse.rank(candidates, options)
        pointed = np.array([stored.row for stored, _ in (*near, *not_near)], np.int64)
        # What only stands beside hits lifts them, and is none itself.
        own = ranking.parts["text"] + ranking.parts["dense"] + ranking.parts.get("spread", 0.0) > 0
        order = ranking.order[(own & ~np.isin(found.rows, pointed))[ranking.order]]
        best = found.taken(order)
        groups = _groups(best, request)
        enough = len(groups) >= request.offset + request.limit
        missing = 0 if enough else _depth(request) - len(best)
        rest = gathering.rest(missing, np.append(best.rows, pointed))
        total = self._text.count(self._matcher.ranked(node)) if request.mode == "text" else -1
        nothing = np.zeros(len(rest))
        parts = {name: np.append(values[order], nothing) for name, values in ranking.parts.items()}
        explain = {"candidates": len(found), **gathering.explain, **ranking.explain}
        if request.spread:
            explain["brought"] = dict(brought.names)
        scores = np.append(ranking.scores[order], nothing)
        groups = groups if not len(rest) else []
        return _Listed(Found.joined([best, rest]), scores, total, notes, explain, parts, groups=groups)

    def _holding(self, name: str, count: int) -> Array:
        """The rows of some entries that hold a name."""
        return self._text.newest(self._matcher.phrase(name), count).rows

    def _by_vector(self, node: Node, request: Request) -> _Listed:
        """A caller's vector alone: the nearest of those that were given, by nothing else."""
        meaning, notes = self._meaning("", [], [], request)
        assert meaning is not None, "a search by a vector that was given no vectors"
        words = Side(self._text, self._matcher)
        gathering = Gathering(words, None, self._passing, node, by_words=False, meaning=meaning)
        gathering.run(max(_depth(request), CANDIDATES))
        found = gathering.found()
        near = np.nan_to_num(meaning.vectors.scores(meaning.vector, found.rows), nan=-np.inf)
        order = np.lexsort((-found.rows, -near))
        order = order[np.isfinite(near[order])]
        return _Listed(found.taken(order), near[order], -1, notes, gathering.explain, {"dense": near[order]})

    def _options(self, node: Node, words: str, request: Request, now: datetime.datetime) -> fuse.Options:
        boosted = self._sessions.where("project", request.project_boost) if request.project_boost else []
        return fuse.Options(
            mode=request.mode,
            fusion=request.fusion,
            now_ms=int(now.timestamp() * 1000),
            recency=request.recency,
            boosted_sessions=tuple(boosted),
            window=window(words, now.astimezone()),
            present=is_of_present(words),
            text_max=self._matcher.ceiling(node),
            dense_floor=0.0 if request.given else DENSE_FLOOR,
        )

    # -- meaning -----------------------------------------------------------------------------

    def _meaning(
        self, words: str, near: list[_Pointed], not_near: list[_Pointed], request: Request
    ) -> tuple[Meaning | None, tuple[str, ...]]:
        """What to be near to, if meaning takes part; and why it does not where it should."""
        if request.given and self._given is not None:
            from recollect.search.embed.contract import unit_rows

            (unit,) = unit_rows(np.frombuffer(request.given, "<f4")[np.newaxis])
            return Meaning(self._given, unit, request.strategy), ()
        try:
            vector = self._question(words, near, not_near) if request.mode != "text" else None
        except EmbedderFailed as error:
            if request.mode == "vector" or not words:
                raise
            return None, (f"found by words alone: {error}",)
        if vector is not None and self._vectors is not None:
            return Meaning(self._vectors, vector, request.strategy), ()
        if request.mode == "text" or (words and request.mode == "hybrid"):
            return None, ()
        return None, ("there is no vector for this: unknown words, or an entry that is not embedded",)

    def _question(self, words: str, near: list[_Pointed], not_near: list[_Pointed]) -> Array | None:
        """The vector to search with: the words', and what was pointed at, minus what was not to be near."""
        if self._vectors is None:
            return None
        vector = np.zeros(self._vectors.embedder.dims, np.float32)
        if words:
            vector += self._vectors.embedder.encode_query(words, self._text.idf)
        for sign, pointed in ((1.0, near), (-NOT_NEAR_WEIGHT, not_near)):
            for stored, weight in pointed:
                vector += sign * weight * self._vectors.vector(stored.row)
        length = float(np.linalg.norm(vector))
        return vector / length if length > 1e-6 else None

    def _entry(self, chosen: str) -> _Pointed:
        """An entry by its id, with the weight that may follow it."""
        id_, _, said = chosen.partition("^")
        try:
            weight = float(said or 1)
        except ValueError:
            weight = 0.0
        if not 0 < weight <= WEIGHT_MAX:
            raise UsageError(
                f"{chosen!r}: a weight is above 0 and at most {WEIGHT_MAX:,.0f}", hint="as in 3f2a^2"
            )
        return self._view.find_entry(id_), weight

    # -- what is shown -----------------------------------------------------------------------

    def _present(
        self, listed: _Listed, words: list[str], request: Request, showing: Highlighter
    ) -> tuple[list[Hit], list[SessionHits]]:
        """The hits of one page, and if asked their sessions; only what is shown is read from the store."""
        groups = listed.groups or _groups(listed.found, request)
        page = groups[request.offset : request.offset + request.limit]
        rows, leading = listed.found.rows, _leading(listed.found, page) if request.by_session else {}
        ends = {session: turn_ends(self._view, session, row) for session, row in leading.items()}
        shown = [int(rows[group[0]]) for group in page]
        around = [row for pair in ends.values() for row in pair if row >= 0]
        stored = {each.row: each for each in self._view.entries_at([*shown, *around])}
        best = set(leading.values())
        hits = [
            Hit(
                stored[row],
                self._sessions[stored[row].session_row],
                float(listed.scores[first]),
                showing.snippet(stored[row].entry, count=WINDOWS + (row in best)),
                {name: float(values[first]) for name, values in listed.parts.items()},
                tuple(self._view.entry_ids([int(rows[n]) for n in others[:SIMILAR_NAMED]])),
                len(others),
            )
            for row, (first, *others) in zip(shown, page, strict=True)
        ]
        return hits, by_session(hits, ends, stored, showing, self._text.weight)


@dataclass(frozen=True, slots=True)
class _Listed:
    """Rows in the order they are to be shown; `groups` where they were folded already."""

    found: Found
    scores: Array
    total: int
    notes: tuple[str, ...] = ()
    explain: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, Array] = field(default_factory=dict)
    groups: list[list[int]] = field(default_factory=list)


def _both(node: Node, other: Node) -> AllOf:
    return AllOf((*(node.nodes if isinstance(node, AllOf) else (node,)), other))


def _groups(found: Found, request: Request) -> list[list[int]]:
    """What is shown as one hit: the leading position first, then those folded into it."""
    return _fold(found) if request.collapse else [[n] for n in range(len(found))]


def _leading(found: Found, page: list[list[int]]) -> dict[int, int]:
    """The sessions of a page, best first, each with the row of its first hit."""
    leading: dict[int, int] = {}
    for first, *_ in page:
        leading.setdefault(int(found.sessions[first]), int(found.rows[first]))
    return leading


def _depth(request: Request) -> int:
    """How many hits to have: as many as some can fold into others more than the page needs.

    So every page comes out of the same list, only cut elsewhere.
    """
    shown = request.offset + request.limit
    return shown + FOLDED_MAX if request.collapse else shown


def _fold(found: Found) -> list[list[int]]:
    """Hits that say the same, or stand next to each other, under the best of them.

    A note has nothing to do with the one that was saved before it.
    """
    groups: list[list[int]] = []
    leader: dict[object, int] = {}
    columns = (found.rows, found.sessions, found.gists, found.kinds)
    told = zip(*(column[:FOLDED_MAX].tolist() for column in columns), strict=True)
    for n, (row, session, gist, kind) in enumerate(told):
        group = leader.get((session, row), leader.get(gist) if gist else None)
        if group is None:
            group = len(groups)
            groups.append([])
            if kind != Kind.NOTE:
                leader.setdefault((session, row - 1), group)
                leader.setdefault((session, row + 1), group)
        groups[group].append(n)
        leader.setdefault((session, row), group)
        if gist:
            leader.setdefault(gist, group)
    return groups + [[n] for n in range(FOLDED_MAX, len(found))]


def _matching(
    view: View, rows: list[int], wanted: Patterns, enough: int, deadline: float
) -> tuple[list[int], int]:
    """Which of the rows have a text that fits every pattern, and how many were read until enough did."""
    found: list[int] = []
    for at in range(0, len(rows), PATTERN_ROWS):
        if time.monotonic() >= deadline:
            return found, at
        for n, stored in enumerate(view.entries_at(rows[at : at + PATTERN_ROWS]), at):
            try:
                if wanted.fit(stored.entry.text, deadline):
                    found.append(n)
            except TimeoutError:
                return found, n
            if len(found) >= enough:
                return found, n + 1
    return found, len(rows)

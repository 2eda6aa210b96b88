"""The third pass: each hit becomes part of an exchange that stands alone.

An exchange is one turn: its *core*, what was asked and what it came to, and *extras* that may join
it: the hits themselves, a call always with its result; what was changed; an error with all that
led to the run that worked; what was said in between. A prompt that only answers ("the second one")
brings the turn it answers, and a turn that ends in a question brings the reply: so decisions
stay whole.

Of several looks at one file only the newest is an extra, wherever it happened.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from recollect.export.neutral import neutral_entry
from recollect.insight.turns import UNSPOKEN, Key, Turns
from recollect.recall.assemble.files import file_key, is_change, is_read
from recollect.recall.assemble.fixes import fixes, pairs_of, size_of
from recollect.recall.assemble.gather import Hit
from recollect.recall.excerpt import has_text
from recollect.values.records import Entry, Kind

if TYPE_CHECKING:
    from recollect.search.run import Search
    from recollect.values.stored import StoredEntry

EXCHANGES_MIN, EXCHANGES_MAX = 24, 160
EXCHANGE_TOKENS = 350  # of the budget, for each exchange that is looked at
SHARE_MIN = 0.4  # of the best exchange's score: what is further behind would only fill
FOCUS = 2.0  # power of that share: scores of what fits and what does not lie close together
MORE_HITS = 0.2  # of its score, what another hit adds to an exchange
BESIDE = 0.8  # of its score, that a turn passes to the one it answers, or that answers it
BESIDE_TURNS = 2
NEAR_ENTRIES, LAST_ENTRIES = 14, 6  # of a turn that are read: around its hits, and its end
REPLY_CHARS = 200
FIXED = "fix"

CORE, CHANGE, SAID, TRIED = 0.7, 0.7, 0.65, 0.5  # of the exchange's score, what its parts are worth at least
FIX_SHARE = 0.6  # of the budget: a way from an error to its end that takes more may be told in parts
FIX = 0.8  # of what its parts are worth, for all of them together

_REPLY = re.compile(
    r"\W*(?:yes|yep|no|ok|okay|sure|fine|good|great|right|do|go|then|that|this|these|those|it|both|neither|"
    r"all|first|second|third|option|the (?:first|second|third|other|latter|former)|take|use|keep|drop|so|"
    r"instead|actually|undo|revert|and|but|also|what (?:about|if|happens)|why|agreed|same)\b",
    re.IGNORECASE,
)
_OFFER = re.compile(
    r"\?\s*$|^\s*2[.)]|\b(?:i would|i'd|i can|i could|we could|you could|shall i|should i|either|two ways)\b",
    re.IGNORECASE | re.MULTILINE,
)
_TAKEN_BACK = re.compile(r"\W*(?:no|actually|undo|revert|instead|but|wait|stop|not)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Extra:
    """Entries that join an exchange together or not at all, and what they are worth to each facet."""

    rows: tuple[int, ...]
    worth: tuple[float, ...]
    role: str


@dataclass(slots=True)
class Exchange:
    """One turn that may be told, and how well it fits each facet."""

    key: Key
    scores: list[float]
    hits: list[Hit] = field(default_factory=list)
    core: tuple[int, ...] = ()
    core_worth: tuple[float, ...] = ()
    extras: list[Extra] = field(default_factory=list)

    @property
    def best(self) -> float:
        return max(self.scores)


@dataclass(frozen=True, slots=True)
class Expanded:
    """Exchanges, best first, and every entry that is in one."""

    exchanges: list[Exchange]
    stored: dict[int, StoredEntry]
    turns: Turns


def expand(search: Search, hits: Sequence[Hit], budget_tokens: int) -> Expanded:
    """The exchanges that hits stand in, as many as a budget could use."""
    turns = Turns(search.view, silent=UNSPOKEN)
    found = _grouped(turns, hits)
    _measure(found.values())
    count = min(max(budget_tokens // EXCHANGE_TOKENS, EXCHANGES_MIN), EXCHANGES_MAX)
    exchanges = {each.key: each for each in _best(found.values(), count)}
    stored = _read(search, turns, exchanges)
    _beside(turns, exchanges, stored)
    chosen = _best(exchanges.values(), count)
    for exchange in chosen:
        entries = [stored[row] for row in turns.rows(exchange.key) if row in stored]
        _fill(exchange, entries, int(budget_tokens * FIX_SHARE))
    _only_newest(search, chosen, stored)
    return Expanded([each for each in chosen if each.core or each.extras], stored, turns)


def _best(exchanges: Iterable[Exchange], count: int) -> list[Exchange]:
    """The best of them, none far behind the best."""
    fitting = [each for each in exchanges if each.best >= SHARE_MIN**FOCUS]
    return sorted(fitting, key=lambda each: (-round(each.best, 6), each.key))[:count]


def _grouped(turns: Turns, hits: Sequence[Hit]) -> dict[Key, Exchange]:
    """Hits by the turn they are part of; each hit beyond the best adds a little."""
    found: dict[Key, Exchange] = {}
    for hit in hits:
        key = turns.of(hit.stored)
        found.setdefault(key, Exchange(key, [])).hits.append(hit)
    for exchange in found.values():
        exchange.scores = _together(exchange.hits)
    return found


def _together(hits: Sequence[Hit]) -> list[float]:
    """What hits score together, facet by facet: each beyond the best adds a little."""
    columns = (sorted(column, reverse=True) for column in zip(*(hit.scores for hit in hits), strict=True))
    return [best + MORE_HITS * sum(others[:3]) for best, *others in columns]


def _measure(exchanges: Collection[Exchange]) -> None:
    """Bring scores to shares of the best of each facet: facets are equals, whatever their words weigh."""
    columns = zip(*(each.scores for each in exchanges), strict=True)
    bests = [max(column) or 1.0 for column in columns]
    for exchange in exchanges:
        exchange.scores = _shares(exchange.scores, bests)
        for hit in exchange.hits:
            hit.scores = _shares(hit.scores, bests)


def _shares(scores: Sequence[float], bests: Sequence[float]) -> list[float]:
    return [(score / best) ** FOCUS for score, best in zip(scores, bests, strict=True)]


def _read(search: Search, turns: Turns, exchanges: dict[Key, Exchange]) -> dict[int, StoredEntry]:
    """The entries of turns that matter, and how the turns beside them begin and end."""
    wanted: set[int] = set()
    for key, exchange in exchanges.items():
        session, turn = key
        hits = {hit.row for hit in exchange.hits}
        for each in range(turn - BESIDE_TURNS, turn + BESIDE_TURNS + 1):
            mattering = _mattering(turns.rows((session, each)), hits if each == turn else set())
            wanted |= turns[session].with_halves(mattering, each)
    # A result without text still answers its call.
    entries = map(neutral_entry, search.view.entries_at(sorted(wanted)))  # as they will be told
    return {each.row: each for each in entries if has_text(each) or each.entry.kind == Kind.RESULT}


def _mattering(rows: list[int], hits: set[int]) -> set[int]:
    places = {n for n, row in enumerate(rows) if row in hits}
    near = {n for at in places for n in range(at - NEAR_ENTRIES, at + NEAR_ENTRIES + 1)}
    ends = {0, *range(len(rows) - LAST_ENTRIES, len(rows))}
    return {rows[n] for n in near | ends if 0 <= n < len(rows)}


# -- what answers what ---------------------------------------------------------------------------


def _beside(turns: Turns, exchanges: dict[Key, Exchange], stored: dict[int, StoredEntry]) -> None:
    """Let a turn lift those it is one decision with, which need not have been found themselves."""
    for key, exchange in sorted(exchanges.items()):
        for step in (-1, 1):
            scores, at = list(exchange.scores), key
            for _ in range(BESIDE_TURNS):
                other = (at[0], at[1] + step)
                earlier, later = (other, at) if step < 0 else (at, other)
                if not _answers(turns, stored, earlier, later, _REPLY if step < 0 else _TAKEN_BACK):
                    break
                scores = [score * BESIDE for score in scores]
                known = exchanges.setdefault(other, Exchange(other, scores))
                known.scores = list(_most([known.scores, scores]))
                at = other


def _answers(
    turns: Turns, stored: dict[int, StoredEntry], earlier: Key, later: Key, reply: re.Pattern[str]
) -> bool:
    """Whether a turn begins with a reply to what the one before it ended with."""
    before, after = turns.rows(earlier), turns.rows(later)
    prompt = stored.get(after[0]) if after else None
    if prompt is None or not prompt.entry.is_said or len(prompt.entry.text) > REPLY_CHARS:
        return False
    if reply.match(prompt.entry.text):
        return True
    entries = (stored[row].entry for row in reversed(before) if row in stored)
    said = next((entry.text for entry in entries if entry.kind == Kind.ANSWER), "")
    return bool(_OFFER.search(said))


# -- what an exchange is made of -----------------------------------------------------------------


def _fill(exchange: Exchange, entries: list[StoredEntry], room: int) -> None:
    """Tell core and extras apart."""
    pairs = pairs_of(entries)
    answers = [each.row for each in entries if each.entry.kind == Kind.ANSWER]
    prompt = [each.row for each in entries[:1] if _asks(each.entry)]
    core = (*prompt, *answers[-1:])
    if not core and exchange.hits:
        core = pairs[exchange.hits[0].row]
    exchange.core = tuple(dict.fromkeys(core))
    found = {hit.row: hit for hit in exchange.hits}
    own = [found[row].scores for row in exchange.core if row in found]
    exchange.core_worth = _most([*own, _part(exchange, CORE)])
    exchange.extras = list(_extras(exchange, entries, pairs, answers[:-1], room))


def _asks(entry: Entry) -> bool:
    return entry.kind == Kind.SUMMARY or entry.is_said


def _extras(
    exchange: Exchange,
    entries: list[StoredEntry],
    pairs: dict[int, tuple[int, ...]],
    answers: list[int],
    room: int,
) -> Iterator[Extra]:
    """What may join the core: the way from an error to its end whole, if there is room; all else alone."""
    units = {pairs[row]: Extra((row,), _part(exchange, SAID), "said") for row in answers}
    for each in entries:
        if is_change(each.entry):
            units[pairs[each.row]] = Extra(pairs[each.row], _part(exchange, CHANGE), "change")
    for hit in exchange.hits:
        rows = pairs[hit.row]
        known = units.get(rows, Extra(rows, tuple(hit.scores), "hit"))
        units[rows] = Extra(rows, _most([known.worth, hit.scores]), "hit")
    bound: set[int] = set(exchange.core)
    for rows in fixes(entries, pairs):
        tried = _part(exchange, TRIED)
        parts = [units.get(pair, Extra(pair, tried, "tried")) for pair in _units(rows, pairs)]
        worth = tuple(FIX * sum(column) for column in zip(*(part.worth for part in parts), strict=True))
        yield Extra(rows, worth, FIXED)
        bound |= set(rows) if size_of(rows, entries) <= room else set()
    yield from (unit for unit in units.values() if not set(unit.rows) <= bound)


def _units(rows: Sequence[int], pairs: dict[int, tuple[int, ...]]) -> list[tuple[int, ...]]:
    return list(dict.fromkeys(pairs[row] for row in rows))


def _part(exchange: Exchange, share: float) -> tuple[float, ...]:
    return tuple(score * share for score in exchange.scores)


def _most(scores: Iterable[Sequence[float]]) -> tuple[float, ...]:
    return tuple(max(column) for column in zip(*scores, strict=True))


def _only_newest(search: Search, exchanges: list[Exchange], stored: dict[int, StoredEntry]) -> None:
    """Drop every look at a file that another one comes after: rows grow as logs come in, not by time."""
    last: dict[tuple[str, str], StoredEntry] = {}
    rows = sorted({row for exchange in exchanges for extra in exchange.extras for row in extra.rows})
    looks = sorted((stored[row] for row in rows if is_read(stored[row].entry)), key=_moment)
    for look in looks:
        last[file_key(search, look)] = look
    old = {look.row for look in looks} - {look.row for look in last.values()}
    for exchange in exchanges:
        exchange.extras = [extra for extra in exchange.extras if old.isdisjoint(extra.rows)]


def _moment(stored: StoredEntry) -> tuple[int, int]:
    return stored.entry.time_ms, stored.row

"""What the memory says about a question, for a person: the few sentences that say most of it.

Sentences are taken from what was said in the best exchanges: prompts, answers, and results that are errors
and hits themselves. One counts by how well its entry and its exchange fit the question, by the question's
rare words in it and beside it, by its meaning, and by the numbers, paths and names it has. After the first,
one that says the same again counts less than one that adds to it.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.insight.turns import Turns
from recollect.recall.blocks import Block, blocks_of
from recollect.recall.found import found
from recollect.search.sentences import is_narration, sentences
from recollect.search.snippet import Highlighter, highlighter
from recollect.values.recalled import Brief, Said
from recollect.values.records import Flag, Kind
from recollect.values.stored import StoredEntry
from recollect.values.text import one_line

if TYPE_CHECKING:
    from recollect.search.run import Search

SENTENCES = 3
BLOCKS_READ = 6
HITS_TOKENS = 4_000  # as many hits are looked at as a wall of this size has
SHORT_CHARS = 80  # a sentence shorter than that goes on with the next one of its line
SENTENCE_CHARS = 400  # with what it goes on with
LONG_CHARS = 600  # is no sentence, but a dump in one line
COMPARED = 100  # by meaning
# What a sentence counts by, measured by benchmarks.realq.
HIT, BLOCK, CLOSING = 1.5, 0.5, 0.2
WORDS, BESIDE, MEANING, EXACT = 0.5, 0.15, 0.4, 0.3
NARRATION, QUESTION, SEEN = -1.0, -0.3, 0.4

_SAID = (Kind.PROMPT, Kind.ANSWER, Kind.SUMMARY, Kind.NOTE)  # a thought may be wrong, and was told to nobody
_EXACT = re.compile(r"`[^`]+`|\d|/\w|\w_\w|[a-z][A-Z]|\*\*")


@dataclass(slots=True)
class _Sentence:
    entry: StoredEntry
    text: str
    words: set[str]
    beside: set[str]
    fit: float  # of its entry and its block
    score: float = 0.0


def brief(
    search: Search,
    terms: Sequence[str],
    question: str,
    *,
    project: str = "",
    strict_project: str = "",
    now: datetime.datetime | None = None,
) -> Brief:
    """The sentences that say most about a question, best first: three at most."""
    hits, fresh, notes = found(search, terms, question, HITS_TOKENS, project, strict_project, now)
    turns = Turns(search.view)
    blocks = blocks_of(turns, hits)[:BLOCKS_READ]
    asked = [*question.split(), *terms]
    told = list(_told(search, turns, blocks, highlighter(asked, search.text.analyze)))
    weights = {word: search.text.weight(word) for each in told for word in each.words | each.beside}
    whole = sum(weights.values()) or 1.0
    shares = {word: weight / whole for word, weight in weights.items()}
    for each in told:
        each.score = each.fit + _worth(each, shares)
    told = sorted(told, key=lambda each: -each.score)[:COMPARED]
    for each, near in zip(told, search.nearness(" ".join(asked), [each.text for each in told]), strict=True):
        each.score += MEANING * near
    sessions = {block.session_row: block.session for block in blocks}
    said = [
        Said(each.entry, sessions[each.entry.session_row], one_line(each.text))
        for each in _chosen(told, shares)
    ]
    return Brief(tuple(said), len(hits), fresh, notes)


def _told(search: Search, turns: Turns, blocks: Sequence[Block], showing: Highlighter) -> Iterator[_Sentence]:
    """Every sentence of what was said in some blocks, each entry once."""
    seen: set[int] = set()
    best_block = max((block.score for block in blocks), default=1.0)
    best_hit = max((hit.score for block in blocks for hit in block.hits), default=1.0)
    for block in blocks:
        scores = {hit.stored.row: hit.score for hit in block.hits}
        closing = set(turns[block.session_row].closing_answers())
        rows = sorted((block.rows | block.prompts) - seen)
        seen.update(rows)
        for stored in search.view.entries_at(rows):
            if _is_said(stored, is_hit=stored.row in scores):
                fit = HIT * scores.get(stored.row, 0.0) / best_hit + BLOCK * block.score / best_block
                yield from _of_entry(stored, fit + CLOSING * (stored.row in closing), showing)


def _is_said(stored: StoredEntry, *, is_hit: bool) -> bool:
    entry = stored.entry
    return entry.kind in _SAID or (is_hit and entry.kind == Kind.RESULT and bool(entry.flags & Flag.ERROR))


def _of_entry(stored: StoredEntry, fit: float, showing: Highlighter) -> Iterator[_Sentence]:
    texts = list(_whole(stored.entry.text))
    words = [set[str](), *map(showing.words_in, texts), set[str]()]
    for n, text in enumerate(texts):
        if len(text) <= LONG_CHARS:
            yield _Sentence(stored, text, words[n + 1], (words[n] | words[n + 2]) - words[n + 1], fit)


def _whole(text: str) -> Iterator[str]:
    """Sentences that stand alone: with what follows a colon, and with the next where one is short."""
    said, n = sentences(text, code=True), 0
    while n < len(said):
        whole, line = said[n]
        n += 1
        while n < len(said) and len(whole) + len(said[n].text) < SENTENCE_CHARS:
            if not whole.endswith(":") and not (said[n].line == line and len(whole) < SHORT_CHARS):
                break
            whole = f"{whole} {said[n].text}"
            n += 1
        yield whole


def _worth(each: _Sentence, shares: dict[str, float]) -> float:
    words = WORDS * _share(each.words, shares) + BESIDE * _share(each.beside, shares)
    tells = EXACT * bool(_EXACT.search(each.text)) + NARRATION * is_narration(each.text)
    return words + tells + QUESTION * each.text.endswith(("?", "？"))


def _share(words: set[str], shares: dict[str, float]) -> float:
    return sum(shares[word] for word in words)


def _chosen(told: Sequence[_Sentence], shares: dict[str, float]) -> list[_Sentence]:
    """The best, then those that add most to it; the same text once."""
    chosen: list[_Sentence] = []
    seen: set[str] = set()
    left = list(told)
    while left and len(chosen) < SENTENCES:
        best = max(left, key=lambda each: each.score - SEEN * WORDS * _share(each.words & seen, shares))
        chosen.append(best)
        seen |= best.words
        left = [each for each in left if each.text != best.text]
    return chosen

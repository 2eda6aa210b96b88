"""Sessions by what their digests say: kept texts are read through, so there is no index that could be behind.

A text has about two kilobytes: 800 of them are read and counted in 40 ms. Words rank as
BM25 has it, each cut to its stem and counted wherever it stands; one in the title counts once more.
Digests in the ranking of entries put the right conversation first less often (docs/digests.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from recollect.insight.digest.kept import Digests
from recollect.light.sources import is_conversation
from recollect.search.query import AllOf, AnyOf, Between, Is, Node, Not, Phrase, Regex, Word, words_of
from recollect.search.session_filters import SESSION_FIELDS, Sessions
from recollect.search.text.fields import is_grammar
from recollect.values.digests import DigestHit, DigestsFound
from recollect.values.errors import UsageError
from recollect.values.stop_words import STOP_WORDS
from recollect.values.stored import Session

TERMS_MAX = 64
BM25_K, BM25_B = 1.2, 0.5  # as `benchmarks.realq` found the right session most often
TITLE_WEIGHT = 1.0
_STEM_CHARS = 4  # that are left of a word at least
_ENDINGS = ("ing", "ied", "ies", "ed", "es", "s", "e", "y")


def lookup(sessions: Sessions, digests: Digests, node: Node, limit: int) -> DigestsFound:
    """The digests that have most of a query's words; without words the newest that pass its filters."""
    terms = terms_of(" ".join(words_of(node)))[:TERMS_MAX]
    known = _Known(sessions, digests)
    passing = [each for each in known.all() if known.passes(node, each)]
    told = [digests.words[row] for _, row in passing]
    scores = _scores(terms, [text for text, _ in told], [title for _, title in told])
    found = [
        (score, session)
        for score, (session, _) in zip(scores, passing, strict=True)
        if score or not list(words_of(node))
    ]
    found.sort(key=lambda each: (-each[0], -each[1].facts.ended_ms, each[1].facts.id))
    hits = tuple(DigestHit(session, digests.of(session), score) for score, session in found[:limit])
    return DigestsFound(hits, len(found), sessions.undigested(), tuple(terms))


def terms_of(text: str) -> list[str]:
    """What is looked for of some words, each once: stems; of Chinese and Japanese pairs of characters."""
    found: list[str] = []
    for word in _WORD.findall(text.casefold()):
        if _UNSPACED.match(word):
            pairs = (word[at : at + 2] for at in range(max(len(word) - 1, 1)))
            found += [pair for pair in pairs if not _PARTICLES.fullmatch(pair)]
        elif word not in STOP_WORDS and not is_grammar(word):
            found.append(_stem(word))
    return list(dict.fromkeys(found))


class _Known:
    """The sessions whose digest is kept, with its text as it is looked through."""

    def __init__(self, sessions: Sessions, digests: Digests) -> None:
        self._sessions, self._digests = sessions, digests
        self._named: dict[Is, frozenset[str]] = {}

    def all(self) -> Iterator[tuple[Session, int]]:
        for session in self._sessions:
            row = self._digests.row_of(session)
            if row is not None and is_conversation(session.facts.agent) and not session.copied:
                yield session, row

    def passes(self, node: Node, each: tuple[Session, int]) -> bool:
        """Whether a digest is what a query asks for; words that only rank are no filter."""
        if isinstance(node, AllOf):
            return all(isinstance(part, Word) or self.passes(part, each) for part in node.nodes)
        return isinstance(node, Word) or self._fits(node, each)

    def _fits(self, node: Node, each: tuple[Session, int]) -> bool:
        session, row = each
        if isinstance(node, Word | Phrase):
            words = (
                terms_of(node.text) if isinstance(node, Word) else [" ".join(node.text.casefold().split())]
            )
            return all(word in self._digests.words[row][0] for word in words)
        if isinstance(node, AllOf | AnyOf):
            return (all if isinstance(node, AllOf) else any)(self._fits(part, each) for part in node.nodes)
        if isinstance(node, Not):
            return not self._fits(node.node, each)
        if isinstance(node, Between):
            return node.from_ms <= session.facts.ended_ms and 0 < session.facts.started_ms < node.to_ms
        if isinstance(node, Is) and node.field in SESSION_FIELDS:
            return session.facts.id in self._where(node)
        if isinstance(node, Is) and (node.field, node.value) == ("is", "imported"):
            return session.imported
        asked = "/regex/" if isinstance(node, Regex) else f"{node.field}:"
        raise UsageError(
            f"{asked} is asked of entries: `recollect search` does that",
            hint=f"digests are found by words, times and {', '.join(f'{name}:' for name in SESSION_FIELDS)}",
        )

    def _where(self, node: Is) -> frozenset[str]:
        known = self._named.get(node)
        if known is None:
            rows = self._sessions.where(node.field, node.value)
            known = self._named[node] = frozenset(self._sessions[row].facts.id for row in rows)
        return known


def _scores(terms: Sequence[str], texts: Sequence[str], titles: Sequence[str]) -> list[float]:
    """How much of some terms each text has, rare ones counting most."""
    scores = [0.0] * len(texts)
    mean = sum(map(len, texts)) / max(len(texts), 1)
    for term in terms:
        counts = [text.count(term) for text in texts]
        having = sum(map(bool, counts))
        rarity = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
        for n, count in enumerate(counts):
            if count:
                room = BM25_K * (1 - BM25_B + BM25_B * len(texts[n]) / mean)
                told = count * (BM25_K + 1) / (count + room)
                scores[n] += rarity * (told + TITLE_WEIGHT * (term in titles[n]))
    return scores


def _stem(word: str) -> str:
    ending = next((each for each in _ENDINGS if word.endswith(each)), "")
    return word[: -len(ending)] if ending and len(word) - len(ending) >= _STEM_CHARS else word


_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_WORD = re.compile("[\u3040-\u30ff\u3400-\u9fff]+|[^\\W_\u3040-\u30ff\u3400-\u9fff]{2,}")
_PARTICLES = re.compile("[\u3040-\u309f]{2}")

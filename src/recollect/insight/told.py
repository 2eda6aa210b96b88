"""What answers tell of an error: the sentences that say what was wrong, or what ended it.

A sentence tells it if it speaks of a cause or a cure and shares rare words with the error, or names a file
that was changed because of it. What only says what comes next ("Let me check ...") tells nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from recollect.search.sentences import is_narration, quote, sentences
from recollect.values.stop_words import STOP_WORDS
from recollect.values.stored import StoredEntry

ERROR_CHARS = 500  # of an error's text, in which its words are looked for
SHARED_MIN = 0.2  # of the weight of an error's words, for a sentence with a plain word for cause or cure
NAMED_SHARED_MIN = 0.05  # where it also names a file that was changed
HINT_SHARED_MIN = 0.28  # where the word for it means many other things too
RESTATED = 0.9  # a sentence with so much of it says what the error was, not why, nor what ended it
CLOSING_WEIGHT = 0.6  # of standing in the last answer of a turn

Stems = Callable[[str], list[str]]
Rarity = Callable[[str], float]


@dataclass(frozen=True, slots=True)
class Told:
    """An answer, the sentences of it that say most, and whether they say what was wrong."""

    answer: StoredEntry
    quote: str
    is_telling: bool
    score: float


class Listener:
    """Knows what an error is about, and hears in answers what is said of it.

    `asked`: a person came with it, so that what closes the turn is about it in any words.
    """

    def __init__(
        self, error: str, files: Iterable[str], stems: Stems, rarity: Rarity, *, asked: bool = False
    ) -> None:
        self._stems, self._asked = stems, asked
        every = set(stems(error[:ERROR_CHARS]))
        weights = {stem: rarity(stem) for stem in every}
        telling = every - set(stems(" ".join((*STOP_WORDS, *_COMMON))))
        self._weights = {stem: weights[stem] for stem in telling or every}
        self._sum = sum(self._weights.values()) or 1.0
        self._files = {name for path in files if len(name := path.rpartition("/")[2]) > 2}

    def best(self, answers: Sequence[StoredEntry], closing: Iterable[int]) -> Told | None:
        """The answer that says most, the last one of those that say as much."""
        last = set(closing)
        heard = [self._hear(each, is_closing=each.row in last) for each in answers]
        return max(heard, key=lambda told: (told.is_telling, told.score, told.answer.row), default=None)

    def _hear(self, answer: StoredEntry, *, is_closing: bool) -> Told:
        said = sentences(answer.entry.text)
        if not said:
            return Told(answer, "", False, 0.0)
        scores = [self._score(each.text, self._asked and is_closing) for each in said]
        at = max(range(len(scores)), key=lambda n: (*scores[n], -n))
        is_telling, score = scores[at]
        quoted = quote(said, at if is_telling else 0)
        return Told(answer, quoted, is_telling, score + CLOSING_WEIGHT * is_closing)

    def _score(self, sentence: str, is_reply: bool) -> tuple[bool, float]:
        if is_narration(sentence):
            return False, 0.0
        common = self._weights.keys() & set(self._stems(sentence))
        shared = sum(self._weights[stem] for stem in common) / self._sum
        named = any(name in sentence for name in self._files)
        worth = shared if shared < RESTATED else 0.0
        # One word in common is chance, unless the error hardly has more.
        is_about = len(common) + named >= min(len(self._weights), 2)
        if _PLAIN.search(sentence):
            enough = shared >= (NAMED_SHARED_MIN if named else SHARED_MIN)
            return is_reply or (is_about and enough), 1.0 + worth
        if _HINT.search(sentence):
            return is_about and shared >= HINT_SHARED_MIN, 0.5 + worth
        return False, shared


_PLAIN = re.compile(
    r"root cause|culprit|caused by|\bdue to\b|turn(?:s|ed) out|"
    r"\bthe (?:\w+ ){0,2}(?:issue|problem|cause|error|bug|failure|reason|fix|solution|mistake)s?\b[^.]{0,60}?"
    r"(?:\b(?:is|was|were|are|comes?|came)\b|:)|"
    r"\b(?:fixed|solved|resolved|repaired|mended)\b|pre-existing|"
    r"\b(?:was|were|is|are) (?:missing|wrong|stale|outdated|incorrect|not (?:set|installed|defined|there))|"
    r"原因|修正(?:し(?:た|まし)|完了)|解決|直し(?:た|まし)|问题在于|修复|解决|因为|원인|수정했|해결|때문",
    re.IGNORECASE,
)
_HINT = re.compile(
    r"\b(?:because|fix(?:es)?|requires?|expects?|cannot|can't|doesn't|does not|isn't|no longer|"
    r"now (?:works?|pass\w*|builds?|compiles?|clean|green)|works? now)\b|なので|のため",
    re.IGNORECASE,
)
# What stands in every other error, and so tells nothing of this one.
_COMMON = (
    "access", "can't", "cannot", "code", "command", "directory", "error", "exception", "exit", "exited",
    "fail", "failed", "failure", "file", "found", "illegal", "invalid", "line", "operation", "output", "read",
    "such", "test", "unexpected",
)  # fmt: skip

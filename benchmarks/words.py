"""Copies of logs that say something else: mid-frequency words change places, everything structural stays.

A copy keeps the statistics of real text (lengths, how often the n-th word occurs, which words stand
together) and yet shares few rare words with the original, as another project's logs would.
Words are changed in the raw JSON. It stays valid because letters only ever become other letters,
never inside an escape, and a word that is anywhere a key, a type, a name or an id is never touched.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

COMMON = 300  # the most frequent words stay: they are the grammar of prose and of code
RARE = 3  # a word that occurs less often is one project's own, and ids and numbers change anyway
BAND = 64  # words change places with others about as frequent

# Not after a letter, not as the letter of an escape, not among the four digits of \uXXXX.
_WORD = re.compile(
    rb"(?:(?<![A-Za-z\\])|(?<=\\[nrt]))(?<!\\u.)(?<!\\u..)(?<!\\u...)([a-z]{4,16})(?![A-Za-z])"
)
_KEPT = re.compile(
    # Every value by which an adapter, or a query, tells records apart, with its key; then every other key.
    rb'"(?:type|subtype|role|name|model|status|origin|kind|userType|entrypoint|originator|source|'
    rb'promptSource|commandMode|level|operation|version|stop_reason|gitBranch|call_id|id)"\s*:\s*"[^"\\]*"'
    rb'|"[^"\\]{1,80}"\s*:'
)
_LETTERS = re.compile(rb"[a-z]+")


def vocabulary(files: Iterable[Path]) -> list[bytes]:
    """The words that may change, the most frequent first; what holds records together is not among them."""
    counts: Counter[bytes] = Counter()
    kept: set[bytes] = set()
    for path in files:
        data = path.read_bytes()
        counts.update(_WORD.findall(data))
        for found in set(_KEPT.findall(data)):
            kept.update(_LETTERS.findall(found))
    ranked = sorted((word for word in counts if word not in kept), key=lambda word: (-counts[word], word))
    return [word for word in ranked[COMMON:] if counts[word] >= RARE]


def wording(words: list[bytes], copy: int) -> dict[bytes, bytes]:
    """What each word becomes in a copy: another word of about the same frequency."""
    chosen = random.Random(f"wording {copy}")
    changed: dict[bytes, bytes] = {}
    for at in range(0, len(words), BAND):
        band = words[at : at + BAND]
        changed.update(zip(band, chosen.sample(band, len(band)), strict=True))
    return changed


def reworded(data: bytes, changed: Mapping[bytes, bytes]) -> bytes:
    """The log with its words changed."""
    pieces = _WORD.split(data)
    pieces[1::2] = [changed.get(word, word) for word in pieces[1::2]]
    return b"".join(pieces)

"""What every memory is given to keep and asked for: notes, their vectors, questions with a known answer.

A folder as `benchmarks.search_subject` has it, of notes: distinct pieces of real texts, at most 600
characters each, and their vectors by our default embedder, which everyone is handed as the caller's own. A
question is three to six words that stand together in one note; that note is what should be found.

    targets.npy               the number of the note that each question is from

Read in the peers' interpreter too: numpy and the standard library only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from benchmarks.search_lab import K
from benchmarks.search_subject import Array, Subject

SESSION_NOTES = 200
FIRST_MS = 1_770_000_000_000
_TAGS = (("preference",), ("decision", "build"), (), ("gotcha",))
_CHANNELS = ("slack", "terminal", "")


@dataclass(frozen=True)
class Note:
    """One thing to remember, with all that a caller can say about it."""

    number: int
    id: str
    session: str
    text: str
    time_ms: int
    tags: tuple[str, ...]
    channel: str
    metadata: dict[str, Any]
    vector: Array | None = field(default=None, repr=False)
    project: str = ""

    @property
    def said(self) -> str:
        """Its metadata as text, for systems that have no other place for it."""
        return json.dumps(self.metadata)


class Notes(Subject):
    """The folder, as notes and questions."""

    @cached_property
    def all_texts(self) -> list[str]:
        return list(self.texts())

    @cached_property
    def all_vectors(self) -> Array:
        return np.ascontiguousarray(self.vectors(), dtype=np.float32)

    def notes(self, count: int, *, prefix: str = "n", first: int = 0, vectors: bool = True) -> list[Note]:
        """So many notes from that number on, over again where there are fewer; ids begin with `prefix`."""
        return list(islice(self._notes(prefix, first, vectors), count))

    def targets(self) -> list[int]:
        """Of the questions that are timed."""
        known: list[int] = np.load(self.folder / "targets.npy").tolist()
        return known[len(known) // 2 :]

    def asked(self) -> tuple[list[tuple[str, Array]], list[tuple[str, Array]]]:
        """Words and their vector, to warm up and to time."""
        words, vectors = self.questions(), self.question_vectors()
        pairs = [list(zip(each, rows, strict=True)) for each, rows in zip(words, vectors, strict=True)]
        return pairs[0], pairs[1]

    def _notes(self, prefix: str, first: int, vectors: bool) -> Iterator[Note]:
        texts, number = self.all_texts, first
        while True:
            place = number % len(texts)
            yield Note(
                number,
                f"{prefix}{number}",
                f"{prefix}-{number // SESSION_NOTES}",
                texts[place],
                FIRST_MS + number * 1000,
                _TAGS[number % len(_TAGS)],
                _CHANNELS[number % len(_CHANNELS)],
                {"project": f"project-{number % 7}", "turn": number},
                self.all_vectors[place] if vectors else None,
            )
            number += 1


def share_found(targets: Sequence[int], answers: Sequence[Sequence[int]]) -> float:
    """How many questions have the note they are from among their best ten."""
    return sum(target in found[:K] for target, found in zip(targets, answers, strict=True)) / len(targets)

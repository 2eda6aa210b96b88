"""The folder everyone is asked about: texts, vectors, questions, and what an exact scan answers.

    texts.bin, texts.npy      the indexed texts one after the other, and where each ends
    questions.json            what is asked: some to warm up, then those that are timed
    vectors.npy               float16 unit rows of texts, in pieces
    question_vectors.npy      float32, warm-up first
    exact.npy                 the tenth best score of each timed question

Read by our own worker and, in another interpreter, by the peers: numpy and the standard library only.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.search_lab import K

TIE = 1e-5  # sums in another order differ by less

Array = np.ndarray[Any, Any]


class Subject:
    """What one size of store holds, for everyone to index and to be asked about."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def texts(self) -> Iterator[str]:
        """Every text that is indexed, in the order of entries."""
        ends = np.load(self.folder / "texts.npy")
        with (self.folder / "texts.bin").open("rb") as file:
            start = 0
            for end in ends.tolist():
                yield file.read(end - start).decode("utf-8", "replace")
                start = end

    def write_texts(self, texts: Iterator[str]) -> tuple[int, int]:
        """Keep the texts; how many, and how many bytes."""
        ends: list[int] = []
        with (self.folder / "texts.bin").open("wb") as file:
            for text in texts:
                file.write(text.encode("utf-8", "replace"))
                ends.append(file.tell())
        np.save(self.folder / "texts.npy", np.array(ends, dtype=np.int64))
        return len(ends), ends[-1] if ends else 0

    def questions(self) -> tuple[list[str], list[str]]:
        """To warm up, and to time."""
        asked: list[str] = json.loads((self.folder / "questions.json").read_text())
        return asked[: len(asked) // 2], asked[len(asked) // 2 :]

    def vectors(self) -> Array:
        return np.asarray(np.load(self.folder / "vectors.npy", mmap_mode="r"))

    def question_vectors(self) -> tuple[list[Array], list[Array]]:
        asked = list(np.load(self.folder / "question_vectors.npy"))
        return asked[: len(asked) // 2], asked[len(asked) // 2 :]

    def exact(self) -> Array:
        return np.asarray(np.load(self.folder / "exact.npy"))


def timed_queries(
    ask: Callable[[Any], Any], warm_up: Sequence[Any], questions: Sequence[Any], rounds: int
) -> tuple[list[float], list[Any]]:
    """Seconds of each question, the median of its rounds, and the answers.

    What warms up is other questions: an engine that remembers answers must not look fast.
    """
    for question in warm_up:
        ask(question)
    taken: list[list[float]] = [[] for _ in questions]
    answers: list[Any] = []
    for turn in range(rounds):
        for number, question in enumerate(questions):
            start = time.perf_counter()
            answer = ask(question)
            taken[number].append(time.perf_counter() - start)
            if turn == 0:
                answers.append(answer)
    return [statistics.median(each) for each in taken], answers


def recall(subject: Subject, answers: Sequence[Sequence[int]]) -> float:
    """The share of answers that score at least as the tenth best does: of equals any will do."""
    vectors, (_, asked), least = subject.vectors(), subject.question_vectors(), subject.exact()
    good = 0
    for found, vector, bar in zip(answers, asked, least, strict=True):
        numbers = np.unique(np.asarray(found, dtype=np.int64)[:K])
        scores = vectors[numbers].astype(np.float32) @ vector
        good += int((scores >= bar - TIE).sum())
    return good / (K * len(answers))


def tenth_best(vectors: Array, asked: Array) -> Array:
    """What an exact scan finds: the score of the tenth best row, for each question."""
    best = np.full((len(asked), K), -np.inf, dtype=np.float32)
    for at in range(0, len(vectors), 16_384):
        scores = asked @ vectors[at : at + 16_384].astype(np.float32).T
        best = -np.sort(-np.hstack([best, scores]), axis=1)[:, :K]
    return best[:, K - 1]

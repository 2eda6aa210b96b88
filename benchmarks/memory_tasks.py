"""What only our own memory is told to do: the published workloads, its graph, its gate, its activation."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import memory_replay, product
from benchmarks.memory_ours import Ours
from benchmarks.memory_subject import Notes
from benchmarks.memory_worker import SEED, Worker, timed
from benchmarks.search_lab import K
from recollect.values.graph import NewEntity, NewRelation

ASKED = 64  # questions of the published study, and as many hits as it asks for
HITS = 20
GRAPH_DEGREE = 4


class OurWorker(Worker):
    """The tasks of everyone, and those that no other system has anything for."""

    def __init__(self, scratch: Path, notes: Notes) -> None:
        self._ours = Ours(scratch)
        super().__init__(self._ours, notes)

    def upsert(self, count: int, size: int) -> dict[str, Any]:
        """Documents of the published study, so many a durable write."""
        documents = memory_replay.documents(count)
        return timed(self._ours.save_batch, memory_replay.batches(documents, size))

    def stock(self, count: int) -> dict[str, Any]:
        """The same documents, all at once and indexed."""
        self._ours.load(memory_replay.documents(count))
        self._ours.index()
        return {}

    def filtered(self, filters: str) -> dict[str, Any]:
        """Their questions: vectors, among what passes filters."""
        asked = [memory_replay.hashed(f"question {number}") for number in range(ASKED)]
        self._ours.filtered(asked[0], filters, HITS)
        found: list[list[str]] = []
        taken = timed(lambda vector: found.append(self._ours.filtered(vector, filters, HITS)), asked)
        if not all(len(each) == HITS for each in found):
            raise RuntimeError(f"a question among {filters!r} found too little")
        return taken

    def strategy(self, count: int, asked: int) -> dict[str, Any]:
        """The search over vectors that we choose for so many, by itself, on uniform random rows."""
        rows, question = memory_replay.random_rows(count)
        folder = self._ours.folder / f"rows-{count}"
        folder.mkdir()
        name, ask = product.nearest_asker(rows.astype(np.float16), folder, K)
        best = np.argsort(-(rows @ question), kind="stable")[:K]
        ask(question)
        taken = timed(lambda _: ask(question), range(asked))
        return taken | {"name": name, "recall": len(set(best.tolist()) & set(ask(question))) / K}

    def by_words(self) -> dict[str, Any]:
        """The questions by their words alone."""
        warm_up, questions = self._subject.questions()
        for words in warm_up:
            self._ours.by_words(words, K)
        return timed(lambda words: self._ours.by_words(words, K), questions)

    def graph(self, entities: int) -> dict[str, Any]:
        """A graph of random relations: said one by one and at once, and asked."""
        drawn, graph = random.Random(SEED), self._ours.memory.graph
        names = [f"thing {number}" for number in range(entities)]
        pairs = [drawn.sample(names, 2) for _ in range(entities * GRAPH_DEGREE)]
        related = [NewRelation(source, "uses", target, drawn.random()) for source, target in pairs]
        one = timed(lambda pair: graph.relate(pair[0], "knows", pair[1]), pairs[:200])
        start = time.perf_counter()
        graph.add_batch([NewEntity(name, "module") for name in names], related)
        added = time.perf_counter() - start
        self._ours.memory.checkpoint()
        start = time.perf_counter()
        graph.neighbours(names[0])
        first = time.perf_counter() - start
        asked = {
            "neighbours": timed(lambda pair: graph.neighbours(pair[0], depth=2), pairs[:50]),
            "path": timed(lambda pair: graph.path(*pair), pairs[50:100]),
            "activate": timed(lambda pair: graph.activate(pair), pairs[100:150]),
        }
        return {"relate": one, "added_s": added, "relations": len(related), "first_s": first, "asked": asked}

    def settle_words(self) -> dict[str, Any]:
        """Index what there is, for memories without vectors of callers."""
        self._ours.index()
        return {}

    def gate(self, count: int) -> dict[str, Any]:
        """What the gate in front of `save` costs, and lets through of notes that are worth keeping."""
        texts = [note.text for note in self._subject.notes(count, first=self._next, vectors=False)]
        self._ours.memory.worth(texts[0])
        refused: list[str] = []
        again = timed(lambda text: refused.append(self._ours.memory.worth(text)), texts)
        stock = [self._ours.memory.worth(text) for text in ("ok thanks", "sounds good to me", "go on")]
        return again | {
            "refused": sum(map(bool, refused)) / count,
            "stock_refused": sum(map(bool, stock)) / 3,
        }

    def activation(self) -> dict[str, Any]:
        """The same questions without and with it; then all fade, some times."""
        warm_up, questions = self._subject.questions()
        ask = self._ours.memory.search
        for words in warm_up:
            ask(words, plain=True)
        without = timed(lambda words: ask(words, plain=True), questions)
        with_it = timed(lambda words: ask(words, plain=True, activated=True), questions)
        tick = timed(lambda _: self._ours.memory.tick(), range(5))
        return {"without": without, "with": with_it, "tick": tick}

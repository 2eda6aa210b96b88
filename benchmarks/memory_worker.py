"""One memory in a process of its own, which does what it is told and says how long that took.

    python -m benchmarks.memory_worker SYSTEM SUBJECT SCRATCH
    python -m benchmarks.memory_worker subject STORE FOLDER NOTES QUESTIONS

A line of JSON on stdin is a task, the line on stdout its answer, so that whoever measures can let several
memories take turns in one minute. A package that is not installed is an answer too: `missing`.

Tasks are timed at real-time priority where the system lets us: on a busy machine, a process that waits for a
disk otherwise comes back with the scheduler's next tick, four milliseconds later, whatever the disk did.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import memory_replay
from benchmarks.measure import weight_of
from benchmarks.memory_subject import Notes, share_found
from benchmarks.memory_systems import System
from benchmarks.search_lab import RECALL_MIN, K
from benchmarks.search_subject import recall, tenth_best

LAST = 20
TRIAL = 40  # questions by which the fastest setting of sufficient recall is chosen
SEED = 16
_PLAIN = re.compile(r"[A-Za-z][A-Za-z'-]{2,}")


class Worker:
    """Tasks for one system; every public method is one, named as in the line that asks for it."""

    def __init__(self, system: System, notes: Notes) -> None:
        self._system = system
        self._subject = notes
        self._next = 0  # the number of the next note

    def hello(self) -> dict[str, Any]:
        system = self._system
        return {"title": system.title, "durable": system.durable, "version": system.version}

    def save(self, count: int, vectors: bool) -> dict[str, Any]:
        """One by one, each durable when it returns."""
        return timed(self._system.save, self._new(count, vectors))

    def batch(self, count: int, size: int, vectors: bool) -> dict[str, Any]:
        """So many batches of that size."""
        notes = self._new(count * size, vectors)
        batches = [notes[at : at + size] for at in range(0, len(notes), size)]
        return timed(self._system.save_batch, batches)

    def load(self, count: int, vectors: bool) -> dict[str, Any]:
        """The subject's notes, as fast as the system likes it."""
        start = time.perf_counter()
        self._system.load(self._subject.notes(count, vectors=vectors))
        self._next = count
        return {"seconds": time.perf_counter() - start}

    def settle(self) -> dict[str, Any]:
        """Make ready for questions with the fastest setting whose recall is high enough, or the widest."""
        start = time.perf_counter()
        _, asked = self._subject.question_vectors()
        tried: list[dict[str, Any]] = []
        for setting in self._system.settings():
            found = [self._system.nearest(vector, K) for vector in asked]
            trial = timed(lambda vector: self._system.nearest(vector, K), asked[:TRIAL])
            share = recall(self._subject, found)
            tried.append({"setting": setting, "recall": share, "p50": float(np.median(trial["seconds"]))})
        good = [each for each in tried if each["recall"] >= RECALL_MIN]
        best = min(good, key=lambda each: float(each["p50"])) if good else tried[-1]
        self._system.use(best["setting"])
        return best | {"tried": tried, "seconds": time.perf_counter() - start}

    def ask(self, way: str) -> dict[str, Any]:
        """All questions once, by `search` or `nearest`, after others that warm up."""
        warm_up, questions = self._subject.asked()
        asked: Callable[[tuple[str, Any]], list[int]] = self._nearest if way == "nearest" else self._search
        for question in warm_up:
            asked(question)
        answers: list[list[int]] = []
        taken = timed(lambda question: answers.append(asked(question)), questions)
        return taken | {"found": share_found(self._subject.targets(), answers)}

    def last(self, session: str, count: int) -> dict[str, Any]:
        """The last 20 of a session, which must be the right ones."""
        expected = [note.text for note in self._subject.notes(self._next) if note.session == session][-LAST:]
        found = self._system.last(session, LAST)
        if found != expected:
            raise RuntimeError(f"the last {LAST} of {session} are not those that were saved")
        return timed(lambda _: self._system.last(session, LAST), range(count))

    def after_save(self, session: str, count: int) -> dict[str, Any]:
        """The last 20 right after another note was saved, by turns; the last must be that note."""
        taken: list[float] = []
        for note in [replace(note, session=session) for note in self._new(count, vectors=True)]:
            self._system.save(note)
            with _undisturbed():
                start = time.perf_counter()
                found = self._system.last(session, LAST)
                taken.append(time.perf_counter() - start)
            if found[-1] != note.text:
                raise RuntimeError("what was just saved is not the last")
        return {"seconds": taken}

    def artifact(self, count: int) -> dict[str, Any]:
        """Arrays of 500 x 200 f4, kept and read again."""
        made = np.random.default_rng(SEED)
        arrays = [made.standard_normal((500, 200)).astype(np.float32) for _ in range(count)]
        kept = timed(lambda n: self._system.keep_artifact(f"a{n}", arrays[n]), range(count))
        back: list[Any] = []
        read = timed(lambda n: back.append(self._system.artifact(f"a{n}")), range(count))
        if not all(map(np.array_equal, arrays, back)):
            raise RuntimeError("an array came back changed")
        return {"kept": kept, "read": read}

    def rest(self) -> dict[str, Any]:
        """What the system wants done now and then."""
        self._system.rest()
        return {}

    def turns(self, count: int, batch: int, arrays: bool) -> dict[str, Any]:
        """The session of a published workload, so many turns a write, and a read of its last 20."""
        made = memory_replay.turns(self._subject, count, arrays=arrays)
        parts = [made[at : at + batch] for at in range(0, count, batch)]
        taken = timed(self._system.save_turns, parts)
        self._system.last("main", LAST)
        read = timed(lambda _: self._system.last("main", LAST), range(5))
        return {"saved": taken, "read": read}

    def weigh(self) -> dict[str, Any]:
        """Bytes of everything once it is compacted and closed; the last task."""
        self._system.compact()
        self._system.close()
        return {"bytes": weight_of(self._system.folder)}

    def _search(self, question: tuple[str, Any]) -> list[int]:
        return [number for number, _ in self._system.search(*question, K)]

    def _nearest(self, question: tuple[str, Any]) -> list[int]:
        return self._system.nearest(question[1], K)

    def _new(self, count: int, vectors: bool) -> list[Any]:
        notes = self._subject.notes(count, first=self._next, vectors=vectors)
        self._next += count
        return notes


def make_subject(store: Path, folder: Path, count: int, questions: int) -> dict[str, Any]:
    """Fill the folder with notes cut from the texts of a store."""
    from benchmarks import product
    from benchmarks.search_worker import cut_pieces
    from recollect.search.embed.static import StaticEmbedder

    folder.mkdir(parents=True, exist_ok=True)
    made, embedder = Notes(folder), StaticEmbedder.load()
    with product.memory(store) as opened, opened.view() as view:
        cut = cut_pieces(map(product.indexed_text, product.entries(view)))
        texts, matrix = _with_vectors(embedder, cut, count)
    made.write_texts(iter(texts))
    asked, targets = _questions(texts, questions * 2)
    vectors = np.stack([embedder.encode_query(question) for question in asked])
    (folder / "questions.json").write_text(json.dumps(asked))
    np.save(folder / "vectors.npy", matrix)
    np.save(folder / "question_vectors.npy", vectors)
    np.save(folder / "targets.npy", np.array(targets))
    np.save(folder / "exact.npy", tenth_best(matrix, vectors[questions:]))
    return {"notes": len(texts), "text_bytes": sum(map(len, texts)), "dims": matrix.shape[1]}


def main(argv: Sequence[str]) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # What a peer prints is no answer.
    if argv[0] == "subject":
        _, store, folder, count, questions = argv
        answers.write(json.dumps(make_subject(Path(store), Path(folder), int(count), int(questions))))
        answers.close()
        return
    name, subject, scratch = argv
    try:
        worker = _worker(name, Path(scratch), Notes(Path(subject)))
    except ImportError as error:
        print(json.dumps({"missing": str(error)}), file=answers, flush=True)
        return
    for line in sys.stdin:
        task = json.loads(line)
        try:
            answer = getattr(worker, task.pop("do"))(**task)
        except Exception as error:  # whatever a peer raises belongs in the table
            answer = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


def _worker(name: str, scratch: Path, notes: Notes) -> Worker:
    if name == "ours":
        from benchmarks.memory_tasks import OurWorker

        return OurWorker(scratch, notes)
    from benchmarks.memory_peers import PEERS

    return Worker(PEERS[name](scratch), notes)


def timed(call: Callable[[Any], Any], items: Sequence[Any]) -> dict[str, Any]:
    """Seconds of each call, and the processor time of all of them, threads included."""
    taken: list[float] = []
    with _undisturbed() as undisturbed:
        cpu = time.process_time()
        for item in items:
            start = time.perf_counter()
            call(item)
            taken.append(time.perf_counter() - start)
        cpu = time.process_time() - cpu
    return {"seconds": taken, "cpu": cpu, "undisturbed": undisturbed}


@contextlib.contextmanager
def _undisturbed() -> Iterator[bool]:
    """Every thread of this process at real-time priority, where that is permitted; says whether it was."""
    if not sys.platform.startswith("linux") or not _schedule(os.SCHED_FIFO, 10):
        yield False
        return
    try:
        yield True
    finally:
        _schedule(os.SCHED_OTHER, 0)


def _schedule(policy: int, priority: int) -> bool:
    for thread in os.listdir("/proc/self/task"):
        try:
            os.sched_setscheduler(int(thread), policy, os.sched_param(priority))
        except ProcessLookupError:
            continue
        except PermissionError:
            return False
    return True


def _with_vectors(embedder: Any, cut: Iterator[str], count: int) -> tuple[list[str], Any]:
    """The first pieces that have words, and their vectors."""
    texts: list[str] = []
    rows: list[Any] = []
    while len(texts) < count and (batch := list(islice(cut, 2000))):
        batch = [text for text in batch if len(text) > 40 and "\0" not in text]
        vectors = embedder.encode(batch)
        good = np.abs(vectors).max(axis=1) > 0
        texts += [text for text, has in zip(batch, good, strict=True) if has]
        rows.append(vectors[good])
    return texts[:count], np.concatenate(rows)[:count].astype(np.float32)


def _questions(texts: Sequence[str], count: int) -> tuple[list[str], list[int]]:
    """Words that stand together in a note, and the note's number."""
    chosen = random.Random(SEED)
    asked: list[str] = []
    targets: list[int] = []
    while len(asked) < count:
        number = chosen.randrange(len(texts))
        said = _PLAIN.findall(texts[number])
        if len(said) >= 12 and number not in targets:
            start = chosen.randrange(len(said) - 6)
            asked.append(" ".join(said[start : start + chosen.randint(3, 6)]))
            targets.append(number)
    return asked, targets


if __name__ == "__main__":
    main(sys.argv[1:])

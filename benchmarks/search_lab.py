"""Stores of the sizes that are compared, each with its subject folder, made once and kept.

A store of n entries is the real corpus, an even pick of it or, where that is too small, the corpus and copies
that say something else (`benchmarks.words`); ingested and indexed by the product. What was made lies in a
folder named by everything it depends on, and is found again by the next run. No numpy here: the process
that measures must stay small.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks import corpus, product
from benchmarks.measure import Ran, run

TEXT_PEERS = ("fts5", "bm25s")
VECTOR_PEERS = ("chroma", "sqlite_vec", "lancedb")
K = 10
RECALL_MIN = 0.97
QUESTIONS = 200
SHAPE = 1  # raise it when stores made by this code differ from those kept


@dataclass(frozen=True)
class Effort:
    """How much of everything is measured."""

    sizes: tuple[int, ...] = (10_000, 100_000, 300_000)
    rounds: int = 3
    fresh_rounds: int = 9
    embedded: int = 20_000
    new_sessions: int = 5

    @classmethod
    def quick(cls) -> Effort:
        """Does it run at all, in about a minute."""
        return cls(sizes=(10_000,), rounds=1, fresh_rounds=3, embedded=4_000, new_sessions=2)


@dataclass(frozen=True)
class Stocked:
    """A store, and the folder with what everyone is asked about it."""

    size: int
    store: Path
    subject: Path
    facts: dict[str, Any]

    @property
    def home(self) -> Path:
        return self.store.parent.parent

    def questions(self) -> list[str]:
        asked: list[str] = json.loads((self.subject / "questions.json").read_text())
        return asked


class SearchLab:
    """Where rows are measured. `kept` stays; `scratch` is removed."""

    def __init__(self, logs: Path, kept: Path, scratch: Path, effort: Effort) -> None:
        self.logs = logs
        self.kept = kept
        self.scratch = scratch
        self.effort = effort
        self._known: dict[int, Stocked] = {}

    @property
    def largest(self) -> Stocked:
        return self.stocked(max(self.effort.sizes))

    def sizes(self) -> Iterator[Stocked]:
        return map(self.stocked, sorted(self.effort.sizes))

    def stocked(self, size: int) -> Stocked:
        """The store of at least so many entries; made if it is not there."""
        if size not in self._known:
            self._known[size] = self._stocked(size)
        return self._known[size]

    def worker(self, home: Path, *words: object) -> dict[str, Any]:
        """What `benchmarks.search_worker` did in a process of its own."""
        argv = [sys.executable, "-m", "benchmarks.search_worker", *map(str, words)]
        ran = _child(argv, product.environment(home))
        answer: dict[str, Any] = json.loads(ran.stdout)
        return answer

    def peer(self, name: str, stocked: Stocked) -> list[dict[str, Any]]:
        """What a peer makes of the same texts, vectors and questions."""
        scratch = self.folder("peer")
        words = ["-m", "benchmarks.search_peers", name, stocked.subject, scratch, self.effort.rounds]
        try:
            ran = _child([peers_python(), *map(str, words)], product.environment(self.scratch))
        finally:
            shutil.rmtree(scratch)
        answers: list[dict[str, Any]] = json.loads(ran.stdout.splitlines()[-1])
        return answers

    def folder(self, name: str) -> Path:
        """An empty scratch folder of that name."""
        path = self.scratch / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    @property
    def _key(self) -> str:
        files = corpus.tree_of(self.logs, "claude", "codex").files
        listed = [f"{path.relative_to(self.logs)} {path.stat().st_size}" for path in files]
        return hashlib.sha256("\n".join([str(SHAPE), *listed]).encode()).hexdigest()[:12]

    def _stocked(self, size: int) -> Stocked:
        home = self.kept / f"{self._key}-{size}"
        store, subject = home / "store" / "memory.h5", home / f"subject-{product.embedder_table()}"
        if not (home / "store.json").exists():
            shutil.rmtree(home, ignore_errors=True)
            filled = self._filled(store, size)
            (home / "store.json").write_text(json.dumps(filled))
        if not (subject / "facts.json").exists():
            shutil.rmtree(subject, ignore_errors=True)
            subject.mkdir()
            described = self.worker(home, "subject", store, subject, QUESTIONS, size)
            (subject / "facts.json").write_text(json.dumps(described))
        product.index_command(store)  # Nothing to do, unless indexes have another format by now.
        facts = [json.loads(path.read_text()) for path in (home / "store.json", subject / "facts.json")]
        return Stocked(size, store, subject, facts[0] | facts[1])

    def _filled(self, store: Path, size: int) -> dict[str, Any]:
        """Ingest logs, one copy of the corpus after the other, until there are enough entries."""
        bytes_total, entries = 0, 0
        for copy in count():
            for files in self._shares(size - entries):
                logs = self.folder("logs")
                listing = self.scratch / "files.json"
                listing.write_text(json.dumps(files))
                self.worker(self.scratch, "logs", self.logs, logs, copy, listing)
                _, summary = product.ingest(store, logs)
                bytes_total += product.source_bytes(summary) or 0
                shutil.rmtree(logs)
                if (entries := product.entry_count(store)) >= size:
                    return {"entries": entries, "source_bytes": bytes_total, "copies": copy}
        raise AssertionError("copies never end")

    def _shares(self, entries: int) -> Iterator[list[str]]:
        """The corpus's files in an order without preference: about so many entries' worth, then the rest."""
        files = corpus.tree_of(self.logs, "claude", "codex").files
        order = sorted(files, key=lambda path: hashlib.sha256(path.name.encode()).digest())
        share: list[str] = []
        lines = 0
        for path in order:
            share.append(str(path.relative_to(self.logs)))
            lines += path.read_bytes().count(b"\n")
            if lines >= entries:
                yield share
                share, lines = [], entries - entries // 20
        yield share


def peers_python() -> str:
    """The interpreter that has the peers' packages: in RECOLLECT_BENCH_PEERS, else our own."""
    other = Path(os.environ.get("RECOLLECT_BENCH_PEERS", "")) / "python"
    return str(other) if other.is_file() else sys.executable


def _child(argv: Sequence[str], env: dict[str, str]) -> Ran:
    return run(argv, env=env, cwd=product.REPOSITORY, timeout_seconds=3600).checked()

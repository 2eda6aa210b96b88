"""The scratch folder and the stores in it that several rows share, each built when first asked for."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks import corpus, product
from benchmarks.corpus import Tree
from benchmarks.measure import Ran, run


@dataclass(frozen=True)
class Effort:
    """How much of everything is measured."""

    convert_bytes: int = 24_000_000
    appends: int = 1500
    warm_calls: int = 300
    fresh_rounds: int = 11
    base_bytes: int = 40_000_000
    copies: int = 29
    growth_rounds: int = 7
    long_line_bytes: int = 200_000_000
    short_file_bytes: int = 100_000_000
    long_file_bytes: int = 1_000_000_000

    @classmethod
    def quick(cls) -> Effort:
        """Does it run at all: small samples, no long file."""
        return cls(
            convert_bytes=3_000_000,
            appends=300,
            warm_calls=50,
            fresh_rounds=3,
            base_bytes=6_000_000,
            growth_rounds=3,
            long_file_bytes=0,
        )

    @classmethod
    def full(cls) -> Effort:
        return cls(fresh_rounds=21, growth_rounds=15, long_file_bytes=4_000_000_000)


@dataclass(frozen=True)
class Ingested:
    """A store and the sweep that filled it."""

    store: Path
    tree: Tree
    ran: Ran
    summary: dict[str, Any]

    @property
    def source_bytes(self) -> int:
        """What the sweep says it covered; files in the folders that no agent wrote do not count."""
        return product.source_bytes(self.summary) or self.tree.bytes_total

    @property
    def rate(self) -> float:
        """Megabytes of source per second, process start included."""
        return self.source_bytes / 1e6 / self.ran.seconds


@dataclass(frozen=True)
class Grown:
    """The same sessions alone, among ten times and among thirty times as many bytes."""

    small: Path
    ten: Path
    large: Path
    session: str


class Lab:
    """Where rows are measured."""

    def __init__(self, logs: Path, scratch: Path, effort: Effort) -> None:
        self.logs = logs
        self.scratch = scratch
        self.effort = effort

    @property
    def log_folders(self) -> list[Path]:
        return [self.logs / "claude", self.logs / "codex"]

    @cached_property
    def whole(self) -> Ingested:
        """The corpus in one store, by one sweep."""
        return self.ingested("whole", corpus.tree_of(self.logs, "claude", "codex"), *self.log_folders)

    @cached_property
    def grown(self) -> Grown:
        """Three stores that share their first sessions; the sources of the copies are gone again."""
        files = corpus.subset(corpus.tree_of(self.logs, "claude", "codex").files, self.effort.base_bytes)
        base = self.folder("base")
        for source in files:
            target = base / source.relative_to(self.logs)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        small = self.ingested("grown-1", corpus.tree_of(base), base).store
        ten = self._grow(small, files, "grown-10", range(1, 10))
        large = self._grow(ten, files, "grown-30", range(10, self.effort.copies + 1))
        sessions = [path for path in files if path.is_relative_to(self.logs / "claude")]
        session = max(filter(is_session, sessions), key=lambda path: path.stat().st_size)
        return Grown(small, ten, large, session.stem)

    def ingested(self, name: str, tree: Tree, *paths: Path, keep: bool = True) -> Ingested:
        """A new store in a folder of its own, filled by a fresh process."""
        store = self.folder(name) / "memory.h5"
        ran, summary = product.ingest(store, *paths, weigh=True)
        if not keep:
            shutil.rmtree(store.parent)
        return Ingested(store, tree, ran, summary)

    def returned_whole(self, done: Ingested, count: int) -> int:
        """How many of some sessions come back out of the store exactly as they went in."""
        sessions = list(filter(is_session, done.tree.files))
        chosen = sessions[:: max(len(sessions) // count, 1)][:count]
        target = self.folder("export") / "raw"
        return sum(product.export_raw(done.store, path.stem, target) == path.read_bytes() for path in chosen)

    def typical_records(self) -> list[bytes]:
        """Real lines of everyday length."""
        lines: list[bytes] = []
        for path in corpus.subset(corpus.tree_of(self.logs, "claude").files, 4_000_000):
            lines += [line for line in path.read_bytes().splitlines() if 400 <= len(line) <= 4000]
        return lines[:1000]

    def session_of_2_mb(self) -> Path:
        """The Claude session nearest to that size."""
        sessions = filter(is_session, corpus.tree_of(self.logs, "claude").files)
        return min(sessions, key=lambda path: abs(path.stat().st_size - 2_000_000))

    def worker(self, *words: object) -> dict[str, Any]:
        """What `benchmarks.worker` measured in a process of its own."""
        argv = [sys.executable, "-m", "benchmarks.worker", *map(str, words)]
        ran = run(argv, env=product.environment(self.scratch), cwd=product.REPOSITORY).checked()
        answer: dict[str, Any] = json.loads(ran.stdout)
        return answer

    def folder(self, name: str) -> Path:
        """An empty scratch folder of that name."""
        path = self.scratch / "work" / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    def _grow(self, store: Path, files: Sequence[Path], name: str, copies: Sequence[int]) -> Path:
        """A copy of a store with further copies of the files ingested into it."""
        target = self.folder(name)
        shutil.copytree(store.parent, target, dirs_exist_ok=True)
        tree = corpus.multiply(files, self.logs, self.folder("copies"), copies)
        product.ingest(target / store.name, tree.root)
        shutil.rmtree(tree.root)
        return target / store.name


def is_session(path: Path) -> bool:
    """Whether a file is named by its session, as Claude Code does."""
    return path.suffix == ".jsonl" and corpus.UUID.fullmatch(path.stem.encode()) is not None

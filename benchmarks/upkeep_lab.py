"""What the measures of upkeep share: stores of some sizes, each made once, of which each takes a copy.

The logs are real ones, and where these do not suffice copies of them in which ids, days and words are others
(`benchmarks.corpus`), as far as a size asks for them.
"""

from __future__ import annotations

import contextlib
import hashlib
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from benchmarks import corpus as logs
from recollect import Memory
from recollect.config import load_config

SIZES = (300_000_000, 1_000_000_000)  # bytes of logs: what something grows with shows between the two
QUICK_SIZES = (20_000_000,)
HOST = "bench"
T = TypeVar("T")


@dataclass(frozen=True)
class Spent:
    """Time on the clock, and of processors: of this process and of those that it waited for."""

    seconds: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s, {self.cpu:.1f} s of processors"


def timed(deed: Callable[[], T]) -> tuple[Spent, T]:
    began, cpu = time.monotonic(), _cpu_seconds()
    done = deed()
    return Spent(time.monotonic() - began, _cpu_seconds() - cpu), done


@dataclass(frozen=True)
class Lab:
    """The logs, where what is made of them is kept, and whether a small store will do."""

    corpus: Path
    keep: Path
    quick: bool

    @property
    def sizes(self) -> tuple[int, ...]:
        return QUICK_SIZES if self.quick else SIZES

    @contextlib.contextmanager
    def copy(self, size: int, **settings: Any) -> Iterator[Memory]:
        """A memory of so many bytes of logs, indexed and digested, that may be changed; `settings` go into
        its config.
        """
        made = self._made(size)
        with tempfile.TemporaryDirectory(dir=made.parent) as folder:
            shutil.copy(made, folder)
            with _memory(Path(folder) / made.name, **settings) as memory:
                yield memory

    def logs(self, size: int) -> list[Path]:
        """Logs of so many bytes, drawn by a hash: a smaller size is the beginning of a larger one."""
        left, drawn = size, []
        for path in sorted(self._all(max(self.sizes)), key=self._drawn):
            if path.stat().st_size <= left:
                left -= path.stat().st_size
                drawn.append(path)
        return drawn

    def half(self, path: Path) -> bool:
        """Which of two halves a log is in."""
        return self._drawn(path)[-1] % 2 == 1

    def _all(self, size: int) -> Iterator[Path]:
        """All real logs, and copies of them up to a size."""
        tree = logs.tree_of(self.corpus)
        yield from tree.files
        left, copy = size - tree.bytes_total, 0
        while left > 0:
            copy += 1
            made = self.keep / "upkeep-logs" / f"c{copy}"
            if not made.exists():
                self.keep.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryDirectory(dir=self.keep) as folder:
                    sources = logs.tree_of(self.corpus, "claude", "codex").files
                    logs.multiply(sources, self.corpus, Path(folder), [copy])
                    made.parent.mkdir(exist_ok=True)
                    (Path(folder) / made.name).rename(made)
            copied = logs.tree_of(made)
            left -= copied.bytes_total
            yield from copied.files

    def _drawn(self, path: Path) -> bytes:
        root = self.corpus if path.is_relative_to(self.corpus) else self.keep
        return hashlib.sha256(str(path.relative_to(root)).encode("utf-8", "surrogateescape")).digest()

    def _made(self, size: int) -> Path:
        path = self.keep / f"upkeep-{size // 1_000_000}.h5"
        if not path.exists():
            self.keep.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.keep) as folder:
                with _memory(Path(folder) / path.name) as memory:
                    memory.ingest(self.logs(size))
                    memory.index()
                (Path(folder) / path.name).rename(path)
        return path


def _memory(path: Path, **settings: Any) -> Memory:
    config = replace(load_config(str(path)), host=HOST, cache=path.parent / "cache", **settings)
    return Memory.open(config=config)


def _cpu_seconds() -> float:
    used = [resource.getrusage(which) for which in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)

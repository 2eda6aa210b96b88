"""What the measures of upkeep share: a store of real logs, made once, of which each works on a copy."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from recollect import Memory
from recollect.config import load_config

QUICK_BYTES = 20_000_000
HOST = "bench"


@dataclass(frozen=True)
class Lab:
    """The logs, where the store made of them is kept, and whether a small one will do."""

    corpus: Path
    keep: Path
    quick: bool

    @contextlib.contextmanager
    def copy(self, **settings: Any) -> Iterator[Memory]:
        """A memory of the logs, indexed and digested, that may be changed; `settings` go into its config."""
        made = self._made()
        with tempfile.TemporaryDirectory(dir=made.parent) as folder:
            shutil.copy(made, folder)
            with _memory(Path(folder) / made.name, **settings) as memory:
                yield memory

    def _made(self) -> Path:
        path = self.keep / ("upkeep-quick.h5" if self.quick else "upkeep.h5")
        if not path.exists():
            self.keep.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.keep) as folder:
                with _memory(Path(folder) / path.name) as memory:
                    memory.ingest(self._logs())
                    memory.index()
                (Path(folder) / path.name).rename(path)
        return path

    def _logs(self) -> list[Path]:
        """All of them, or some that are drawn by a hash."""
        if not self.quick:
            return [self.corpus]
        drawn = sorted(
            self.corpus.glob("*/**/*.jsonl"), key=lambda path: hashlib.sha256(path.name.encode()).digest()
        )
        left, picked = QUICK_BYTES, []
        for path in drawn:
            left -= path.stat().st_size
            if left < 0:
                break
            picked.append(path)
        return picked


def _memory(path: Path, **settings: Any) -> Memory:
    config = replace(load_config(str(path)), host=HOST, cache=path.parent / "cache", **settings)
    return Memory.open(config=config)

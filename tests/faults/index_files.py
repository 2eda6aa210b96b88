"""Search indexes that a crash left anyhow: files cut short, zeroed, gone, older than the store.

They are written past the Disk, by libraries, so no model knows what a power cut leaves of them; what is done
here is worse than that. Whatever it was, a search answers as one over indexes made from nothing.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
from pathlib import Path

from tests.faults.crashes import empty
from tests.support import DATA
from tests.support.children import command, environment
from tests.support.memories import memory_at

QUERIES = ("harbor", "naive datetimes", "Makefile", "utcnow", "tokens expire", "file:tokens.py", "is:error")
HARMS = ("gone", "cut", "zeros", "zero tail", "old")

Answers = list[list[str]]


class IndexedStore:
    """A store, half of its indexes, all of them, and what they answer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        with memory_at(folder) as memory:
            memory.ingest([DATA / "codex"])
            memory.index()
        shutil.copytree(folder / "cache", folder / "older")
        with memory_at(folder) as memory:
            memory.ingest([DATA / "claude"])
            memory.index()
            self.answers = answers(memory_at(folder))

    def wrong_after_harm(self, rng: random.Random, scratch: Path) -> list[str]:
        """What is wrong with answers after something happened to some of the files of the cache."""
        found = self._copy(scratch)
        files = sorted(path for path in (found / "cache").rglob("*") if path.is_file())
        done = []
        for path in rng.sample(files, rng.choice((1, 1, 2, 4))):
            how = rng.choice(HARMS)
            harm(path, how, self.folder / "older" / path.relative_to(found / "cache"), rng)
            done.append(f"{path.name} {how}")
        return self._wrong(found, ", ".join(done))

    def wrong_after_kill(self, rng: random.Random, scratch: Path) -> list[str]:
        """What is wrong with answers after indexing was killed at one of its steps, and then again."""
        found = self._copy(scratch)
        if rng.random() < 0.5:
            shutil.rmtree(found / "cache")
        else:
            shutil.rmtree(found / "cache")
            shutil.copytree(self.folder / "older", found / "cache")
        steps = [rng.randint(1, 12) for _ in range(2)]
        for step in steps:
            words = command("search/worker.py", "index", found, step)
            child = subprocess.run(words, env=environment(), capture_output=True, check=False)
            assert child.returncode in (0, -signal.SIGKILL), child.stderr.decode()[-2000:]
        return self._wrong(found, f"indexing killed at steps {steps}")

    def _copy(self, scratch: Path) -> Path:
        found = empty(scratch / "index")
        shutil.copy(self.folder / "memory.h5", found)
        shutil.copytree(self.folder / "cache", found / "cache")
        return found

    def _wrong(self, found: Path, how: str) -> list[str]:
        try:
            told = answers(memory_at(found))
        except Exception as error:
            return [f"{how}: {type(error).__name__}: {error}"]
        wrong = [query for query, one, two in zip(QUERIES, told, self.answers, strict=True) if one != two]
        return [f"{how}: other answers to {wrong}"] if wrong else []


def harm(path: Path, how: str, older: Path, rng: random.Random) -> None:
    data = path.read_bytes()
    at = rng.randrange(len(data)) if data else 0
    if how == "gone" or (how == "old" and not older.exists()):
        path.unlink()
    elif how == "old":
        shutil.copy(older, path)
    elif how == "cut":
        os.truncate(path, at)
    else:
        at = 0 if how == "zeros" else at
        path.write_bytes(data[:at] + bytes(len(data) - at))


def answers(memory: object) -> Answers:
    with memory as opened:  # type: ignore[attr-defined]
        opened.index()
        return [[hit.id for hit in opened.search(query, limit=20).hits] for query in QUERIES]

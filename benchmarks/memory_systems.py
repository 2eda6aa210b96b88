"""What a memory must do to take part: `System`. Each runs in a process of its own (`memory_worker.py`).

Whatever returns from `save` or `save_batch` must outlive a power cut. Where a system does not see to that
by itself, `Synced` does it for it, and `durable` says so; the table shows it.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from benchmarks.memory_subject import Note
from benchmarks.search_subject import Array

CANDIDATES = 50  # of each list that is fused
_RRF = 60


class System(ABC):
    """A memory on disk, opened once. `title` is what the table calls it, `durable` how a save is synced."""

    title: ClassVar[str]
    durable: ClassVar[str]
    version: str = ""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @abstractmethod
    def save(self, note: Note) -> None:
        """One note, durable when it returns."""

    @abstractmethod
    def save_batch(self, notes: Sequence[Note]) -> None:
        """All of them, durable when it returns."""

    def load(self, notes: Sequence[Note]) -> None:
        """Very many at once, the way the system likes best."""
        for at in range(0, len(notes), 1000):
            self.save_batch(notes[at : at + 1000])

    @abstractmethod
    def last(self, session: str, count: int) -> list[str]:
        """The texts of a session's last notes, in order."""

    def keep_artifact(self, name: str, array: Array) -> None:
        """An array, durable when it returns."""
        raise NotImplementedError

    def artifact(self, name: str) -> Array:
        raise NotImplementedError

    def settings(self) -> Iterator[str]:
        """Make ready for questions, once for each setting that is tried, the narrowest first."""
        raise NotImplementedError

    def use(self, setting: str) -> None:
        """Go back to a setting."""
        assert setting, "there is always one"

    def rest(self) -> None:
        """What a system wants done now and then; between what is timed."""
        assert self.folder.exists()

    def save_turns(self, turns: Sequence[tuple[Note, Array | None]]) -> None:
        """Turns of a conversation with what a tool gave back, an array, durable when it returns."""
        raise NotImplementedError

    def nearest(self, vector: Array, count: int) -> list[int]:
        """The numbers of the notes whose vectors are nearest."""
        raise NotImplementedError

    def search(self, words: str, vector: Array, count: int) -> list[tuple[int, str]]:
        """By words and by meaning: numbers and texts of the best notes."""
        raise NotImplementedError

    def compact(self) -> None:
        """Give back all room that can be given back."""
        assert self.folder.exists()

    @abstractmethod
    def close(self) -> None: ...


def fuse(*lists: Iterable[int], count: int) -> list[int]:
    """Reciprocal rank fusion, as everyone without a fusion of their own does it."""
    scores: dict[int, float] = {}
    for each in lists:
        for rank, number in enumerate(each, 1):
            scores[number] = scores.get(number, 0.0) + 1 / (_RRF + rank)
    return sorted(scores, key=scores.__getitem__, reverse=True)[:count]


class Synced:
    """Syncs what a system wrote into a folder and did not sync itself: its new files, and their folders.

    Files are never changed there, only added: a name that is known was synced.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._known: set[str] = set()

    def sync(self) -> None:
        for path, _, names in os.walk(self._folder):
            places = {os.path.join(path, name) for name in names} - self._known
            for place in [*places, *([path] if places else [])]:
                fd = os.open(place, os.O_RDONLY)
                try:
                    os.fsync(fd)
                finally:
                    os.close(fd)
            self._known |= places


def words_of(text: str) -> list[str]:
    """Each word of a question once."""
    return list(dict.fromkeys(re.findall(r"\w+", text.lower())))

"""Recollect behind `System`: every call into the facade that the memory benchmark makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.memory_subject import Note
from benchmarks.memory_systems import System
from benchmarks.search_subject import Array
from recollect.config import Config
from recollect.memory import Memory
from recollect.values.notes import NewNote


class Ours(System):
    """One store, opened once, with the caller's own vectors."""

    title = "ours"
    durable = "journal, fdatasync"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        config = Config(store=folder / "memory.h5", host="benchmark", cache=folder / "cache")
        self.memory = Memory.open(config.store, config=config)
        self._numbers: dict[str, int] = {}  # of notes, by their entries' ids

    def save(self, note: Note) -> None:
        self.memory.save(note.text, **_given(note))

    def save_batch(self, notes: Sequence[Note]) -> None:
        self.memory.save_batch(NewNote(note.text, **_given(note)) for note in notes)

    def save_turns(self, turns: Sequence[tuple[Note, Array | None]]) -> None:
        results = ({} if result is None else {"result": result} for _, result in turns)
        told = zip((note for note, _ in turns), results, strict=True)
        self.memory.save_batch(NewNote(note.text, **_given(note), artifacts=kept) for note, kept in told)

    def last(self, session: str, count: int) -> list[str]:
        return [note.text for note in self.memory.notes(session=session, last=count)]

    def keep_artifact(self, name: str, array: Array) -> None:
        self.memory.save("an array", id=name, session="arrays", artifacts={"array": array})

    def artifact(self, name: str) -> Array:
        return np.asarray(self.memory.artifact(name, "array", session="arrays"))

    def index(self) -> None:
        self.memory.index()

    def settings(self) -> Iterator[str]:
        self.memory.index()
        self._numbers = {note.entry: int(note.id[1:]) for note in self.memory.notes()}
        yield "as it comes"

    def nearest(self, vector: Array, count: int) -> list[int]:
        found = self.memory.search(vector=vector, mode="vector", limit=count, collapse=False)
        return [self._numbers[hit.id] for hit in found.hits]

    def search(self, words: str, vector: Array, count: int) -> list[tuple[int, str]]:
        found = self.memory.search(words, vector=vector, limit=count, plain=True)
        return [(self._numbers[hit.id], hit.stored.entry.text) for hit in found.hits]

    def filtered(self, vector: Array, filters: str, count: int) -> list[str]:
        """The nearest notes that pass filters, by their entries' ids."""
        found = self.memory.search(filters, vector=vector, mode="vector", limit=count, collapse=False)
        return [hit.id for hit in found.hits]

    def by_words(self, words: str, count: int) -> list[str]:
        found = self.memory.search(words, mode="text", limit=count, plain=True)
        return [hit.id for hit in found.hits]

    def compact(self) -> None:
        self.memory.compact()
        self.memory.index()

    def close(self) -> None:
        self.memory.close()


def _given(note: Note) -> dict[str, Any]:
    return {
        "id": note.id,
        "session": note.session,
        "time": note.time_ms / 1000,
        "tags": note.tags,
        "channel": note.channel,
        "project": note.project,
        "metadata": note.metadata,
        "vector": note.vector,
    }

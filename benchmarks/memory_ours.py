"""Recollect behind `System`: every call into the facade that the memory benchmark makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

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
        self._memory = Memory.open(config.store, config=config)
        self._numbers: dict[str, int] = {}  # of notes, by their entries' ids

    def save(self, note: Note) -> None:
        self._memory.save(note.text, **_given(note))

    def save_batch(self, notes: Sequence[Note]) -> None:
        self._memory.save_batch(NewNote(note.text, **_given(note)) for note in notes)

    def last(self, session: str, count: int) -> list[str]:
        return [note.text for note in self._memory.notes(session=session, last=count)]

    def keep_artifact(self, name: str, array: Array) -> None:
        self._memory.save("an array", id=name, session="arrays", artifacts={"array": array})

    def artifact(self, name: str) -> Array:
        found = self._memory.artifact(name, "array", session="arrays")
        assert not isinstance(found, bytes)
        return found

    def settings(self) -> Iterator[str]:
        self._memory.index()
        self._numbers = {note.entry: int(note.id[1:]) for note in self._memory.notes()}
        yield "as it comes"

    def nearest(self, vector: Array, count: int) -> list[int]:
        found = self._memory.search(vector=vector, mode="vector", limit=count, collapse=False)
        return [self._numbers[hit.id] for hit in found.hits]

    def search(self, words: str, vector: Array, count: int) -> list[tuple[int, str]]:
        found = self._memory.search(words, vector=vector, limit=count, plain=True)
        return [(self._numbers[hit.id], hit.stored.entry.text) for hit in found.hits]

    def compact(self) -> None:
        self._memory.compact()
        self._memory.index()

    def close(self) -> None:
        self._memory.close()


def _given(note: Note) -> dict[str, Any]:
    return {
        "id": note.id,
        "session": note.session,
        "time": note.time_ms / 1000,
        "tags": note.tags,
        "channel": note.channel,
        "metadata": note.metadata,
        "vector": note.vector,
    }


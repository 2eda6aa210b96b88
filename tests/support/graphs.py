"""Graphs to try things on: memories of both engines, and a plain graph to compare with."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from recollect.config import Config
from recollect.memory import Memory
from recollect.testing.reference import ENGINE

ENGINES = ("hdf5", "reference")


@contextlib.contextmanager
def empty_memory(folder: Path, engine: str, name: str = "memory", host: str = "here") -> Iterator[Memory]:
    """A memory in which nothing is, of an engine."""
    at: Path | str = folder / f"{name}.h5" if engine == "hdf5" else f"memory:{folder}/{name}"
    with Memory.open(config=Config(at, host, cache=folder / f"cache-{name}")) as opened:
        yield opened
    if isinstance(at, str):
        ENGINE.forget(at)


@dataclass
class PlainGraph:
    """Relations by what they are about, aliases by entity: all in small letters, nothing worked out."""

    weights: dict[tuple[str, str, str], float] = field(default_factory=dict)
    aliases: dict[str, frozenset[str]] = field(default_factory=dict)  # of each entity that was described

    def key(self, name: str) -> str:
        name = name.casefold()
        meant = [entity for entity, aliases in self.aliases.items() if name in aliases]
        return name if name in self.aliases or not meant else meant[0]

    def names(self) -> set[str]:
        ends = (name for source, _, target in self.weights for name in (source, target))
        return {*map(self.key, ends), *self.aliases}

    def edges(self) -> set[tuple[str, str, str, float]]:
        """Every relation between two different entities."""
        told = ((self.key(s), r, self.key(t), weight) for (s, r, t), weight in self.weights.items())
        return {each for each in told if each[0] != each[2]}

    def beside(self, name: str, direction: str = "both") -> set[str]:
        key, found = self.key(name), set()
        for source, _, target, _ in self.edges():
            found |= {target} if source == key and direction in ("both", "out") else set()
            found |= {source} if target == key and direction in ("both", "in") else set()
        return found

    def distances(self, name: str) -> dict[str, int]:
        """How many relations away everything is that can be reached."""
        start = self.key(name)
        found, ahead = {start: 0}, deque([start])
        while ahead:
            here = ahead.popleft()
            for other in self.beside(here):
                if other not in found:
                    found[other] = found[here] + 1
                    ahead.append(other)
        return found

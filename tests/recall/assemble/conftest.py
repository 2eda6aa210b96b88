"""A memory of the hand-written conversations, made once, and how to ask it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.recall.assemble.corpus import write
from tests.support.memories import open_memory, scratch

from recollect.search.run import Search


@dataclass(frozen=True)
class Told:
    """A search over the talks; `ids` by marker, `names` the other way round."""

    search: Search
    ids: dict[str, str]

    def names(self, ids: tuple[str, ...]) -> list[str]:
        known = {id_: marker for marker, id_ in self.ids.items()}
        return [known.get(id_, "") for id_ in ids]


@pytest.fixture(scope="session")
def talks() -> Iterator[Told]:
    with scratch() as folder, open_memory(folder / "memory.h5") as memory:
        ids = write(folder / "logs")
        memory.ingest([folder / "logs"])
        memory.index()
        with memory.indexes.asking(meaning=True) as search:
            yield Told(search, ids)

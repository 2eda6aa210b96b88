"""What stands in for chroma-mcp: collections and documents, appended without opening the store."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

from tests.faults.story import QuietDisk, State, Story, ingest, memory, only_recover

from recollect.config import Config
from recollect.light.disk import Disk
from recollect.memory import live
from recollect.memory.live import LiveNotes
from recollect.store.hdf5.engine import Hdf5Store
from recollect.values.errors import StoreMissing
from recollect.values.notes import NewNote

NOW_MS = 1_790_000_000_000
BELOW = "chroma/x"
DOCUMENTS = f"{BELOW}/docs"


class ChromaStory(Story):
    """A database beside the logs of a person's agents, folded and rewritten by others."""

    name = "chroma"
    grown_from = 99

    @contextlib.contextmanager
    def set_up(self, disk: Disk) -> Iterator[None]:
        with mock.patch.object(live, "now_ms", return_value=NOW_MS):
            yield

    def steps(self) -> list[Callable[[Hdf5Store], object]]:
        def note(id_: str, text: str, **metadata: object) -> NewNote:
            return NewNote(text, id=id_, channel="chroma", metadata=metadata, time=1.0)

        batch = [note(f"d{number}", f"document {number}", n=number) for number in range(6)]
        return [
            lambda store: notes(store).save(DOCUMENTS, [], title="Chroma collection docs"),
            lambda store: notes(store).save(BELOW, [note("docs", "Chroma collection docs", name="docs")]),
            lambda store: notes(store).save(DOCUMENTS, batch),
            lambda store: ingest(store, [self.swept]),
            lambda store: notes(store).save(DOCUMENTS, [note("d1", "changed", n=1, m=2)]),
            lambda store: notes(store).delete(DOCUMENTS, ["d2", "d4"]),
            lambda store: memory(store).checkpoint(),
            lambda store: notes(store).save(DOCUMENTS, [note("d2", "again")]),
            lambda store: memory(store).compact(),
            lambda store: notes(store).delete(DOCUMENTS, ["d0"]),
        ]

    def seen(self, path: Path) -> State | None:
        seen = super().seen(path)
        if seen is None:
            return None
        with Hdf5Store(path, disk=QuietDisk()) as store, contextlib.suppress(StoreMissing):
            kept = [(note.session, note.id, note.text, dict(note.metadata)) for note in memory(store).notes()]
            return seen | {"documents": sorted(kept, key=repr)}
        return seen

    def learn(self, scratch: Path) -> None:
        super().learn(scratch)
        last = self.states[-1]
        assert last is not None
        assert [id_ for _, id_, _, _ in last["documents"]] == ["docs", "d1", "d2", "d3", "d5"]

    def recoveries(self) -> list[Callable[[Hdf5Store], None]]:
        return [only_recover]

    def check_complete(self, seen: State) -> None:
        for part in ("sources", "sessions"):
            missing = self.final[part].items() - seen[part].items()
            assert not missing, f"{part}: {missing}"


def notes(store: Hdf5Store) -> LiveNotes:
    """What a server appends with, on the disk of the story."""
    return LiveNotes(Config(store=store.path, host="box"), BELOW, store.disk)

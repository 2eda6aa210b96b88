"""What code saves: notes, changes, deletions, artifacts, each acknowledged; and a rewrite that drops some."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import numpy as np
from tests.faults.story import QuietDisk, State, Story, ingest, memory, only_recover

from recollect.light.disk import Disk
from recollect.memory import saving
from recollect.store.hdf5.engine import Hdf5Store
from recollect.values.errors import StoreMissing
from recollect.values.notes import NewNote

NOW_MS = 1_790_000_000_000
ARRAY = np.arange(3000, dtype="<f4").reshape(30, 100)


class SavingStory(Story):
    """A program's memory beside the logs of a person's agents."""

    name = "saving"
    grown_from = 99

    @contextlib.contextmanager
    def set_up(self, disk: Disk) -> Iterator[None]:
        with mock.patch.object(saving, "now_ms", return_value=NOW_MS):
            yield

    def steps(self) -> list[Callable[[Hdf5Store], object]]:
        batch = [NewNote(f"note {n}", id=f"n{n}", tags=("few",), session="chat") for n in range(5)]
        return [
            lambda store: memory(store).save("uv, never pip", id="uv", time=1.0),
            lambda store: memory(store).save_batch(batch),
            lambda store: ingest(store, [self.swept]),
            lambda store: memory(store).update("uv", text="uv and nothing else", metadata={"a": 1}),
            lambda store: memory(store).save("an array", id="array", artifacts={"x": ARRAY, "y": b"\0\1"}),
            lambda store: memory(store).checkpoint(),
            lambda store: memory(store).delete(["n1", "n3"], session="chat"),
            lambda store: memory(store).add_session("chat", title="Chat", summary="of five, three are left"),
            lambda store: memory(store).update("array", artifacts={"x": ARRAY[::-1].copy()}),
            lambda store: memory(store).compact(),
            lambda store: memory(store).save("after all that", id="last"),
        ]

    def seen(self, path: Path) -> State | None:
        seen = super().seen(path)
        if seen is None:
            return None
        with Hdf5Store(path, disk=QuietDisk()) as store, contextlib.suppress(StoreMissing):
            asked = memory(store)
            notes = [(note.session, note.id, note.text, dict(note.metadata)) for note in asked.notes()]
            kept = [
                (note.id, each.name, np.asarray(bytearray(_bytes(asked.artifact(note.id, each.name)))).sum())
                for note in asked.notes()
                for each in note.artifacts
            ]
            return seen | {
                "notes": sorted(notes, key=repr),
                "artifacts": kept,
                "summary": asked.summary("chat"),
            }
        return seen

    def learn(self, scratch: Path) -> None:
        super().learn(scratch)
        last, before = self.states[-1], self.states[-3]
        assert last is not None
        assert before is not None
        assert [id_ for _, id_, _, _ in last["notes"]] == ["n0", "n2", "n4", "array", "last", "uv"]
        assert before["lines"] > last["lines"], "compact drops what was taken back"

    def recoveries(self) -> list[Callable[[Hdf5Store], None]]:
        return [only_recover]

    def check_complete(self, seen: State) -> None:
        for part in ("sources", "sessions"):
            missing = self.final[part].items() - seen[part].items()
            assert not missing, f"{part}: {missing}"


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else np.asarray(value).tobytes()

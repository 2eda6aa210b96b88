"""What an SDK mirrors: entries, what a subagent said, a deletion and a new beginning, each acknowledged."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from tests.faults.story import STORE, QuietDisk, State, Story, ingest, memory, only_recover

from recollect.light.disk import Disk
from recollect.memory import mirrors
from recollect.memory.mirrors import Mirrors
from recollect.store.hdf5.engine import Hdf5Store
from recollect.values.errors import StoreMissing
from recollect.values.mirrored import MirrorKey

NOW_MS = 1_790_000_000_000
MAIN = MirrorKey("harbor", "5a3e1c00-7b1d-4c00-8000-0000000000aa")
AGENT = MAIN._replace(subpath="subagents/agent-a1")
OTHER = MAIN._replace(session="5a3e1c00-7b1d-4c00-8000-0000000000bb")


def said(*numbers: int) -> list[dict[str, Any]]:
    return [
        {"type": "user", "uuid": f"u{n}", "message": {"role": "user", "content": f"Frage {n} é"}}
        for n in numbers
    ]


def count(data: dict[str, Any] | None, entries: list[dict[str, Any]]) -> dict[str, Any]:
    return {"count": (data or {"count": 0})["count"] + len(entries)}


class MirroringStory(Story):
    """An SDK's sessions beside the logs of a person's agents."""

    name = "mirroring"
    grown_from = 99

    @contextlib.contextmanager
    def set_up(self, disk: Disk) -> Iterator[None]:
        with mock.patch.object(mirrors, "now_ms", return_value=NOW_MS):
            yield

    def steps(self) -> list[Callable[[Hdf5Store], object]]:
        return [
            lambda store: memory(store).mirrors("claude").append(MAIN, said(1, 2), count),
            lambda store: memory(store).mirrors("claude").append(AGENT, said(10), count),
            lambda store: ingest(store, [self.swept]),
            lambda store: memory(store).mirrors("claude").append(OTHER, said(5), count),
            lambda store: memory(store).mirrors("claude").append(MAIN, said(2, 3), count),  # one again
            lambda store: memory(store).checkpoint(),
            lambda store: memory(store).mirrors("claude").append(MAIN, said(4), count),
            lambda store: memory(store).mirrors("claude").delete(MAIN),
            lambda store: memory(store).mirrors("claude").append(MAIN, said(6), count),
            lambda store: memory(store).compact(),
            lambda store: memory(store).mirrors("claude").append(MAIN, said(7), count),
        ]

    def seen(self, path: Path) -> State | None:
        seen = super().seen(path)
        if seen is None:
            return None
        with Hdf5Store(path, disk=QuietDisk()) as store, contextlib.suppress(StoreMissing):
            asked = memory(store).mirrors("claude")
            return seen | {
                "mirrored": [asked.load(key) for key in (MAIN, AGENT, OTHER)],
                "listed": sorted(
                    (each.session, each.data["count"]) for each in asked.sessions("harbor", count)
                ),
            }
        return seen

    def learn(self, scratch: Path) -> None:
        """What is seen between two frames of one step is told by an undisturbed run, too."""
        real = Mirrors._write

        def write(self_: Mirrors, *told: Any) -> bool:
            is_alone = real(self_, *told)
            self.between.setdefault(len(self.states), []).append(self.seen(scratch / STORE))
            return is_alone

        with mock.patch.object(Mirrors, "_write", write):
            super().learn(scratch)
        last, deleted = self.states[-1], self.states[8]
        assert last is not None
        assert deleted is not None
        assert deleted["mirrored"] == [None, None, said(5)]
        assert last["mirrored"] == [said(6, 7), None, said(5)]
        assert [number for _, number in last["listed"]] == [2, 1]

    def allowed(self, acked: int, under_way: int, commits: int | None = None) -> list[State | None]:
        return super().allowed(acked, under_way)  # a step is more than its commits

    def recoveries(self) -> list[Callable[[Hdf5Store], None]]:
        return [only_recover]

    def check_complete(self, seen: State) -> None:
        for part in ("sources", "sessions"):
            missing = self.final[part].items() - seen[part].items()
            assert not missing, f"{part}: {missing}"

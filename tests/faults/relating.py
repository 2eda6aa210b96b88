"""What code says of the graph: entities, relations, changes, what is taken back; and a rewrite."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from tests.faults.story import QuietDisk, State, Story, ingest, memory, only_recover

from recollect.memory import Memory, saving
from recollect.search.graph.replay import saved_graph
from recollect.store.hdf5.engine import Hdf5Store
from recollect.values.errors import StoreMissing
from recollect.values.graph import NewEntity, NewRelation

NOW_MS = 1_790_000_000_000


class RelatingStory(Story):
    """A program's graph beside the logs of a person's agents."""

    name = "relating"
    grown_from = 99

    def steps(self) -> list[Callable[[Hdf5Store], object]]:
        batch = [NewRelation(f"part {n}", "is part of", "crane", n / 8, time=1.0 + n) for n in range(8)]
        moments = itertools.count(NOW_MS, 1_000)  # the same whenever the story is told

        def say(what: Callable[[Memory], object]) -> Callable[[Hdf5Store], object]:
            now = next(moments)

            def step(store: Hdf5Store) -> None:
                with mock.patch.object(saving, "now_ms", return_value=now):
                    what(memory(store))

            return step

        return [
            say(lambda told: told.graph.relate("harbor", "installs with", "uv", weight=0.9)),
            say(lambda told: told.graph.add_batch([NewEntity("crane", "machine", ["winch"])], batch)),
            lambda store: ingest(store, [self.swept]),
            say(lambda told: told.graph.relate("Harbor", "installs with", "uv", weight=0.2)),
            lambda store: memory(store).checkpoint(),
            say(lambda told: told.graph.unrelate("part 3", "is part of", "winch")),
            say(lambda told: told.graph.update(_id(told, "part 5"), weight=7.0)),
            say(lambda told: told.graph.delete(told.graph.entity("crane").id)),
            lambda store: memory(store).compact(),
            say(lambda told: told.graph.relate("uv", "is written in", "Rust")),
        ]

    def seen(self, path: Path) -> State | None:
        seen = super().seen(path)
        if seen is None:
            return None
        with (
            Hdf5Store(path, disk=QuietDisk()) as store,
            contextlib.suppress(StoreMissing),
            memory(store).view() as view,  # the graph's own verbs fold the journal first
        ):
            graph = saved_graph(view)
            return seen | {"relations": graph.relations, "described": graph.described}
        return seen

    def learn(self, scratch: Path) -> None:
        super().learn(scratch)
        last, before = self.states[-1], self.states[-3]
        assert last is not None
        assert before is not None
        weights = {each.source: each.weight for each in last["relations"]}
        assert (weights["Harbor"], weights["part 5"], weights["uv"], len(weights)) == (0.2, 7.0, 1.0, 9)
        assert before["lines"] > last["lines"], "compact drops what was taken back"

    def recoveries(self) -> list[Callable[[Hdf5Store], None]]:
        return [only_recover]

    def check_complete(self, seen: State) -> None:
        for part in ("sources", "sessions"):
            missing = self.final[part].items() - seen[part].items()
            assert not missing, f"{part}: {missing}"


def _id(told: Memory, source: str) -> str:
    return told.graph.relations(source=source)[0].id

"""Two who index at once: the second waits for the first, and what both leave is done."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support import DATA
from tests.support.memories import open_memory

import recollect.memory as module
from recollect.insight import derive
from recollect.insight.derive import left_to_derive
from recollect.memory import Memory
from recollect.search.cache_folder import store_folder
from recollect.search.text.index import TextIndex
from recollect.search.vectors import index as vectors
from recollect.store.hdf5.engine import Hdf5Store
from recollect.values.errors import EmbedderFailed
from recollect.values.hits import Fresh

Working = Callable[[Memory], contextlib.AbstractContextManager[None]]


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setattr(vectors, "WRITER_SECONDS", 0.01)
    monkeypatch.setattr(derive, "WRITER_SECONDS", 0.01)
    with open_memory(tmp_path / "memory.h5") as made:
        made.ingest([DATA / "claude"])
        yield made


@contextlib.contextmanager
def writing(memory: Memory) -> Iterator[None]:
    with Hdf5Store(Path(memory.name)) as other, other.writer():
        yield


@contextlib.contextmanager
def indexing_words(memory: Memory) -> Iterator[None]:
    with memory.view() as view:
        info = view.info()
    folder = store_folder(memory.config.cache, info.id)
    with TextIndex.open(folder, info.id, info.epoch)._place.lock() as held:
        assert held
        yield


def is_complete(memory: Memory) -> bool:
    fresh = memory.fresh()
    return fresh.entries == fresh.text == fresh.vectors and not left_to_derive(memory._store)


@pytest.mark.parametrize("other", [writing, indexing_words])
def test_it_waits_for_another_process_and_does_what_is_left(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, other: Working
) -> None:
    with contextlib.ExitStack() as at_work:
        at_work.enter_context(other(memory))
        waits: list[float] = []

        def sleeps(seconds: float) -> None:
            waits.extend(
                [seconds] * (seconds == module.INDEX_AGAIN_SECONDS)
            )  # whoever wants a lock sleeps too
            if len(waits) == 3:
                at_work.close()

        monkeypatch.setattr(module.time, "sleep", sleeps)
        fresh = memory.index(timeout=1_000.0)
    assert len(waits) == 3
    assert not fresh.is_busy
    assert is_complete(memory)


@pytest.mark.parametrize("other", [writing, indexing_words])
def test_who_does_not_wait_is_told_that_another_is_at_it(memory: Memory, other: Working) -> None:
    with other(memory):
        assert memory.index().is_busy
    assert not memory.index().is_busy
    assert is_complete(memory)


def test_one_that_gets_on_is_waited_for_as_long_as_it_does(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = iter([*range(9, 3, -1), *[3] * 50])
    clock = iter(range(1_000))
    monkeypatch.setattr(module.time, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    fresh = replace(memory.fresh(), is_busy=True)
    rounds: list[int] = []

    def round_(_: object) -> tuple[Fresh, int]:
        rounds.append(next(left))
        return fresh, rounds[-1]

    monkeypatch.setattr(memory, "_index", round_)
    assert memory.index(timeout=5.0).is_busy
    assert rounds.count(3) > 1  # it got no further, and was waited for a while
    assert len(rounds) < 20


def test_what_the_disk_refuses_is_not_waited_for(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise EmbedderFailed("the endpoint is down", hint="start it")

    monkeypatch.setattr(vectors.VectorIndex, "_advance", fails)
    monkeypatch.setattr(module.time, "sleep", lambda _: pytest.fail("it waits"))
    fresh = memory.index(timeout=1_000.0)
    assert (fresh.is_busy, fresh.stopped) == (False, "the endpoint is down")

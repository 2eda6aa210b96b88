"""A search that finds nothing while somebody is writing waits a moment, or says that there may be more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.claude_talk import Talk
from tests.support.memories import open_memory

from recollect.mcp import answers
from recollect.memory import Memory
from recollect.store.registry import open_store
from recollect.values.hits import Fresh, Results

INCOMPLETE = "this may be incomplete"


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    with open_memory(folder / "memory.h5") as memory:
        talk = Talk(1, "/home/ada/harbor")
        talk.user("The walrus sleeps")
        talk.write(folder / "logs")
        memory.ingest([folder / "logs"])
        yield memory


def asked(memory: Memory, query: str) -> str:
    return answers.search_memory(
        memory, query=query, mode="text", k=3, offset=0, budget_tokens=1000, project=""
    ).text


def sleeping(monkeypatch: pytest.MonkeyPatch, then: Callable[[], None] = lambda: None) -> list[float]:
    """Pauses that take no time, and what happens during each."""
    slept: list[float] = []
    now = [0.0]

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds
        then()

    monkeypatch.setattr(answers.time, "sleep", sleep)
    monkeypatch.setattr(answers.time, "monotonic", lambda: now[0])
    return slept


def test_nothing_is_nothing_where_nobody_writes(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    slept = sleeping(monkeypatch)
    said = asked(memory, "zyzzyva")
    assert "no word of it occurs" in said
    assert INCOMPLETE not in said
    assert slept == []


def test_what_a_writer_finishes_meanwhile_is_found(
    memory: Memory, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing = [True]

    def finish() -> None:
        talk = Talk(2, "/home/ada/harbor")
        talk.user("The zyzzyva crawls")
        talk.write(folder / "logs")
        memory.ingest([folder / "logs"])
        writing.clear()

    monkeypatch.setattr(Memory, "is_busy", lambda _: bool(writing))
    slept = sleeping(monkeypatch, finish)
    said = asked(memory, "zyzzyva")
    assert "The zyzzyva crawls" in said
    assert INCOMPLETE not in said
    assert len(slept) == 1


def test_a_writer_that_takes_longer_is_not_waited_for(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Memory, "is_busy", lambda _: True)
    slept = sleeping(monkeypatch)
    assert INCOMPLETE in asked(memory, "zyzzyva")
    assert 0 < sum(slept) <= 2 * answers.PATIENCE_SECONDS
    slept.clear()
    assert INCOMPLETE not in asked(memory, "walrus")
    assert slept == []


@pytest.mark.parametrize("behind", [{"text": 5}, {"waiting": 1}])
def test_what_is_not_indexed_or_not_folded_yet_may_hold_more(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, behind: dict[str, int]
) -> None:
    fresh = Fresh(**{"entries": 9, "text": 9, "vectors": 9, **behind})
    monkeypatch.setattr(Memory, "search", lambda *_, **__: Results([], 0, fresh))
    sleeping(monkeypatch)
    assert INCOMPLETE in asked(memory, "zyzzyva")


def test_a_store_is_busy_while_its_writer_lives(memory: Memory) -> None:
    other = open_store(memory.config.store, create=False)
    try:
        assert not memory.is_busy()
        with other.writer():
            assert memory.is_busy()
        assert not memory.is_busy()
    finally:
        other.close()

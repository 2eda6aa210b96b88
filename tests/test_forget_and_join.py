"""Evicting, erasing, merging and splitting, one after the other: what one did, the next does not undo."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support import DATA
from tests.support.memories import memory_at
from tests.support.noisy import talk

from recollect.memory import Memory
from recollect.memory.erasing import verify
from recollect.values.erasures import Wanted
from recollect.values.retention import RetentionSettings


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for number in (1, 2, 3):
        talk(number, turns=4).write(tmp_path / "logs")
    return tmp_path / "logs"


@pytest.fixture
def memory(tmp_path: Path, logs: Path) -> Iterator[Memory]:
    with memory_at(tmp_path) as made:
        made.ingest([logs])
        made.index()
        yield made


def copied(memory: Memory, folder: Path, name: str) -> Memory:
    """The same store once more."""
    shutil.copy(folder / "memory.h5", folder / name)
    return memory_at(folder, name, f"cache-{name}")


def evict(memory: Memory, *, all_of_it: bool = True) -> None:
    with memory.view() as view:
        used = view.raw_sizes().total
    settings = RetentionSettings(raw_soft_cap_bytes=1 if all_of_it else used // 2)
    memory.config = dataclasses.replace(memory.config, retention=settings)
    memory.sweep()


def ids(memory: Memory) -> list[str]:
    return [each.facts.id for each in memory.sessions()]


def tokens(memory: Memory) -> list[tuple[int, int]]:
    with memory.view() as view:
        usage = view.usage()
        return sorted(zip(usage.input.tolist(), usage.output.tolist(), strict=True))


def digests(memory: Memory) -> dict[str, Any]:
    return {session.facts.id: digest for session, digest in memory.digests()}


def vector_rows(memory: Memory) -> int:
    with memory.view() as view:
        return sum(model.rows for model in view.vector_models())


def test_what_another_own_store_erased_goes_from_all_that_was_made_of_it_here(
    memory: Memory, tmp_path: Path
) -> None:
    first, _, third = ids(memory)
    with copied(memory, tmp_path, "other.h5") as other:
        _, by_session = other.erase(Wanted(session=first))
        _, by_match = other.erase(Wanted(match="number 2-0 in"))
    before, told = vector_rows(memory), digests(memory)[third]
    memory.merge([tmp_path / "other.h5"], own=True)
    for receipt in (by_session, by_match):
        assert verify(memory, receipt, ["number 2-0 in", "number 1-0 in"])["found"] == []
    assert 0 < vector_rows(memory) < before, "what is left keeps its vectors"
    assert digests(memory)[third] == told
    assert first not in ids(memory)
    assert memory.check() == []


def test_the_digest_of_what_was_evicted_comes_along_wherever_anything_was_erased(
    memory: Memory, tmp_path: Path
) -> None:
    first, *_ = ids(memory)
    with memory_at(tmp_path, "other.h5", "cache-other") as other:
        talk(9).write(tmp_path / "more")
        other.ingest([tmp_path / "more"])
        other.erase(Wanted(session=ids(other)[0]))
        evict(memory)
        told, gone = digests(memory)[first], memory.evicted(first)
        counted = tokens(memory)
        other.merge([tmp_path / "memory.h5"], own=True)
        assert digests(other)[first] == told
        assert other.evicted(first) == gone
        assert tokens(other) == counted
        assert other.restore(first).lines


def test_an_evicted_line_that_another_own_store_erased_is_not_counted_any_more(
    memory: Memory, tmp_path: Path
) -> None:
    with copied(memory, tmp_path, "other.h5") as other:
        other.erase(Wanted(match="Decision: keep"))
        left = tokens(other)
    evict(memory)
    assert len(tokens(memory)) == len(left) + 12
    memory.merge([tmp_path / "other.h5"], own=True)
    assert tokens(memory) == left
    assert memory.check() == []


@pytest.mark.parametrize("agent", ["claude", "cursor", "gemini", "grok", "qwen"])
def test_a_session_comes_back_with_all_that_was_known_of_it(tmp_path: Path, agent: str) -> None:
    """Of a subagent also who started it, which no line of its file says."""
    shutil.copytree(DATA / agent, tmp_path / "logs" / agent)
    with memory_at(tmp_path) as memory:
        memory.ingest([tmp_path / "logs"])
        memory.index()
        before = {each.facts.id: each.facts for each in memory.sessions()}
        evict(memory)
        gone = list(memory.evicted_sessions())
        assert gone
        for id_ in gone:
            memory.restore(id_)
        assert {each.facts.id: each.facts for each in memory.sessions()} == before

"""Evicting, erasing, merging and splitting, one after the other: what one did, the next does not undo."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support import DATA
from tests.support.logs import claude_path, said, texts, uuid_of, write
from tests.support.memories import memory_at
from tests.support.noisy import talk
from tests.support.plain_hosts import PlainHosts

from recollect.memory import Memory
from recollect.memory.erasing import verify
from recollect.values.erasures import Wanted
from recollect.values.retention import RetentionSettings
from recollect.values.stored import source_bytes


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


def test_what_was_evicted_in_a_part_or_in_anothers_store_is_told_and_comes_back(
    memory: Memory, tmp_path: Path
) -> None:
    first, *_ = ids(memory)
    with memory.view() as view:
        lines = len(list(view.line_keys(memory.sources(first)[0])))
    evict(memory)
    memory.split(tmp_path / "part.h5", redacted=False)
    with memory_at(tmp_path, "given.h5", "cache-given") as given:
        given.merge([tmp_path / "memory.h5"])
    for name in ("part.h5", "given.h5"):
        with memory_at(tmp_path, name, f"cache-{name}") as other:
            told = other.evicted(first)
            assert told is not None
            assert (told.lines, told.time_ms) == (lines, 0)
            assert set(other.evicted_sessions()) == set(ids(memory))
            assert other.restore(first).lines == lines
            other.require_whole(first)


@pytest.mark.parametrize("order", [("memory.h5", "other.h5"), ("other.h5", "memory.h5")])
def test_a_log_without_its_erased_line_is_known_to_be_so_whichever_store_it_is_from(
    memory: Memory, tmp_path: Path, order: tuple[str, str]
) -> None:
    """Else its raw export would be other bytes than the agent wrote, and say nothing of it."""
    _, second, _ = ids(memory)
    with copied(memory, tmp_path, "other.h5") as other:
        other.erase(Wanted(match="number 2-0 in"))
    with memory_at(tmp_path, "new.h5", "cache-new") as new:
        new.merge([tmp_path / name for name in order], own=True)
        assert [each.thinned for each in new.sources(second)] == [True]
        new.reparse()
        assert [each.thinned for each in new.sources(second)] == [True]
        assert new.ingest([tmp_path / "logs"]).taken == 0
        assert new.check() == []


def test_an_erasure_of_lines_that_is_taken_back_is_made_good_by_the_next_ingest(
    memory: Memory, tmp_path: Path, logs: Path
) -> None:
    _, second, _ = ids(memory)
    path = Path(memory.sources(second)[0].file.path)
    told = texts(memory, second)
    counted = tokens(memory)
    evict(memory, all_of_it=False)
    gone = set(memory.evicted_sessions())
    memory.restore(second)
    for part in (0, 1):  # not what a digest of an evicted session says, too: then that goes as a whole
        memory.erase(Wanted(match=f"number 2-{part} in"))
    assert memory.ingest([logs]).taken == 0
    for each in memory.erasures():
        memory.forget_erasure(each.id)
    memory.ingest([logs])
    assert texts(memory, second) == told
    assert tokens(memory) == counted
    with memory.view() as view:
        (source,) = (each for each in view.sources() if each.session == second and not each.superseded)
        assert b"".join(source_bytes(source, view.lines(source))) == path.read_bytes()
    assert set(memory.evicted_sessions()) == gone - {second} != set(), "what was only evicted stays so"


def test_what_was_evicted_of_another_machine_does_not_come_back_when_its_log_grows(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = PlainHosts(folder, "nas")
    monkeypatch.setenv("PATH", hosts.environ["PATH"])
    path = write(claude_path(hosts.home("nas") / ".claude", 1), said(1, "first") + b"\n")
    with hosts.memory() as memory:
        memory.fleet.sync()
        memory.index()
        evict(memory)
        path.write_bytes(path.read_bytes() + said(2, "second") + b"\n")
        (done,) = memory.fleet.sync()
        assert (done.report.taken, done.report.restarted) == (1, 0)
        assert texts(memory, uuid_of(1)) == ["second"]
        path.write_bytes(said(3, "another file") + b"\n" + path.read_bytes())
        (done,) = memory.fleet.sync()
        assert done.report.restarted == 1
        assert texts(memory, uuid_of(1)) == ["another file", "first", "second"]
        assert memory.check() == []


def test_a_log_that_anothers_store_says_was_taken_is_compared_before_that_is_believed(tmp_path: Path) -> None:
    """Or a store handed to somebody could keep a log that they have yet to write from being taken."""
    lines = said(1, "x" * 3000), said(2, "goes")
    path = write(claude_path(tmp_path / "logs", 1), b"".join(line + b"\n" for line in lines))
    with memory_at(tmp_path, "given.h5", "cache-given") as given:
        given.ingest([path])
        given.erase(Wanted(match="goes"))
    path.write_bytes(b"".join(said(n, f"mine {n} " + "y" * 900) + b"\n" for n in range(1, 9)))
    with memory_at(tmp_path) as memory:
        memory.merge([tmp_path / "given.h5"])
        memory.ingest([path])
        assert len([text for text in texts(memory, uuid_of(1)) if text.startswith("mine")]) == 8

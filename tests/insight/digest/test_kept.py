"""Digests that are kept are those that would be made now, however the store came about."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support import DATA
from tests.support.claude_talk import Talk
from tests.support.memories import open_memory, scratch

from recollect.insight.digest import kept
from recollect.insight.digest.kept import DIGESTS, key_of
from recollect.memory import Memory
from recollect.store import derived
from recollect.store.derived import stored_table
from recollect.values.digests import Digest


def made_now(memory: Memory) -> dict[kept.Key, Digest]:
    return {key_of(session): memory.digest(session.facts.id)[1] for session in memory.sessions()}


def rows(memory: Memory) -> int:
    with memory.view() as view:
        return stored_table(view, DIGESTS).rows


def talk(number: int, *answers: str) -> Talk:
    told = Talk(number, "/home/ada/harbor")
    for answer in answers:
        told.user(f"Let tide {answer} run")
        told.call("Bash", "1 failed", failed=True, command="pytest -q")
        told.assistant(answer)
    return told


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    with open_memory(tmp_path / "memory.h5") as made:
        made.ingest([DATA / "claude", DATA / "codex"])
        yield made


def test_every_session_has_the_digest_that_would_be_made_now(memory: Memory) -> None:
    assert memory.digests() == made_now(memory)
    assert len(memory.digests()) > 2


def test_a_session_over_many_ranges_is_digested_once(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derived, "_ENTRIES_AT_ONCE", 3)
    assert memory.digests() == made_now(memory)
    assert rows(memory) == len(memory.digests())


def test_a_session_that_goes_on_is_digested_anew_and_the_others_are_not(
    memory: Memory, tmp_path: Path
) -> None:
    talk(1, "one").write(tmp_path / "logs")
    memory.ingest([tmp_path / "logs"])
    memory.digests()
    before = rows(memory)
    talk(1, "one", "two").write(tmp_path / "logs")
    memory.ingest([tmp_path / "logs"])
    assert memory.digests() == made_now(memory)
    assert rows(memory) == before + 1
    memory.digests()
    assert rows(memory) == before + 1


@pytest.mark.parametrize("rewrite", ["compact", "reparse", "repair"])
def test_a_rewrite_carries_them_and_what_comes_out_alike_is_not_added(memory: Memory, rewrite: str) -> None:
    told, before = memory.digests(), rows(memory)
    getattr(memory, rewrite)()
    with memory.view() as view:
        assert kept.kept_digests(view) == told
    assert memory.digests() == told
    assert rows(memory) == before
    assert memory.check() == []


def test_superseded_rows_are_cleared_out(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "_STALE_MIN", 0)
    for number in range(1, 2 * memory.info().sessions + 3):
        talk(1, *map(str, range(number))).write(tmp_path / "logs")
        memory.ingest([tmp_path / "logs"])
        assert memory.digests() == made_now(memory)
    assert rows(memory) <= 2 * memory.info().sessions


def test_while_another_is_writing_what_is_kept_is_told(memory: Memory, tmp_path: Path) -> None:
    told = memory.digests()
    with open_memory(tmp_path / "memory.h5") as other, other._store.writer():
        assert memory.digests() == told


@given(st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=3), min_size=1, max_size=4))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_step_by_step_comes_out_as_in_one_go(steps: list[list[str]]) -> None:
    with scratch() as folder:
        with open_memory(folder / "steps.h5") as memory:
            for number in range(len(steps)):
                for each, answers in enumerate(steps[: number + 1]):
                    talk(each + 1, *answers).write(folder / "logs")
                memory.ingest([folder / "logs"])
                memory.digests()
            told = memory.digests()
        with open_memory(folder / "once.h5") as memory:
            memory.ingest([folder / "logs"])
            assert memory.digests() == told

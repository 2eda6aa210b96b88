"""Digests that are kept are those that would be made now, however the store came about."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support import DATA
from tests.support.claude_talk import Talk
from tests.support.memories import open_memory, scratch

from recollect.insight.digest import kept, session
from recollect.insight.digest.kept import Digests
from recollect.insight.digest.session import digest_of
from recollect.memory import Memory
from recollect.search.digest_rows import DIGESTS, DigestRows, key_of
from recollect.store import derived
from recollect.store.contract import View
from recollect.store.derived import DerivedTable, stored_table
from recollect.values.digests import Digest
from recollect.values.errors import DerivedDamaged
from recollect.values.retention import SessionName


def made_now(memory: Memory) -> dict[SessionName, Digest]:
    with memory.view() as view:
        return {
            key_of(session): digest_of(list(view.entries(session)), session.facts)
            for session in view.sessions()
        }


def told(memory: Memory) -> dict[SessionName, Digest]:
    return {key_of(session): digest for session, digest in memory.digests()}


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
    assert told(memory) == made_now(memory)
    memory.index()
    assert told(memory) == made_now(memory)
    assert rows(memory) == len(told(memory)) > 2


def test_what_is_kept_is_not_made_again(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.index()
    before = told(memory)
    monkeypatch.setattr(session, "digest_of", None)
    assert told(memory) == before


def test_a_session_over_many_ranges_is_digested_once(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derived, "_ENTRIES_AT_ONCE", 3)
    memory.index()
    assert told(memory) == made_now(memory)
    assert rows(memory) == len(told(memory))


def test_a_session_that_goes_on_is_digested_anew_and_the_others_are_not(
    memory: Memory, tmp_path: Path
) -> None:
    talk(1, "one").write(tmp_path / "logs")
    memory.ingest([tmp_path / "logs"])
    memory.index()
    before = rows(memory)
    talk(1, "one", "two").write(tmp_path / "logs")
    memory.ingest([tmp_path / "logs"])
    assert told(memory) == made_now(memory)  # before anybody indexes
    for _ in range(2):
        memory.index()
        assert told(memory) == made_now(memory)
        assert rows(memory) == before + 1


def test_a_fork_with_nothing_of_its_own_has_its_digest_kept_too(memory: Memory, tmp_path: Path) -> None:
    told_once = talk(1, "one")
    told_once.write(tmp_path / "logs")
    (log,) = (tmp_path / "logs").rglob("*.jsonl")
    fork = log.with_name(log.name.replace("00000001", "00000002"))
    fork.write_bytes(log.read_bytes())
    memory.ingest([tmp_path / "logs"])
    memory.index()
    with memory.view() as view:
        fork_session = view.find_session("00000002")
        assert fork_session.entries
        assert Digests(view).row_of(fork_session) is not None


def test_half_characters_are_kept_too(memory: Memory, tmp_path: Path) -> None:
    hostile = talk(1, "the tide \ud800 of \x1b[31m")
    hostile.write(tmp_path / "logs")
    memory.ingest([tmp_path / "logs"])
    memory.index()
    assert told(memory) == made_now(memory)
    assert memory.check() == []
    assert memory.search_digests("tide").hits


@pytest.mark.parametrize("rewrite", ["compact", "reparse", "repair"])
def test_a_rewrite_carries_them_and_none_is_made_again(
    memory: Memory, rewrite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.index()
    before, many = told(memory), rows(memory)
    monkeypatch.setattr(session, "digest_of", None)
    getattr(memory, rewrite)()
    assert told(memory) == before
    memory.index()
    assert told(memory) == before
    assert rows(memory) == many
    assert memory.check() == []


def test_superseded_rows_are_cleared_out(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "_STALE_MIN", 0)
    for number in range(1, 2 * memory.info().sessions + 3):
        talk(1, *map(str, range(number))).write(tmp_path / "logs")
        memory.ingest([tmp_path / "logs"])
        memory.index()
        assert told(memory) == made_now(memory)
    assert rows(memory) <= 2 * memory.info().sessions + 1


def test_outcomes_and_patterns_are_told_without_reading_a_digest(memory: Memory) -> None:
    memory.index()
    with memory.view() as view:
        known, digests = DigestRows(view), Digests(view)
        for session in view.sessions():
            row, digest = known.row_of(session), digests.of(session)
            assert row is not None
            assert known.outcome(row) == digest.ending.outcome
            assert known.patterns(row) == tuple(name for name, _ in digest.patterns)


def test_one_that_does_not_read_is_made_now(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.index()
    before = told(memory)
    with memory._store.view() as view:
        read = type(view).derived

    least = [0]

    def damaged(view: View, table: DerivedTable, *where: int, only: Sequence[str] = ()) -> Any:
        if table == DIGESTS and len(where) >= least[0]:
            raise DerivedDamaged(table.name, "rot")
        return read(view, table, *where, only=only)  # type: ignore[arg-type]

    monkeypatch.setattr(type(view), "derived", damaged)
    for least[0] in (2, 0):
        assert told(memory) == before


ANSWERS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3)
LIVES = st.lists(st.tuples(ANSWERS, st.sampled_from(["", "", "compact", "reparse"])), min_size=1, max_size=4)


@given(LIVES)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_step_by_step_and_through_rewrites_comes_out_as_in_one_go(life: list[tuple[list[str], str]]) -> None:
    with scratch() as folder:
        with open_memory(folder / "steps.h5") as memory:
            for number, (_, rewrite) in enumerate(life, 1):
                for each, (answers, _) in enumerate(life[:number], 1):
                    talk(each, *answers, *map(str, range(number - each))).write(folder / "logs")
                memory.ingest([folder / "logs"])
                if rewrite:
                    getattr(memory, rewrite)()
                memory.index()
            in_steps = kept_rows(memory)
        with open_memory(folder / "once.h5") as memory:
            memory.ingest([folder / "logs"])
            memory.index()
            assert kept_rows(memory) == in_steps
            assert {key: digest for key, (_, digest) in kept_rows(memory).items()} == made_now(memory)


def kept_rows(memory: Memory) -> dict[SessionName, tuple[str, Digest]]:
    """What the table has of every session, in columns and in its text."""
    with memory.view() as view:
        known, sessions = Digests(view), view.sessions()
        rows = [known.row_of(session) for session in sessions]
        columns = view.derived(DIGESTS)
        return {
            key_of(session): (str([str(columns[name][row]) for name in columns]), known.of(session))
            for session, row in zip(sessions, rows, strict=True)
            if row is not None
        }


def test_those_that_tell_something_are_found_kept_or_not(memory: Memory) -> None:
    def telling(field: str) -> list[str]:
        with memory.view() as view:
            return [session.facts.id for session, _ in Digests(view).telling(field, view.sessions())]

    wanted = [session.facts.id for session, digest in memory.digests() if digest.commits]
    before = telling("commits")
    memory.index()
    assert before == telling("commits") == wanted
    assert len(telling("asked")) > len(wanted)

"""What other processes read ahead is what one process reads, and nothing depends on them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support import DATA
from tests.support.children import workers
from tests.support.memories import open_memory

from recollect.insight import derive
from recollect.insight.derive import INSIGHTS, reading_ahead
from recollect.light import pool
from recollect.memory import Memory
from recollect.store import derived
from recollect.store.contract import View
from recollect.store.derived import DerivedTable, stored_table
from recollect.testing.derived import listed
from recollect.values.errors import DerivedDamaged

TABLES = [table for insight in INSIGHTS for table in insight.tables]


def rows(memory: Memory) -> list[Any]:
    with memory.view() as view:
        stored = [stored_table(view, table) for table in TABLES]
        return [(table, table.rows, table.built_to, listed(view.derived(table))) for table in stored]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "memory.h5") as made:
        made.ingest([DATA / "claude", DATA / "codex"])
        yield made


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derive, "WORTH_ROWS", 1)
    monkeypatch.setattr(derived, "_ENTRIES_AT_ONCE", 5)


@pytest.fixture
def alone(memory: Memory, tmp_path: Path) -> list[Any]:
    with open_memory(tmp_path / "alone.h5") as made:
        made.ingest([DATA / "claude", DATA / "codex"])
        made.index()
        return rows(made)


def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows at which this process reads by itself, as it does."""
    seen: list[int] = []
    take = derive.Ahead.take

    def watched(self: derive.Ahead, piece: derive.Piece, view: View) -> Any:
        found = take(self, piece, view)
        seen.extend([] if found is not None else [piece[1]])
        return found

    monkeypatch.setattr(derive.Ahead, "take", watched)
    return seen


@pytest.mark.usefixtures("eager")
def test_what_workers_read_is_what_one_process_reads(
    memory: Memory, alone: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool.Pool, "take_back", lambda self: None)
    own = reads(monkeypatch)
    memory.index()
    assert rows(memory) == alone
    assert own == []
    assert workers(derive.__name__) == []


@pytest.mark.usefixtures("eager")
def test_what_no_worker_has_begun_this_process_reads(
    memory: Memory, alone: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait(self: Any, number: int) -> Any:
        raise AssertionError(f"waits for piece {number}")

    monkeypatch.setattr(pool.Pool, "_serve", lambda self, process: None)
    monkeypatch.setattr(pool.Pool, "result", wait)
    memory.index()
    assert rows(memory) == alone


def test_few_entries_are_read_by_this_process(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(derive, "Ahead")
    memory.index()
    assert rows(memory)[0][1]


@pytest.mark.usefixtures("eager")
def test_what_a_worker_that_died_did_not_read_this_process_does(
    memory: Memory, alone: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    start = pool._start

    def dead(module: str) -> Any:
        process = start(module)
        process.kill()
        process.wait()
        return process

    monkeypatch.setattr(pool, "_start", dead)
    own = reads(monkeypatch)
    memory.index()
    assert rows(memory) == alone
    assert own


@pytest.mark.usefixtures("eager")
def test_what_was_read_before_a_rewrite_does_not_count(memory: Memory, alone: list[Any]) -> None:
    with reading_ahead(memory._store) as ahead:
        assert ahead is not None
        memory.compact()
        derive.derive(memory._store, ahead)
    with open_memory(Path(memory.name).parent / "alone.h5") as other:
        other.compact()
        other.index()
        assert rows(memory) == rows(other)


@pytest.mark.usefixtures("eager")
def test_an_interrupt_leaves_no_worker(memory: Memory) -> None:
    def interrupt(what: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.index(progress=interrupt)
    assert workers(derive.__name__) == []


@pytest.mark.parametrize("insight", INSIGHTS, ids=lambda each: each.name)
def test_damage_costs_its_own_table_at_most(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, insight: derive.Insight
) -> None:
    memory.index()
    memory.ingest([DATA / "gemini"])
    with memory._store.view() as view:
        kind = type(view)
    read = kind.derived

    def damaged(view: Any, table: DerivedTable, *where: int, only: Any = ()) -> Any:
        if table == insight.tables[0] and stored_table(view, table).rows:
            raise DerivedDamaged(table.name, "rot")
        return read(view, table, *where, only=only)

    monkeypatch.setattr(kind, "derived", damaged)
    memory.index()
    monkeypatch.undo()
    assert {built_to for _, _, built_to, _ in rows(memory)} == {memory.info().rows_end}

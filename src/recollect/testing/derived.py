"""What every store promises of derived tables. `StoreContract` inherits it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from recollect.store.contract import Store, View
from recollect.store.derived import (
    NAME,
    NUMBERS,
    TEXT,
    Column,
    DerivedTable,
    Rewrite,
    carry_derived,
    catch_up,
    current_rows,
    stored_table,
)
from recollect.values.records import Cursor, Entry, Kind, Line, Parsed, SessionFacts, SourceFile

COLUMNS = (("entry", "<u8"), ("weight", "<f4"), ("tool", NAME), ("said", TEXT))
ROWS = DerivedTable("contract-rows", 1, COLUMNS)
FACTS = DerivedTable("contract-facts", 3, (("id", TEXT), ("count", "<u4")), Rewrite.CARRY)


def some_rows(start: int, stop: int) -> dict[str, Column]:
    """Rows that tell where they belong, with words that repeat and texts that hurt."""
    hurting = ["", "plain", "\ud800 lone", "\u2028 é 中文 \U0001f600", "x" * 5000]
    return {
        "entry": np.arange(start, stop, dtype=np.uint64),
        "weight": np.arange(start, stop) / 4,
        "tool": [("Bash", "", "\ud800", "Edit")[n % 4] for n in range(start, stop)],
        "said": [f"{n} {hurting[n % 5]}" for n in range(start, stop)],
    }


def some_facts(*ids: str) -> dict[str, Column]:
    return {"id": ids, "count": np.arange(len(ids))}


def listed(columns: dict[str, Column]) -> dict[str, list[Any]]:
    return {name: np.asarray(values).tolist() for name, values in columns.items()}


def by_id(view: View, columns: dict[str, Column]) -> dict[str, list[Any]]:
    """Rows that name their entry by its id: row numbers are an engine's own business."""
    found = listed(columns)
    return found | {"entry": view.entry_ids(found["entry"])}


def say(store: Store, *texts: str) -> None:
    """Have one more entry a text."""
    lines = [
        Line(text.encode(), 0, Parsed("user", (Entry(Kind.PROMPT, text, tool=text[:1]),))) for text in texts
    ]
    with store.writer() as writer:
        file, facts = SourceFile("owl", "/logs/derived.jsonl"), SessionFacts("owl", "derived")
        writer.take(file, "harbor", lines, Cursor(offset=1), facts, parser=1)
        writer.commit()


def make(view: View, start: int, stop: int) -> dict[str, Column]:
    """A toy: of every entry that says something its row, its length, its tool and its text."""
    found = [each for each in view.entry_range(start, stop) if each.entry.text]
    return {
        "entry": np.array([each.row for each in found], np.uint64),
        "weight": np.array([len(each.entry.text) for each in found], np.float32),
        "tool": [each.entry.tool for each in found],
        "said": [each.entry.text for each in found],
    }


class DerivedContract:
    """Subclasses give `store`, `reopen`, which makes another handle on it, and `empty`, another store."""

    def test_a_table_that_nobody_wrote_is_absent(self, store: Store) -> None:
        with store.view() as view:
            assert view.derived_tables() == []
            assert stored_table(view, ROWS).built_to == stored_table(view, ROWS).rows == 0
            assert listed(view.derived(ROWS)) == {name: [] for name, _ in COLUMNS}
            assert np.asarray(view.derived(ROWS)["entry"]).dtype == np.uint64

    def test_derived_rows_come_back_in_the_order_they_were_added(
        self, store: Store, reopen: Callable[[], Store]
    ) -> None:
        at = 0
        for count in (3, 1, 5000, 0, 2):
            with store.writer() as writer:
                writer.add_derived(ROWS, some_rows(at, at + count), built_to=10 * (at + count))
                at += count
                assert listed(writer.view().derived(ROWS)) == listed(some_rows(0, at))
                writer.commit()
        with reopen().view() as view:
            (table,) = view.derived_tables()
            assert (table, table.rows, table.built_to) == (ROWS, at, 10 * at)
            assert listed(view.derived(ROWS)) == listed(some_rows(0, at))
            for start, stop in [(0, 1), (2, 4), (3, 3), (at - 6, at + 10), (at, at + 5)]:
                assert listed(view.derived(ROWS, start, stop)) == listed(some_rows(start, min(stop, at)))
            for some in (("entry",), tuple(name for name, _ in COLUMNS)[::-2]):
                every = listed(some_rows(1, 3))
                assert listed(view.derived(ROWS, 1, 3, only=some)) == {name: every[name] for name in some}

    def test_every_type_of_number_keeps_its_bounds(self, store: Store) -> None:
        table = DerivedTable("bounds", 1, tuple((f"c{n}", kind) for n, kind in enumerate(NUMBERS)))
        bounds = [np.iinfo(kind) if "f" not in kind else np.finfo(kind) for kind in NUMBERS]
        given = {
            f"c{n}": np.array([of.min, of.max], kind)
            for n, (kind, of) in enumerate(zip(NUMBERS, bounds, strict=True))
        }
        with store.writer() as writer:
            writer.add_derived(table, given, built_to=0)
            writer.commit()
        with store.view() as view:
            found = view.derived(table)
            assert listed(found) == listed(dict(given))
            assert [np.asarray(found[name]).dtype.str.replace("|", "<") for name, _ in table.columns] == [
                *NUMBERS
            ]

    def test_derived_rows_that_are_not_committed_are_nowhere(
        self, store: Store, reopen: Callable[[], Store]
    ) -> None:
        with store.writer() as writer:
            writer.add_derived(ROWS, some_rows(0, 3), built_to=3)
            writer.commit()
        with store.writer() as writer:
            writer.add_derived(ROWS, some_rows(3, 9), built_to=9)
            writer.add_derived(FACTS, some_facts("a"), built_to=9)
        with store.rehearsal() as writer:
            writer.add_derived(ROWS, some_rows(3, 9), built_to=9)
            writer.drop_derived(FACTS)
            writer.commit()
        with reopen().view() as view:
            assert [(table, table.built_to) for table in view.derived_tables()] == [(ROWS, 3)]
            assert listed(view.derived(ROWS)) == listed(some_rows(0, 3))

    def test_tables_of_other_names_and_revisions_do_not_mix(self, store: Store) -> None:
        tables = [DerivedTable(name, revision, COLUMNS) for name in ("a", "b") for revision in (2, 10)]
        with store.writer() as writer:
            for n, table in enumerate(reversed(tables)):
                writer.add_derived(table, some_rows(n, 2 * n + 1), built_to=n)
            writer.commit()
        with store.view() as view:
            assert view.derived_tables() == tables
            for n, table in enumerate(reversed(tables)):
                assert listed(view.derived(table)) == listed(some_rows(n, 2 * n + 1))

    def test_a_dropped_table_is_absent_and_can_begin_again(
        self, store: Store, reopen: Callable[[], Store]
    ) -> None:
        with store.writer() as writer:
            writer.add_derived(ROWS, some_rows(0, 3), built_to=3)
            writer.add_derived(FACTS, some_facts("a"), built_to=3)
            writer.commit()
        with store.writer() as writer:
            writer.drop_derived(ROWS)
            writer.drop_derived(ROWS)
            assert writer.view().derived_tables() == [FACTS]
            writer.commit()
        with store.writer() as writer:
            writer.add_derived(ROWS, some_rows(5, 6), built_to=1)
            writer.commit()
        with reopen().view() as view:
            assert listed(view.derived(ROWS)) == listed(some_rows(5, 6))
            assert listed(view.derived(FACTS)) == listed(some_facts("a"))

    def test_a_table_catches_up_with_what_is_new_and_reads_as_if_made_in_one_go(
        self, store: Store, empty: Store
    ) -> None:
        batches = [["one", "two", ""], [], ["three"], ["", "four", "two"]]
        added = []
        for texts in batches:
            say(store, *texts)
            with store.writer() as writer:
                added.append(catch_up(writer, ROWS, make))
        say(empty, *(text for texts in batches for text in texts))
        with empty.writer() as writer:
            at_once = by_id(writer.view(), current_rows(writer, ROWS, make))
        assert added == [2, 0, 1, 2]
        with store.view() as view:
            assert by_id(view, view.derived(ROWS)) == at_once
            assert stored_table(view, ROWS).built_to == view.info().rows_end

    def test_a_rewrite_carries_what_stands_by_itself_and_drops_what_holds_rows(
        self, store: Store, empty: Store
    ) -> None:
        older = DerivedTable(FACTS.name, FACTS.revision - 1, FACTS.columns, Rewrite.CARRY)
        with store.writer() as writer:
            writer.add_derived(ROWS, some_rows(0, 3), built_to=3)
            writer.add_derived(older, some_facts("old"), built_to=3)
            writer.add_derived(FACTS, some_facts("a", "b"), built_to=3)
            writer.commit()
        with store.view() as view, empty.writer() as writer:
            carry_derived(view, writer)
        with empty.view() as carried:
            assert [(t, t.rows, t.built_to) for t in carried.derived_tables()] == [(FACTS, 2, 0)]
            assert listed(carried.derived(FACTS)) == listed(some_facts("a", "b"))

    @pytest.mark.parametrize("wrong", [("said",), ("said", "tool", "entry", "weight", "more")])
    def test_rows_that_lack_or_add_a_column_are_refused(self, store: Store, wrong: tuple[str, ...]) -> None:
        given = some_rows(0, 1) | {"more": ["1"]}
        with store.writer() as writer, pytest.raises((AssertionError, KeyError)):
            writer.add_derived(ROWS, {name: given[name] for name in wrong}, built_to=1)

    def test_a_table_that_changes_without_a_new_revision_is_refused(self, store: Store) -> None:
        with store.writer() as writer:
            writer.add_derived(ROWS, some_rows(0, 1), built_to=1)
            changed = DerivedTable(ROWS.name, ROWS.revision, FACTS.columns)
            with pytest.raises(AssertionError):
                writer.add_derived(changed, some_facts("a"), built_to=1)

"""What every store promises of a rewrite that leaves something out. `StoreContract` inherits it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from recollect.store.contract import Store, View, Writer
from recollect.store.derived import TEXT, DerivedTable, Rewrite
from recollect.store.leaving import Choice, Leaving
from recollect.values.errors import NotFound
from recollect.values.ids import name_key
from recollect.values.records import (
    Cursor,
    Entry,
    Kind,
    Line,
    LineFlag,
    Parsed,
    Relation,
    SessionFacts,
    SourceFile,
    Usage,
)
from recollect.values.stored import VectorModel, source_bytes

MODEL = VectorModel("static", "r1", 2)
NAMED = DerivedTable(
    "named",
    1,
    (("agent", TEXT), ("host", TEXT), ("id", TEXT), ("about", TEXT)),
    Rewrite.CARRY,
    ("agent", "host", "id"),
)
KEYED = DerivedTable("keyed", 1, (("session", "<u8"), ("number", "<u2")), Rewrite.CARRY, ("session",))
NAMELESS = DerivedTable("nameless", 1, (("about", TEXT),), Rewrite.CARRY)


def spoken(text: str, *, output: int = 0) -> Line:
    usage = (Usage(f"response {text}", f"model of {text}", 5, output=output),) if output else ()
    entry = Entry(Kind.PROMPT, text, time_ms=1_700_000_000_000, tool=f"tool of {text}")
    return Line(f"<{text}>".encode(), 0, Parsed("user", (entry,), uuid=text, usages=usage))


def take_all(writer: Writer, id_: str, lines: Iterable[Line], **more: Any) -> None:
    told = SessionFacts("scribe", id_, title=f"title of {id_}", project=f"project of {id_}", title_rank=1)
    cursor = more.pop("cursor", Cursor(offset=7, size=7, mtime_ns=1, state={"seen": id_}))
    file = SourceFile("scribe", more.pop("path", f"/logs/{id_}.jsonl"))
    writer.take(file, "harbor", list(lines), cursor, told, parser=1, **more)


def row_of(view: View, id_: str) -> int:
    return next(row for row, session in view.session_rows().items() if session.facts.id == id_)


def source_of(view: View, id_: str) -> Any:
    return next(each for each in view.sources() if each.session == id_ and not each.superseded)


def without_sessions(*ids: str) -> Choice:
    return lambda view: Leaving(sessions=frozenset(row_of(view, id_) for id_ in ids))


def lines_named(view: View, *texts: str) -> np.ndarray[Any, Any]:
    found = []
    for source in view.sources():
        rows = view.line_rows(source).tolist()
        data = [line.data.decode() for line in view.lines(source)]
        found += [row for row, told in zip(rows, data, strict=True) if told.strip("<>") in texts]
    return np.array(sorted(set(found)), np.int64)


def told(view: View, id_: str) -> list[str]:
    return [each.entry.text for each in view.entries(view.find_session(id_))]


def outputs(view: View) -> dict[str, int]:
    columns = view.usage()
    return {
        columns.sessions[int(session)].facts.id: int(columns.output[columns.session == session].sum())
        for session in np.unique(columns.session)
    }


class LeavingContract:
    """What goes is gone, and what stays is as it was."""

    def _filled(self, store: Store) -> None:
        with store.writer() as writer:
            take_all(writer, "first", [spoken("a", output=3), spoken("b"), spoken("shared", output=5)])
            take_all(writer, "second", [spoken("shared"), spoken("c", output=7)])
            take_all(writer, "third", [spoken("d")])
            rows = np.array([(1, 2), (3, 4), (5, 6)], np.float16)
            writer.add_vectors(MODEL, np.array([11, 12, 13], np.uint64), rows)
            ids = ["first", "second", "third"]
            about = [f"about {id_}" for id_ in ids]
            columns = {"agent": ["scribe"] * 3, "host": ["harbor"] * 3, "id": ids, "about": about}
            writer.add_derived(NAMED, columns, built_to=4)
            keys = np.array([name_key("scribe", "harbor", id_) for id_ in ids], np.uint64)
            writer.add_derived(KEYED, {"session": keys, "number": np.arange(3)}, built_to=4)
            writer.add_derived(NAMELESS, {"about": ["of all"]}, built_to=4)
            writer.commit()

    def test_a_session_that_goes_leaves_what_others_have_too(
        self, store: Store, reopen: Callable[[], Store]
    ) -> None:
        self._filled(store)
        with store.view() as view:
            epoch = view.info().epoch
            assert view.lines_at(view.lines_only_of([row_of(view, "first")]).tolist()) == [
                *view.lines_at(lines_named(view, "a", "b").tolist())
            ]
        store.compact(without_sessions("first"))
        with reopen().view() as view:
            assert [s.facts.id for s in view.sessions()] == ["second", "third"]
            assert {s.session for s in view.sources()} == {"second", "third"}
            assert told(view, "second") == ["shared", "c"]
            assert (view.info().lines, view.info().entries) == (3, 3)
            assert outputs(view) == {"second": 12}
            assert not any(each == "a" for each in view.types())
            assert view.info().epoch != epoch
            shared = view.entries_at([each.row for each in view.entries(view.find_session("second"))])[0]
            assert (shared.session, view.session_rows()[shared.session_row].facts.id) == ("second", "second")
            assert len(view.session_columns(row_of(view, "second"), "row")["row"]) == 2
            source = source_of(view, "second")
            assert b"".join(source_bytes(source, view.lines(source))) == b"<shared>\n<c>\n"
            assert not source.thinned
        with store.writer() as writer:
            take_all(writer, "first", [spoken("a"), spoken("shared")])
            writer.commit()
        with store.view() as view:
            assert told(view, "first") == ["a", "shared"]

    def test_rows_of_derived_tables_go_with_their_session(self, store: Store) -> None:
        self._filled(store)
        store.compact(without_sessions("first"))
        with store.view() as view:
            named, keyed = view.derived(NAMED), view.derived(KEYED)
            assert (list(named["id"]), list(named["about"])) == (
                ["second", "third"],
                ["about second", "about third"],
            )
            assert np.asarray(keyed["number"]).tolist() == [1, 2]
            assert NAMELESS not in view.derived_tables()
            assert {table.built_to for table in view.derived_tables()} <= {0}

    def test_vectors_go_by_their_keys(self, store: Store) -> None:
        self._filled(store)
        store.compact(lambda view: Leaving(sessions=frozenset(), vectors=np.array([12], np.uint64)))
        with store.view() as view:
            keys, rows = view.vectors(MODEL)
            assert sorted(zip(keys.tolist(), rows.tolist(), strict=True)) == [(11, [1, 2]), (13, [5, 6])]

    def test_a_line_that_goes_goes_from_every_source(self, store: Store) -> None:
        self._filled(store)
        store.compact(lambda view: Leaving(lines=lines_named(view, "shared", "d")))
        with store.view() as view:
            assert {s.facts.id: told(view, s.facts.id) for s in view.sessions()} == {
                "first": ["a", "b"],
                "second": ["c"],
            }
            assert {s.session: (s.lines, s.thinned, s.cursor.offset) for s in view.sources()} == {
                "first": (2, True, 7),
                "second": (1, True, 7),
            }
            assert outputs(view) == {"first": 3, "second": 7}
            assert [view.locate(int(row))[1] for row in lines_named(view, "a", "b")] == [1, 2]
            assert not view.derived(NAMED)["id"], "they tell of what went, also where a session stays"

    def test_an_evicted_line_keeps_its_row_and_what_counts(
        self, store: Store, reopen: Callable[[], Store]
    ) -> None:
        self._filled(store)
        with store.view() as view:
            before, total = view.info(), sum(outputs(view).values())
            places = {row: view.locate(row) for row in view.usage().line.tolist()}
        store.compact(lambda view: Leaving(evicted=view.lines_only_of([row_of(view, "first")])))
        with reopen().view() as view:
            after = view.info()
            assert (after.lines, after.sources, after.sessions) == (
                before.lines,
                before.sources,
                before.sessions,
            )
            assert after.line_bytes == before.line_bytes - len(b"<a><b>")
            assert sum(outputs(view).values()) == total
            assert told(view, "first") == ["shared"]
            source = source_of(view, "first")
            lines = list(view.lines(source))
            assert [(line.data, line.is_evicted, line.type) for line in lines] == [
                (b"", True, "user"),
                (b"", True, "user"),
                (b"<shared>", False, "user"),
            ]
            assert source.thinned
            assert view.line_lengths(view.line_rows(source).tolist()).tolist() == [0, 0, 8]
            assert sorted(n for _, n in map(view.locate, view.usage().line.tolist())) == sorted(
                n for _, n in places.values()
            )
            assert view.flag_counts().get(LineFlag.ALTERED) == 2
            assert list(view.derived(NAMED)["id"]) == ["first", "second", "third"]
            seen = Cursor(size=7, mtime_ns=1)
        with store.writer() as writer:
            assert writer.is_current("harbor", "/logs/first.jsonl", seen)
            assert writer.source("harbor", "/logs/first.jsonl").thinned  # type: ignore[union-attr]
        store.compact()
        with store.view() as view:
            assert [line.is_evicted for line in view.lines(source_of(view, "first"))] == [True, True, False]
        assert store.check() == []

    def test_what_was_evicted_is_taken_again_as_it_was(self, store: Store) -> None:
        self._filled(store)
        store.compact(lambda view: Leaving(evicted=view.lines_only_of([row_of(view, "first")])))
        with store.writer() as writer:
            lines = [spoken("a", output=3), spoken("b"), spoken("shared", output=5)]
            take_all(writer, "first", lines, restart=True)
            writer.commit()
        with store.view() as view:
            source = source_of(view, "first")
            assert b"".join(source_bytes(source, view.lines(source))) == b"<a>\n<b>\n<shared>\n"
            assert sorted(told(view, "first")) == ["a", "b", "shared"]
            assert sum(outputs(view).values()) == 15
            assert not source.thinned

    def test_pieces_of_one_line_go_together(self, store: Store) -> None:
        pieces = [Line(b"pie", LineFlag.BAD | LineFlag.CONTINUES), Line(b"ces", LineFlag.BAD)]
        with store.writer() as writer:
            take_all(writer, "first", [spoken("a"), *pieces, spoken("b")])
            writer.commit()
        store.compact(lambda view: Leaving(lines=lines_named(view, "ces")))
        with store.view() as view:
            assert [line.data for line in view.lines(source_of(view, "first"))] == [b"<a>", b"<b>"]

    def test_a_half_written_line_that_goes_is_not_waited_for(self, store: Store) -> None:
        with store.writer() as writer:
            half = Line(b"half", LineFlag.PENDING)
            take_all(writer, "first", [spoken("a"), half], cursor=Cursor(4, waiting=True, terminated=False))
            writer.commit()
        store.compact(lambda view: Leaving(lines=lines_named(view, "half")))
        with store.writer() as writer:
            held = writer.source("harbor", "/logs/first.jsonl")
            assert held is not None
            assert (held.cursor.waiting, held.cursor.terminated, held.cursor.offset) == (False, True, 4)
            take_all(writer, "first", [spoken("b")])
            writer.commit()
        with store.view() as view:
            assert told(view, "first") == ["a", "b"]

    def test_facts_and_states_can_be_told_anew(self, store: Store) -> None:
        self._filled(store)

        def choose(view: View) -> Leaving:
            states = [(source_of(view, "first"), {"seen": "other"})]
            facts = SessionFacts("scribe", "first", title="other", relation=Relation.FORK, parent="p")
            return Leaving(lines=lines_named(view, "a"), facts={row_of(view, "first"): facts}, states=states)

        store.compact(choose)
        with store.view() as view:
            found = view.find_session("first").facts
            assert (found.title, found.project, found.parent, found.relation) == ("other", "", "p", 2)
            assert source_of(view, "first").cursor.state == {"seen": "other"}
            assert source_of(view, "second").cursor.state == {"seen": "second"}
            assert view.find_session("second").facts.title == "title of second"

    def test_what_is_noted_with_it_is_part_of_the_same_change(self, store: Store) -> None:
        self._filled(store)

        def fail(writer: Writer) -> None:
            take_all(writer, "note", [spoken("n")])
            raise ZeroDivisionError

        with store.view() as view:
            before = view.info()
        with pytest.raises(ZeroDivisionError):
            store.compact(without_sessions("first"), fail)
        with store.view() as view:
            assert view.info() == before
        store.compact(without_sessions("first"), lambda writer: take_all(writer, "note", [spoken("n")]))
        with store.view() as view:
            assert [s.facts.id for s in view.sessions()] == ["second", "third", "note"]
            with pytest.raises(NotFound):
                view.find_session("first")
            assert told(view, "note") == ["n"]
        assert store.check() == []

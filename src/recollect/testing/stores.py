"""What every store promises. An engine subclasses this and inherits every test."""

from __future__ import annotations

import pickle
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from recollect.store.contract import Array, BulkWriter, Store, View, Writer, carry_vectors
from recollect.store.registry import location, open_store
from recollect.testing.altered import AlteredContract
from recollect.testing.derived import DerivedContract
from recollect.testing.imported import ImportedContract
from recollect.testing.leaving import LeavingContract
from recollect.testing.replacing import ReplacingContract
from recollect.testing.sizes import SizesContract
from recollect.values.errors import NotFound, StoreBusy
from recollect.values.ids import entry_id
from recollect.values.records import (
    HIDDEN,
    Cursor,
    Entry,
    Flag,
    Kind,
    Line,
    LineFlag,
    Parsed,
    Relation,
    Role,
    Segment,
    SessionFacts,
    SourceFile,
    Usage,
)
from recollect.values.stored import StoredEntry, TakeResult, VectorModel, source_bytes

HOST = "harbor"
AGENT = "scribe"


def line(text: str, *, uuid: str = "", usage: Usage | None = None, kind: Kind = Kind.PROMPT) -> Line:
    """A line as an adapter would hand it over: JSON bytes with the text in them."""
    import json

    data = json.dumps({"uuid": uuid, "text": text}, ensure_ascii=False, separators=(",", ":"))
    entry = Entry(kind, text, time_ms=1_700_000_000_000, tool="Bash", call="toolu_1", model="m-1")
    return Line(
        data.encode("utf-8", "surrogatepass"),
        0,
        Parsed("user", (entry,), uuid=uuid, usages=(usage,) if usage else ()),
    )


def source(name: str = "a.jsonl", role: Role = Role.MAIN) -> SourceFile:
    return SourceFile(AGENT, f"/logs/{name}", role)


def facts(id_: str = "3f2a0000-aaaa", **more: Any) -> SessionFacts:
    return SessionFacts(AGENT, id_, **more)


def take(
    writer: Writer, lines: list[Line], *, name: str = "a.jsonl", id_: str = "3f2a0000-aaaa", **more: Any
) -> TakeResult:
    cursor = more.pop("cursor", Cursor(offset=1))
    return writer.take(source(name), HOST, lines, cursor, more.pop("facts", facts(id_)), parser=1, **more)


def texts(view: View, prefix: str, **more: Any) -> list[str]:
    return [e.entry.text for e in view.entries(view.find_session(prefix), **more)]


def raw(view: View, name: str = "a.jsonl") -> bytes:
    newest = [s for s in view.sources() if s.file.path.endswith(name) and not s.superseded][-1]
    return b"".join(source_bytes(newest, view.lines(newest)))


def rows_of(count: int, dims: int = 4, *, seed: int = 7) -> tuple[Array, Array]:
    """Keys and vectors as an embedder would give them."""
    random = np.random.default_rng(seed)
    keys = random.integers(1, 2**64, count, np.uint64)
    return keys, random.normal(size=(count, dims)).astype(np.float16)


def vectors(view: View, model: VectorModel, *span: int) -> list[tuple[int, list[float]]]:
    keys, found = view.vectors(model, *span)
    assert (keys.dtype, found.dtype) == (np.uint64, np.float16)
    return list(zip(keys.tolist(), found.tolist(), strict=True))


def listed(keys: Array, found: Array) -> list[tuple[int, list[float]]]:
    return list(zip(keys.tolist(), found.tolist(), strict=True))


def any_line(random: Random) -> Line:
    """One of a few lines, so that sessions share some: anybody's, with any flags."""
    number = random.randrange(60)
    random = Random(number)
    entries = tuple(
        Entry(
            random.choice([Kind.PROMPT, Kind.PROMPT, Kind.ANSWER, Kind.CALL, Kind.RESULT, Kind.EVENT]),
            f"{number}.{part}",
            random.choice([0, 0, 0, Flag.META, Flag.COPY, Flag.INJECTED, Flag.ERROR]),
            time_ms=number,
            call=random.choice(["", "toolu_1", "toolu_2"]),
        )
        for part in range(random.randrange(3))
    )
    return Line(b"line %d" % number, 0, Parsed("user", entries))


def check_session(view: View, session: int, own: list[StoredEntry]) -> None:
    columns = view.session_columns(session, "row", "session", "kind", "flags", "time", "call")
    told = zip(*(columns[name].tolist() for name in columns), strict=True)
    assert list(told) == [
        (e.row, session, e.entry.kind, e.entry.flags, e.entry.time_ms, int(e.entry.call or "0", 16))
        for e in own
    ]
    again = view.columns_at(columns["row"].tolist()[::-1], *columns)
    assert {name: again[name].tolist()[::-1] for name in columns} == {n: columns[n].tolist() for n in columns}


def check_walks(view: View, point: StoredEntry, own: list[StoredEntry], random: Random) -> None:
    before, after = random.randrange(4), random.randrange(4)
    hidden = random.choice([0, int(Flag.COPY), HIDDEN])
    shown = [e for e in own if e is point or (e.entry.kind != Kind.EVENT and not e.entry.flags & hidden)]
    at = [e.row for e in shown].index(point.row)
    near = view.neighbours(point.row, before, after, hidden=hidden)
    assert [(e.row, e) for e in near] == [(e.row, e) for e in shown[max(at - before, 0) : at + after + 1]]
    said = [e.row for e in own if e.entry.kind == Kind.PROMPT and e.entry.flags in (0, Flag.ERROR)]
    start = max((row for row in said if row <= point.row), default=0)
    stop = min((row for row in said if row > point.row), default=10_000)
    told = [e for e in own if (e.entry.kind != Kind.EVENT and not e.entry.flags & HIDDEN) or e is point]
    assert view.turn_of(point.row) == [e.row for e in told if start <= e.row < stop]


def segment(number: int) -> Segment:
    return Segment(source(), HOST, number, b"%d" % number)


def shown(view: View) -> dict[str, Any]:
    """What all sessions show and all files were, whatever the rows."""
    return {
        "sessions": [(s.facts, s.host, list(view.entries(s))) for s in view.sessions()],
        "files": {s.file.path: b"".join(source_bytes(s, view.lines(s))) for s in view.sources()},
        "output": sorted(view.usage().output.tolist()),
    }


class StoreContract(
    DerivedContract, ReplacingContract, ImportedContract, LeavingContract, SizesContract, AlteredContract
):
    """What every store promises. An engine's test class inherits it and gives three fixtures.

    `store`: an empty store. `empty`: another one. `reopen`: makes another handle on `store`, as another
    process would; without it the same handle is used. `copy_name`: where `store` could be copied to.
    """

    @pytest.fixture
    def store(self) -> Store:
        raise AssertionError("an engine's test class gives the store")

    @pytest.fixture
    def reopen(self, store: Store) -> Callable[[], Store]:
        return lambda: store

    @pytest.fixture
    def empty(self) -> Store:
        raise AssertionError("an engine's test class gives another store")

    @pytest.fixture
    def copy_name(self, tmp_path: Path) -> str:
        return str(tmp_path / "copy")

    def test_a_new_store_is_empty(self, store: Store) -> None:
        with store.view() as view:
            assert view.sessions() == []
            assert view.sources() == []
            assert view.types() == {}
            assert len(view.usage().input) == 0
            assert view.info().lines == 0

    def test_what_is_committed_reads_back_through_another_handle(
        self, store: Store, reopen: Callable[[], Store]
    ) -> None:
        with store.writer() as writer:
            take(writer, [line("ship the fix"), line("done", kind=Kind.ANSWER)])
            writer.commit()
        with reopen().view() as view:
            found = list(view.entries(view.find_session("3f2a")))
            assert [(e.entry.kind, e.entry.text) for e in found] == [
                (Kind.PROMPT, "ship the fix"),
                (Kind.ANSWER, "done"),
            ]
            assert (found[0].type, found[0].entry.tool, found[0].entry.model) == ("user", "Bash", "m-1")
            assert found[0].entry.call == found[1].entry.call != ""
            assert raw(view) == line("ship the fix").data + b"\n" + line("done").data + b"\n"
            assert view.types() == {"user": (2, True)}

    def test_what_is_not_committed_is_nowhere(self, store: Store, reopen: Callable[[], Store]) -> None:
        with store.writer() as writer:
            take(writer, [line("never happened")])
            assert texts(writer.view(), "3f2a") == ["never happened"]
        with reopen().view() as view:
            assert view.sessions() == []

    def test_an_exception_drops_the_change_and_the_next_writer_works(self, store: Store) -> None:
        def interrupted() -> None:
            with store.writer() as writer:
                take(writer, [line("half")])
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            interrupted()
        with store.writer() as writer:
            take(writer, [line("whole")])
            writer.commit()
        with store.view() as view:
            assert texts(view, "3f2a") == ["whole"]

    def test_a_rehearsal_is_seen_by_itself_alone(self, store: Store, reopen: Callable[[], Store]) -> None:
        with store.rehearsal() as writer:
            take(writer, [line("only here")])
            writer.commit()
            assert texts(writer.view(), "3f2a") == ["only here"]
        with reopen().view() as view:
            assert view.sessions() == []

    def test_another_state_is_another_view(self, store: Store, reopen: Callable[[], Store]) -> None:
        with store.view() as before:
            pass
        with reopen().writer() as writer:
            take(writer, [line("ship the fix")])
            writer.commit()
        with store.view() as after:
            assert after is not before

    def test_entries_are_read_by_row_whatever_session_they_are_of(self, store: Store) -> None:
        with store.writer() as writer:
            take(writer, [line("one"), line("two")], name="a.jsonl", id_="aaaa")
            take(writer, [line("three")], name="b.jsonl", id_="bbbb")
            take(writer, [line("four")], name="a.jsonl", id_="aaaa")
            writer.commit()
        with store.view() as view:
            everything = list(view.entry_range(0, 100))
            assert [(e.entry.text, e.session) for e in everything] == [
                ("one", "aaaa"),
                ("two", "aaaa"),
                ("three", "bbbb"),
                ("four", "aaaa"),
            ]
            one, two, three, four = (e.row for e in everything)
            assert 0 <= one < two < three < four
            assert view.info().rows_end == four + 1
            assert [e.entry.text for e in view.entry_range(two, four)] == ["two", "three"]
            assert [e.entry.text for e in view.entries_at([four, one, four])] == ["four", "one", "four"]
            assert view.entry_ids([three, one]) == [everything[2].id, everything[0].id]
            ends = view.info().rows_end
            every = {each.session_row for each in view.entry_range(0, ends)}
            assert view.sessions_in(0, ends) == view.sessions_in(0, ends + 99) == sorted(every)
            assert view.sessions_in(one, one + 1) == [view.entries_at([one])[0].session_row]
            assert view.sessions_in(ends, ends) == []
            columns = view.columns_at([three, one], "row", "session", "kind", "time", "flags", "call")
            assert columns["row"].tolist() == [three, one]
            assert columns["session"].tolist() == [everything[2].session_row, everything[0].session_row]
            assert columns["kind"].tolist() == [Kind.PROMPT] * 2
            assert columns["time"].tolist() == [1_700_000_000_000] * 2
            assert {f"{call:016x}" for call in columns["call"].tolist()} == {everything[0].entry.call}
            assert view.session_columns(everything[0].session_row, "row")["row"].tolist() == [one, two, four]
            sessions = view.session_rows()
            assert [sessions[e.session_row].facts.id for e in everything] == [e.session for e in everything]
            assert [session.facts.id for _, session in sessions.items()] == ["aaaa", "bbbb"]
            assert [sessions[row] for row, _ in sessions.items()] == view.sessions()
            assert len(sessions) == 2

    def test_lines_are_read_by_number_in_any_order_and_name_their_entries(self, store: Store) -> None:
        with store.writer() as writer:
            take(writer, [line("one"), line("two")])
            take(writer, [line("three")], name="b.jsonl", id_="4f2a0000-bbbb")
            writer.commit()
        with store.view() as view:
            everything, order = list(view.entry_range(0, view.info().rows_end)), [2, 0, 1, 0]
            rows = [everything[n].row for n in order]
            found = view.lines_at(view.columns_at(rows, "line")["line"].tolist())
            assert [each.data for each in found] == [line(t).data for t in ("three", "one", "two", "one")]
            assert {(each.type, each.flags) for each in found} == {("user", 0)}
            assert [entry_id(each.data, 0) for each in found] == view.entry_ids(rows)
            assert view.lines_at([]) == []

    @pytest.mark.parametrize("seed", range(4))
    def test_a_sessions_columns_neighbours_and_turns_are_what_a_scan_of_all_entries_says(
        self, store: Store, seed: int
    ) -> None:
        random = Random(seed)
        for _ in range(12):
            with store.writer() as writer:
                for _ in range(random.randrange(4)):
                    name = random.choice("abc")
                    take(writer, [any_line(random) for _ in range(random.randrange(6))], name=name, id_=name)
                writer.commit()
        with store.view() as view:
            everything = list(view.entry_range(0, 10_000))
            for number in {each.session_row for each in everything}:
                own = [each for each in everything if each.session_row == number]
                check_session(view, number, own)
            for each in everything:
                own = [other for other in everything if other.session_row == each.session_row]
                check_walks(view, each, own, random)

    def test_an_entry_is_found_by_any_unique_beginning_of_its_id(self, store: Store) -> None:
        two = Line(b"two parts", 0, Parsed("user", (Entry(Kind.PROMPT, "a"), Entry(Kind.IMAGE))))
        with store.writer() as writer:
            take(writer, [line("one"), line("again"), two, line("again")])
            writer.commit()
        with store.view() as view:
            for each in view.entry_range(0, 100):
                assert view.find_entry(each.id).entry == each.entry
            first = next(view.entry_range(0, 100))
            assert view.find_entry(first.id[:6]) == first
            for wrong in ("", "zz", first.id + "0", first.id + ".7", "\ud800"):
                with pytest.raises(NotFound):
                    view.find_entry(wrong)

    def test_a_source_grows_over_several_commits(self, store: Store) -> None:
        for n in range(5):
            with store.writer() as writer:
                take(writer, [line(f"part {n}")], cursor=Cursor(offset=n))
                writer.commit()
        with store.view() as view:
            assert texts(view, "3f2a") == [f"part {n}" for n in range(5)]
            assert texts(view, "3f2a", last=2) == ["part 3", "part 4"]
            assert texts(view, "3f2a", last=0) == []
            assert view.sources()[0].cursor == Cursor(offset=4)
            assert view.sources()[0].lines == 5

    def test_sessions_that_take_turns_keep_their_own_order(self, store: Store) -> None:
        with store.writer() as writer:
            for n in range(6):
                take(writer, [line(f"{n}")], name=f"{n % 2}.jsonl", id_=f"{n % 2}000-session")
            writer.commit()
        with store.view() as view:
            assert texts(view, "0000") == ["0", "2", "4"]
            assert texts(view, "1000", last=2) == ["3", "5"]

    def test_a_line_of_another_source_is_linked_not_stored_again(self, store: Store) -> None:
        with store.writer() as writer:
            take(writer, [line("a"), line("b"), line("c")])
            taken = take(writer, [line("a"), line("b"), line("new")], name="b.jsonl", id_="77c1-fork")
            writer.commit()
        assert (list(taken.known), taken.entries) == ([True, True, False], 1)
        with store.view() as view:
            assert view.info().lines == 4
            assert texts(view, "77c1") == ["a", "b", "new"]
            assert texts(view, "3f2a") == ["a", "b", "c"]
            assert raw(view, "b.jsonl") == b"".join(line(t).data + b"\n" for t in ("a", "b", "new"))

    def test_linked_and_new_lines_keep_the_order_of_the_file(self, store: Store) -> None:
        with store.writer() as writer:
            take(writer, [line("a"), line("b")])
            take(writer, [line("x"), line("b"), line("y"), line("a")], name="b.jsonl", id_="77c1")
            writer.commit()
        with store.view() as view:
            assert texts(view, "77c1") == ["x", "b", "y", "a"]

    def test_repetition_within_a_source_is_its_own(self, store: Store) -> None:
        with store.writer() as writer:
            first = take(writer, [line("mode"), line("x"), line("mode")])
            again = take(writer, [line("mode")])
            writer.commit()
        assert not any([*first.known, *again.known])
        with store.view() as view:
            assert texts(view, "3f2a") == ["mode", "x", "mode", "mode"]

    def test_blank_lines_are_kept_and_never_linked(self, store: Store) -> None:
        blank = Line(b"", LineFlag.BLANK)
        with store.writer() as writer:
            take(writer, [blank, line("a"), blank])
            taken = take(writer, [blank], name="b.jsonl", id_="77c1")
            writer.commit()
        assert list(taken.known) == [False]
        with store.view() as view:
            assert raw(view) == b"\n" + line("a").data + b"\n\n"

    def test_a_rewritten_file_becomes_a_new_version_and_loses_nothing(self, store: Store) -> None:
        with store.writer() as writer:
            take(writer, [line("a"), line("dropped")])
            writer.commit()
        with store.writer() as writer:
            taken = take(writer, [line("a"), line("b")], restart=True)
            writer.commit()
        assert list(taken.known) == [True, False]
        with store.view() as view:
            assert [s.superseded for s in view.sources()] == [True, False]
            assert raw(view) == line("a").data + b"\n" + line("b").data + b"\n"
            assert texts(view, "3f2a") == ["a", "dropped", "b"]

    def test_a_waiting_line_is_replaced_by_what_follows(self, store: Store) -> None:
        half = Line(b'{"text":"ha', LineFlag.PENDING)
        waiting = Cursor(offset=5, terminated=False, waiting=True)
        with store.writer() as writer:
            take(writer, [line("a"), half], cursor=waiting)
            writer.commit()
        with store.view() as view:
            assert raw(view) == line("a").data + b"\n" + half.data
        with store.writer() as writer:
            take(writer, [line("half")])
            writer.commit()
        with store.view() as view:
            assert raw(view) == line("a").data + b"\n" + line("half").data + b"\n"
            assert texts(view, "3f2a") == ["a", "half"]
            assert view.sources()[0].lines == 2

    def test_pieces_of_a_long_line_join_without_newlines(self, store: Store) -> None:
        pieces = [Line(b"x" * 10, LineFlag.BAD | LineFlag.CONTINUES), Line(b"tail", LineFlag.BAD)]
        with store.writer() as writer:
            take(writer, pieces)
            writer.commit()
        with store.view() as view:
            assert raw(view) == b"xxxxxxxxxxtail\n"

    def test_a_source_is_current_while_its_file_looks_the_same(self, store: Store) -> None:
        seen = Cursor(offset=9, size=9, mtime_ns=5, ctime_ns=6, inode=7)
        with store.writer() as writer:
            assert not writer.is_current(HOST, "/logs/a.jsonl", seen)
            take(writer, [line("a")], cursor=seen)
            writer.commit()
        with store.writer() as writer:
            assert writer.is_current(HOST, "/logs/a.jsonl", seen)
            grown = Cursor(size=10, mtime_ns=5, ctime_ns=6, inode=7)
            assert not writer.is_current(HOST, "/logs/a.jsonl", grown)
            assert not writer.is_current("elsewhere", "/logs/a.jsonl", seen)
            writer.touch(HOST, "/logs/a.jsonl", Cursor(offset=9, size=9, mtime_ns=8))
            writer.commit()
        with store.writer() as writer:
            held = writer.source(HOST, "/logs/a.jsonl")
            assert held is not None
            assert held.cursor.mtime_ns == 8
            assert held.lines == 1
            assert writer.source(HOST, "/logs/none.jsonl") is None

    def test_of_one_response_the_largest_record_counts_once(self, store: Store) -> None:
        def used(output: int) -> Usage:
            return Usage("msg_1", "m-1", 5, input=3, output=output, cache_read=7)

        with store.writer() as writer:
            take(writer, [line("a", usage=used(10)), line("b", usage=used(40)), line("c", usage=used(20))])
            writer.commit()
        with store.writer() as writer:
            take(writer, [line("d", usage=used(50))], name="b.jsonl", id_="77c1")
            take(writer, [line("e", usage=used(5))], name="b.jsonl", id_="77c1")
            writer.commit()
        with store.view() as view:
            columns = view.usage()
            assert (columns.output.tolist(), columns.input.tolist()) == ([50], [3])
            assert columns.models[int(columns.model[0])] == "m-1"
            assert columns.sessions[int(columns.session[0])].facts.id == "3f2a0000-aaaa"
            where, number = view.locate(int(columns.line[0]))
            assert (where.file.path, number) == ("/logs/b.jsonl", 1)

    def test_facts_are_completed_and_never_emptied(self, store: Store) -> None:
        with store.writer() as writer:
            first = facts(cwd="/w", title="first", title_rank=1, started_ms=50, ended_ms=60)
            take(writer, [line("a")], facts=first)
            take(writer, [line("b")], facts=facts(branch="main", title="lower", started_ms=20, ended_ms=30))
            last = facts(title="named", title_rank=5, parent="p", relation=Relation.FORK)
            take(writer, [line("c")], facts=last)
            writer.commit()
        with store.view() as view:
            got = view.find_session("3f2a").facts
        assert (got.cwd, got.branch, got.title, got.title_rank) == ("/w", "main", "named", 5)
        assert (got.started_ms, got.ended_ms, got.parent, got.relation) == (20, 60, "p", Relation.FORK)

    def test_records_of_one_id_tell_the_sessions_they_are_in(self, store: Store) -> None:
        with store.writer() as writer:
            take(writer, [line("a", uuid="u1"), line("b", uuid="u2")], name="a", id_="one")
            take(writer, [line("c", uuid="u1"), line("d")], name="b", id_="two")
            writer.commit()
        with store.writer() as writer:
            take(writer, [line("e", uuid="u1")], name="c", id_="three")
            found = writer.sessions_with(["u2", "u1", "never"])
        assert [[each.facts.id for each in sessions] for sessions in found] == [
            ["one"],
            ["one", "two", "three"],
            [],
        ]

    def test_sessions_are_found_by_any_unique_prefix(self, store: Store) -> None:
        with store.writer() as writer:
            for id_ in ("3f2a0000-aaaa", "3f2a0000-bbbb", "agent-7", "agent-77", "ünïcode"):
                take(writer, [line(id_)], name=id_, id_=id_)
            writer.commit()
        with store.view() as view:
            for prefix, id_ in [("3f2a0000-a", "3f2a0000-aaaa"), ("agent-7", "agent-7"), ("ün", "ünïcode")]:
                assert view.find_session(prefix).facts.id == id_
            for prefix in ("3f2a", "agent", "zzz", "", "3f2a0000-aaaa-more"):
                with pytest.raises(NotFound):
                    view.find_session(prefix)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "plain",
            'quo"ted \\ \n\t\x00',
            "é 中文 \U0001f600",
            "\ud800 lone",
            "\u2028\u2029\x0b\x85",
            "x" * 300_000,
        ],
    )
    def test_any_text_comes_back_as_it_was(self, store: Store, text: Any) -> None:
        with store.writer() as writer:
            take(writer, [line(text)])
            other = Line(b'{"somewhere":"else"}', 0, Parsed("user", (Entry(Kind.CONTEXT, text, Flag.META),)))
            take(writer, [other])
            writer.commit()
        with store.view() as view:
            assert texts(view, "3f2a") == [text, text]

    def test_lines_that_no_parser_took_are_kept_and_counted_by_flag(self, store: Store) -> None:
        bad = Line(b"\xff\x00 not json", LineFlag.BAD)
        novel = Parsed("novel", (Entry(Kind.UNKNOWN),), known=False)
        unknown = Line(b'{"type":"novel"}', LineFlag.UNKNOWN, novel)
        with store.writer() as writer:
            take(writer, [bad, unknown])
            writer.commit()
        with store.view() as view:
            assert [(x.data, x.flags, x.type) for x in view.lines(view.sources()[0])] == [
                (bad.data, bad.flags, ""),
                (unknown.data, unknown.flags, "novel"),
            ]
            assert view.types() == {"novel": (1, False)}

    def test_an_append_waits_in_the_journal_until_it_is_folded(
        self, store: Store, reopen: Callable[[], Store]
    ) -> None:
        first = store.append(Segment(source(), HOST, 0, b"{}\n"))
        second = reopen().append(Segment(source(), HOST, 3, b"[]\n"))
        assert second > first
        assert [s.data for _, s in reopen().pending()] == [b"{}\n", b"[]\n"]
        with store.writer() as writer:
            take(writer, [line("a")])
            writer.folded(first)
            writer.commit()
        assert [n for n, _ in store.pending()] == [second]
        assert not store.clear_journal(first)
        with store.writer() as writer:
            writer.folded(second)
            writer.commit()
        assert store.clear_journal(second)
        assert list(store.pending()) == []
        assert store.append(Segment(source(), HOST, 6, b"x")) > second

    def test_a_store_without_vectors_has_no_models(self, store: Store) -> None:
        with store.writer() as writer:
            writer.add_vectors(VectorModel("none", "1", 4), *rows_of(0))
            writer.commit()
        with store.view() as view:
            assert view.vector_models() == []
            assert vectors(view, VectorModel("none", "1", 4)) == []

    def test_vectors_come_back_by_rows_in_the_order_they_were_added(
        self, store: Store, reopen: Callable[[], Store]
    ) -> None:
        model, added = VectorModel("static", "r1", 4), []
        for count in (3, 1, 5000, 0, 2):
            more = rows_of(count, seed=count)
            added += listed(*more)
            with store.writer() as writer:
                writer.add_vectors(model, *more)
                assert vectors(writer.view(), model) == added
                writer.commit()
        with reopen().view() as view:
            assert [(m, m.rows) for m in view.vector_models()] == [(model, 5006)]
            assert vectors(view, model) == added
            for start, stop in [(0, 1), (2, 4), (3, 3), (4990, 5010), (5006, 9000)]:
                assert vectors(view, model, start, stop) == added[start:stop]

    def test_vectors_of_models_that_differ_in_anything_do_not_mix(self, store: Store) -> None:
        models = [
            VectorModel("a", "1", 4),
            VectorModel("a", "2", 4),
            VectorModel("a", "1", 3),
            VectorModel("b/\u00fc \ud800", "1", 4),
            VectorModel("", "", 1),
        ]
        given = {model: rows_of(n + 1, model.dims, seed=n) for n, model in enumerate(models)}
        with store.writer() as writer:
            for model, rows in given.items():
                writer.add_vectors(model, *rows)
            writer.commit()
        with store.view() as view:
            assert view.vector_models() == models
            assert {m: vectors(view, m) for m in models} == {m: listed(*rows) for m, rows in given.items()}
            assert vectors(view, VectorModel("b", "1", 4)) == []

    def test_vectors_that_are_not_committed_are_nowhere(
        self, store: Store, reopen: Callable[[], Store]
    ) -> None:
        model = VectorModel("static", "r1", 4)
        with store.writer() as writer:
            writer.add_vectors(model, *rows_of(3))
        with store.rehearsal() as writer:
            writer.add_vectors(model, *rows_of(3))
            writer.commit()
        with reopen().view() as view:
            assert view.vector_models() == []

    def test_vectors_are_carried_over_once_each_and_only_the_newest_revision(
        self, store: Store, empty: Store
    ) -> None:
        old, new, other = VectorModel("a", "1", 4), VectorModel("a", "2", 4), VectorModel("b", "1", 4)
        keys, found = rows_of(5)
        with store.writer() as writer:
            for model in (old, other, new):
                writer.add_vectors(model, keys, found)
                writer.add_vectors(model, keys[1:3], found[1:3])
            writer.commit()
        with store.view() as view, empty.writer() as writer:
            carry_vectors(view, writer)
        with empty.view() as carried:
            assert carried.vector_models() == [new, other]
            assert vectors(carried, new) == vectors(carried, other) == listed(keys, found)

    # -- the journal -----------------------------------------------------------------------

    def test_a_journal_is_there_from_the_first_append_until_it_is_dropped(
        self, store: Store, reopen: Callable[[], Store]
    ) -> None:
        other = reopen()
        assert not other.has_journal()
        number = store.append(segment(0))
        assert other.has_journal()
        with store.writer() as writer:
            writer.folded(number)
            writer.commit()
        assert other.has_journal()
        assert store.clear_journal(number)
        assert not other.has_journal()

    # -- writing ---------------------------------------------------------------------------

    def test_a_second_writer_is_told_that_the_store_is_busy(
        self, store: Store, reopen: Callable[[], Store]
    ) -> None:
        with store.writer(), pytest.raises(StoreBusy), reopen().writer(timeout=0.0):
            raise AssertionError("two writers at once")
        with reopen().writer(timeout=0.0):
            pass

    def test_a_view_stays_what_it_was_while_another_is_written(
        self, store: Store, reopen: Callable[[], Store]
    ) -> None:
        with store.writer() as writer:
            take(writer, [line("one")])
            writer.commit()
            take(writer, [line("two")])
            with reopen().view() as view:
                assert texts(view, "3f2a") == ["one"]
            writer.commit()
        with store.view() as view:
            assert texts(view, "3f2a") == ["one", "two"]

    def test_threads_read_at_once_while_another_writes(self, store: Store) -> None:
        """Each sees whole commits, never fewer than before, whoever else is in the midst of a view."""
        ended = threading.Event()

        def write() -> None:
            try:
                for number in range(12):
                    with store.writer() as writer:
                        take(writer, [line(f"entry {number}", uuid=f"u{number}")])
                        writer.commit()
            finally:
                ended.set()

        def read() -> int:
            seen = 0
            while not ended.is_set():
                with store.view() as view:
                    found = texts(view, "3f2a") if view.sessions() else []
                assert found == [f"entry {number}" for number in range(len(found))]
                assert len(found) >= seen
                seen = len(found)
            return seen

        with ThreadPoolExecutor(4) as pool:
            readers = [pool.submit(read) for _ in range(3)]
            pool.submit(write).result()
            assert all(reader.result() <= 12 for reader in readers)
        with store.writer():
            pass  # puts in place what readers kept waiting
        with store.view() as view:
            assert len(texts(view, "3f2a")) == 12

    def test_a_view_stays_what_it_was_when_the_thread_that_came_first_leaves(self, store: Store) -> None:
        with store.writer() as writer:
            take(writer, [line("before", uuid="u0")])
            writer.commit()
        first_is_in, second_is_in, written = threading.Event(), threading.Event(), threading.Event()

        def come_first() -> None:
            with store.view():
                first_is_in.set()
                second_is_in.wait()

        def stay() -> list[str]:
            first_is_in.wait()
            with store.view() as view:
                second_is_in.set()
                written.wait()
                return texts(view, "3f2a")

        with ThreadPoolExecutor(2) as pool:
            leaving, staying = pool.submit(come_first), pool.submit(stay)
            leaving.result()
            try:
                with store.writer() as writer:
                    take(writer, [line("after", uuid="u1")])
                    writer.commit()
            finally:
                written.set()
            assert staying.result() == ["before"]
        with store.writer():
            pass  # puts in place what readers kept waiting

    def test_appends_of_several_threads_are_numbered_one_after_the_other(self, store: Store) -> None:
        with ThreadPoolExecutor(4) as pool:
            numbers = list(pool.map(lambda number: store.append(segment(number)), range(20)))
        assert sorted(numbers) == list(range(min(numbers), min(numbers) + 20))
        assert [number for number, _ in store.pending()] == sorted(numbers)

    def test_a_prepared_parcel_is_as_good_as_its_lines(self, store: Store, empty: Store) -> None:
        """Only for an engine whose writer adopts what other processes prepared."""
        with store.writer() as writer, empty.writer() as plain:
            if not isinstance(writer, BulkWriter):
                pytest.skip("this engine takes everything in one process")
            collector = pickle.loads(pickle.dumps(writer.collector))()
            for each in (collector, plain):
                take(each, [line("a"), line("b", usage=Usage("u", "m-1", 5, output=3))])
                take(each, [line("c")], name="b.jsonl", id_="4f2a0000-bbbb")
            assert not writer.has_source(HOST, "/logs/a.jsonl")
            assert writer.adopt(pickle.loads(pickle.dumps(collector.parcel())))
            assert writer.has_source(HOST, "/logs/a.jsonl")
            again = writer.collector()
            take(again, [line("c")], name="c.jsonl", id_="5f2a0000-cccc")
            assert not writer.adopt(again.parcel())
            writer.commit()
            plain.commit()
        with store.view() as view, empty.view() as expected:
            assert shown(view) == shown(expected)

    # -- the store as a whole --------------------------------------------------------------

    def test_it_has_a_name_for_people(self, store: Store, reopen: Callable[[], Store]) -> None:
        assert store.name
        assert reopen().name == store.name

    def test_its_footprint_grows_with_what_it_holds(self, store: Store) -> None:
        before = store.footprint()
        with store.writer() as writer:
            take(writer, [line(secrets.token_hex(1 << 18))])
            writer.commit()
        after = store.footprint()
        assert before.bytes < after.bytes
        assert 0 < before.written_ms <= after.written_ms

    def test_a_sound_store_has_no_findings(self, store: Store) -> None:
        with store.writer() as writer:
            take(writer, [line("a"), line("b")])
            writer.commit()
        assert store.check() == []

    def test_lines_are_counted_by_flag(self, store: Store) -> None:
        with store.writer() as writer:
            take(
                writer,
                [Line(b"{", LineFlag.BAD), Line(b"", LineFlag.BLANK), line("a"), Line(b"[", LineFlag.BAD)],
            )
            writer.commit()
        with store.view() as view:
            counts = view.flag_counts()
        assert {flag: count for flag, count in counts.items() if count} == {
            LineFlag.BAD: 2,
            LineFlag.BLANK: 1,
        }

    def test_many_lines_are_located_like_one(self, store: Store) -> None:
        with store.writer() as writer:
            take(writer, [line("a", usage=Usage("1", "m", 5, output=1)), line("x")])
            take(writer, [line("b", usage=Usage("2", "m", 6, output=2))], name="b.jsonl", id_="4f2a")
            take(writer, [line("c", usage=Usage("3", "m", 7, output=3))], cursor=Cursor(offset=2))
            writer.commit()
        with store.view() as view:
            columns = view.usage()
            lines = [int(each) for each in columns.line[np.argsort(columns.time)]]
            found = [(where.file.path, number) for where, number in view.locate_many(lines)]
            assert found == [("/logs/a.jsonl", 1), ("/logs/b.jsonl", 1), ("/logs/a.jsonl", 3)]
            assert view.locate_many(lines) == [view.locate(each) for each in lines]
            assert view.locate_many([]) == []

    def test_columns_of_nothing_are_numbers_too(self, store: Store) -> None:
        with store.view() as view:
            columns = view.usage()
        names = ("session", "model", "time", "line", "input", "output", "cache_read", "reasoning")
        assert {getattr(columns, name).dtype.kind for name in names} <= {"i", "u"}

    def test_a_replacement_takes_the_place_of_what_was_there(
        self, store: Store, reopen: Callable[[], Store]
    ) -> None:
        with store.writer() as writer:
            take(writer, [line("old")])
            writer.folded(store.append(segment(0)))
            writer.commit()
        with store.view() as view:
            before = view.info()
        with store.replacement() as (old, new):
            assert texts(old, "3f2a") == ["old"]
            with new.writer() as writer:
                take(writer, [line("new")])
                writer.commit()
            with new.view() as view:
                assert texts(view, "3f2a") == ["new"]
        with reopen().view() as view:
            assert texts(view, "3f2a") == ["new"]
            after = view.info()
        assert (after.id, after.folded) == (before.id, before.folded)
        assert after.epoch != before.epoch

    def test_a_replacement_that_fails_has_changed_nothing(self, store: Store) -> None:
        with store.writer() as writer:
            take(writer, [line("old")])
            writer.commit()
        with store.view() as view:
            before = view.info()

        def interrupted() -> None:
            with store.replacement() as (_, new), new.writer() as writer:
                take(writer, [line("new")])
                writer.commit()
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            interrupted()
        with store.view() as view:
            assert texts(view, "3f2a") == ["old"]
            assert view.info() == before

    def test_salvaging_a_sound_store_loses_nothing_and_keeps_it_aside(self, store: Store) -> None:
        with store.writer() as writer:
            take(writer, [line("a"), line("b")])
            writer.commit()
        with store.salvage() as (old, new), new.writer() as writer:
            (each,) = old.sources()
            kept = [Line(found.data, found.flags) for found in old.lines(each)]
            take(writer, kept)
            writer.commit()
        assert (old.lost_lines, old.lost, bool(old.moved_to)) == (0, [], True)
        with store.view() as view:
            assert raw(view) == line("a").data + b"\n" + line("b").data + b"\n"

    def test_compacting_changes_nothing_that_is_shown(
        self, store: Store, reopen: Callable[[], Store]
    ) -> None:
        half = Line(b'{"text":"ha', LineFlag.PENDING)
        with store.writer() as writer:
            take(writer, [line("a"), half], cursor=Cursor(waiting=True, terminated=False))
            take(writer, [line("half", usage=Usage("u", "m", 5, output=3))])
            take(writer, [line("a"), line("c")], name="b.jsonl", id_="4f2a0000-bbbb")
            writer.add_vectors(VectorModel("static", "r1", 4), *rows_of(3))
            writer.commit()
        with store.view() as view:
            before, info = shown(view), view.info()
        store.compact()
        with reopen().view() as view:
            assert shown(view) == before
            assert view.info().id == info.id
            assert view.info().epoch != info.epoch
            assert len(vectors(view, VectorModel("static", "r1", 4))) == 3
        with store.writer() as writer:
            assert list(take(writer, [line("c")], name="c.jsonl", id_="5f2a0000-cccc").known) == [True]

    def test_a_copy_is_all_or_nothing(self, store: Store, copy_name: str) -> None:
        with store.writer() as writer:
            take(writer, [line("a")])
            writer.commit()
        if not store.copy_to(copy_name):
            pytest.skip("this engine is copied line by line")
        copy = open_store(location(copy_name))
        try:
            with copy.view() as view, store.view() as expected:
                assert shown(view) == shown(expected)
        finally:
            copy.close()

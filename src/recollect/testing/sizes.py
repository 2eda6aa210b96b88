"""What every store promises of sizes and keys of lines, and of evicted ones: `StoreContract` inherits it."""

from __future__ import annotations

import json
import random

from recollect.store.contract import Store, View
from recollect.store.leaving import Leaving
from recollect.values.ids import line_key
from recollect.values.records import (
    Cursor,
    Entry,
    Kind,
    Line,
    LineFlag,
    Parsed,
    SessionFacts,
    SourceFile,
    Usage,
)

HOST = "harbor"


def _line(text: str, *usages: Usage) -> Line:
    parsed = Parsed("user", (Entry(Kind.PROMPT, text),), usages=usages)
    return Line(json.dumps({"text": text}).encode(), 0, parsed)


def _take(store: Store, id_: str, *texts: str) -> None:
    _take_lines(store, id_, [_line(text) for text in texts])


def _take_lines(
    store: Store, id_: str, lines: list[Line], *, restart: bool = False, thinned: bool = False
) -> None:
    file, told = SourceFile("scribe", f"/logs/{id_}.jsonl"), SessionFacts("scribe", id_)
    with store.writer() as writer:
        cursor = Cursor(offset=1, thinned=thinned)
        writer.take(file, HOST, lines, cursor, told, parser=1, restart=restart)
        writer.commit()


def _usage(view: View) -> list[tuple[int, ...]]:
    columns = view.usage()
    told = (columns.time, columns.input, columns.output, columns.cache_read, columns.reasoning)
    return sorted(zip(*(column.tolist() for column in told), strict=True))


def _sizes(view: View) -> dict[str, tuple[int, int]]:
    sizes, sessions = view.raw_sizes(), view.session_rows()
    told = zip(*(column.tolist() for column in (sizes.rows, sizes.own, sizes.lines)), strict=True)
    return {sessions[row].facts.id: (own, lines) for row, own, lines in told}


def _together(view: View) -> dict[frozenset[str], int]:
    sessions = view.session_rows()
    return {
        frozenset(sessions[row].facts.id for row in rows): taken for rows, taken in view.raw_sizes().shared
    }


class SizesContract:
    """Sessions by what they take, and what is kept of lines that were let go."""

    def test_what_a_session_takes_follows_what_it_alone_has(self, store: Store) -> None:
        words = random.Random(7)
        long = ["".join(words.choices("abcdefghijklmnopqrstuvwxyz ", k=4_000)) for _ in range(20)]
        _take(store, "large", *long[:15])
        _take(store, "small", *long[15:])
        with store.view() as view:
            told, total = _sizes(view), view.raw_sizes().total
        assert (told["large"][1], told["small"][1]) == (15, 5)
        assert abs(told["large"][0] + told["small"][0] - total) <= 2
        assert 2.7 < told["large"][0] / told["small"][0] < 3.3

    def test_what_two_sessions_have_is_in_the_total_once_and_no_session_s_own(self, store: Store) -> None:
        shared = ["said before " * 40, "and this " * 40]
        _take(store, "first", *shared)
        with store.view() as view:
            alone = view.raw_sizes().total
        _take(store, "fork", *shared, "what is new " * 40)
        with store.view() as view:
            told, sizes = _sizes(view), view.raw_sizes()
            assert told["first"] == (0, 0)
            assert _together(view) == {frozenset({"first", "fork"}): sizes.total - told["fork"][0]}
            assert told["fork"][1] == 1
            assert abs(sizes.total - alone - told["fork"][0]) <= 2

    def test_what_several_sessions_have_is_told_once_for_each_set_of_them(self, store: Store) -> None:
        """A line between two others, in several sources of one session, or in three sessions."""
        texts = {letter: letter * 400 for letter in "abcde"}
        for id_, letters in (("one", "abcd"), ("two", "bd"), ("three", "dec"), ("four", "ab")):
            _take(store, id_, *(texts[letter] for letter in letters))
        with store.view() as view:
            together, own = _together(view), _sizes(view)
        assert set(together) == {
            frozenset(names)
            for names in (("one", "four"), ("one", "two", "four"), ("one", "three"), ("one", "two", "three"))
        }
        assert {name: lines for name, (_, lines) in own.items()} == {
            "one": 0,
            "two": 0,
            "three": 1,
            "four": 0,
        }
        with store.view() as view:
            total = view.raw_sizes().total
        assert abs(sum(together.values()) + own["three"][0] - total) <= 3

    def test_what_was_evicted_takes_nothing_of_several_sessions(self, store: Store) -> None:
        for id_ in ("one", "two"):
            _take(store, id_, "the same " * 50)
        store.compact(leave=lambda view: Leaving(evicted=view.lines_only_of(view.raw_sizes().rows.tolist())))
        with store.view() as view:
            assert view.raw_sizes().total == sum(_together(view).values()) == 0

    def test_an_empty_store_takes_nothing(self, store: Store) -> None:
        with store.view() as view:
            sizes = view.raw_sizes()
        assert (sizes.total, len(sizes.rows), len(sizes.own), len(sizes.lines)) == (0, 0, 0, 0)

    def test_what_is_kept_of_evicted_lines_is_as_good_in_another_store(
        self, store: Store, empty: Store
    ) -> None:
        counted = Usage("req_1", "m-1", 1_700_000_000_000, 10, 20, reasoning=3)
        lines = [_line("one", counted), _line("two")]
        _take_lines(store, "first", lines)
        with store.view() as view:
            usage = _usage(view)
            (source,) = view.sources()
            assert view.kept_lines(source) == []
        store.compact(leave=lambda view: Leaving(evicted=view.line_rows(view.sources()[0])[:1]))
        with store.view() as view:
            (source,) = view.sources()
            (kept,) = view.kept_lines(source)
            assert kept.key == line_key(lines[0].data)
        gone = Line(b"", int(LineFlag.ALTERED), Parsed("user", ()), kept)
        _take_lines(empty, "first", [gone, lines[1]])
        with store.view() as view, empty.view() as other:
            (source,), (copy,) = view.sources(), other.sources()
            assert copy.thinned
            assert list(other.lines(copy)) == list(view.lines(source))
            assert list(other.line_keys(copy)) == list(view.line_keys(source))
            assert other.kept_lines(copy) == view.kept_lines(source)
            assert _usage(other) == _usage(view) == usage
        _take_lines(empty, "again", lines[:1])
        with empty.view() as other:
            (again,) = (each for each in other.sources() if each.session == "again")
            assert [line.data for line in other.lines(again)] == [lines[0].data], (
                "nothing is linked to what is gone"
            )
            assert _usage(other) == usage

    def test_what_was_evicted_and_is_back_stands_before_what_came_since(self, store: Store) -> None:
        lines = [_line(text) for text in ("one", "two", "three")]
        _take_lines(store, "first", lines[:2])
        store.compact(leave=lambda view: Leaving(evicted=view.line_rows(view.sources()[0])))
        _take_lines(store, "first", lines[2:], thinned=True)
        _take_lines(store, "first", lines, restart=True)
        with store.view() as view:
            shown = [each.entry.text for each in view.entries(view.find_session("first"))]
            assert shown == ["one", "two", "three"]
            old, new = view.sources()
            assert (old.superseded, old.thinned, new.superseded, new.thinned) == (True, True, False, False)

    def test_the_keys_of_lines_are_those_of_their_bytes(self, store: Store) -> None:
        _take(store, "first", "one", "two")
        _take(store, "fork", "two", "three")
        with store.view() as view:
            for source in view.sources():
                assert list(view.line_keys(source)) == [line_key(each.data) for each in view.lines(source)]

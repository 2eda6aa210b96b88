"""What every store promises of lines that were altered: known by what their sources have. `StoreContract`
inherits it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from recollect.store.contract import Store
from recollect.store.leaving import Leaving
from recollect.testing.leaving import source_of, spoken, take_all, told
from recollect.values.ids import entry_id, line_key
from recollect.values.records import Line, LineFlag
from recollect.values.stored import source_bytes


def altered(text: str, was: str) -> Line:
    """A line that says something else than its source, whose key it has."""
    key = line_key(f"<{was}>".encode())
    return replace(spoken(text), flags=int(LineFlag.ALTERED), key=key)


class AlteredContract:
    """An altered line stands for the one that its source has, and for no other."""

    def _taken_altered(self, store: Store) -> None:
        with store.writer() as writer:
            take_all(writer, "first", [spoken("a"), altered("b [redacted]", "b secret"), spoken("c")])
            take_all(writer, "second", [altered("b [redacted]", "b secret"), spoken("d")])
            writer.commit()

    def test_an_altered_line_is_known_by_what_its_source_has(
        self, store: Store, reopen: Callable[[], Store]
    ) -> None:
        self._taken_altered(store)
        for _ in range(2):
            with reopen().view() as view:
                first, second = source_of(view, "first"), source_of(view, "second")
                key = line_key(b"<b secret>")
                assert list(view.line_keys(first)) == [line_key(b"<a>"), key, line_key(b"<c>")]
                assert [line.key for line in view.lines(first)] == [b"", key, b""]
                assert view.lines_at(view.line_rows(first).tolist()) == list(view.lines(first))
                assert b"".join(source_bytes(first, view.lines(first))) == b"<a>\n<b [redacted]>\n<c>\n"
                assert (first.thinned, second.thinned) == (True, True)
                assert view.line_rows(second)[0] == view.line_rows(first)[1], "it is there once"
                assert told(view, "first") == ["a", "b [redacted]", "c"]
                assert view.find_entry(entry_id(b"<b secret>", 0)).entry.text == "b [redacted]"
                assert view.kept_lines(first) == []
            assert store.check() == []
            store.compact()

    def test_the_line_itself_is_another_one(self, store: Store) -> None:
        self._taken_altered(store)
        with store.writer() as writer:
            take_all(writer, "third", [spoken("b secret"), spoken("b [redacted]")])
            writer.commit()
        with store.view() as view:
            held = {
                row for id_ in ("first", "second") for row in view.line_rows(source_of(view, id_)).tolist()
            }
            assert held.isdisjoint(view.line_rows(source_of(view, "third")).tolist())
            assert told(view, "third") == ["b secret", "b [redacted]"]

    def test_a_version_that_has_the_line_again_shows_it_in_its_place(self, store: Store) -> None:
        self._taken_altered(store)
        with store.writer() as writer:
            take_all(writer, "first", [spoken("a"), spoken("b secret")], restart=True)
            take_all(writer, "first", [spoken("c"), spoken("e")])
            writer.commit()
        with store.view() as view:
            assert told(view, "first") == ["a", "b secret", "c", "e"]
            assert view.find_entry(entry_id(b"<b secret>", 0)).entry.text == "b secret"
            assert told(view, "second")[1:] == ["d"]
        assert store.check() == []

    def test_an_altered_line_can_be_evicted_and_keeps_its_key(self, store: Store) -> None:
        self._taken_altered(store)
        store.compact(lambda view: Leaving(evicted=view.line_rows(source_of(view, "first"))[1:2]))
        with store.view() as view:
            source = source_of(view, "first")
            assert [line.is_evicted for line in view.lines(source)] == [False, True, False]
            assert [each.key for each in view.kept_lines(source)] == [line_key(b"<b secret>")]
        with store.writer() as writer:
            take_all(writer, "third", [altered("b [redacted]", "b secret")])
            writer.commit()
        with store.view() as view:
            assert told(view, "third") == ["b [redacted]"]

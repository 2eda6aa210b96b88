"""What every store promises of entries that others take the place of. `StoreContract` inherits it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from recollect.store.contract import Store, View, Writer
from recollect.values.records import (
    Cursor,
    Entry,
    Flag,
    Framing,
    Kind,
    Line,
    LineFlag,
    Parsed,
    Provenance,
    SessionFacts,
    SourceFile,
)
from recollect.values.stored import source_bytes


def said(text: str, uuid: str = "", replaces: tuple[str, ...] = (), rewinds: str = "") -> Line:
    """A record that shows two entries, the second one an echo."""
    entries = (Entry(Kind.PROMPT, text), Entry(Kind.ANSWER, text.upper()))
    data = f"{text}|{uuid}|{replaces}|{rewinds}".encode()
    return Line(data, 0, Parsed("user", entries, uuid=uuid, replaces=replaces, rewinds=rewinds))


def restated(text: str, uuid: str) -> Line:
    return said(text, uuid, (uuid,))


def take_lines(
    writer: Writer,
    lines: Sequence[Line],
    *,
    name: str = "a.jsonl",
    id_: str = "one",
    whose: Provenance = Provenance.UNMARKED,
) -> None:
    file, facts = SourceFile("owl", f"/logs/{name}", provenance=whose), SessionFacts("owl", id_)
    writer.take(file, "harbor", lines, Cursor(offset=1), facts, parser=1)


def save(
    writer: Writer,
    lines: Sequence[Line],
    *,
    name: str = "a.json",
    id_: str = "one",
    whose: Provenance = Provenance.UNMARKED,
) -> None:
    """One more version of a document, as the records it consists of."""
    file = SourceFile("owl", f"/logs/{name}", framing=Framing.DOCUMENT, provenance=whose)
    restart = writer.source("harbor", file.path) is not None
    cursor, facts = Cursor(offset=1, terminated=False), SessionFacts("owl", id_)
    writer.take(file, "harbor", lines, cursor, facts, parser=1, restart=restart)


def shown(view: View, id_: str = "one") -> list[str]:
    """What a session shows, without the echoes."""
    entries = list(view.entries(view.find_session(id_)))
    assert [e.entry.text.upper() for e in entries[::2]] == [e.entry.text for e in entries[1::2]]
    assert not any(e.entry.flags & Flag.REPLACED for e in entries)
    return [e.entry.text for e in entries[::2]]


def replaced(view: View) -> list[str]:
    rows = view.replaced().tolist()
    entries = view.entries_at(rows)
    assert all(e.entry.flags & Flag.REPLACED for e in entries)
    flagged = [e.row for e in view.entry_range(0, view.info().rows_end) if e.entry.flags & Flag.REPLACED]
    assert sorted(rows) == flagged
    return sorted(e.entry.text for e in entries[::2])


class ReplacingContract:
    """Subclasses give `store` and `reopen`, which makes another handle on it."""

    def test_a_record_stated_again_stands_where_it_first_stood(
        self, store: Store, reopen: Callable[[], Store]
    ) -> None:
        with store.writer() as writer:
            take_lines(writer, [restated("a", "1"), restated("b", "2"), restated("c", "3")])
            writer.commit()
        with store.writer() as writer:
            take_lines(writer, [restated("b2", "2"), said("d"), restated("b3", "2"), restated("a2", "1")])
            assert shown(writer.view()) == ["a2", "b3", "c", "d"]
            writer.commit()
        with reopen().view() as view:
            assert shown(view) == ["a2", "b3", "c", "d"]
            assert replaced(view) == ["a", "b", "b2"]
            assert view.find_session("one").entries == 8
            assert [e.entry.text for e in view.entries(view.find_session("one"), last=3)] == ["C", "d", "D"]
            assert view.find_entry(next(view.entry_range(0, view.info().rows_end)).id).entry.text == "a"

    def test_a_record_replaces_only_what_its_own_session_said(self, store: Store) -> None:
        with store.writer() as writer:
            take_lines(writer, [restated("a", "1")])
            take_lines(writer, [restated("other a", "1")], name="b.jsonl", id_="two")
            take_lines(writer, [restated("a2", "1")], name="c.jsonl")
            writer.commit()
        with store.view() as view:
            assert (shown(view), shown(view, "two")) == (["a2"], ["other a"])

    def test_a_rewind_takes_back_all_that_was_shown_from_a_record_on(self, store: Store) -> None:
        with store.writer() as writer:
            take_lines(writer, [restated(text, text) for text in "abcd"])
            take_lines(writer, [restated("b2", "b"), said("back", rewinds="b"), said("e", "e")])
            take_lines(writer, [said("nowhere", rewinds="zzz"), said("gone before", rewinds="c")])
            writer.commit()
        with store.view() as view:
            assert shown(view) == ["a", "back", "e", "nowhere", "gone before"]
            assert replaced(view) == ["b", "b2", "c", "d"]

    def test_a_line_copied_by_another_source_stays_replaced(self, store: Store) -> None:
        with store.writer() as writer:
            take_lines(writer, [restated("a", "1"), restated("b", "2"), restated("a2", "1")])
            take_lines(writer, [restated("a", "1"), restated("b", "2")], name="copy.jsonl")
            take_lines(writer, [restated("a", "1"), restated("a2", "1")], name="fork.jsonl", id_="two")
            writer.commit()
        with store.view() as view:
            assert shown(view) == ["a2", "b"]
            assert shown(view, "two") == ["a2"]

    def test_a_document_saved_again_shows_what_it_is_now_and_keeps_what_it_was(
        self, store: Store, reopen: Callable[[], Store]
    ) -> None:
        versions = [["a", "b"], ["a", "b1", "c"], ["a", "b1", "c", "d"], ["x", "c", "b1"], ["a", "b"]]
        for version in versions:
            with store.writer() as writer:
                save(writer, [said(text) for text in version])
                assert shown(writer.view()) == version
                writer.commit()
        with reopen().view() as view:
            assert shown(view) == ["a", "b"]
            assert replaced(view) == ["a", "b", "b1", "c", "d", "x"]
            raw = [b"".join(source_bytes(source, view.lines(source))) for source in view.sources()]
            assert raw == [b"".join(said(text).data for text in version) for version in versions]
            assert [source.superseded for source in view.sources()] == [True] * 4 + [False]

    def test_a_document_cut_short_replaces_nothing(self, store: Store) -> None:
        with store.writer() as writer:
            save(writer, [said("a"), said("b")])
            save(writer, [Line(b"a|", LineFlag.BAD)])
            assert shown(writer.view()) == ["a", "b"]
            save(writer, [said("a"), said("c")])
            writer.commit()
        with store.view() as view:
            assert shown(view) == ["a", "c"]
            assert replaced(view) == ["b"]

    def test_a_document_and_a_log_of_one_session_show_each_record_once(self, store: Store) -> None:
        with store.writer() as writer:
            save(writer, [said("a", "1"), said("b", "2")])
            take_lines(writer, [restated("a", "1"), restated("b2", "2"), restated("c", "3")])
            writer.commit()
        with store.view() as view:
            assert shown(view) == ["a", "b2", "c"]

    def test_what_is_not_committed_replaces_nothing(self, store: Store) -> None:
        with store.writer() as writer:
            take_lines(writer, [restated("a", "1")])
            writer.commit()
        with store.writer() as writer:
            take_lines(writer, [restated("a2", "1")])
        with store.view() as view:
            assert (shown(view), replaced(view)) == (["a"], [])

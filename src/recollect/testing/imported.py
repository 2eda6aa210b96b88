"""What every store promises of imported sources. `StoreContract` inherits it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recollect.store.contract import Store, View, Writer
from recollect.values.records import (
    Cursor,
    Entry,
    Framing,
    Kind,
    Line,
    Parsed,
    Provenance,
    Relation,
    SessionFacts,
    SourceFile,
)

OWN, IMPORTED = Provenance.OWN, Provenance.IMPORTED


def told(text: str, uuid: str = "", replaces: tuple[str, ...] = (), rewinds: str = "") -> Line:
    entry = Entry(Kind.PROMPT, text, time_ms=1_700_000_000_000)
    return Line(text.encode(), 0, Parsed("user", (entry,), uuid=uuid, replaces=replaces, rewinds=rewinds))


def take_from(
    writer: Writer,
    lines: Sequence[Line],
    whose: Provenance,
    *,
    name: str = "",
    id_: str = "one",
    framing: Framing = Framing.LINES,
    agent: str = "owl",
    **facts: Any,
) -> None:
    """Lines of a source that is called by whose it is, unless a name is given."""
    file = SourceFile(agent, f"/{name or whose.name.lower()}.jsonl", framing=framing, provenance=whose)
    restart = framing == Framing.DOCUMENT and writer.source("harbor", file.path) is not None
    cursor = Cursor(offset=1, terminated=framing == Framing.LINES)
    known = SessionFacts(agent, id_, **facts)
    writer.take(file, "harbor", lines, cursor, known, parser=1, restart=restart)


def marks(view: View, id_: str = "one") -> dict[str, bool]:
    """What a session shows, and what of it is imported; every way of asking gives the same answer."""
    entries = list(view.entries(view.find_session(id_)))
    rows = [each.row for each in entries]
    columns = view.columns_at(rows, "imported", "line")
    assert columns["imported"].dtype == bool
    assert columns["imported"].tolist() == [each.imported for each in entries]
    assert [each.imported for each in view.entries_at(rows)] == [each.imported for each in entries]
    assert [view.find_entry(each.id).imported for each in entries] == [each.imported for each in entries]
    return {each.entry.text: each.imported for each in entries}


class ImportedContract:
    """An imported log may claim any session, project and record: it is kept, shown, and marked."""

    def test_a_source_keeps_the_mark_it_came_with(self, store: Store) -> None:
        with store.writer() as writer:
            take_from(writer, [told("mine")], OWN)
            take_from(writer, [told("theirs")], IMPORTED, id_="two")
            take_from(writer, [told("before")], Provenance.UNMARKED, id_="three")
            writer.commit()
        with store.view() as view:
            assert {s.file.path: s.file.provenance for s in view.sources()} == {
                "/own.jsonl": OWN,
                "/imported.jsonl": IMPORTED,
                "/unmarked.jsonl": Provenance.UNMARKED,
            }
            assert [s.file.path for s in view.sources() if s.imported] == ["/imported.jsonl"]
            assert {s.facts.id: s.imported for s in view.sessions()} == {
                "one": False,
                "two": True,
                "three": False,
            }
            assert {s.facts.id: s.imported for _, s in view.session_rows().items()}["two"]
            assert marks(view, "two") == {"theirs": True}
            assert marks(view, "three") == {"before": False}

    def test_whose_a_source_is_can_be_said_later(self, store: Store) -> None:
        with store.writer() as writer:
            take_from(writer, [told("a")], Provenance.UNMARKED, name="a")
            take_from(writer, [told("b")], Provenance.UNMARKED, name="b", id_="two")
            writer.commit()
        with store.writer() as writer:
            for source in writer.view().unmarked():
                writer.mark(source, OWN if source.file.path == "/a.jsonl" else IMPORTED)
            writer.commit()
        with store.view() as view:
            assert not view.unmarked()
            assert marks(view, "one") == {"a": False}
            assert marks(view, "two") == {"b": True}

    def test_a_session_whose_only_source_turns_out_imported_has_nothing_of_its_own(
        self, store: Store
    ) -> None:
        with store.writer() as writer:
            take_from(writer, [told("a")], Provenance.UNMARKED, name="a", title="first")
            take_from(writer, [told("b")], IMPORTED, name="a", title="second")
            take_from(writer, [told("c")], IMPORTED, name="b", title="third")
            writer.commit()
        with store.view() as view:
            assert view.find_session("one").imported
            assert view.find_session("one").facts.title == "third"

    def test_every_version_of_a_source_can_be_marked(self, store: Store) -> None:
        with store.writer() as writer:
            for text in ("first", "second"):
                take_from(writer, [told(text)], Provenance.UNMARKED, framing=Framing.DOCUMENT)
            writer.commit()
        with store.writer() as writer:
            for source in writer.view().unmarked():
                writer.mark(source, IMPORTED)
            writer.commit()
        with store.view() as view:
            assert [s.imported for s in view.sources()] == [True, True]
            assert marks(view) == {"second": True}

    def test_a_line_that_an_own_source_has_too_is_own_whichever_came_first(self, store: Store) -> None:
        for n, order in enumerate(((OWN, IMPORTED), (IMPORTED, OWN))):
            lines = {whose: [told(f"both {n}")] for whose in order}
            with store.writer() as writer:
                for whose in order:
                    extra = told(f"{whose.name} {n}")
                    take_from(writer, [*lines[whose], extra], whose, name=f"{whose}{n}", id_=f"s{n}")
                writer.commit()
            with store.view() as view:
                assert marks(view, f"s{n}") == {f"both {n}": False, f"OWN {n}": False, f"IMPORTED {n}": True}

    def test_imported_facts_change_no_session_that_is_own(self, store: Store) -> None:
        with store.writer() as writer:
            take_from(writer, [told("a")], OWN, project="harbor", title="Quay", title_rank=1, ended_ms=5)
            take_from(
                writer,
                [told("b")],
                IMPORTED,
                project="bank",
                cwd="/bank",
                title="Pay",
                title_rank=9,
                ended_ms=9,
                parent="else",
            )
            writer.commit()
        with store.view() as view:
            facts = view.find_session("one").facts
        assert (facts.project, facts.cwd, facts.title, facts.ended_ms, facts.parent) == (
            "harbor",
            "",
            "Quay",
            5,
            "",
        )

    def test_own_facts_take_the_place_of_imported_ones(self, store: Store) -> None:
        with store.writer() as writer:
            take_from(writer, [told("b")], IMPORTED, project="bank", cwd="/bank", title="Pay", title_rank=9)
            writer.commit()
        with store.view() as view:
            assert view.find_session("one").imported
            assert view.find_session("one").facts.title == "Pay"
        with store.writer() as writer:
            take_from(writer, [told("a")], OWN, project="harbor")
            take_from(writer, [told("c")], OWN, branch="main")
            writer.commit()
        with store.view() as view:
            session = view.find_session("one")
            assert not session.imported
            assert (session.facts.project, session.facts.cwd, session.facts.title) == ("harbor", "", "")
            assert session.facts.branch == "main"

    def test_an_imported_record_replaces_nothing_that_is_own(self, store: Store) -> None:
        with store.writer() as writer:
            take_from(writer, [told("a", "u1"), told("b", "u2")], OWN)
            writer.commit()
        with store.writer() as writer:
            take_from(writer, [told("a", "u1"), told("x", "u3", rewinds="u1")], IMPORTED)
            take_from(writer, [told("y", "u2", replaces=("u2",))], IMPORTED, name="other")
            writer.commit()
        with store.view() as view:
            assert marks(view) == {"a": False, "b": False, "x": True, "y": True}
            assert not len(view.replaced())

    def test_an_imported_record_replaces_what_is_imported(self, store: Store) -> None:
        with store.writer() as writer:
            take_from(writer, [told("a", "u1"), told("b", "u2"), told("c", rewinds="u2")], IMPORTED)
            writer.commit()
        with store.view() as view:
            assert marks(view) == {"a": True, "c": True}

    def test_a_new_version_of_an_imported_document_takes_nothing_from_the_own_one(self, store: Store) -> None:
        with store.writer() as writer:
            take_from(writer, [told("a"), told("b")], OWN, framing=Framing.DOCUMENT)
            take_from(writer, [told("a"), told("x")], IMPORTED, framing=Framing.DOCUMENT)
            writer.commit()
        with store.writer() as writer:
            take_from(writer, [told("z")], IMPORTED, framing=Framing.DOCUMENT)
            writer.commit()
        with store.view() as view:
            assert marks(view) == {"a": False, "b": False, "z": True}

    def test_what_was_once_own_stays_own_and_what_is_found_to_be_own_becomes_it(self, store: Store) -> None:
        with store.writer() as writer:
            take_from(writer, [told("a")], OWN, name="a")
            take_from(writer, [told("b")], IMPORTED, name="a")
            take_from(writer, [told("c")], IMPORTED, name="c", id_="two", project="bank")
            take_from(writer, [told("d")], OWN, name="c", id_="two", project="harbor")
            writer.commit()
        with store.view() as view:
            assert marks(view, "one") == {"a": False, "b": False}
            assert marks(view, "two") == {"c": False, "d": False}
            assert not view.find_session("two").imported

    def test_an_imported_session_does_not_stand_in_the_way_of_an_own_one(self, store: Store) -> None:
        with store.writer() as writer:
            take_from(writer, [told("a")], OWN, id_="3f2a0000")
            take_from(writer, [told("b")], IMPORTED, id_="3f2a0000", agent="other")
            writer.commit()
        with store.view() as view:
            assert marks(view, "3f2a0000") == {"a": False}
            assert marks(view, "3f2a") == {"a": False}

    def test_what_sessions_say_of_their_projects_is_told_without_reading_them(self, store: Store) -> None:
        here: dict[str, Any] = {"project": "bay", "cwd": "/w/bay"}
        with store.writer() as writer:
            take_from(writer, [told("a")], OWN, name="a", id_="a", ended_ms=5, **here)
            take_from(writer, [told("b")], OWN, name="b", id_="b", ended_ms=9, **here)
            take_from(writer, [told("c")], OWN, name="c", id_="c", ended_ms=7, **here)
            take_from(writer, [told("d")], OWN, name="d", id_="d", branch="main", ended_ms=4, **here)
            take_from(writer, [told("e")], OWN, name="e", id_="e", relation=Relation.FORK, **here)
            take_from(writer, [told("f")], OWN, name="f", id_="f", agent="other", ended_ms=3, **here)
            take_from(writer, [told("g")], IMPORTED, name="g", id_="g", ended_ms=2, **here)
            take_from(writer, [told("h")], OWN, name="h", id_="h", relation=Relation.FORK, ended_ms=6, **here)
            writer.commit()
        with store.view() as view:
            clues, sessions = view.session_clues(), dict(view.session_rows().items())
        found = {sessions[row].facts.id: at for row, at in zip(clues.rows, clues.at, strict=True)}
        assert {id_: clues.clues[at] for id_, at in found.items()} == {
            each.facts.id: each.clue for each in sessions.values()
        }
        assert found["a"] == found["b"] == found["c"] == found["h"]
        assert {id_: clues.ended_ms[at] for id_, at in found.items()} == {
            "a": 9, "b": 9, "c": 9, "d": 4, "e": 0, "f": 3, "g": 2, "h": 9
        }  # fmt: skip
        assert len(clues.clues) == len(set(clues.clues)) == 5

    def test_marks_survive_compacting(self, store: Store) -> None:
        with store.writer() as writer:
            take_from(writer, [told("a")], OWN)
            take_from(writer, [told("b")], IMPORTED)
            writer.commit()
        store.compact()
        with store.view() as view:
            assert marks(view) == {"a": False, "b": True}
            assert not view.unmarked()

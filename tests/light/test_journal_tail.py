"""Whoever holds a part of a store in memory is told of every append once, or that it must look again."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import examples
from tests.support.memories import scratch

from recollect.agents.memory.records import line_of, note_record, notes_file
from recollect.light.disk import Disk
from recollect.light.journal import Journal
from recollect.light.journal_tail import JournalTail
from recollect.memory import Memory
from recollect.values.notes import Note
from recollect.values.records import BEHIND, Segment


class Unsynced(Disk):
    """Nothing here cuts the power."""

    def sync_data(self, fd: int) -> None: ...

    def sync_folder(self, folder: Path) -> None: ...


# A life of a journal: appends by two processes, folds that clear it, rewrites of the store, and looks.
STEPS = st.lists(
    st.sampled_from(("one", "other", "one", "other", "fold", "rewrite", "look", "look")), max_size=12
)


@examples(30)
@given(steps=STEPS)
def test_every_append_is_told_once_or_said_to_be_missed(steps: list[str]) -> None:
    with scratch() as folder, Memory.open(folder / "memory.h5") as memory:
        tail = JournalTail(folder / "memory.h5")
        tail.begin(0, 0)
        one, other = Journal(folder / "memory.h5", Unsynced()), Journal(folder / "memory.h5", Unsynced())
        appended = told = folded = 0
        was_rewritten = False
        for step in [*steps, "one", "look"]:
            if step in ("one", "other"):
                appended += 1
                data = line_of(note_record(Note(f"n{appended}", "chat", "text"), again=False)) + b"\n"
                segment = Segment(notes_file("chat"), "here", BEHIND, data)
                assert (one if step == "one" else other).append(segment.pack()) == appended
            elif step == "fold":
                memory.checkpoint()
                folded = appended
            elif step == "rewrite":
                memory.compact()
                was_rewritten = True
            elif (news := tail.news()) is None:
                assert was_rewritten or folded > told
                break
            else:
                assert not was_rewritten
                assert folded <= told
                told += len(news)
                assert told == appended
        one.close()
        other.close()


def test_looking_again_costs_no_frame_twice_and_a_new_journal_is_known(folder: Path) -> None:
    store = folder / "memory.h5"
    tail = JournalTail(store)
    assert tail.news() == []
    with Journal(store, Unsynced()) as journal:
        assert journal.append(b"one") == 1
        assert tail.news() == [b"one"]
        assert tail.news() == []
        journal.append(b"two")
        assert tail.news() == [b"two"]


def test_what_is_folded_before_a_look_is_missed_and_after_it_is_not(folder: Path) -> None:
    store = folder / "memory.h5"
    with Memory.open(store) as memory:
        tail = JournalTail(store)
        assert tail.news() is None, "there is a store, and nobody looked into it"
        tail.begin(0, 0)
        memory.save("seen in the journal")
        found = tail.news()
        assert found is not None
        assert len(found) == 1
        memory.checkpoint()
        assert tail.news() == [], "it was told before it was folded"
        memory.save("folded unseen")
        memory.checkpoint()
        assert tail.news() is None
        tail.begin(2, 0)
        assert tail.news() == []


def test_what_was_read_in_vain_is_told_after_the_store_was_looked_into(folder: Path) -> None:
    with Memory.open(folder / "memory.h5") as memory:
        tail = JournalTail(folder / "memory.h5")
        memory.save("in the journal, and in no store")
        assert tail.news() is None
        tail.begin(0, 0)
        found = tail.news()
        assert found is not None
        assert len(found) == 1


def test_a_store_that_was_written_anew_must_be_looked_into(folder: Path) -> None:
    """Erasing and compacting leave less in it, and nothing in the journal."""
    store = folder / "memory.h5"
    with Memory.open(store) as memory:
        memory.save("one", id="a")
        memory.checkpoint()
        tail = JournalTail(store)
        tail.begin(1, 0)
        assert tail.news() == []
        memory.compact()
        assert tail.news() is None

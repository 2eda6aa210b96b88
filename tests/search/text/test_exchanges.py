"""The index of exchanges: one document for each turn, whatever came when."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import tantivy
from hypothesis import given
from hypothesis import strategies as st
from tests.search.text.talk import Talk, having, line
from tests.support.memories import memory_at, scratch

from recollect.search.session_filters import Sessions
from recollect.search.text import exchanges
from recollect.search.text.exchanges import ExchangeIndex
from recollect.search.text.index import TextIndex
from recollect.values.records import Entry, Flag, Kind

PROMPT, ANSWER, CALL = Kind.PROMPT, Kind.ANSWER, Kind.CALL


@pytest.fixture
def folder() -> Iterator[Path]:
    with scratch() as made:
        yield made


def exchange_index(folder: Path) -> ExchangeIndex:
    return ExchangeIndex.open(folder / "cache", "5701e", 0)


def entry_index(folder: Path) -> TextIndex:
    return TextIndex.open(folder / "cache", "5701e", 0)


def said(talk: Talk, *entries: tuple[Kind, str] | tuple[Kind, str, int], id_: str = "3f2a0000-aaaa") -> None:
    lines = [line(Entry(*each), number=talk.lines + n) for n, each in enumerate(entries)]
    talk.add(*lines, id_=id_)


def pairs(index: TextIndex) -> set[tuple[int, int]]:
    """The rows of the prompts and closing answers it holds."""
    found = index.newest(tantivy.Query.all_query(), 1 << 16)
    assert len(set(found.turns.tolist())) == len(found), "one document for each turn"
    return set(zip((found.turns - 1).tolist(), found.rows.tolist(), strict=True))


def caught_up(index: TextIndex, talk: Talk) -> None:
    with talk.view() as view:
        index.catch_up(view)
        assert index.is_current(view)


def test_an_exchange_is_found_by_the_words_of_both_sides(folder: Path) -> None:
    talk = Talk()
    said(
        talk,
        (PROMPT, "why is the lamp dark"),
        (ANSWER, "Let me look."),
        (CALL, "cat fuse"),
        (ANSWER, "A fuse blew."),
    )
    index = exchange_index(folder)
    caught_up(index, talk)
    assert pairs(index) == {(0, 3)}
    assert having(index, "lamp") == having(index, "blew") == [3]
    assert having(index, "look") == [], "what was said on the way is no part of it"


def test_a_turn_that_goes_on_is_made_anew(folder: Path) -> None:
    talk = Talk()
    said(talk, (PROMPT, "why is the lamp dark"), (ANSWER, "Let me look."))
    index = exchange_index(folder)
    caught_up(index, talk)
    assert pairs(index) == {(0, 1)}
    said(talk, (ANSWER, "A fuse blew."))
    caught_up(index, talk)
    assert pairs(index) == {(0, 2)}
    said(talk, (PROMPT, "thanks"))
    caught_up(index, talk)
    assert pairs(index) == {(0, 2)}, "nothing is answered yet"


def test_what_nobody_said_begins_no_turn(folder: Path) -> None:
    talk = Talk()
    said(
        talk,
        (ANSWER, "before anybody spoke"),
        (PROMPT, "lamp"),
        (PROMPT, "a reminder", Flag.META),
        (ANSWER, "dark"),
    )
    index = exchange_index(folder)
    caught_up(index, talk)
    assert pairs(index) == {(1, 3)}


def test_sessions_that_grow_side_by_side_are_told_apart(folder: Path) -> None:
    talk = Talk()
    said(talk, (PROMPT, "lamp"), id_="a")
    said(talk, (PROMPT, "fern"), id_="b")
    said(talk, (ANSWER, "dark"), id_="a")
    said(talk, (ANSWER, "green"), id_="b")
    index = exchange_index(folder)
    caught_up(index, talk)
    assert pairs(index) == {(0, 2), (1, 3)}


@given(
    kinds=st.lists(st.sampled_from([PROMPT, ANSWER, CALL]), min_size=1, max_size=24),
    owners=st.lists(st.sampled_from("ab"), min_size=24, max_size=24),
    stops=st.sets(st.integers(1, 23)),
    step=st.integers(1, 9),
)
def test_however_it_came_about_it_holds_each_turn_with_its_last_answer(
    kinds: list[Kind], owners: list[str], stops: set[int], step: int
) -> None:
    talk = Talk()
    begun: dict[str, int] = {}
    turns: dict[int, int] = {}
    turn_of: list[int] = []
    with scratch() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchanges, "ROWS_AT_ONCE", step)
        for row, (kind, owner) in enumerate(zip(kinds, owners, strict=False)):
            said(talk, (kind, f"{kind.name} {row}"), id_=owner)
            if kind == PROMPT:
                begun[owner] = row
            elif kind == ANSWER and owner in begun:
                turns[begun[owner]] = row
            turn_of.append(begun.get(owner, -1) + 1)
            if row in stops:
                caught_up(exchange_index(folder), talk)
                caught_up(entry_index(folder), talk)
        index, entries = exchange_index(folder), entry_index(folder)
        caught_up(index, talk)
        caught_up(entries, talk)
        assert pairs(index) == set(turns.items())
        found = entries.newest(tantivy.Query.all_query(), 100)
        assert dict(zip(found.rows.tolist(), found.turns.tolist(), strict=True)) == dict(enumerate(turn_of))


def test_stopped_between_two_steps_it_says_nothing_of_rows_to_come(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchanges, "ROWS_AT_ONCE", 2)
    talk = Talk()
    said(
        talk,
        (PROMPT, "lamp"),
        (ANSWER, "look"),
        (CALL, "cat"),
        (ANSWER, "dark"),
        (PROMPT, "fern"),
        (ANSWER, "green"),
    )
    seen = []
    for _ in range(3):
        index = exchange_index(folder)
        with talk.view() as view:
            index.catch_up(view, deadline=0.0)
        seen.append((index.rows, pairs(index)))
    assert seen == [(2, {(0, 1)}), (4, {(0, 3)}), (6, {(0, 3), (4, 5)})]


def test_what_was_replaced_is_no_part_of_an_exchange(folder: Path) -> None:
    index = exchange_index(folder)
    talk = Talk()
    said(talk, (PROMPT, "lamp"), (ANSWER, "dark"), (PROMPT, "fern"), (ANSWER, "green"))
    caught_up(index, talk)
    writer = index._writer(1)
    writer.delete_documents_by_query(index.made_of([0]))  # a prompt
    writer.delete_documents_by_query(index.made_of([3]))  # an answer
    writer.commit()
    index._refresh()
    assert pairs(index) == set()


def test_words_that_prompt_and_answer_share_out_find_the_answer(folder: Path) -> None:
    """By the words of each entry alone, the prompt is the better match."""
    from tests.support.claude_talk import Talk as Claude
    from tests.support.claude_talk import remembered

    told, other = Claude(1, "/home/ada/harbor"), Claude(2, "/home/ada/harbor")
    told.user("The lighthouse lamp stays dark since the storm, find out why")
    told.assistant("Let me look at the lamp of the lighthouse.")
    told.call("Read", "lamp lighthouse lamp lighthouse", file_path="/w/lamp.txt")
    told.assistant("A fuse blew: the third one, rated too low. Replaced with 16 A.")
    other.user("Paint the lighthouse")
    other.assistant("Painted it white.")
    question = "which fuse of the dark lighthouse lamp since the storm"
    with remembered(folder, told, other) as memory:
        first, by_words = (memory.search(question, mode=mode).hits[0] for mode in ("hybrid", "text"))
    assert first.stored.entry.text.startswith("A fuse blew")
    assert by_words.stored.entry.text.startswith("The lighthouse lamp")


def test_an_answer_is_a_candidate_whose_prompt_alone_has_the_words(folder: Path) -> None:
    """Neither its own words nor those beside it would bring it among the hits."""
    from tests.support.claude_talk import Talk as Claude
    from tests.support.claude_talk import remembered

    told, other = Claude(1, "/home/ada/harbor"), Claude(2, "/home/ada/quay")
    told.user("The lighthouse lamp stays dark since the storm, find out why")
    for n in range(4):
        told.call("Read", f"page {n}", file_path=f"/w/{n}.txt")
    told.assistant("It was number three, rated too low.")
    for n in range(150):
        other.user(f"storm report {n}: the lighthouse was seen from the quay")
    with remembered(folder, told, other) as memory:
        hits = memory.search("lighthouse lamp dark storm", limit=5).hits
    assert any(hit.stored.entry.text.startswith("It was number three") for hit in hits)


def test_an_index_of_exchanges_that_is_gone_is_built_again(folder: Path) -> None:
    from tests.support.claude_talk import Talk as Claude
    from tests.support.claude_talk import remembered

    talk = Claude(1, "/home/ada/harbor")
    talk.user("Why is the lamp dark?")
    talk.assistant("A fuse blew.")
    with remembered(folder, talk) as memory:
        memory.index()
        for place in (memory.config.cache).rglob("exchanges*"):
            if place.is_file():
                place.unlink()
        memory.index()
        assert memory.search("lamp fuse").hits
    with memory_at(folder) as again:
        assert again.search("lamp fuse").hits[0].stored.entry.text == "A fuse blew."


def test_the_sessions_are_read_by_the_thread_that_asks_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.support.claude_talk import Talk as Claude
    from tests.support.claude_talk import remembered

    talk = Claude(1, "/home/ada/harbor")
    talk.user("Why is the lamp dark?")
    talk.assistant("A fuse blew.")
    threads = set()
    where = Sessions.where

    def noted(self: Sessions, field: str, value: str) -> list[int]:
        threads.add(threading.get_ident())
        return where(self, field, value)

    monkeypatch.setattr(Sessions, "where", noted)
    with remembered(folder, talk) as memory:
        assert memory.search("lamp fuse project:harbor").hits
    assert threads == {threading.get_ident()}


def test_what_kept_exchanges_from_being_indexed_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.support.claude_talk import Talk as Claude
    from tests.support.claude_talk import remembered

    talk = Claude(1, "/home/ada/harbor")
    talk.user("Why is the lamp dark?")
    talk.assistant("A fuse blew.")

    def refused(self: ExchangeIndex, *_: object) -> Iterator[object]:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ExchangeIndex, "_batches", refused)
    with remembered(folder, talk) as memory:
        found = memory.search("lamp")
        by_words = memory.search("lamp", mode="text")
    assert found.hits
    assert found.fresh.stopped == "No space left on device"
    assert found.fresh.unindexed == 2  # an entry is not searched as it should be without its exchange
    assert (by_words.fresh.unindexed, by_words.fresh.stopped) == (0, "")


def test_a_search_by_words_alone_makes_no_index_of_exchanges(folder: Path) -> None:
    from tests.support.claude_talk import Talk as Claude
    from tests.support.claude_talk import remembered

    talk = Claude(1, "/home/ada/harbor")
    talk.user("Why is the lamp dark?")
    talk.assistant("A fuse blew.")
    with remembered(folder, talk) as memory:
        assert memory.search("lamp", mode="text").hits
        assert list(memory.config.cache.rglob("text*"))
        assert not list(memory.config.cache.rglob("exchanges*"))
        assert memory.search("lamp").hits
        assert list(memory.config.cache.rglob("exchanges*"))

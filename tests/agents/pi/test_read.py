"""A pi session is read as pi itself would go on with it, and any of its entries as a turn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import DATA
from tests.support.memories import open_memory

from recollect.agents.pi import read as reader
from recollect.agents.pi.tree import Record, linked, path_to, shown
from recollect.agents.sessions import StoredFile
from recollect.export.read import conversation, messages_of
from recollect.memory import Memory
from recollect.values.conversation import Conversation
from recollect.values.errors import NotFound
from recollect.values.records import Kind

TREE = "01a1e000-0000-7000-8000-00000000000a"
FORK = "01a1e100-0000-7000-8000-00000000000b"
OLD = "01a1e200-0000-7000-8000-00000000000c"


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with open_memory(tmp_path_factory.mktemp("pi") / "memory.h5") as memory:
        memory.ingest([DATA / "pi"])
        yield memory


def read(memory: Memory, session: str, **how: Any) -> Conversation:
    with memory.view() as view:
        return conversation(view, view.find_session(session), **how)


def said(talk: Conversation) -> list[tuple[str, str]]:
    """Who says what; a call by its id, a result by the id of its call."""
    return [
        (message.role, block.text or block.call or block.type)
        for message in talk.messages
        for block in message.blocks
    ]


def test_a_session_goes_on_where_it_was_left_with_what_its_compaction_kept(memory: Memory) -> None:
    talk = read(memory, TREE)
    assert said(talk) == [
        ("user", "The lamp was switched on; high tide is at noon."),
        ("user", talk.messages[1].blocks[0].text),
        ("user", "It is full moon today."),
        ("assistant", "At noon, or so."),
        ("user", "Write it on the board"),
        ("assistant", "toolu_4"),
    ]
    assert [(m.note, m.meta) for m in talk.messages[:3]] == [(True, True), (False, False), (False, True)]
    assert talk.title == "Lamp and tides"
    assert talk.left_out == {"message before a compaction": 7, "message of another branch": 5}


def test_before_its_compaction_a_session_has_what_was_said_on_its_branch(memory: Memory) -> None:
    talk = read(memory, TREE, before_compaction=True)
    assert said(talk)[1:] == [
        ("user", "image"),
        ("assistant", "thinking"),
        ("assistant", "I look."),
        ("assistant", "toolu_1"),
        ("assistant", "toolu_2"),
        ("user", "toolu_1"),
        ("user", "toolu_2"),
        ("assistant", "toolu_3"),
        ("user", "toolu_3"),
        ("assistant", "The lamp is on now."),
        ("user", "The bell was tried, its rope is missing."),
        ("user", said(talk)[12][1]),
        ("user", "It is full moon today."),
        ("assistant", "At noon."),
    ]
    assert talk.left_out["instructions that are given anew"] == 1
    results = [b.body for m in talk.messages for b in m.blocks if b.type == "tool_result"]
    assert [body.get("is_error", False) for body in results] == [False, True, False]
    assert [part["type"] for part in results[0]["content"]] == ["text", "image"]
    with pytest.raises(NotFound):
        read(memory, FORK, before_compaction=True)


def test_a_branch_that_was_left_can_be_gone_back_to(memory: Memory) -> None:
    with memory.view() as view:
        tried = next(e for e in view.entries(view.find_session(TREE)) if e.entry.text == "Try once more")
        session = view.find_session(TREE)
        files = [StoredFile(each, lambda each=each: view.lines(each)) for each in view.sources(session)]
        left = reader.left_branches(session, lambda _: files)
    assert [(json.loads(line)["id"], count) for line, count in left] == [("a000000b", 5)]
    talk = read(memory, TREE, until=tried.id)
    assert said(talk)[-3:] == [
        ("user", "And the bell? Ring it twice."),
        ("user", "$ ring --once\nbell: rope missing"),
        ("user", "Try once more"),
    ]
    assert talk.left_out["answer that was not finished"] == 1


def test_version_1_is_a_list_whose_compaction_counts_lines(memory: Memory) -> None:
    assert said(read(memory, OLD)) == [
        ("user", "Boats are counted."),
        ("assistant", "I count."),
        ("assistant", "toolu_9"),
        ("user", "toolu_9"),
        ("user", "A buoy drifts by."),
        ("assistant", "Two boats: heron and tern."),
    ]


def test_a_fork_is_the_whole_of_what_it_goes_on_with(memory: Memory) -> None:
    assert said(read(memory, FORK))[-3:] == [
        ("assistant", "The lamp is on now."),
        ("user", "Paint the lighthouse blue instead"),
        ("assistant", "It is blue."),
    ]


def test_an_entry_alone_is_its_block_of_the_conversation(memory: Memory) -> None:
    with memory.view() as view:
        entries = list(view.entries(view.find_session(TREE)))
        one_by_one = [(each, messages_of(view, [each.row])) for each in entries]
    for each, messages in one_by_one:
        entry = each.entry
        is_told = entry.kind is not Kind.EVENT or entry.text.startswith("$ ring")
        is_told = is_told and not entry.text.startswith("You keep")
        assert len(messages) == is_told, entry
        if messages and entry.kind in (Kind.PROMPT, Kind.ANSWER, Kind.SUMMARY):
            assert entry.text in messages[0].blocks[0].text
        if messages and entry.kind in (Kind.CALL, Kind.RESULT):
            assert messages[0].blocks[0].type == ("tool_use" if entry.kind is Kind.CALL else "tool_result")
        if messages and entry.kind is Kind.THOUGHT:
            assert messages[0].blocks[0].body["thinking"] == entry.text


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8))
def test_any_tangle_of_parents_has_a_path(links: list[tuple[int, int]]) -> None:
    """Parents that are missing, come later, or lead in a circle."""
    bodies = [
        (at, {"type": "compaction" if own == 3 else "message", "id": str(own), "parentId": str(parent)}, b"")
        for at, (own, parent) in enumerate(links)
    ]
    records: list[Record] = linked(bodies)
    path = path_to(records)
    assert len({record.at for record in path}) == len(path) <= len(links)
    assert path[-1:] == records[-1:]
    shown(path)


def test_nothing_is_read_of_a_session_that_has_no_file(tmp_path: Path) -> None:
    assert path_to([]) == []
    assert shown([]) == []

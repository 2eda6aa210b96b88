"""A Qwen Code session is read as the agent itself would resume it, and any of its entries as a turn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import DATA
from tests.support.memories import open_memory

from recollect.agents.qwen import read as reader
from recollect.agents.qwen.chain import Record, path_to
from recollect.agents.sessions import StoredFile
from recollect.export.read import conversation, messages_of
from recollect.memory import Memory
from recollect.values.conversation import Conversation
from recollect.values.errors import NotFound
from recollect.values.records import Kind

TALK = "5a1e0000-0000-4000-8000-00000000000a"
FORK = "5a1e0000-0000-4000-8000-00000000000b"


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with open_memory(tmp_path_factory.mktemp("qwen") / "memory.h5") as memory:
        memory.ingest([DATA / "qwen"])
        yield memory


def read(memory: Memory, session: str, **how: Any) -> Conversation:
    with memory.view() as view:
        return conversation(view, view.find_session(session), **how)


def said(talk: Conversation) -> list[tuple[str, str]]:
    """Who says what; a call by its id, a result by the id of its call. Imported tags are made harmless."""
    return [
        (message.role, (block.text or block.call or block.type).strip().replace("&lt;", "<"))
        for message in talk.messages
        for block in message.blocks
    ]


def test_a_session_goes_on_with_what_its_compression_left(memory: Memory) -> None:
    talk = read(memory, TALK)
    assert said(talk) == [
        ("user", "<state_snapshot>The foghorn was mended and oiled.</state_snapshot>"),
        ("assistant", "Got it. Thanks for the additional context!"),
        ("user", "Oil the horn instead"),
        ("assistant", "Oiled."),
        ("user", "And who hears it?"),
        ("assistant", "call_4"),
    ]
    assert [message.note for message in talk.messages] == [True, *[False] * 5]
    assert talk.left_out == {"message before a compaction": 11, "message of another branch": 2}
    assert (talk.title, talk.branch) == ("Foghorn repair", "main")


def test_before_its_compression_it_has_all_but_what_was_rewound(memory: Memory) -> None:
    talk = read(memory, TALK, before_compaction=True)
    told = said(talk)
    assert told[5:14] == [
        ("assistant", "thinking"),
        ("assistant", "I look."),
        ("assistant", "call_1"),
        ("assistant", "call_2"),
        ("user", "call_1"),
        ("user", "call_2"),
        ("assistant", "call_3"),
        ("user", "call_3"),
        ("assistant", "The foghorn sounds again."),
    ]
    assert ("user", "Oil the horn instead") in told
    assert ("user", "Paint the horn green") not in told
    notified = next(m for m in talk.messages if "kettle" in m.blocks[0].text)
    assert (notified.meta, talk.messages[0].meta) == (True, False)
    results = [b.body for m in talk.messages for b in m.blocks if b.type == "tool_result"]
    assert [body.get("is_error", False) for body in results] == [False, True, False]
    assert [part["type"] for part in results[0]["content"]] == ["text", "image"]
    with pytest.raises(NotFound):
        read(memory, FORK, before_compaction=True)


def test_what_was_rewound_is_a_branch_that_was_left(memory: Memory) -> None:
    with memory.view() as view:
        session = view.find_session(TALK)
        files = [StoredFile(each, lambda each=each: view.lines(each)) for each in view.sources(session)]
        left = reader.left_branches(session, lambda _: files)
    assert [(json.loads(line)["message"]["parts"][0]["text"], count) for line, count in left] == [
        ("Paint the horn green", 2)
    ]


def test_a_subagents_session_is_its_own(memory: Memory) -> None:
    assert said(read(memory, "agent-scout-7")) == [
        ("user", "Look for fog on the horizon"),
        ("assistant", "I look out."),
        ("assistant", "call_s"),
        ("user", "call_s"),
    ]


def test_an_entry_alone_is_its_part_of_the_conversation(memory: Memory) -> None:
    with memory.view() as view:
        entries = list(view.entries(view.find_session(TALK)))
        one_by_one = [(each.entry, messages_of(view, [each.row])) for each in entries]
    for entry, messages in one_by_one:
        assert len(messages) == (entry.kind is not Kind.EVENT), entry
        if messages and entry.kind in (Kind.PROMPT, Kind.ANSWER, Kind.SUMMARY, Kind.CONTEXT):
            assert messages[0].blocks[0].text.replace("&lt;", "<") == entry.text
        if messages and entry.kind in (Kind.CALL, Kind.RESULT):
            kind = "tool_use" if entry.kind is Kind.CALL else "tool_result"
            assert messages[0].blocks[0].type == kind


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8))
def test_any_tangle_of_parents_has_a_path(links: list[tuple[int, int]]) -> None:
    records = [
        Record(at, {"type": "user", "uuid": str(own), "parentUuid": str(parent)})
        for at, (own, parent) in enumerate(links)
    ]
    path = path_to(records)
    assert len({record.at for record in path}) == len(path) <= len(links)
    assert path[-1:] == records[-1:]

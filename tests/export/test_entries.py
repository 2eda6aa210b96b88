"""A session of an agent without a reader is opened, exported and assembled like any other."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.support import DATA
from tests.support.databases import fixture_folder
from tests.support.memories import open_memory

from recollect.agents.registry import agents, built_in
from recollect.memory import Memory
from recollect.values.errors import NotFound
from recollect.values.records import HIDDEN, Entry, Flag, Kind
from recollect.values.stored import StoredEntry

UNREAD = [agent.name for agent in agents() if not agent.has("reader")]


@pytest.fixture
def memory(folder: Path) -> Memory:
    memory = open_memory(folder / "m.h5")
    memory.ingest([DATA / name for name in UNREAD])
    return memory


def talks(memory: Memory) -> list[str]:
    return [each.facts.id for each in memory.sessions() if each.facts.agent in UNREAD]


def is_compacted(memory: Memory, session: str) -> bool:
    return any(each.entry.flags & Flag.BOUNDARY for each in memory.show(session))


def is_told(entry: Entry) -> bool:
    """Whether it is text in a conversation: what was said, and calls of logs that do not number them."""
    if entry.kind in (Kind.CALL, Kind.RESULT):
        return not entry.call
    return entry.kind in (Kind.PROMPT, Kind.ANSWER, Kind.SUMMARY)


def asked(memory: Memory) -> tuple[str, StoredEntry]:
    """A session with a prompt, and its first one."""
    shown = ((id_, each) for id_ in talks(memory) for each in memory.show(id_))
    return next((id_, each) for id_, each in shown if each.entry.kind is Kind.PROMPT)


def test_all_that_was_said_is_in_the_conversation_in_order(memory: Memory) -> None:
    for id_ in talks(memory):
        spoken = [e.entry for e in memory.show(id_) if not e.entry.flags & HIDDEN and is_told(e.entry)]
        said = [entry.text for entry in spoken if not entry.flags & Flag.SIDECHAIN]
        blocks = [block for message in memory.conversation(id_).messages for block in message.blocks]
        assert [block.text for block in blocks if block.text] == [text for text in said if text.strip()]


def test_what_does_not_go_with_it_is_counted(memory: Memory) -> None:
    named = {Kind.THOUGHT: "thought", Kind.IMAGE: "image", Kind.CONTEXT: "attached context"}
    met = set()
    for id_ in talks(memory):
        shown = [e.entry for e in memory.show(id_) if not e.entry.flags & (HIDDEN | Flag.SIDECHAIN)]
        lost = Counter(named[entry.kind] for entry in shown if entry.kind in named)
        assert memory.conversation(id_).left_out == lost
        met |= lost.keys()
    assert met == set(named.values())


@pytest.mark.parametrize("target", [agent.name for agent in agents() if agent.has("writer")])
def test_a_session_of_every_agent_is_written_for_every_other(
    folder: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    monkeypatch.setenv("HOME", str(folder))
    memory = open_memory(folder / "m.h5")
    memory.ingest([fixture_folder(), *(DATA / agent.name for agent in built_in())])
    written: Counter[str] = Counter()
    for session in memory.sessions():
        conversation = memory.conversation(session.facts.id)
        if conversation.messages:
            assert memory.deliver(conversation, target, folder=str(folder)).path is not None
            written[session.facts.agent] += 1
    assert set(written) == {agent.name for agent in built_in()}


def test_calls_and_results_name_each_other(memory: Memory) -> None:
    blocks = [
        block for id_ in talks(memory) for each in memory.conversation(id_).messages for block in each.blocks
    ]
    calls = {block.call for block in blocks if block.type == "tool_use"}
    assert calls
    assert {block.call for block in blocks if block.type == "tool_result"} <= calls


def test_it_ends_with_the_entry_it_is_asked_to_end_with(memory: Memory) -> None:
    id_, first = asked(memory)
    (message,) = memory.conversation(id_, until=first.id).messages
    assert message.blocks[-1].entry == first.id


def test_a_session_that_was_never_compacted_has_nothing_before(memory: Memory) -> None:
    whole = next(id_ for id_ in talks(memory) if not is_compacted(memory, id_))
    with pytest.raises(NotFound, match="never compacted"):
        memory.conversation(whole, before_compaction=True)


@pytest.mark.parametrize("target", [agent.name for agent in agents() if agent.has("writer")])
def test_it_is_written_as_a_session_that_another_agent_takes(
    memory: Memory, folder: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    monkeypatch.setenv("HOME", str(folder))
    for id_ in talks(memory):
        conversation = memory.conversation(id_)
        if conversation.messages:
            assert memory.deliver(conversation, target, folder=str(folder)).path is not None


def test_what_is_assembled_of_it_is_told(memory: Memory) -> None:
    _, prompt = asked(memory)
    _, conversation = memory.assemble(prompt.entry.text, budget_tokens=5_000)
    assert prompt.id in {block.entry for message in conversation.messages for block in message.blocks}

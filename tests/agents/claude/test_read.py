"""A Claude Code session is read as the agent itself would resume it, and any of its entries as a turn.

Compared by hand with what the real client sends after `--resume` of the same files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.memories import open_memory

from recollect.agents.claude.chain import Record, resumed
from recollect.export.read import conversation, messages_of
from recollect.memory import Memory
from recollect.values.conversation import Conversation
from recollect.values.errors import NotFound
from recollect.values.records import Kind

SESSION = "3f2a1b4c-0000-4000-8000-00000000000a"

Line = dict[str, Any]
Read = Callable[..., Conversation]


def chained(uuid: str, parent: str, type_: str, **more: Any) -> Line:
    line = {
        "uuid": uuid, "parentUuid": parent or None, "type": type_, "sessionId": SESSION, "cwd": "/srv",
        "isSidechain": False, "version": "2.1.197", "userType": "external",
        "timestamp": "2026-01-02T03:04:05.000Z", "gitBranch": "main",
    }  # fmt: skip
    return {**line, **more}


def user(uuid: str, parent: str, content: Any, **more: Any) -> Line:
    return chained(uuid, parent, "user", message={"role": "user", "content": content}, **more)


def row(uuid: str, parent: str, block: Any, answer: str = "m1", **more: Any) -> Line:
    """One block of an answer; a string is a text."""
    body = {"type": "text", "text": block} if isinstance(block, str) else block
    message = {"id": answer, "role": "assistant", "model": "claude-opus-5", "content": [body]}
    return chained(uuid, parent, "assistant", message=message, **more)


def use(call: str) -> Line:
    return {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": call}}


def gave(uuid: str, parent: str, call: str, **more: Any) -> Line:
    return user(uuid, parent, [{"type": "tool_result", "tool_use_id": call, "content": f"of {call}"}], **more)


def boundary(uuid: str, **metadata: Any) -> Line:
    metadata = {"trigger": "auto", **metadata}
    return chained(uuid, "", "system", subtype="compact_boundary", compactMetadata=metadata)


def attached(uuid: str, parent: str, type_: str, **more: Any) -> Line:
    return chained(uuid, parent, "attachment", attachment={"type": type_, **more})


@pytest.fixture
def log(folder: Path) -> Path:
    path = folder / f"projects/-srv/{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    with open_memory(folder / "m.h5") as memory:
        yield memory


@pytest.fixture
def read(memory: Memory, log: Path) -> Read:
    """Take in a transcript and read its conversation."""

    def read(*lines: Line, session: str = SESSION, **options: Any) -> Conversation:
        if lines:
            log.write_text("".join(json.dumps(line) + "\n" for line in lines))
        memory.ingest([log.parent])
        with memory.view() as view:
            return conversation(view, view.find_session(session), **options)

    return read


def shape(talk: Conversation) -> list[tuple[str, list[str]]]:
    return [(m.role[0], [b.call or b.text or b.type for b in m.blocks]) for m in talk.messages]


class TestTheTree:
    def test_parallel_calls_lose_no_result_and_one_answer_is_one_message(self, read: Read) -> None:
        """Result A hangs on call A, and so does call B: a walk from the leaf sees one of them."""
        found = read(
            user("1", "", "go"),
            row("2", "1", {"type": "thinking", "thinking": "", "signature": "s"}),
            row("3", "2", use("A")),
            gave("4", "3", "A"),
            row("5", "3", use("B")),
            gave("6", "5", "B"),
            row("7", "6", "done", "m2"),
        )
        assert shape(found) == [
            ("u", ["go"]),
            ("a", ["thinking", "A", "B"]),
            ("u", ["A"]),
            ("u", ["B"]),
            ("a", ["done"]),
        ]
        assert found.messages[1].message_id == "m1"
        assert not +found.left_out

    def test_only_the_newest_branch_is_read_and_the_others_are_counted(self, read: Read) -> None:
        found = read(
            user("1", "", "go"),
            row("2", "1", "wrong"),
            user("3", "2", "no"),
            user("4", "1", "again"),
            row("5", "4", "right", "m2"),
        )
        assert shape(found) == [("u", ["go"]), ("u", ["again"]), ("a", ["right"])]
        assert found.left_out == {"message of another branch": 2}

    def test_a_leaf_the_agent_noted_last_wins_over_the_last_record(self, read: Read) -> None:
        lines = [user("1", "", "go"), row("2", "1", "one"), user("3", "1", "other")]
        noted = {"type": "last-prompt", "leafUuid": "2", "lastPrompt": "go", "sessionId": SESSION}
        assert shape(read(*lines, noted)) == [("u", ["go"]), ("a", ["one"])]
        assert shape(read(*lines, noted, user("4", "3", "more")))[1:] == [("u", ["other"]), ("u", ["more"])]

    def test_records_between_are_walked_over(self, read: Read) -> None:
        found = read(
            user("1", "", "go"),
            chained("2", "1", "progress", data={"type": "hook_progress"}),
            chained("3", "2", "system", subtype="turn_duration"),
            attached("4", "3", "task_reminder"),
            row("5", "4", "done"),
        )
        assert shape(found) == [("u", ["go"]), ("a", ["done"])]
        assert found.left_out == {"notice": 1, "attached context": 1}

    def test_what_a_subagent_said_is_left_out_of_the_main_file(self, read: Read) -> None:
        found = read(user("1", "", "go"), row("2", "1", "done"), user("3", "2", "task", isSidechain=True))
        assert shape(found) == [("u", ["go"]), ("a", ["done"])]
        assert found.left_out == {"message of a subagent": 1}

    def test_a_subagents_own_file_is_a_conversation_too(self, read: Read, log: Path) -> None:
        path = log.parent / SESSION / "subagents/agent-a1.jsonl"
        path.parent.mkdir(parents=True)
        lines = [
            user("1", "", "task", isSidechain=True, agentId="a1"),
            row("2", "1", "done", isSidechain=True, agentId="a1"),
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        assert shape(read(session="agent-a1")) == [("u", ["task"]), ("a", ["done"])]

    def test_a_lost_parent_loses_nothing_before_it(self, read: Read) -> None:
        found = read(
            user("1", "", "go"), row("2", "1", "one"), user("4", "3", "on"), row("5", "4", "two", "m2")
        )
        assert [role for role, _ in shape(found)] == ["u", "a", "u", "a"]

    def test_a_loop_ends(self, read: Read) -> None:
        assert len(read(user("1", "2", "go"), row("2", "1", "one")).messages) == 2

    def test_errors_of_the_api_are_left_out(self, read: Read) -> None:
        found = read(user("1", "", "go"), row("2", "1", "API Error: 529", isApiErrorMessage=True))
        assert shape(found) == [("u", ["go"])]
        assert found.left_out == {"error of the API": 1}

    def test_a_history_copied_into_the_file_is_read_once(self, read: Read) -> None:
        lines = [user("1", "", "go"), row("2", "1", use("A")), gave("3", "2", "A"), row("4", "3", "ok", "m2")]
        found = read(*lines, *lines)
        assert shape(found) == [("u", ["go"]), ("a", ["A"]), ("u", ["A"]), ("a", ["ok"])]
        assert not +found.left_out


class TestCompaction:
    LINES = (
        user("1", "", "go"),
        row("2", "1", "one"),
        boundary("b"),
        user("s", "b", "This session is being continued", isCompactSummary=True),
        row("3", "s", "two", "m2"),
    )

    def test_the_conversation_begins_with_the_last_summary(self, read: Read) -> None:
        found = read(*self.LINES)
        assert shape(found) == [("u", ["This session is being continued"]), ("a", ["two"])]
        assert [message.note for message in found.messages] == [True, False]
        assert found.left_out == {"message before a compaction": 2}

    def test_the_time_before_it_can_be_asked_for(self, read: Read) -> None:
        assert shape(read(*self.LINES, before_compaction=True)) == [("u", ["go"]), ("a", ["one"])]

    def test_what_was_never_compacted_has_no_time_before(self, read: Read) -> None:
        with pytest.raises(NotFound, match="never compacted"):
            read(user("1", "", "go"), before_compaction=True)

    @pytest.mark.parametrize(
        "kept",
        [
            {"preservedSegment": {"headUuid": "3", "anchorUuid": "s", "tailUuid": "4"}},
            {"preservedMessages": {"anchorUuid": "s", "uuids": ["3", "4"], "allUuids": ["3", "4"]}},
            {"preservedMessages": {"anchorUuid": "s", "uuids": ["3", "4"]}},
        ],
    )
    @pytest.mark.parametrize("goes_on_from", ["4", "s"])
    def test_what_was_kept_of_the_time_before_follows_the_summary(
        self, read: Read, kept: dict[str, Any], goes_on_from: str
    ) -> None:
        """As the file has it, the next turn hangs on what was kept, or on the summary."""
        found = read(
            user("1", "", "go"),
            row("2", "1", "old"),
            user("3", "2", "kept"),
            row("4", "3", "kept too", "m2"),
            boundary("b", **kept),
            user("s", "b", "Summary", isCompactSummary=True),
            user("5", goes_on_from, "on"),
            row("6", "5", "new", "m3"),
        )
        assert [blocks[0] for _, blocks in shape(found)] == ["Summary", "kept", "kept too", "on", "new"]
        assert found.left_out == {"message before a compaction": 2}

    def test_a_segment_that_does_not_join_is_as_good_as_none(self, read: Read) -> None:
        kept = {"preservedSegment": {"headUuid": "gone", "anchorUuid": "s", "tailUuid": "1"}}
        found = read(
            user("1", "", "go"),
            boundary("b", **kept),
            user("s", "b", "Summary", isCompactSummary=True),
            user("2", "s", "on"),
        )
        assert shape(found) == [("u", ["Summary"]), ("u", ["on"])]


class TestUntil:
    LINES = (
        user("1", "", "go"),
        row("2", "1", "look"),
        row("3", "2", use("A")),
        gave("4", "3", "A"),
        row("5", "4", "one", "m2"),
        user("6", "5", "more"),
        row("7", "6", "two", "m3"),
    )

    def entry(self, memory: Memory, session: str, words: str) -> str:
        with memory.view() as view:
            found = [e for e in view.entries(view.find_session(session)) if words in e.entry.text]
        return found[0].id

    def test_it_ends_with_the_answer_the_entry_is_of_and_its_results(
        self, read: Read, memory: Memory
    ) -> None:
        read(*self.LINES)
        found = read(until=self.entry(memory, SESSION, "look"))
        assert shape(found) == [("u", ["go"]), ("a", ["look", "A"]), ("u", ["A"])]
        assert shape(read(until=self.entry(memory, SESSION, "more")))[-1] == ("u", ["more"])

    def test_a_later_compaction_is_not_yet(self, read: Read, memory: Memory) -> None:
        kept = {"preservedSegment": {"headUuid": "2", "anchorUuid": "s", "tailUuid": "2"}}
        read(
            user("1", "", "go"),
            row("2", "1", "one"),
            boundary("b", **kept),
            user("s", "b", "Summary", isCompactSummary=True),
        )
        assert shape(read(until=self.entry(memory, SESSION, "one"))) == [("u", ["go"]), ("a", ["one"])]

    def test_an_entry_of_another_session_is_none(self, read: Read, memory: Memory, log: Path) -> None:
        other = SESSION[:-1] + "b"
        (log.parent / f"{other}.jsonl").write_text(json.dumps(user("9", "", "other", sessionId=other)) + "\n")
        read(*self.LINES)
        with pytest.raises(NotFound, match="no part of the conversation"):
            read(until=self.entry(memory, other, "other"))


class TestTurns:
    def test_what_nobody_typed_is_marked(self, read: Read) -> None:
        found = read(
            user("1", "", "go"),
            user("2", "1", [{"type": "text", "text": "skill text"}], isMeta=True),
            user("3", "2", "<task-notification>done</task-notification>"),
        )
        assert [message.meta for message in found.messages] == [False, True, True]

    def test_a_prompt_typed_while_the_agent_was_busy_is_kept(self, read: Read) -> None:
        queued = attached("2", "1", "queued_command", prompt="also this", commandMode="prompt")
        noticed = attached("3", "2", "queued_command", prompt="<task>", commandMode="task-notification")
        found = read(user("1", "", "go"), queued, noticed, row("4", "3", "done"))
        assert shape(found)[1:3] == [("u", ["also this"]), ("u", ["<task>"])]
        assert [message.meta for message in found.messages[:3]] == [False, False, True]

    def test_a_file_named_in_a_prompt_is_kept(self, read: Read) -> None:
        text = {"type": "text", "file": {"filePath": "/a.py", "content": "x = 1"}}
        image = {"type": "image", "file": {"type": "image/png", "base64": "QQ=="}}
        found = read(
            user("1", "", "see @a.py"),
            attached("2", "1", "file", filename="/a.py", content=text),
            attached("3", "2", "file", filename="/a.png", content=image),
            row("4", "3", "seen"),
        )
        assert shape(found)[1:3] == [("u", ["[file /a.py]\nx = 1"]), ("u", ["image"])]
        source = {"type": "base64", "media_type": "image/png", "data": "QQ=="}
        assert found.messages[2].blocks[0].body == {"type": "image", "source": source}

    def test_blocks_are_the_very_objects_of_the_log_and_know_their_entry(
        self, read: Read, memory: Memory
    ) -> None:
        thinking = {"type": "thinking", "thinking": "", "signature": "EqQ+/=", "odd": [1, 1.0, None]}
        found = read(user("1", "", "go"), row("2", "1", thinking))
        block = found.messages[1].blocks[0]
        assert (block.body, block.uuid, block.time_ms) == (thinking, "2", 1_767_323_045_000)
        with memory.view() as view:
            assert view.find_entry(block.entry).entry.kind is Kind.THOUGHT

    def test_facts_of_the_session_come_along(self, read: Read) -> None:
        found = read(user("1", "", "mend the quay"))
        known = ("mend the quay", "/srv", "main", ("claude",))
        assert (found.title, found.cwd, found.branch, found.agents) == known

    def test_a_session_of_an_agent_nobody_knows_is_read_from_its_entries(
        self, memory: Memory, read: Read
    ) -> None:
        read(user("1", "", "go"))
        with memory.view() as view:
            session = view.find_session(SESSION)
            session.facts.agent = "owl"
            found = conversation(view, session)
        assert ([message.blocks[0].text for message in found.messages], found.agents) == (["go"], ("owl",))


class TestEntries:
    def test_entries_become_turns_in_the_order_given(self, read: Read, memory: Memory) -> None:
        read(
            user("1", "", "go"),
            row("2", "1", "look"),
            row("3", "2", use("A")),
            gave("4", "3", "A"),
            row("5", "4", "one", "m2"),
            chained("6", "5", "system", subtype="informational", content="note"),
            attached("7", "6", "queued_command", prompt="also"),
            {"type": "summary", "summary": "All", "leafUuid": "5"},
            {"type": "mode", "mode": "normal"},
        )
        with memory.view() as view:
            rows = [each.row for each in view.entries(view.find_session(SESSION))]
            found = messages_of(view, [rows[4], *rows])
        assert [(m.role[0], [b.call or b.text for b in m.blocks]) for m in found] == [
            ("a", ["one"]),
            ("u", ["go"]),
            ("a", ["look", "A"]),
            ("u", ["A"]),
            ("a", ["one"]),
            ("u", ["note"]),
            ("u", ["also"]),
            ("u", ["All"]),
        ]
        assert [message.note for message in found][-1] is True
        assert {message.session for message in found} == {SESSION}

    def test_an_entry_is_its_own_block_behind_the_images_of_others(self, read: Read, memory: Memory) -> None:
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="}}
        content = [{"type": "tool_result", "tool_use_id": "A", "content": [image, image]}, image]
        content.append({"type": "text", "text": "and this"})
        read(row("1", "", use("A")), user("2", "1", content))
        with memory.view() as view:
            rows = {e.entry.text or e.entry.kind.name: e for e in view.entries(view.find_session(SESSION))}
            (found,) = messages_of(view, [rows["and this"].row])
            assert [block.text for block in found.blocks] == ["and this"]
            assert found.blocks[0].entry == rows["and this"].id

    def test_a_result_kept_in_a_file_of_its_own_is_told_in_words(
        self, read: Read, memory: Memory, log: Path
    ) -> None:
        spilled = log.parent / SESSION / "tool-results/toolu_1.txt"
        spilled.parent.mkdir(parents=True)
        spilled.write_text("very long")
        read(user("1", "", "go"))
        with memory.view() as view:
            rows = [e.row for e in view.entries(view.find_session(SESSION)) if e.entry.text == "very long"]
            (found,) = messages_of(view, rows)
        assert (found.role, found.blocks[0].text, found.meta) == ("user", "very long", True)

    def test_no_entries_are_no_turns(self, read: Read, memory: Memory) -> None:
        read(user("1", "", "go"))
        with memory.view() as view:
            assert messages_of(view, []) == []


_IDS = st.integers(0, 9).map(str)
_RECORDS = st.one_of(
    st.builds(user, _IDS, _IDS | st.just(""), st.just("words"), isSidechain=st.booleans()),
    st.builds(row, _IDS, _IDS, _IDS.map(use), st.sampled_from(["m1", "m2"])),
    st.builds(gave, _IDS, _IDS, _IDS),
    st.builds(
        lambda uuid, kept: boundary(uuid, preservedMessages=kept),
        _IDS,
        st.fixed_dictionaries({"anchorUuid": _IDS, "uuids": st.lists(_IDS, max_size=3)}),
    ),
    st.builds(lambda leaf: {"type": "last-prompt", "leafUuid": leaf}, _IDS),
)


@given(st.lists(_RECORDS, max_size=14))
def test_no_tree_is_too_tangled_and_no_call_is_taken_without_its_result(lines: list[Line]) -> None:
    records = [Record(at, line) for at, line in enumerate(lines)]
    taken = resumed(records, side=False)
    assert len({record.at for record in taken}) == len(taken)
    results = {b["tool_use_id"] for r in taken for b in _blocks(r) if b["type"] == "tool_result"}
    own = {record.uuid: record for record in records if record.body.get("isSidechain") is False}
    there = {b["tool_use_id"] for r in own.values() for b in _blocks(r) if b["type"] == "tool_result"}
    for record in taken:
        asked = {block["id"] for block in _blocks(record) if block["type"] == "tool_use"}
        assert asked & there <= results


def _blocks(record: Record) -> list[dict[str, Any]]:
    return record.content if record.speaks else []

"""A Codex session is read as the agent itself would resume it, and any of its entries as a turn."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.memories import open_memory

from recollect.agents.claude.write import render, validate
from recollect.agents.codex.read_blocks import message_of_item
from recollect.export.read import conversation, messages_of
from recollect.memory import Memory
from recollect.values.conversation import Conversation
from recollect.values.errors import NotFound
from recollect.values.records import Kind

THREAD = "0199aaaa-0000-7000-8000-00000000000a"
TIME = "2026-01-02T03:04:05.000Z"
PNG = "data:image/png;base64,QUI="

Line = dict[str, Any]
Read = Callable[..., Conversation]


def line(type_: str, **payload: Any) -> Line:
    return {"timestamp": TIME, "type": type_, "payload": payload}


def item(type_: str, **more: Any) -> Line:
    return line("response_item", type=type_, **more)


def event(type_: str, **more: Any) -> Line:
    return line("event_msg", type=type_, **more)


def meta(thread: str = THREAD, **more: Any) -> Line:
    return line("session_meta", id=thread, cwd="/work", cli_version="0.144.1", git={"branch": "main"}, **more)


def prompt(*texts: str, role: str = "user") -> Line:
    return item("message", role=role, content=[{"type": "input_text", "text": text} for text in texts])


def answer(text: str) -> Line:
    return item("message", role="assistant", content=[{"type": "output_text", "text": text}])


def call(id_: str) -> Line:
    return item("function_call", name="exec", arguments='{"cmd": "ls"}', call_id=id_)


def output(id_: str, given: Any = "done") -> Line:
    return item("function_call_output", call_id=id_, output=given)


def compacted(*items: Line, message: str = "") -> Line:
    return line("compacted", message=message, replacement_history=[each["payload"] for each in items])


@pytest.fixture
def sessions(folder: Path) -> Path:
    path = folder / "sessions/2026/01/02"
    path.mkdir(parents=True)
    return path


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    with open_memory(folder / "m.h5") as memory:
        yield memory


@pytest.fixture
def read(memory: Memory, sessions: Path) -> Read:
    """Take in a rollout and read its conversation."""

    def read(*lines: Line, thread: str = THREAD, **options: Any) -> Conversation:
        if lines:
            path = sessions / f"rollout-2026-01-02T03-04-05-{thread}.jsonl"
            path.write_text("".join(json.dumps(each) + "\n" for each in lines))
        memory.ingest([sessions])
        with memory.view() as view:
            return conversation(view, view.find_session(thread), **options)

    return read


def shape(talk: Conversation) -> list[tuple[str, list[str]]]:
    return [(m.role[0], [b.call or b.text or b.type for b in m.blocks]) for m in talk.messages]


def entry(memory: Memory, words: str, kind: Kind) -> str:
    with memory.view() as view:
        found = view.entries(view.find_session(THREAD))
        return next(e.id for e in found if words in e.entry.text and e.entry.kind is kind)


class TestTheHistory:
    def test_items_are_the_conversation_and_events_only_repeat_it(self, read: Read) -> None:
        found = read(
            meta(),
            line("turn_context", model="gpt-5"),
            prompt("go"),
            event("user_message", message="go"),
            item("reasoning", summary=[], encrypted_content="Z"),
            call("A"),
            call("B"),
            output("B"),
            output("A"),
            event("agent_message", message="done"),
            answer("done"),
        )
        assert shape(found) == [
            ("u", ["go"]),
            ("a", ["thinking", "A", "B"]),
            ("u", ["B"]),
            ("u", ["A"]),
            ("a", ["done"]),
        ]
        assert found.messages[1].model == "gpt-5"
        assert (found.cwd, found.branch, found.agents) == ("/work", "main", ("codex",))

    def test_a_compaction_puts_another_history_in_its_place(self, read: Read) -> None:
        summary = prompt("Another language model started to solve this problem and says: so")
        found = read(meta(), prompt("old"), answer("gone"), compacted(prompt("old"), summary), answer("new"))
        assert [blocks[0][:7] for _, blocks in shape(found)] == ["old", "Another", "new"]
        assert [message.note for message in found.messages] == [False, True, False]
        assert found.left_out == {"item before a compaction": 2}

    def test_before_histories_were_written_a_compaction_kept_the_prompts(self, read: Read) -> None:
        old = line("compacted", message="so far so good")
        found = read(meta(), prompt("<environment_context>"), prompt("go"), answer("gone"), old)
        assert shape(found) == [("u", ["go"]), ("u", ["so far so good"])]

    def test_the_time_before_it_can_be_asked_for(self, read: Read) -> None:
        found = read(meta(), prompt("old"), compacted(prompt("new")), prompt("more"), before_compaction=True)
        assert shape(found) == [("u", ["old"])]
        with pytest.raises(NotFound, match="never compacted"):
            read(meta(), prompt("old"), before_compaction=True)

    def test_turns_taken_back_are_gone(self, read: Read) -> None:
        found = read(
            meta(),
            prompt("one"),
            answer("1"),
            prompt("two"),
            answer("2"),
            prompt("<turn_aborted>"),
            event("thread_rolled_back", num_turns=1),
            prompt("three"),
        )
        assert shape(found) == [("u", ["one"]), ("a", ["1"]), ("u", ["three"])]
        assert found.left_out == {"item of a turn taken back": 3}

    def test_more_turns_than_there_are_can_be_taken_back(self, read: Read) -> None:
        lines = meta(), prompt("one"), event("thread_rolled_back", num_turns=9), prompt("two")
        assert shape(read(*lines)) == [("u", ["two"])]

    def test_a_paginated_fork_begins_with_lines_of_the_other_file(self, read: Read) -> None:
        other = THREAD[:-1] + "b"
        lines = [meta(other), prompt("theirs"), answer("kept"), answer("not ours")]
        read(*({**each, "ordinal": n} for n, each in enumerate(lines)), thread=other)
        base = {"thread_id": other, "end_ordinal_exclusive": 3}
        found = read(meta(history_mode="paginated", history_base=base), prompt("ours"))
        assert shape(found) == [("u", ["theirs"]), ("a", ["kept"]), ("u", ["ours"])]

    def test_a_fork_of_a_session_that_is_not_stored_says_so(self, read: Read) -> None:
        base = {"thread_id": "0199bbbb-gone", "end_ordinal_exclusive": 3}
        found = read(meta(history_base=base), prompt("ours"))
        assert shape(found) == [("u", ["ours"])]
        assert found.left_out == {"history that is in a session not stored": 1}

    def test_a_file_that_is_its_own_base_ends(self, read: Read) -> None:
        base = {"thread_id": THREAD, "end_ordinal_exclusive": 3}
        assert shape(read(meta(history_base=base), prompt("ours"))) == [("u", ["ours"])]

    def test_the_eras_before_there_was_an_envelope_are_read_too(self, read: Read, sessions: Path) -> None:
        bare = [each["payload"] for each in (prompt("go"), answer("done"))]
        first = {"id": THREAD, "timestamp": TIME, "instructions": None}
        assert shape(read(first, {"record_type": "state"}, *bare)) == [("u", ["go"]), ("a", ["done"])]
        other = THREAD[:-1] + "c"
        document = {"session": {"id": other, "timestamp": TIME}, "items": bare}
        (sessions / f"rollout-2025-05-01-{other}.json").write_text(json.dumps(document))
        assert shape(read(thread=other)) == [("u", ["go"]), ("a", ["done"])]


class TestUntil:
    LINES = (
        meta(),
        prompt("go"),
        event("user_message", message="go"),
        event("agent_message", message="look"),
        answer("look"),
        call("A"),
        event("token_count"),
        output("A"),
        answer("done"),
    )

    def test_a_call_comes_with_its_result(self, read: Read, memory: Memory) -> None:
        read(*self.LINES)
        found = read(until=entry(memory, "ls", Kind.CALL))
        assert shape(found) == [("u", ["go"]), ("a", ["look", "A"]), ("u", ["A"])]

    def test_what_an_event_says_first_is_there(self, read: Read, memory: Memory) -> None:
        read(*self.LINES)
        assert shape(read(until=entry(memory, "look", Kind.ANSWER))) == [("u", ["go"]), ("a", ["look"])]

    def test_an_entry_of_another_session_is_none(self, read: Read, memory: Memory) -> None:
        read(meta(THREAD[:-1] + "b"), prompt("other"), thread=THREAD[:-1] + "b")
        read(*self.LINES)
        with memory.view() as view:
            other = [e.id for e in view.entries(view.find_session(THREAD[:-1] + "b")) if e.entry.text]
        with pytest.raises(NotFound, match="no part of the conversation"):
            read(until=other[0])


class TestItems:
    def test_what_codex_tells_each_conversation_anew_is_marked(self, read: Read) -> None:
        found = read(
            meta(),
            prompt("be nice", role="developer"),
            prompt("# AGENTS.md ...", "<environment_context>"),
            prompt("<user_shell_command>ls</user_shell_command>"),
            prompt("go"),
        )
        assert [(m.setup, m.meta) for m in found.messages] == [
            (True, True),
            (True, True),
            (False, True),
            (False, False),
        ]
        assert {m.role for m in found.messages} == {"user"}

    def test_every_block_has_the_very_item_it_came_from(self, read: Read) -> None:
        thought = item("reasoning", summary=[{"type": "summary_text", "text": "hm"}], encrypted_content="Z==")
        found = read(meta(), prompt("go", "on"), thought, answer("done"))
        (first, second), (thinking, _) = (message.blocks for message in found.messages)
        assert first.native is second.native
        assert first.native == prompt("go", "on")["payload"]
        assert (thinking.native, thinking.body) == (
            thought["payload"],
            {"type": "thinking", "thinking": "hm"},
        )

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            (call("A"), {"name": "exec", "input": {"cmd": "ls"}}),
            (
                item("function_call", name="f", arguments="[1]", call_id="A"),
                {"name": "f", "input": {"input": "[1]"}},
            ),
            (
                item("function_call", name="f", arguments="{", call_id="A"),
                {"name": "f", "input": {"input": "{"}},
            ),
            (
                item("function_call", name="_f", namespace="mcp__s__", arguments="{}", call_id="A"),
                {"name": "mcp__s__f", "input": {}},
            ),
            (
                item("custom_tool_call", name="apply_patch", input="*** Begin", call_id="A"),
                {"name": "apply_patch", "input": {"input": "*** Begin"}},
            ),
            (
                item("local_shell_call", action={"command": ["ls"]}, call_id="A"),
                {"name": "local_shell", "input": {"command": ["ls"]}},
            ),
            (
                item("tool_search_call", arguments={"query": "x"}, call_id="A"),
                {"name": "tool_search", "input": {"query": "x"}},
            ),
        ],
    )
    def test_calls_of_every_kind_are_calls(self, read: Read, given: Line, expected: dict[str, Any]) -> None:
        body = read(meta(), given).messages[0].blocks[0].body
        assert body == {"type": "tool_use", "id": "A", **expected}

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            (output("A"), {"content": "done"}),
            (output("A", {"content": "no", "success": False}), {"content": "no", "is_error": True}),
            (
                output("A", [{"type": "input_text", "text": "x"}]),
                {"content": [{"type": "text", "text": "x"}]},
            ),
            (
                output("A", [{"type": "input_image", "image_url": PNG}]),
                {
                    "content": [
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": "QUI="},
                        }
                    ]
                },
            ),
            (output("A", None), {"content": ""}),
            (item("custom_tool_call_output", call_id="A", output="ok"), {"content": "ok"}),
            (
                item("tool_search_output", call_id="A", tools=[{"name": "x"}, {"name": "y"}]),
                {"content": "x\ny"},
            ),
        ],
    )
    def test_results_of_every_kind_are_results(
        self, read: Read, given: Line, expected: dict[str, Any]
    ) -> None:
        body = read(meta(), call("A"), given).messages[1].blocks[0].body
        assert body == {"type": "tool_result", "tool_use_id": "A", **expected}

    def test_images_of_a_prompt_are_images(self, read: Read) -> None:
        parts = [
            {"type": "input_text", "text": "see"},
            {"type": "input_image", "image_url": PNG},
            {"type": "local_image", "path": "/a.png"},
            {"type": "input_image"},
        ]
        found = read(meta(), item("message", role="user", content=parts))
        assert shape(found) == [("u", ["see", "image", "[image /a.png]"])]

    def test_what_has_no_shape_elsewhere_is_kept_for_codex(self, read: Read) -> None:
        found = read(
            meta(),
            prompt("go"),
            item("web_search_call", action={"type": "search", "query": "tea"}),
            item("compaction", encrypted_content="Z"),
            item("ghost_snapshot", ghost_commit={}),
        )
        assert [block.type for message in found.messages for block in message.blocks] == [
            "text",
            "text",
            "compaction",
        ]
        assert found.messages[2].note
        assert found.left_out == {"bookkeeping item": 1}


class TestEntries:
    def test_entries_become_turns_whichever_line_has_them(self, read: Read, memory: Memory) -> None:
        read(
            meta(),
            prompt("go", "<environment_context>"),
            event("agent_reasoning", text="hm"),
            item("reasoning", summary=[{"type": "summary_text", "text": "hm"}]),
            event("agent_message", message="look"),
            answer("look"),
            call("A"),
            output("A"),
            line("compacted", message="so far"),
        )
        with memory.view() as view:
            found = messages_of(view, [each.row for each in view.entries(view.find_session(THREAD))])
        assert [(m.role[0], [b.call or b.text or b.type for b in m.blocks]) for m in found] == [
            ("u", ["go"]),
            ("u", ["&lt;environment_context>"]),  # made safe: the log is an imported one
            ("a", ["thinking", "look", "A"]),
            ("u", ["A"]),
            ("u", ["so far"]),
        ]
        assert [message.note for message in found] == [False, False, False, False, True]
        assert [message.setup for message in found] == [False, True, False, False, False]

    def test_an_image_is_its_own_entry(self, read: Read, memory: Memory) -> None:
        content = [
            {"type": "input_image", "image_url": PNG},
            {"type": "input_text", "text": "see"},
            {"type": "local_image", "path": "/a.png"},
        ]
        read(meta(), item("message", role="user", content=content))
        with memory.view() as view:
            entries = list(view.entries(view.find_session(THREAD)))
            found = [messages_of(view, [each.row])[0] for each in entries[1:]]
        assert [block.text or block.type for message in found for block in message.blocks] == [
            "see",
            "image",
            "[image /a.png]",
        ]


_LOOSE: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | st.text(max_size=4) | st.just(PNG),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["text", "type"]), inner),
    max_leaves=4,
)
_TYPES = st.sampled_from(
    [
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "local_shell_call",
        "tool_search_call",
        "tool_search_output",
        "web_search_call",
        "agent_message",
        "compaction",
        "new",
    ]
)
_KEYS = ("role", "content", "summary", "arguments", "input", "output", "call_id", "name", "action", "tools")


@given(_TYPES, st.dictionaries(st.sampled_from(_KEYS), _LOOSE | st.sampled_from(["user", "assistant"])))
def test_no_item_is_too_strange_to_read_and_to_write(kind: str, fields: dict[str, Any]) -> None:
    made = message_of_item({"type": kind, **fields}, THREAD, entry="e", time_ms=1, model="m")
    hello = message_of_item(prompt("hello")["payload"], THREAD, entry="f", time_ms=0, model="")
    assert hello is not None
    talk = Conversation((hello, made) if made else (hello,))
    data, _ = render(talk, session_id=THREAD, cwd="/w", version="2", branch="", now_ms=5)
    assert validate(data, THREAD) == []

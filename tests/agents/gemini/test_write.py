"""Chats written for Gemini CLI, and chats read back: what was said, thought, called, shown and answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.memories import open_memory

from recollect.agents.gemini import read, write
from recollect.agents.gemini.agent import AGENT
from recollect.agents.sessions import SessionFile
from recollect.testing.agents import KeptSession
from recollect.values.conversation import Block, Conversation, Message
from recollect.values.errors import NotFound
from recollect.values.records import SourceFile

NOW_MS = 1_800_000_000_000
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
USE = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls"}}
GIVEN = [{"type": "text", "text": "gulls"}, PICTURE]
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": GIVEN, "is_error": True}


def message(role: Any, *blocks: dict[str, Any], **more: Any) -> Message:
    return Message(role, tuple(map(Block, blocks)), "claude", "5e55", 1_000_000, **more)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


TALK = (
    message("user", text("Where are the gulls?"), PICTURE),
    message("assistant", {"type": "thinking", "thinking": "On the quay."}, text("I look."), USE, model="m"),
    message("user", RESULT),
    message("assistant", text("There.")),
)


def written(home: Path, *messages: Message, folder: str = "/home/ada/harbor") -> SessionFile:
    talk = Conversation(messages, title="Gulls")
    return write.session_file(talk, home=home, environ={}, folder=folder, now_ms=NOW_MS, seed=b"s")


def records(made: SessionFile) -> list[dict[str, Any]]:
    return [json.loads(line) for line in made.data.splitlines()]


def back(*lines: dict[str, Any]) -> Conversation:
    """Lines as they are kept, read as a conversation."""
    head = {"sessionId": "s", "projectHash": "h"}
    data = [json.dumps(line).encode() for line in (head, *lines)]
    return KeptSession(AGENT, SourceFile("gemini", "/x.jsonl", session="s"), data).conversation(read)


def said(talk: Conversation) -> list[tuple[str, list[dict[str, Any]]]]:
    return [(message.role, [block.body for block in message.blocks]) for message in talk.messages]


def user(id_: str, words: str) -> dict[str, Any]:
    return {"id": id_, "type": "user", "content": [{"text": words}]}


def answer(id_: str, words: str, **more: Any) -> dict[str, Any]:
    return {"id": id_, "type": "gemini", "content": words, **more}


# -- out -------------------------------------------------------------------------------------------


def test_a_conversation_is_written_as_the_client_writes_its_own(tmp_path: Path) -> None:
    made = written(tmp_path, *TALK)
    head, prompt, first, last = records(made)
    assert (head["summary"], head["kind"]) == ("Gulls", "main")
    picture = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    assert prompt["content"] == [{"text": "Where are the gulls?"}, picture]
    assert (first["content"], first["thoughts"][0]["description"]) == ("I look.", "On the quay.")
    (call,) = first["toolCalls"]
    response = {"functionResponse": {"id": "c1", "name": "Bash", "response": {"error": "gulls"}}}
    assert (call["args"], call["status"], call["result"]) == ({"command": "ls"}, "error", [response, picture])
    assert last["content"] == "There."
    assert made.problems(made.data) == []
    assert dict(made.fidelity.kept) == {"text": 3, "image": 2, "thought": 1, "call": 1, "result": 1}


def test_what_was_written_reads_back_as_it_was(tmp_path: Path) -> None:
    data = written(tmp_path, *TALK).data.splitlines()
    kept = KeptSession(AGENT, SourceFile("gemini", "/x.jsonl", session="s"), data)
    assert said(kept.conversation(read)) == [
        (each.role, [block.body for block in each.blocks]) for each in TALK
    ]


@pytest.mark.parametrize("words", ["/compact now", "?", "<session_context> of mine"])
def test_a_prompt_that_the_client_would_drop_stands_behind_a_word(tmp_path: Path, words: str) -> None:
    made = written(tmp_path, message("user", text(words)), TALK[3])
    assert records(made)[1]["content"] == [{"text": f"[prompt] {words}"}]
    assert sum(made.fidelity.added.values()) == 1


def test_parts_of_one_answer_that_came_one_by_one_are_one_answer(tmp_path: Path) -> None:
    parts = [message("assistant", {**USE, "id": id_}) for id_ in ("a", "b")]
    results = [message("user", {**RESULT, "tool_use_id": id_}) for id_ in ("a", "b")]
    made = written(tmp_path, TALK[0], *parts, *results)
    assert [len(each.get("toolCalls", [])) for each in records(made)[1:]] == [0, 2]


def test_nothing_that_was_said_is_nothing_to_write(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        written(tmp_path, message("user", text("<environment>"), setup=True))


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (lambda lines: lines[1:], "not the head of this chat"),
        (lambda lines: [*lines, lines[-1]], "two messages are"),
        (lambda lines: [*lines, {"id": "x", "type": "info"}], "no message of a side"),
        (lambda lines: [*lines, {"id": "x", "type": "gemini", "toolCalls": [{}]}], "without its result"),
        (lambda lines: lines[:1], "nothing is said"),
    ],
)
def test_bytes_that_are_not_the_chat_are_told_apart(tmp_path: Path, broken: Any, why: str) -> None:
    made = written(tmp_path, *TALK)
    data = b"".join(json.dumps(line).encode() + b"\n" for line in broken(records(made)))
    assert any(why in problem for problem in made.problems(data))


def test_a_chat_goes_where_the_client_looks_for_those_of_the_folder(tmp_path: Path) -> None:
    tmp = tmp_path / ".gemini/tmp"

    def name(folder: str) -> str:
        return written(tmp_path, *TALK, folder=folder).path.parts[-3]

    assert name("/home/ada/My Harbor!") == "my-harbor"
    (tmp / "harbor").mkdir(parents=True)
    (tmp / "harbor/.project_root").write_text("/srv/harbor\n")
    assert name("/srv/harbor") == "harbor"
    assert name("/home/ada/harbor") == "harbor-1"
    (tmp / "quay").mkdir()
    (tmp / "quay/.project_root").write_text("/home/ada/harbor")
    assert name("/home/ada/harbor") == "quay"


# -- in --------------------------------------------------------------------------------------------


def test_a_resumed_chat_is_read_once_and_as_it_was_first_stated() -> None:
    call = {"id": "c", "name": "ls", "args": {}, "result": [_response("c", "x")], "status": "success"}
    poorer = {"id": "2", "type": "gemini", "content": [{"text": "Hm.", "thought": True}, {"text": "I look."}]}
    again = {"id": "2_response", "type": "user", "content": [_response("c", "x")]}
    lines = [
        user("1", "Go"),
        answer("2", "I look.", thoughts=[{"subject": "", "description": "Hm."}], toolCalls=[call]),
        {"$set": {"messages": [user("0", "<session_context>here</session_context>")]}},
        {"$set": {"messages": [user("0", "<session_context>"), user("1", "Go"), poorer, again]}},
        user("3", "<hook_context>&lt;recollect-memory&gt;</hook_context>\n\nAnd now?"),
    ]
    found = back(*lines)
    assert [message.setup for message in found.messages] == [True, False, False, False, False]
    assert said(found)[1:] == [
        ("user", [text("Go")]),
        (
            "assistant",
            [
                {"type": "thinking", "thinking": "Hm."},
                text("I look."),
                {"type": "tool_use", "id": "c", "name": "ls", "input": {}},
            ],
        ),
        ("user", [{"type": "tool_result", "tool_use_id": "c", "content": "x"}]),
        ("user", [text("And now?")]),
    ]


def test_a_chat_that_began_a_second_file_with_nothing_in_it_is_whole(tmp_path: Path) -> None:
    head = {"sessionId": "s", "projectHash": "h"}
    context = {"$set": {"messages": [user("0", "<session_context>here")]}}
    first = [head, context, user("1", "Go"), answer("2", "Gone."), user("3", "And now?")]
    for name, lines in (("session-1", first), ("session-2", [head, context])):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / f"{name}.jsonl").write_text(text)
    with open_memory(tmp_path / "memory.h5") as memory:
        memory.ingest([tmp_path])
        talk = memory.conversation("s")
        entry = next(e for e in memory.show("s") if e.entry.text == "Gone.")
        short = memory.conversation("s", until=entry.id)
    assert [blocks[0]["text"] for _, blocks in said(talk)][1:] == ["Go", "Gone.", "And now?"]
    assert [blocks[0]["text"] for _, blocks in said(short)][1:] == ["Go", "Gone."]


def test_what_was_taken_back_or_cut_down_is_no_part_of_it() -> None:
    rewound = back(user("1", "Go"), answer("2", "No."), {"$rewindTo": "2"}, answer("3", "Yes."))
    assert [blocks[0]["text"] for _, blocks in said(rewound)] == ["Go", "Yes."]
    summary = user("9", "<state_snapshot>All of it</state_snapshot>")
    cut = {"$set": {"messages": [summary, answer("2", "No.")]}}
    found = back(user("1", "Go"), answer("2", "No."), cut)
    assert [message.note for message in found.messages] == [True, False]
    assert found.left_out == {"message that was cut": 1}


def _response(id_: str, words: str) -> dict[str, Any]:
    return {"functionResponse": {"id": id_, "name": "ls", "response": {"output": words}}}

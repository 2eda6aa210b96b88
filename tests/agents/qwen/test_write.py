"""A written session is one that Qwen Code opens whole, whatever the conversation was put together of."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import DATA
from tests.support.memories import open_memory, scratch
from tests.support.messages import answer, result, text, turn, use

from recollect.agents.qwen.write import render, session_file, validate
from recollect.export.read import conversation
from recollect.values.conversation import Block, Conversation, Message, Role, said
from recollect.values.errors import NotFound, UsageError
from recollect.values.fidelity import Fidelity

SESSION = "3f2a1b4c-0000-4000-8000-00000000000a"
NOW = 1_800_000_000_000
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"

Records = list[dict[str, Any]]


def written(*messages: Message, **more: Any) -> tuple[Records, Fidelity]:
    """The records of a conversation, which are such that Qwen Code takes them."""
    data, fidelity = render(Conversation(messages, **more), session_id=SESSION, cwd="/srv/harbor", now_ms=NOW)
    assert validate(data, SESSION) == []
    return [json.loads(line) for line in data.split(b"\n")[:-1]], fidelity


def parts(records: Records) -> list[Any]:
    return [record["message"]["parts"] for record in records if "message" in record]


def thought(words: str) -> Block:
    return Block({"type": "thinking", "thinking": words})


def picture(data: str = PNG) -> Block:
    return Block({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}})


def test_a_conversation_is_one_chain_with_its_name_at_the_end() -> None:
    records, fidelity = written(
        turn(text("Look."), picture()),
        answer(thought("hm"), text("I look."), use("a", command="ls"), use("b")),
        turn(result("b"), result("a", "lamp")),
        answer(text("Ok.")),
        title="A lamp",
        branch="main",
    )
    assert [each["parentUuid"] for each in records] == [None, *(each["uuid"] for each in records[:-1])]
    assert {(each["sessionId"], each["cwd"], each["gitBranch"]) for each in records} == {
        (SESSION, "/srv/harbor", "main")
    }
    assert records[-1]["systemPayload"]["customTitle"] == "A lamp"
    assert parts(records) == [
        [{"text": "Look."}, {"inlineData": {"data": PNG, "mimeType": "image/png"}}],
        [
            {"text": "hm", "thought": True},
            {"text": "I look."},
            {"functionCall": {"id": "a", "name": "Bash", "args": {"command": "ls"}}},
            {"functionCall": {"id": "b", "name": "Bash", "args": {}}},
        ],
        [{"functionResponse": {"id": "a", "name": "Bash", "response": {"output": "lamp"}}}],
        [{"functionResponse": {"id": "b", "name": "Bash", "response": {"output": "done"}}}],
        [{"text": "Ok."}],
    ]
    assert "usageMetadata" not in json.dumps(records)
    assert fidelity.object()["left_out"] == {}


def test_every_record_says_who_wrote_it_and_what_no_person_said_is_no_prompt() -> None:
    note = said("Here something is left out.", session="5e55")
    records, _ = written(note, turn(text("Look."), session="5e55"), answer(text("Ok.")))
    assert {(each["writtenBy"], each["writtenFrom"]) for each in records} == {("recollect", "5e55")}
    assert [each["provenance"] for each in records] == ["system", "real_user", "assistant_output", "system"]


def test_what_it_could_not_take_is_mended_or_left_out_and_counted() -> None:
    asked = Block({"type": "tool_use", "id": "c", "input": [1]})
    failed = Block({"type": "tool_result", "tool_use_id": "c", "is_error": True, "content": [picture().body]})
    records, fidelity = written(
        answer(text("I begin."), asked, thought("and then")),
        turn(failed, text(" "), picture("no base64!"), thought("not mine")),
        answer(thought(" ")),
    )
    assert parts(records)[1][1]["functionCall"] == {"id": "c", "name": "unknown", "args": {"input": [1]}}
    given = parts(records)[2][0]["functionResponse"]
    assert (given["response"], len(given["parts"])) == ({"error": ""}, 1)
    assert fidelity.object() == {
        "kept": {"answer": 1, "call": 1, "result": 1, "text of the user's side": 1},
        "folded": {},
        "added": {"note at the beginning": 1},
        "left_out": {
            "empty text": 1,
            "image": 1,
            "thought that cannot be read": 2,
            "thought without an answer": 1,
        },
    }
    with pytest.raises(NotFound):
        written(turn(picture()))


def test_it_lies_where_the_agent_started_in_that_folder_looks(tmp_path: Path) -> None:
    def place(folder: str, **environ: str) -> str:
        made = session_file(
            Conversation((said("x"),)), home=tmp_path, environ=environ, folder=folder, now_ms=NOW, seed=b"s"
        )
        return str(made.path.parent)

    assert place("/srv/har_bor 2") == str(tmp_path / ".qwen/projects/-srv-har-bor-2/chats")
    assert place("/srv", QWEN_HOME="/a") == "/a/projects/-srv/chats"
    assert place("/srv", QWEN_HOME="/a", QWEN_RUNTIME_DIR="/b") == "/b/projects/-srv/chats"
    with pytest.raises(UsageError):
        place("srv")


def model(*given: Any) -> dict[str, Any]:
    return {"message": {"role": "model", "parts": list(given)}}


@pytest.mark.parametrize(
    ("at", "fields", "complaint"),
    [
        (0, {"sessionId": "other"}, "the id of another session"),
        (0, {"cwd": "srv"}, "no folder or no version"),
        (0, {"timestamp": "today"}, "no uuid or no time"),
        (0, {"type": "note"}, "in which nobody speaks"),
        (0, {"message": {"role": "user", "parts": []}}, "nothing is said"),
        (0, {"message": {"role": "user", "parts": [{"text": " "}]}}, "an empty text"),
        (0, {"message": {"role": "user", "parts": [{"inlineData": {}}]}}, "an image without data"),
        (0, {"message": {"role": "user", "parts": [{"functionCall": {}}]}}, "a part that user cannot have"),
        (1, {"parentUuid": None}, "does not hang on the record before"),
        (1, model({"functionCall": 1}), "no object in functionCall"),
        (1, model({"functionCall": {"id": "a"}}), "no id or no name"),
        (1, model({"functionCall": {"id": "a", "name": "b"}}), "no arguments or no response"),
        (1, model({"text": "x", "thought": True}), "ends in a thought"),
        (1, model({"text": "x"}), "no call waits for"),
        (2, {"type": "user", "message": {"role": "user", "parts": [{"text": "x"}]}}, "has no result"),
    ],
)
def test_a_file_that_is_not_whole_is_not_written(at: int, fields: dict[str, Any], complaint: str) -> None:
    records, _ = written(turn(text("Look.")), answer(text("I look."), use("a")), turn(result("a")))
    made = [{**each, **fields} if n == at else each for n, each in enumerate(records)]
    data = "".join(json.dumps(each) + "\n" for each in made).encode()
    assert any(complaint in problem for problem in validate(data, SESSION)), validate(data, SESSION)


BLOCKS = st.one_of(
    st.text(max_size=5).map(text),
    st.text(max_size=5).map(thought),
    st.builds(use, st.sampled_from(["a", "b", ""])),
    st.builds(result, st.sampled_from(["a", "b", ""]), st.text(max_size=5)),
    st.builds(picture, st.sampled_from([PNG, "?"])),
    st.dictionaries(st.sampled_from(["type", "text", "id", "input"]), st.none() | st.text(max_size=5)).map(
        Block
    ),
)
ROLES: st.SearchStrategy[Role] = st.sampled_from(["user", "assistant"])
MESSAGES = st.builds(
    Message,
    ROLES,
    st.lists(BLOCKS, max_size=4).map(tuple),
    st.sampled_from(["qwen", "claude", ""]),
    st.sampled_from(["s", ""]),
    st.sampled_from([0, 5_000, NOW + 5]),
    note=st.booleans(),
    meta=st.booleans(),
    setup=st.booleans(),
)


@given(st.lists(MESSAGES, max_size=6))
def test_any_conversation_gives_a_file_that_is_taken_or_none(messages: list[Message]) -> None:
    with contextlib.suppress(NotFound):
        written(*messages)


def test_what_was_written_reads_back_as_the_conversation_it_was_written_from() -> None:
    with scratch() as folder, open_memory(folder / "memory.h5") as memory:
        memory.ingest([DATA / "qwen"])
        with memory.view() as view:
            for session in view.sessions():
                talk = conversation(view, session)
                data, _ = render(talk, session_id=SESSION, cwd="/srv", now_ms=NOW)
                assert validate(data, SESSION) == []
                file = folder / f"{session.facts.id}-copy.jsonl"
                file.write_bytes(data)
                with open_memory(folder / f"{session.facts.id}.h5") as other:
                    other.ingest([file])
                    with other.view() as copied:
                        again = conversation(copied, copied.find_session(SESSION))
                assert _spoken(again) == _spoken(talk)


def _spoken(talk: Conversation) -> list[tuple[Any, ...]]:
    """What is said, without results that were put in for calls without one."""
    return [
        (message.role, message.meta or message.note, block.body)
        for message in talk.messages
        for block in message.blocks
        if "[no result" not in json.dumps(block.body)
    ]

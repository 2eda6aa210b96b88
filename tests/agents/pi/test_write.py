"""A written session is one that pi opens whole, whatever the conversation was put together of.

What the real client sends after `--session` is looked at by tests/clients; here is what can be said of bytes.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import DATA
from tests.support.memories import open_memory, scratch
from tests.support.messages import answer, result, text, turn, use

from recollect.agents.pi.write import render, session_file, validate
from recollect.export.read import conversation
from recollect.values.conversation import Block, Conversation, Message, Role, said
from recollect.values.errors import NotFound, UsageError
from recollect.values.fidelity import Fidelity

SESSION = "01a1ea30-d400-7c6f-860f-a6a2b6f6b6d3"
NOW = 1_800_000_000_000
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"

Records = list[dict[str, Any]]


def written(*messages: Message, **more: Any) -> tuple[Records, Fidelity]:
    """The records of a conversation, which are such that pi takes them."""
    data, fidelity = render(Conversation(messages, **more), session_id=SESSION, cwd="/srv/harbor", now_ms=NOW)
    assert validate(data, SESSION) == []
    return [json.loads(line) for line in data.split(b"\n")[:-1]], fidelity


def contents(records: Records) -> list[Any]:
    return [
        record["message"]["content"] if "message" in record else record["content"] for record in records[2:]
    ]


def thought(words: str, signature: str = "") -> Block:
    return Block({"type": "thinking", "thinking": words, "signature": signature})


def picture(data: str = PNG, kind: str = "image/png") -> Block:
    return Block({"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}})


def test_a_conversation_is_one_chain_behind_its_name() -> None:
    records, fidelity = written(
        turn(text("Look."), picture()),
        answer(thought("hm"), text("I look."), use("a", command="ls"), use("b")),
        turn(result("b"), result("a", "lamp")),
        answer(text("Ok.")),
        title="A lamp",
    )
    assert records[0]["id"] == SESSION
    assert [each["parentId"] for each in records[1:]] == [None, *(each["id"] for each in records[1:-1])]
    assert (records[1]["type"], records[1]["name"]) == ("session_info", "A lamp")
    assert contents(records) == [
        [{"type": "text", "text": "Look."}, {"type": "image", "data": PNG, "mimeType": "image/png"}],
        [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "I look."},
            {"type": "toolCall", "id": "a", "name": "Bash", "arguments": {"command": "ls"}},
            {"type": "toolCall", "id": "b", "name": "Bash", "arguments": {}},
        ],
        [{"type": "text", "text": "lamp"}],
        [{"type": "text", "text": "done"}],
        [{"type": "text", "text": "Ok."}],
    ]
    results = [r["message"] for r in records[2:] if r["message"]["role"] == "toolResult"]
    assert [(r["toolCallId"], r["toolName"], r["isError"]) for r in results] == [
        ("a", "Bash", False),
        ("b", "Bash", False),
    ]
    assert fidelity.object() == {
        "kept": {"answer": 2, "call": 2, "image": 1, "result": 2, "text of the user's side": 1, "thought": 1},
        "folded": {},
        "added": {},
        "left_out": {},
    }


def test_every_record_says_who_wrote_it_and_from_what_and_cost_nothing() -> None:
    records, _ = written(turn(text("Look."), session="5e55"), answer(text("I look."), session="5e55"))
    assert {(each["writtenBy"], each["writtenFrom"]) for each in records} == {("recollect", "5e55")}
    usage = records[-1]["message"]["usage"]
    assert {*usage["cost"].values(), *(usage[name] for name in usage if name != "cost")} == {0}


def test_a_thought_of_pis_own_keeps_its_signature_with_the_model_that_had_it() -> None:
    origin = {"api": "anthropic-messages", "provider": "anthropic"}
    blocks = (
        Block({"type": "thinking", "thinking": "", "signature": "c2ln", "redacted": True}, native=origin),
        Block({"type": "text", "text": "Ok."}, native={**origin, "textSignature": "dGV4dA"}),
    )
    own = Message("assistant", blocks, "pi", "s", model="claude-sonnet-4-5")
    records, _ = written(turn(text("Look.")), own, answer(thought("hm", "Zm9y"), text("Yes.")))
    first, second = (record["message"] for record in records[-2:])
    assert (first["api"], first["provider"], first["model"]) == (*origin.values(), "claude-sonnet-4-5")
    assert first["content"] == [
        {"type": "thinking", "thinking": "", "thinkingSignature": "c2ln", "redacted": True},
        {"type": "text", "text": "Ok.", "textSignature": "dGV4dA"},
    ]
    assert (second["api"], second["provider"]) == ("recollect", "claude")
    assert second["content"][0] == {"type": "thinking", "thinking": "hm"}


def test_what_no_person_said_is_no_prompt() -> None:
    note = said("Here something is left out.")
    records, _ = written(note, turn(text("Look.")), answer(text("Ok.")))
    assert (records[2]["type"], records[2]["customType"]) == ("custom_message", "recollect")
    assert records[3]["message"]["role"] == "user"


def test_what_pi_could_not_take_is_mended_or_left_out_and_counted() -> None:
    asked = Block({"type": "tool_use", "id": "c", "input": [1]})
    records, fidelity = written(
        answer(text("I begin."), asked, thought("and then")),
        turn(result("lost", "found"), text(" "), picture("no base64!"), picture(kind="image/tiff")),
        answer(thought("nowhere")),
    )
    assert contents(records)[1][1] == {
        "type": "toolCall",
        "id": "c",
        "name": "unknown",
        "arguments": {"input": [1]},
    }
    assert records[2]["type"] == "custom_message", "an answer cannot be the first thing"
    assert fidelity.object() == {
        "kept": {"answer": 1, "call": 1, "result": 1, "text of the user's side": 2},
        "folded": {"result without its call": 1},
        "added": {"note at the beginning": 1, "result for a call without one": 1},
        "left_out": {"empty text": 1, "image": 2, "thought without an answer": 2},
    }


def test_half_a_character_is_replaced_and_a_number_that_is_none_is_nothing() -> None:
    records, _ = written(turn(text("a\ud800b")), answer(text("Ok."), use("c", n=float("nan"))))
    assert contents(records)[0][0]["text"] == "a\ufffdb"
    assert contents(records)[1][1]["arguments"] == {"n": None}


def test_nothing_said_is_nothing_to_write() -> None:
    with pytest.raises(NotFound):
        written(turn(picture()))


def test_it_lies_where_pi_started_in_that_folder_looks(tmp_path: Path) -> None:
    def place(folder: str, **environ: str) -> str:
        made = session_file(
            Conversation((said("x"),)), home=tmp_path, environ=environ, folder=folder, now_ms=NOW, seed=b"s"
        )
        assert made.path.name == f"2027-01-15T08-00-00-000Z_{made.session_id}.jsonl"
        return str(made.path.parent)

    assert place("/srv/har bor") == str(tmp_path / ".pi/agent/sessions/--srv-har bor--")
    assert place("/srv", PI_CODING_AGENT_DIR="/elsewhere") == "/elsewhere/sessions/--srv--"
    assert place("/srv", PI_CODING_AGENT_SESSION_DIR="/all") == "/all"
    with pytest.raises(UsageError):
        place("srv")


def changed(records: Records, at: int, **fields: Any) -> bytes:
    made = [{**each, **fields} if n == at else each for n, each in enumerate(records)]
    return "".join(json.dumps(each) + "\n" for each in made).encode()


@pytest.mark.parametrize(
    ("at", "fields", "complaint"),
    [
        (0, {"version": 2}, "no session of version 3"),
        (0, {"id": "other"}, "the id of another session"),
        (0, {"cwd": "srv"}, "no folder"),
        (0, {"timestamp": "today"}, "no time"),
        (2, {"type": "compaction"}, "a record of type"),
        (2, {"id": ""}, "no id or no time"),
        (2, {"parentId": None}, "does not hang on the record before"),
        (2, {"message": {"role": "owl"}}, "nobody speaks"),
        (2, {"message": {"role": "user", "content": [], "timestamp": 1}}, "nothing is said"),
        (2, {"message": {"role": "user", "content": [{"type": "thinking"}]}}, "a block of type"),
        (2, {"message": {"role": "user", "content": [{"type": "text", "text": ""}]}}, "an empty text"),
        (2, {"message": {"role": "user", "content": [{"type": "image"}]}}, "an image without data"),
        (3, {"message": {"role": "assistant", "content": [{"type": "toolCall"}]}}, "a call without id"),
        (3, {"message": {"role": "assistant", "content": [{"type": "thinking"}]}}, "an empty thought"),
        (3, {"message": {"role": "assistant", "content": [{"type": "text"}]}}, "an answer without provider"),
        (3, {"message": {"role": "assistant", "content": [], "usage": {}}}, "usage without tokens"),
        (4, {"message": {"role": "toolResult", "content": []}}, "a result without call or tool"),
        (4, {"type": "custom_message", "content": [{"type": "text", "text": "x"}]}, "has no result"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_whole_is_not_written(at: int, fields: dict[str, Any], complaint: str) -> None:
    records, _ = written(turn(text("Look.")), answer(text("I look."), use("a")), turn(result("a")))
    assert any(complaint in problem for problem in validate(changed(records, at, **fields), SESSION))


def test_a_result_twice_or_a_call_twice_is_found() -> None:
    records, _ = written(turn(text("Look.")), answer(use("a"), text("x")), turn(result("a")))
    again = [{**records[n], "id": str(n), "parentId": None} for n in (4, 3)]
    for extra, complaint in zip(again, ("no call waits for", "for the second time"), strict=True):
        extra["parentId"] = records[-1]["id"]
        data = "".join(json.dumps(each) + "\n" for each in [*records, extra]).encode()
        assert any(complaint in problem for problem in validate(data, SESSION))


BLOCKS = st.one_of(
    st.text(max_size=5).map(text),
    st.builds(thought, st.text(max_size=5), st.text(max_size=3)),
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
    st.sampled_from(["pi", "claude", ""]),
    st.sampled_from(["s", ""]),
    st.sampled_from([0, 5_000, NOW + 5]),
    note=st.booleans(),
    meta=st.booleans(),
    setup=st.booleans(),
)


@given(st.lists(MESSAGES, max_size=6))
def test_any_conversation_gives_a_file_that_pi_takes_or_none(messages: list[Message]) -> None:
    with contextlib.suppress(NotFound):
        written(*messages)


def test_what_was_written_reads_back_as_the_conversation_it_was_written_from() -> None:
    with scratch() as folder, open_memory(folder / "memory.h5") as memory:
        memory.ingest([DATA / "pi"])
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
    is_put_in: Callable[[Block], bool] = lambda block: "[no result" in json.dumps(block.body)  # noqa: E731
    return [
        (message.role, message.meta or message.note, block.body)
        for message in talk.messages
        for block in message.blocks
        if not is_put_in(block)
    ]

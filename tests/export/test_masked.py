"""Secrets on their way into another agent: masked everywhere, never inside what is signed."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from recollect.export.masked import masked
from recollect.values.conversation import Block, Conversation, Message

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AKIA" * 40}}


def talk(*bodies: dict[str, Any], native: dict[str, Any] | None = None) -> Conversation:
    blocks = tuple(Block(body, native=native) for body in bodies)
    return Conversation((Message("assistant", blocks, "claude", "s"),), title="t")


def bodies(conversation: Conversation) -> list[dict[str, Any]]:
    return [block.body for message in conversation.messages for block in message.blocks]


def test_a_secret_is_masked_in_texts_calls_and_results() -> None:
    made, found = masked(
        talk(
            {"type": "text", "text": f"the token is {TOKEN}"},
            {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": f"curl -H 'X: {TOKEN}'"}},
            {
                "type": "tool_result",
                "tool_use_id": "c",
                "content": [{"type": "text", "text": TOKEN}, PICTURE],
            },
        )
    )
    assert TOKEN not in json.dumps(bodies(made))
    assert sum(found.values()) == 3
    assert bodies(made)[2]["content"][1] == PICTURE


def test_a_signed_thought_stays_as_it_was_or_goes() -> None:
    clean = {"type": "thinking", "thinking": "how now", "signature": "c2ln" * 40}
    empty = {"type": "thinking", "thinking": "", "signature": TOKEN}
    leaking = {"type": "thinking", "thinking": f"it is {TOKEN}", "signature": "c2ln"}
    made, _ = masked(talk(clean, empty, leaking, {"type": "text", "text": "x"}))
    assert bodies(made) == [clean, empty, {"type": "text", "text": "x"}]
    assert bodies(made)[0] is clean
    assert made.left_out["thought that holds a secret"] == 1


def test_an_encrypted_item_of_codex_is_never_touched() -> None:
    native = {"type": "reasoning", "encrypted_content": TOKEN, "summary": []}
    made, _ = masked(talk({"type": "text", "text": "x"}, native=native))
    assert made.messages[0].blocks[0].native is native
    other = {"type": "function_call", "arguments": json.dumps({"cmd": TOKEN})}
    made, _ = masked(talk({"type": "text", "text": "x"}, native=other))
    assert TOKEN not in json.dumps(made.messages[0].blocks[0].native)


def test_a_message_of_which_nothing_is_left_goes_too() -> None:
    made, _ = masked(talk({"type": "thinking", "thinking": TOKEN, "signature": "s"}))
    assert made.messages == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda some: st.lists(some, max_size=4) | st.dictionaries(st.text(), some, max_size=4),
)


@given(st.lists(st.dictionaries(st.text(), JSON, max_size=4), max_size=4))
def test_whatever_a_block_holds_its_shape_stays(given_bodies: list[dict[str, Any]]) -> None:
    texts = [{**body, "type": "text"} for body in given_bodies]
    made, found = masked(talk(*texts))
    if not found:
        assert bodies(made) == texts
    assert [list(map(type, body.values())) for body in bodies(made)] == [
        list(map(type, body.values())) for body in texts
    ]
    assert isinstance(found, Counter)

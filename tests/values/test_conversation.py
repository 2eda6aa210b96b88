"""Calls and results: however a conversation was put together, each call is answered by the next turn."""

from __future__ import annotations

from itertools import zip_longest

from hypothesis import given
from hypothesis import strategies as st
from tests.support.messages import answer, result, text, turn, use

from recollect.values.conversation import NO_RESULT, Block, Conversation, Message, Role, paired, said


def shape(messages: list[Message]) -> list[tuple[str, list[str]]]:
    return [(m.role[0], [b.call or b.text for b in m.blocks]) for m in messages]


def test_a_result_follows_its_call_wherever_it_stood() -> None:
    given = [turn(text("go")), answer(use("a"), use("b")), turn(text("wait")), turn(result("b"), result("a"))]
    found, done = paired(given)
    assert shape(found) == [("u", ["go"]), ("a", ["a", "b"]), ("u", ["a", "b"]), ("u", ["wait"])]
    assert not +done


def test_a_call_without_result_gets_an_error_in_its_place() -> None:
    found, done = paired([answer(use("a"))])
    assert found[1].blocks[0].body == {
        "type": "tool_result",
        "tool_use_id": "a",
        "content": NO_RESULT,
        "is_error": True,
    }
    assert done == {"call without result": 1}


def test_a_result_without_call_becomes_text_and_keeps_its_images() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="}}
    parts = Block(
        {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "x"}, image]}
    )
    found, done = paired([turn(result("a", "lost")), turn(parts)])
    assert [b.body for m in found for b in m.blocks] == [
        {"type": "text", "text": "[result] lost"},
        {"type": "text", "text": "[result] x"},
        image,
    ]
    assert done["result without call"] == 2


def test_an_id_of_two_sessions_is_kept_by_the_first_and_changed_for_the_second() -> None:
    found, _ = paired(
        [
            answer(use("a", n=1)),
            turn(result("a", "one")),
            answer(use("a", n=2), session="t"),
            turn(result("a", "two"), session="t"),
        ]
    )
    assert shape(found) == [("a", ["a"]), ("u", ["a"]), ("a", ["a_2"]), ("u", ["a_2"])]
    assert found[3].blocks[0].body["content"] == "two"


def test_a_renamed_call_is_renamed_in_its_codex_item_too() -> None:
    native = {"type": "function_call", "call_id": "a", "arguments": "{}"}
    second = Block(use("a", n=2).body, native=native)
    found, _ = paired([answer(use("a", n=1)), answer(second, session="t")])
    assert found[2].blocks[0].native == {**native, "call_id": "a_2"}
    assert native["call_id"] == "a"


def test_the_same_call_twice_is_said_once() -> None:
    given = [answer(use("a")), turn(result("a")), answer(use("a"), text("again")), turn(result("a"))]
    found, done = paired(given)
    assert shape(found) == [("a", ["a"]), ("u", ["a"]), ("a", ["again"])]
    assert done == {"call said twice": 1}


def test_parts_of_one_answer_that_only_results_keep_apart_become_one() -> None:
    apart = [answer(use("a"), id_="m"), turn(result("a")), answer(use("b"), id_="m"), turn(result("b"))]
    assert shape(paired(apart)[0]) == [("a", ["a", "b"]), ("u", ["a", "b"])]
    other = [answer(use("a"), id_="m"), turn(text("stop")), answer(text("b"), id_="m")]
    assert len(paired(other)[0]) == 4


def test_a_conversation_names_the_sessions_it_is_taken_from_in_order() -> None:
    messages = (said("note"), turn(text("x"), session="t"), answer(text("y")), turn(text("z"), session="t"))
    assert Conversation(messages).sessions == ("t", "s")


_CALLS = st.sampled_from("abc")
_BLOCKS = st.one_of(
    st.text("xyz ", max_size=3).map(text),
    st.builds(use, _CALLS, n=st.integers(0, 1)),
    st.builds(result, _CALLS),
)
_ROLES: st.SearchStrategy[Role] = st.sampled_from(["user", "assistant"])
_MESSAGES = st.builds(
    Message,
    _ROLES,
    st.lists(_BLOCKS, min_size=1, max_size=4).map(tuple),
    st.just("claude"),
    st.sampled_from(["s", "t"]),
    message_id=st.sampled_from(["", "m", "n"]),
)


def _proper(message: Message) -> bool:
    wrong = "tool_result" if message.role == "assistant" else "tool_use"
    return all(block.type != wrong for block in message.blocks)


@given(st.lists(_MESSAGES.filter(_proper), max_size=8))
def test_whatever_is_put_together_each_call_is_answered_once_and_no_text_is_lost(
    given: list[Message],
) -> None:
    found, _ = paired(given)
    calls = [b.call for m in found for b in m.blocks if b.type == "tool_use"]
    assert len(calls) == len(set(calls))
    answered = []
    for message, after in zip_longest(found, found[1:]):
        asked = [b.call for b in message.blocks if b.type == "tool_use"]
        if asked:
            assert after is not None
            assert [b.call for b in after.blocks] == asked
            answered += asked
    assert answered == [b.call for m in found for b in m.blocks if b.type == "tool_result"]
    for role in ("user", "assistant"):
        spoken = [b.text for m in found for b in m.blocks if m.role == role and b.type == "text"]
        before = [b.text for m in given for b in m.blocks if m.role == role and b.type == "text"]
        assert [words for words in spoken if not words.startswith("[result]")] == before

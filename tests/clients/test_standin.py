"""The stand-in itself, asked without a client."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest
from tests.clients.standin import SIDE_TEXT, StandIn, call, message, text, thinking, use
from tests.clients.wires import CHAT_USAGE, GEMINI_USAGE


def ask(standin: StandIn, path: str, body: dict[str, Any]) -> str:
    request = urllib.request.Request(standin.url + path, json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=30) as answer:
        found: str = answer.read().decode()
    return found


def prompt(words: str) -> dict[str, Any]:
    return {"tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": words}]}


def events(answer: str) -> list[dict[str, Any]]:
    data = [line[6:] for line in answer.splitlines() if line.startswith("data: ")]
    return [json.loads(one) for one in data if one != "[DONE]"]


def test_a_script_is_played_in_order_and_its_last_turn_again(standin: StandIn) -> None:
    play = standin.script("two", [text("first")], [text("second")])
    answers = [json.loads(ask(standin, "/v1/messages?beta=true", prompt(play))) for _ in range(3)]
    assert [one["content"][0]["text"] for one in answers] == ["first", "second", "second"]
    assert len({one["id"] for one in answers}) == 3
    assert [request.turn for request in standin.asked("two")] == [0, 1, 2]


def test_a_request_without_tools_is_on_the_side_and_advances_nothing(standin: StandIn) -> None:
    play = standin.script("one", [text("first")])
    side = json.loads(ask(standin, "/v1/messages", {**prompt(play), "tools": []}))
    assert side["content"] == [text(SIDE_TEXT)]
    assert not standin.asked("one")


def test_a_request_to_summarise_is_answered_with_a_summary(standin: StandIn) -> None:
    standin.script("one", [text("first")])
    body = prompt("play:one")
    body["messages"].append({"role": "user", "content": "Your task is to create a detailed summary of all."})
    assert "<summary>" in json.loads(ask(standin, "/v1/messages", body))["content"][0]["text"]
    assert not standin.asked("one")


def test_what_a_memory_quotes_chooses_no_script(standin: StandIn) -> None:
    standin.script("old", [text("wrong")])
    play = standin.script("new", [text("right")])
    body = prompt(f"{play} <recollect-memory kind=catalog>play:old</recollect-memory>")
    assert json.loads(ask(standin, "/v1/messages", body))["content"] == [text("right")]


def test_a_turn_may_look_at_the_request_first(standin: StandIn) -> None:
    play = standin.script("look", lambda request: [text(f"{len(request.messages)} message")])
    assert json.loads(ask(standin, "/v1/messages", prompt(play)))["content"] == [text("1 message")]


def test_streamed_pieces_make_the_same_blocks(standin: StandIn) -> None:
    play = standin.script("tool", [text("go"), use("Bash", command="echo é")])
    found = events(ask(standin, "/v1/messages", {**prompt(play), "stream": True}))
    assert [event["type"] for event in found][:2] == ["message_start", "content_block_start"]
    assert found[-2]["delta"]["stop_reason"] == "tool_use"
    pieces = "".join(event["delta"].get("partial_json", "") for event in found if "delta" in event)
    assert json.loads(pieces) == {"command": "echo é"}


def test_codex_gets_items_and_their_calls_get_ids(standin: StandIn) -> None:
    standin.script("items", [message("go"), call("shell", cmd="true")])
    content = [{"type": "input_text", "text": "play:items"}]
    body = {"tools": [{"name": "shell"}], "input": [{"type": "message", "role": "user", "content": content}]}
    done = [one for one in events(ask(standin, "/v1/responses", body)) if one["type"].endswith("item.done")]
    assert [one["item"]["type"] for one in done] == ["message", "function_call"]
    assert done[1]["item"]["call_id"] == "toolu_items_0_1"


def test_results_are_found_by_the_id_of_the_call(standin: StandIn) -> None:
    standin.script("results", [text("thanks")])
    body = prompt("play:results")
    result = {"type": "tool_result", "tool_use_id": "toolu_x", "content": [{"type": "text", "text": "42"}]}
    body["messages"].append({"role": "user", "content": [result]})
    ask(standin, "/v1/messages", body)
    assert standin.asked("results")[0].results == {"toolu_x": "42"}


SAID = [thinking("Hm."), text("I look."), use("Bash", command="a"), use("Bash", command="b")]


def test_one_script_plays_in_chat_completions_too(standin: StandIn) -> None:
    body = prompt(standin.script("chat", SAID))
    chunks = events(ask(standin, "/v1/chat/completions", {**body, "stream": True}))
    whole = json.loads(ask(standin, "/v1/chat/completions", body))
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    thought = "".join(one.get("reasoning_content", "") for one in deltas)
    assert thought == whole["choices"][0]["message"]["reasoning_content"] == "Hm."
    assert "".join(one.get("content", "") for one in deltas) == "I look."
    calls = [call for one in deltas for call in one.get("tool_calls", [])]
    assert [(one["index"], one["id"]) for one in calls] == [(0, "toolu_chat_0_2"), (1, "toolu_chat_0_3")]
    assert [json.loads(one["function"]["arguments"]) for one in calls] == [{"command": "a"}, {"command": "b"}]
    assert chunks[-2]["choices"][0]["finish_reason"] == whole["choices"][0]["finish_reason"] == "tool_calls"
    assert chunks[-1]["usage"] == whole["usage"] == CHAT_USAGE


def test_one_script_plays_in_geminis_api_too(standin: StandIn) -> None:
    play = standin.script("parts", SAID)
    tools = [{"functionDeclarations": [{"name": "Bash"}]}]
    body = {"tools": tools, "contents": [{"role": "user", "parts": [{"text": play}]}]}
    path = "/v1beta/models/some-model"
    streamed = events(ask(standin, f"{path}:streamGenerateContent?alt=sse", body))
    parts = [part for event in streamed for part in event["candidates"][0]["content"]["parts"]]
    assert [part.get("text") for part in parts] == ["Hm.", "I look.", None, None]
    assert [bool(part.get("thought")) for part in parts] == [True, False, False, False]
    assert [part["functionCall"]["args"]["command"] for part in parts[2:]] == ["a", "b"]
    assert [event.get("usageMetadata") for event in streamed] == [None, None, None, GEMINI_USAGE]
    assert {event["modelVersion"] for event in streamed} == {"some-model"}
    whole = json.loads(ask(standin, f"{path}:generateContent", body))
    assert len(whole["candidates"][0]["content"]["parts"]) == len(SAID)
    assert standin.asked("parts")[0].tools == ["Bash"]


@pytest.mark.parametrize(
    ("path", "result"),
    [
        ("/v1/chat/completions", {"role": "tool", "tool_call_id": "toolu_x", "content": "42"}),
        (
            "/v1beta/models/m:generateContent",
            {
                "role": "user",
                "parts": [{"functionResponse": {"id": "toolu_x", "response": {"output": "42"}}}],
            },
        ),
    ],
)
def test_results_are_found_on_every_wire(standin: StandIn, path: str, result: dict[str, Any]) -> None:
    play = standin.script("results", [text("thanks")])
    said = [{"role": "user", "content": play, "parts": [{"text": play}]}, result]
    ask(standin, path, {"tools": [{"name": "Bash"}], "messages": said, "contents": said})
    assert standin.asked("results")[0].results == {"toolu_x": "42"}


@pytest.mark.parametrize(
    "aside",
    [
        {"tool_choice": {"type": "function", "name": "session_title"}},
        {"messages": [{"role": "user", "content": "play:one Write an ultra-short dashboard line of it."}]},
    ],
)
def test_what_a_client_asks_for_itself_advances_no_script(standin: StandIn, aside: dict[str, Any]) -> None:
    play = standin.script("one", [text("first")])
    ask(standin, "/v1/chat/completions", {**prompt(play), **aside})
    assert not standin.asked("one")

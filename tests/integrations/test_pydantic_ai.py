"""A Pydantic AI agent's messages: every kind of part comes back equal, and a run goes on with them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, BinaryContent, ImageUrl
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from tests.support.memories import open_memory

from recollect.integrations.pydantic_ai import History
from recollect.memory import Memory


def picture(data: bytes) -> BinaryContent:
    return BinaryContent(data, media_type="image/png")


MESSAGES: list[ModelMessage] = [
    ModelRequest(parts=[SystemPromptPart("Be brief."), UserPromptPart("which installer? Größe")]),
    ModelResponse(parts=[ThinkingPart("hm", signature="c2ln"), ToolCallPart("lookup", {"what": "x"}, "c1")]),
    ModelRequest(parts=[ToolReturnPart("lookup", {"found": ["uv", 1]}, "c1")]),
    ModelResponse(parts=[TextPart("This team installs with uv.")], model_name="m"),
    ModelRequest(parts=[UserPromptPart(["see", ImageUrl("https://a.invalid/a"), picture(b"\0\1" * 9)])]),
]  # fmt: skip


def as_json(messages: list[ModelMessage]) -> list[ModelMessage]:
    """What the package itself makes of messages that were JSON: a picture gets a type of its own."""
    return ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(messages))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "memory.h5") as memory:
        yield memory


def test_messages_come_back_equal_and_their_words_are_found(memory: Memory) -> None:
    history = History("chat-17", memory)
    asyncio.run(history.add(MESSAGES[:2]))
    asyncio.run(history.add(MESSAGES[2:]))
    found = asyncio.run(history.messages())
    assert found == as_json(MESSAGES)
    assert asyncio.run(history.messages(limit=2)) == as_json(MESSAGES[-2:])
    notes = list(memory.notes(session="pydantic-ai/chat-17"))
    assert [note.role for note in notes] == ["user", "assistant", "tool", "assistant", "user"]
    assert memory.search("team installs").hits[0].snippet.text == "This team installs with uv."
    asyncio.run(history.clear())
    assert asyncio.run(history.messages()) == []


def test_a_picture_of_many_megabytes_comes_back(memory: Memory) -> None:
    message = ModelRequest(parts=[UserPromptPart([picture(b"\0\xff" * 1_000_000)])])
    history = History("pictures", memory)
    asyncio.run(history.add([message]))
    assert asyncio.run(history.messages()) == as_json([message])


def test_a_real_run_goes_on_with_what_an_earlier_one_said(memory: Memory) -> None:
    asked: list[Any] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(messages)
        tools = [part for message in messages for part in message.parts if part.part_kind == "tool-return"]
        return ModelResponse(parts=[TextPart("uv, never pip") if tools else ToolCallPart("lookup", {})])

    agent = Agent(FunctionModel(answer))

    @agent.tool_plain
    def lookup() -> str:
        return "installer: uv"

    async def talk() -> list[ModelMessage]:
        history = History("chat", memory)
        first = await agent.run("which installer?", message_history=await history.messages())
        await history.add(first.new_messages())
        again = History("chat", memory)
        second = await agent.run("really?", message_history=await again.messages())
        await again.add(second.new_messages())
        return second.all_messages()

    everything = asyncio.run(talk())
    assert asyncio.run(History("chat", memory).messages()) == everything
    assert "installer: uv" in str(asked[-1])


def test_it_closes_a_store_of_its_own(tmp_path: Path) -> None:
    async def used() -> Any:
        for _ in range(2):
            history = History("chat", tmp_path / "own.h5")
            await history.add(MESSAGES[:1])
            await history.close()
        history = History("chat", tmp_path / "own.h5")
        found = await history.messages()
        await history.close()
        return found

    assert asyncio.run(used()) == [MESSAGES[0], MESSAGES[0]]

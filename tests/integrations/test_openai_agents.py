"""A session of the OpenAI Agents SDK: it says what the SDK's own session says, and a real run keeps it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, ModelResponse, Runner, SQLiteSession, Usage, function_tool, set_tracing_disabled
from agents.memory import Session, SessionSettings
from agents.models.interface import Model
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from tests.support.memories import open_memory, scratch

from recollect.integrations.openai_agents import MemorySession
from recollect.memory import Memory
from recollect.values.errors import UsageError

USER = {"role": "user", "content": "which installer?"}
CALL = {"type": "function_call", "call_id": "c1", "name": "lookup", "arguments": '{"what": "installer"}'}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "uv, Größe 5"}
ANSWER = {
    "id": "m1", "type": "message", "role": "assistant", "status": "completed",
    "content": [{"type": "output_text", "text": "This team installs with uv.", "annotations": []}],
}  # fmt: skip
ITEMS: list[Any] = [USER, CALL, OUTPUT, ANSWER]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "memory.h5") as memory:
        yield memory


def test_it_is_a_session() -> None:
    assert isinstance(MemorySession("x"), Session)


def test_items_come_back_as_they_were_and_their_words_are_found(memory: Memory) -> None:
    session = MemorySession("chat-17", memory)
    asyncio.run(session.add_items(ITEMS))
    assert asyncio.run(session.get_items()) == ITEMS
    notes = list(memory.notes(session="openai-agents/chat-17"))
    assert [(note.role, note.text.splitlines()[0]) for note in notes] == [
        ("user", "which installer?"),
        ("assistant", "lookup"),
        ("tool", "uv, Größe 5"),
        ("assistant", "This team installs with uv."),
    ]
    assert memory.search("team installs").hits[0].snippet.text == "This team installs with uv."
    assert memory.search("channel:openai-agents uv").hits


def test_sessions_are_told_apart_and_a_cleared_one_is_empty(memory: Memory) -> None:
    one, two = MemorySession("one", memory), MemorySession("two", memory)
    asyncio.run(one.add_items(ITEMS[:2]))
    asyncio.run(two.add_items(ITEMS[2:]))
    asyncio.run(one.clear_session())
    assert asyncio.run(one.get_items()) == []
    assert asyncio.run(one.pop_item()) is None
    assert asyncio.run(two.get_items()) == ITEMS[2:]


def test_an_item_of_many_megabytes_comes_back_whole(memory: Memory) -> None:
    image: Any = {
        "role": "user",
        "content": [{"type": "input_image", "image_url": "data:" + "aGk" * 1_000_000}],
    }
    session = MemorySession("images", memory)
    asyncio.run(session.add_items([USER, image]))
    assert asyncio.run(session.get_items()) == [USER, image]
    assert asyncio.run(session.pop_item()) == image


def test_what_is_no_item_is_refused_and_nothing_of_its_batch_is_kept(memory: Memory) -> None:
    session = MemorySession("chat", memory)
    bad: Any = {"role": "user", "content": object()}
    with pytest.raises(UsageError, match="what JSON can say"):
        asyncio.run(session.add_items([USER, bad]))  # type: ignore[list-item]
    assert asyncio.run(session.get_items()) == []
    with pytest.raises(UsageError, match="has a name"):
        MemorySession("", memory)


def test_it_closes_a_store_of_its_own(tmp_path: Path) -> None:
    async def used() -> Any:
        session = MemorySession("chat", tmp_path / "own.h5")
        await session.add_items(ITEMS)
        await session.close()
        again = MemorySession("chat", tmp_path / "own.h5", session_settings=SessionSettings(limit=1))
        found = await again.get_items(), await again.get_items(limit=2)
        await again.close()
        return found

    assert asyncio.run(used()) == ([ANSWER], [OUTPUT, ANSWER])


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.sampled_from(ITEMS), max_size=3)),
        st.tuples(st.just("pop"), st.none()),
        st.tuples(st.just("clear"), st.none()),
        st.tuples(st.just("get"), st.none() | st.integers(-1, 4)),
    ),
    max_size=8,
)


@given(steps=STEPS)
def test_any_history_is_that_of_the_sdks_own_session(steps: list[tuple[str, Any]]) -> None:
    async def play(session: Any) -> list[Any]:
        told = []
        for step, value in steps:
            if step == "add":
                await session.add_items(value)
            elif step == "pop":
                told.append(await session.pop_item())
            elif step == "clear":
                await session.clear_session()
            else:
                told.append(await session.get_items(value))
        return [*told, await session.get_items()]

    with scratch() as folder, open_memory(folder / "memory.h5") as memory:
        theirs = SQLiteSession("chat", folder / "theirs.db")
        assert asyncio.run(play(MemorySession("chat", memory))) == asyncio.run(play(theirs))
        theirs.close()


class Scripted(Model):
    """Says one thing after the other, and keeps what it was asked."""

    def __init__(self, *turns: Any) -> None:
        self.turns, self.asked = list(turns), list[Any]()

    async def get_response(
        self, system_instructions: Any, input: Any, *rest: Any, **more: Any
    ) -> ModelResponse:
        self.asked.append(input)
        return ModelResponse(output=[self.turns.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *rest: Any, **more: Any) -> Any:
        raise NotImplementedError


def spoken(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(text=text, type="output_text", annotations=[])
    return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[part])


def test_a_real_run_goes_on_with_what_an_earlier_one_said(memory: Memory) -> None:
    set_tracing_disabled(True)

    @function_tool
    def lookup(what: str) -> str:
        return f"{what}: uv"

    call = ResponseFunctionToolCall(
        call_id="c9", type="function_call", name="lookup", arguments='{"what": "installer"}'
    )
    model = Scripted(call, spoken("uv, never pip"), spoken("as I said: uv"))
    agent = Agent(name="a", model=model, tools=[lookup])

    async def talk() -> None:
        await Runner.run(agent, "which installer?", session=MemorySession("chat", memory))
        await Runner.run(agent, "really?", session=MemorySession("chat", memory))

    asyncio.run(talk())
    said = str(model.asked[-1])
    assert "which installer?" in said
    assert "installer: uv" in said
    assert "uv, never pip" in said
    roles = [note.role for note in memory.notes(session="openai-agents/chat")]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant"]

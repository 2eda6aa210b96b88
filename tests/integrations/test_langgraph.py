"""A checkpointer of LangGraph: the package's conformance suite, a real graph, and what is found of it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt
from tests.support.memories import open_memory

from recollect.integrations.langgraph import MemorySaver
from recollect.memory import Memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "memory.h5") as memory:
        yield memory


def test_it_keeps_the_contract_of_checkpointers(tmp_path: Path) -> None:
    numbers = itertools.count()

    @checkpointer_test(name="MemorySaver")
    async def saver() -> AsyncIterator[MemorySaver]:
        with open_memory(tmp_path / f"{next(numbers)}.h5") as memory:
            yield MemorySaver(memory)
            assert memory.check() == []

    report = asyncio.run(validate(saver))
    failures = {name: result.failures for name, result in report.results.items() if result.failures}
    assert failures == {}
    assert report.passed_all_base()
    kept = {name for name, result in report.results.items() if result.passed}
    assert kept == {"put", "put_writes", "get_tuple", "list", "delete_thread", "copy_thread"}
    assert sum(result.tests_passed for result in report.results.values()) > 60


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def built(saver: Any) -> Any:
    """A graph that answers, asks a person, and answers again."""

    def answer(state: State) -> State:
        return {"messages": [AIMessage("This team installs with uv.", id=f"a{len(state['messages'])}")]}

    def ask(state: State) -> State:
        return {"messages": [ToolMessage(f"told: {interrupt('sure?')}", tool_call_id="c", id="t")]}

    builder = StateGraph(State)
    builder.add_node("answer", answer)
    builder.add_node("ask", ask)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", "ask")
    builder.add_edge("ask", END)
    return builder.compile(checkpointer=saver)


CONFIG: Any = {"configurable": {"thread_id": "chat-17"}}


def played(saver: Any) -> list[Any]:
    """A conversation that is interrupted, gone on with, and forked from an earlier state."""
    graph = built(saver)
    graph.invoke({"messages": [HumanMessage("which installer?", id="h1")]}, CONFIG)
    waiting = graph.get_state(CONFIG)
    graph = built(saver)  # as after a restart
    ended = graph.invoke(Command(resume="yes"), CONFIG)
    forked = graph.update_state(waiting.config, {"messages": [HumanMessage("and pip?", id="h2")]})
    states = list(graph.get_state_history(CONFIG))
    return [
        waiting.next,
        [each.content for each in ended["messages"]],
        [each.content for each in graph.get_state(forked).values["messages"]],
        [([m.content for m in each.values.get("messages", [])], each.next) for each in states],
        [{k: v for k, v in each.metadata.items() if k in ("source", "step")} for each in states],
    ]


def test_a_graph_goes_on_as_with_the_packages_own_checkpointer(memory: Memory) -> None:
    assert played(MemorySaver(memory)) == played(InMemorySaver())
    found = memory.search("team installs").hits[0]
    assert "This team installs with uv." in found.snippet.text
    assert found.session.facts.id == "langgraph/chat-17"
    texts = [note.text for note in memory.notes(session="langgraph/chat-17") if note.text]
    assert any("which installer?" in text for text in texts)
    assert any("told: yes" in text for text in texts)


def test_an_asynchronous_graph_does_the_same(memory: Memory) -> None:
    async def talk(saver: Any) -> Any:
        graph = built(saver)
        await graph.ainvoke({"messages": [HumanMessage("which installer?", id="h1")]}, CONFIG)
        ended = await graph.ainvoke(Command(resume="yes"), CONFIG)
        return [each.content for each in ended["messages"]], [
            each.metadata["step"] async for each in graph.aget_state_history(CONFIG)
        ]

    assert asyncio.run(talk(MemorySaver(memory))) == asyncio.run(talk(InMemorySaver()))


def test_values_of_many_megabytes_and_names_of_any_form_come_back(memory: Memory) -> None:
    saver, big = MemorySaver(memory), b"\0\xff" * 2_000_000
    checkpoint = empty_checkpoint()
    name = "a channel\x00 " + "x" * 600
    checkpoint["channel_values"] = {name: big}
    checkpoint["channel_versions"] = {name: "1"}
    config: Any = {"configurable": {"thread_id": 17, "checkpoint_ns": "n|" + "y" * 700}}
    stored = saver.put(config, checkpoint, {"source": "loop", "step": 1}, {name: "1"})
    found = saver.get_tuple(stored)
    assert found is not None
    assert found.checkpoint["channel_values"] == {name: big}


def test_what_a_thread_had_is_there_after_a_restart_and_gone_when_deleted(tmp_path: Path) -> None:
    saver = MemorySaver(tmp_path / "own.h5")
    built(saver).invoke({"messages": [HumanMessage("which installer?", id="h1")]}, CONFIG)
    saver.close()
    again = MemorySaver(tmp_path / "own.h5")
    assert built(again).get_state(CONFIG).next == ("ask",)
    again.delete_thread("chat-17")
    assert again.get_tuple(CONFIG) is None
    assert list(again.list(None)) == []
    again.close()

"""`AsyncMemory`: the verbs of `Memory` without blocking a loop; what is cancelled has happened or has not."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.config import Config
from recollect.memory import Memory
from recollect.memory.asynchronous import THREADS, WAITING_MAX, AsyncMemory
from recollect.memory.saving import Saving
from recollect.values.errors import NotFound, StoreClosed, UsageError
from recollect.values.notes import NewNote


def run(folder: Path, deed: Callable[[AsyncMemory], Awaitable[Any]]) -> Any:
    async def told() -> Any:
        config = Config(folder / "agent.h5", "here", cache=folder / "cache")
        async with AsyncMemory.open(config=config) as memory:
            return await deed(memory)

    return asyncio.run(told())


def test_every_verb_that_saves_or_asks_for_notes_has_its_twin() -> None:
    verbs = {name for name in vars(Saving) if not name.startswith("_")} - {"vector_dims"}
    assert verbs <= set(vars(AsyncMemory))
    for name in verbs:
        mine, twin = (inspect.signature(getattr(each, name)) for each in (Memory, AsyncMemory))
        assert mine.parameters.keys() == twin.parameters.keys()


def test_it_saves_asks_and_finds(tmp_path: Path) -> None:
    async def deed(memory: AsyncMemory) -> None:
        id_ = await memory.save("this team installs with uv", tags=["preference"])
        await memory.save_batch([NewNote(f"note {n}", session="many") for n in range(600)])
        assert (await memory.get(id_)).text == "this team installs with uv"
        assert [hit.stored.entry.text for hit in (await memory.search("tag:preference")).hits] == [
            "this team installs with uv"
        ]
        assert [note.text async for note in memory.notes(session="many")] == [f"note {n}" for n in range(600)]
        assert await memory.delete(id_) == 1
        assert await memory.count() == 600
        assert await memory.call(Memory.waiting) >= 0
        with pytest.raises(NotFound):
            await memory.get(id_)
        with pytest.raises(UsageError):
            await memory.save("x", role="god")

    run(tmp_path, deed)


def test_a_stream_that_is_left_keeps_nobody_from_closing(tmp_path: Path) -> None:
    async def deed(memory: AsyncMemory) -> str:
        await memory.save_batch([f"note {n}" for n in range(1000)])
        async for note in memory.notes():
            return note.text
        return ""

    assert run(tmp_path, deed) == "note 0"


def test_the_loop_goes_on_while_a_verb_waits_and_what_was_cancelled_is_carried_out(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slowly(memory: Memory) -> str:
        begun.set()
        go_on.wait()
        return memory.save("said in the end", id="late")

    async def deed(memory: AsyncMemory) -> None:
        asked = asyncio.create_task(memory.call(slowly))
        while not begun.is_set():  # the loop is free
            await asyncio.sleep(0)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert await memory.count() == 0
        go_on.set()

    run(tmp_path, deed)
    with Memory.open(config=Config(tmp_path / "agent.h5", "here", cache=tmp_path / "cache")) as memory:
        assert memory.get("late").text == "said in the end"


def test_a_bounded_number_of_calls_waits(tmp_path: Path) -> None:
    go_on, running = threading.Event(), []

    def slowly(memory: Memory) -> None:
        running.append(1)
        go_on.wait()

    async def deed(memory: AsyncMemory) -> None:
        asked = [asyncio.create_task(memory.call(slowly)) for _ in range(WAITING_MAX + 50)]
        while len(running) < THREADS:
            await asyncio.sleep(0)
        assert memory._pool._work_queue.qsize() == WAITING_MAX - THREADS
        go_on.set()
        await asyncio.gather(*asked)
        assert len(running) == WAITING_MAX + 50

    run(tmp_path, deed)


def test_a_closed_one_says_so(tmp_path: Path) -> None:
    async def deed(memory: AsyncMemory) -> None:
        await memory.close()
        with pytest.raises(StoreClosed):
            await memory.save("after")

    run(tmp_path, deed)

"""The SDK's own conformance suite, and what it does not ask: retries, other writers, a blocked loop."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import InMemorySessionStore
from claude_agent_sdk import SessionStore as Protocol
from claude_agent_sdk.testing import run_session_store_conformance
from tests.support.memories import open_memory

from recollect.integrations.claude_agent_sdk import SessionStore
from recollect.memory import Memory
from recollect.values.errors import UsageError

KEY: Any = {"project_key": "proj", "session_id": "sess"}
SUB: Any = {**KEY, "subpath": "subagents/agent-1"}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "memory.h5") as memory:
        yield memory


def test_it_keeps_the_contract_of_the_sdk(tmp_path: Path) -> None:
    numbers, opened = itertools.count(), []

    def fresh() -> SessionStore:
        opened.append(open_memory(tmp_path / f"{next(numbers)}.h5"))
        return SessionStore(opened[-1])

    asyncio.run(run_session_store_conformance(fresh))
    assert len(opened) > 10  # a store for each contract
    for memory in opened:
        assert memory.check() == []
        memory.close()


def test_it_has_every_method_and_no_other_way_to_be_called() -> None:
    for name in ("append", "load", "list_sessions", "list_session_summaries", "delete", "list_subkeys"):
        assert getattr(SessionStore, name) is not getattr(Protocol, name)
        assert asyncio.iscoroutinefunction(getattr(SessionStore, name))


def entries(*numbers: int) -> list[Any]:
    return [
        {"type": "user", "uuid": f"u{n}", "timestamp": f"2026-03-03T14:00:{n:02}.000Z",
         "customTitle": f"title {n}", "message": {"role": "user", "content": f"prompt {n}"}}
        for n in numbers
    ]  # fmt: skip


def test_it_says_what_the_sdks_own_store_says(memory: Memory) -> None:
    """Appends that come again apart, which that one keeps twice."""

    async def told(store: Any) -> Any:
        await store.append(KEY, entries(1, 2))
        await store.append(SUB, entries(8, 9))
        await store.append(KEY, [{"type": "tag", "tag": "harbor"}, *entries(3)])
        await store.append({**KEY, "session_id": "gone"}, entries(4))
        await store.delete({**KEY, "session_id": "gone"})
        summaries = [
            (each["session_id"], each["data"]) for each in await store.list_session_summaries("proj")
        ]
        return await store.load(KEY), await store.load(SUB), summaries, await store.list_subkeys(KEY)

    assert asyncio.run(told(SessionStore(memory))) == asyncio.run(told(InMemorySessionStore()))


def test_a_batch_that_is_tried_again_is_kept_once(memory: Memory) -> None:
    async def retried() -> Any:
        store = SessionStore(memory)
        await store.append(KEY, entries(1, 2))
        await store.append(KEY, [*entries(1, 2, 3), {"type": "mode"}])
        await SessionStore(memory).append(KEY, entries(3, 4))
        return await store.load(KEY)

    assert asyncio.run(retried()) == [*entries(1, 2, 3), {"type": "mode"}, *entries(4)]


def test_appends_at_once_are_all_kept_and_the_summary_is_of_all(memory: Memory) -> None:
    async def at_once() -> Any:
        stores = [SessionStore(memory), SessionStore(memory)]
        await asyncio.gather(*(stores[n % 2].append(KEY, entries(n)) for n in range(20)))
        await stores[0].append(KEY, entries(20))
        (summary,) = await stores[1].list_session_summaries("proj")
        return await stores[0].load(KEY), summary["data"]

    loaded, data = asyncio.run(at_once())
    assert sorted(each["uuid"] for each in loaded) == sorted(each["uuid"] for each in entries(*range(21)))
    assert data["custom_title"] == "title 20"
    assert data["created_at"] == 1772546400000 + 1000 * int(loaded[0]["uuid"][1:])


def test_the_loop_goes_on_while_the_store_waits(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting, go_on = threading.Event(), threading.Event()
    real = Memory.append

    def slow(self: Memory, segment: Any) -> int:
        waiting.set()
        assert go_on.wait(60)
        return real(self, segment)

    monkeypatch.setattr(Memory, "append", slow)

    async def two_things() -> None:
        appending = asyncio.create_task(SessionStore(memory).append(KEY, entries(1)))
        while not waiting.is_set():
            await asyncio.sleep(0.001)
        go_on.set()  # only a loop that is not blocked comes here
        await appending

    asyncio.run(two_things())


def test_a_call_that_is_cancelled_was_carried_out_or_not(memory: Memory) -> None:
    async def cancelled() -> Any:
        store = SessionStore(memory)
        await store.append(KEY, entries(1))
        appending = asyncio.create_task(store.append(KEY, entries(2)))
        await asyncio.sleep(0)
        appending.cancel()
        await asyncio.gather(appending, return_exceptions=True)
        await store.append(KEY, entries(3))
        return [each["uuid"] for each in await store.load(KEY) or []]

    assert asyncio.run(cancelled()) in (["u1", "u2", "u3"], ["u1", "u3"])


def test_a_store_of_its_own_is_opened_by_its_path_and_closed(tmp_path: Path) -> None:
    async def used() -> Any:
        store = SessionStore(tmp_path / "own.h5")
        await store.append(KEY, entries(1))
        await store.aclose()
        again = SessionStore(str(tmp_path / "own.h5"))
        found = await again.load(KEY)
        await again.aclose()
        return found

    assert asyncio.run(used()) == entries(1)


def test_an_entry_that_is_no_json_is_refused_in_a_sentence(memory: Memory) -> None:
    bad: Any = {"type": "x", "n": object()}
    with pytest.raises(UsageError, match="what JSON can say"):
        asyncio.run(SessionStore(memory).append(KEY, [bad]))

"""`AsyncMemory`: the verbs of `Memory` as coroutines, for agents that must not block their loop.

    async with recollect.AsyncMemory.open("agent.h5") as memory:
        await memory.save("deploys go through staging first")

Each verb runs in a thread of a small pool, and a bounded number may wait for one: whoever comes then waits
too, without the loop standing still. A call that is cancelled is only no longer waited for: what was begun is
carried out, so that a write has happened or has not, and one that was acknowledged has.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from recollect.memory import Memory
from recollect.values.errors import StoreClosed

if TYPE_CHECKING:
    import os

    from recollect.config import Config
    from recollect.memory.asynchronous_graph import AsyncGraph

THREADS = 4
WAITING_MAX = 256  # calls that have begun to wait for a thread
_AT_ONCE = 256  # of what a verb gives one by one

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")


def _twin(
    verb: Callable[Concatenate[Memory, _Given], _Answer],
) -> Callable[Concatenate[AsyncMemory, _Given], Coroutine[Any, Any, _Answer]]:
    """A verb as a coroutine."""

    async def asked(self: AsyncMemory, /, *args: _Given.args, **kwargs: _Given.kwargs) -> _Answer:
        return await self.call(verb, *args, **kwargs)

    return functools.update_wrapper(asked, verb)


def _stream(
    verb: Callable[Concatenate[Memory, _Given], Iterator[_Answer]],
) -> Callable[Concatenate[AsyncMemory, _Given], AsyncIterator[_Answer]]:
    """A verb that gives one thing after another, for `async for`."""

    async def asked(
        self: AsyncMemory, /, *args: _Given.args, **kwargs: _Given.kwargs
    ) -> AsyncIterator[_Answer]:
        found = await self.call(verb, *args, **kwargs)
        end = getattr(found, "close", _nothing)
        self._streams.append(end)
        try:
            while part := await self.call(lambda memory: list(itertools.islice(found, _AT_ONCE))):
                for each in part:
                    yield each
        finally:
            if end in self._streams:  # else the memory was closed, and this with it
                self._streams.remove(end)
                await self._run(end)

    return functools.update_wrapper(asked, verb)


def _nothing() -> None: ...


class AsyncMemory:
    """A memory for one event loop. Its verbs are those of `Memory`; `call` asks for any other."""

    def __init__(self, opening: Callable[[], Memory]) -> None:
        self._opening = opening
        self._memory: Memory | None = None
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="recollect-memory")
        self._room = asyncio.Semaphore(WAITING_MAX)
        self._running: set[asyncio.Future[Any]] = set()
        self._streams: list[Callable[[], object]] = []  # what ends those that nobody has read to their end

    @classmethod
    def open(
        cls, store: str | os.PathLike[str] | None = None, *, create: bool = True, config: Config | None = None
    ) -> AsyncMemory:
        """As `Memory.open`; the store is opened by `async with`."""
        return cls(functools.partial(Memory.open, store, create=create, config=config))

    async def __aenter__(self) -> AsyncMemory:
        self._memory = await self._run(self._opening)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End everything that was begun, then close the store."""
        memory, self._memory = self._memory, None
        streams, self._streams = self._streams, []
        while self._running:
            await asyncio.wait(set(self._running))
        for end in streams:
            await self._run(end)
        if memory is not None:
            await self._run(memory.close)
        self._pool.shutdown(wait=False)

    async def call(
        self,
        verb: Callable[Concatenate[Memory, _Given], _Answer],
        *args: _Given.args,
        **kwargs: _Given.kwargs,
    ) -> _Answer:
        """Ask any verb: `await memory.call(Memory.recall, "how are tokens refreshed")`."""
        memory = self._memory
        if memory is None:
            raise StoreClosed("an AsyncMemory")
        return await self._run(functools.partial(verb, memory, *args, **kwargs))

    async def _run(self, work: Callable[[], _Answer]) -> _Answer:
        await self._room.acquire()
        running = asyncio.get_running_loop().run_in_executor(self._pool, work)
        self._running.add(running)
        running.add_done_callback(self._done)
        return await asyncio.shield(running)

    def _done(self, running: asyncio.Future[Any]) -> None:
        """Make room when the work has ended, which may be long after whoever asked was cancelled."""
        self._running.discard(running)
        self._room.release()
        if not running.cancelled():
            running.exception()  # nobody may be left to hear of it

    @property
    def graph(self) -> AsyncGraph:
        """Entities and their relations, as `Memory.graph` has them."""
        from recollect.memory.asynchronous_graph import AsyncGraph

        return AsyncGraph(self)

    save = _twin(Memory.save)
    save_batch = _twin(Memory.save_batch)
    update = _twin(Memory.update)
    update_batch = _twin(Memory.update_batch)
    delete = _twin(Memory.delete)
    undo = _twin(Memory.undo)
    speaker = _twin(Memory.speaker)
    worth = _twin(Memory.worth)
    tick = _twin(Memory.tick)
    get = _twin(Memory.get)
    get_many = _twin(Memory.get_many)
    count = _twin(Memory.count)
    notes = _stream(Memory.notes)
    artifact = _twin(Memory.artifact)
    add_session = _twin(Memory.add_session)
    summary = _twin(Memory.summary)
    sessions = _twin(Memory.sessions)
    session = _twin(Memory.session)
    show = _stream(Memory.show)
    tail = _twin(Memory.tail)
    search = _twin(Memory.search)
    recall = _twin(Memory.recall)
    ingest = _twin(Memory.ingest)
    index = _twin(Memory.index)
    checkpoint = _twin(Memory.checkpoint)
    compact = _twin(Memory.compact)
    snapshot = _twin(Memory.snapshot)

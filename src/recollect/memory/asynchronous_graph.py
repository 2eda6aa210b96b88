"""`AsyncMemory.graph`: the verbs of `Memory.graph` as coroutines."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from recollect.memory.graph import GraphReader, MemoryGraph

if TYPE_CHECKING:
    import datetime

    from recollect.memory import Memory
    from recollect.memory.asynchronous import AsyncMemory

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")
_Graph = TypeVar("_Graph", bound=GraphReader)


def _twin(
    verb: Callable[Concatenate[_Graph, _Given], _Answer],
) -> Callable[Concatenate[AsyncGraphReader, _Given], Coroutine[Any, Any, _Answer]]:
    """A verb as a coroutine."""

    async def asked(self: AsyncGraphReader, /, *args: _Given.args, **kwargs: _Given.kwargs) -> _Answer:
        def ask(memory: Memory) -> _Answer:
            return verb(cast("_Graph", self._graph_of(memory)), *args, **kwargs)

        return await self._memory.call(ask)

    return functools.update_wrapper(asked, verb)


class AsyncGraphReader:
    """A graph to be asked: as it is, or as it was at a time."""

    def __init__(self, memory: AsyncMemory, at: float | datetime.datetime | None = None) -> None:
        self._memory, self._at = memory, at

    def _graph_of(self, memory: Memory) -> GraphReader:
        return memory.graph if self._at is None else memory.graph.at(self._at)

    entity = _twin(GraphReader.entity)
    entities = _twin(GraphReader.entities)
    relations = _twin(GraphReader.relations)
    neighbours = _twin(GraphReader.neighbours)
    path = _twin(GraphReader.path)
    subgraph = _twin(GraphReader.subgraph)
    activate = _twin(GraphReader.activate)
    whole = _twin(GraphReader.whole)
    export = _twin(GraphReader.export)


class AsyncGraph(AsyncGraphReader):
    """The graph of an `AsyncMemory`: all that can be asked of it, and what is said of it."""

    def at(self, time: float | datetime.datetime) -> AsyncGraphReader:
        """The graph as of a time, to be read."""
        return AsyncGraphReader(self._memory, time)

    relate = _twin(MemoryGraph.relate)
    unrelate = _twin(MemoryGraph.unrelate)
    add_entity = _twin(MemoryGraph.add_entity)
    add_batch = _twin(MemoryGraph.add_batch)
    update = _twin(MemoryGraph.update)
    delete = _twin(MemoryGraph.delete)
    undo = _twin(MemoryGraph.undo)

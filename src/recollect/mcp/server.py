"""The tools behind one MCP server, for any number of connections.

The store, numpy and HDF5 come with the first call of a tool. Calls are answered in a few threads that share
one memory, so that a quick question does not wait for a slow one; meanwhile the loop answers pings. A sweep
has a memory of its own, which makes the store where there is none.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as Offered

from recollect.mcp.arguments import checked
from recollect.mcp.sweep import Sweeps
from recollect.mcp.tools import TOOLS, Tool, instructions
from recollect.mcp.tools import prefixed as calling
from recollect.values.errors import RecollectError, StoreMissing
from recollect.values.text import ascii_json, ellipsis, one_line, printable

if TYPE_CHECKING:
    from recollect.mcp.answers import Answer
    from recollect.memory import Memory

CALLS_MAX = 64  # that wait at a time
THREADS = 4  # that answer them

Context = ServerRequestContext[Any]


class Service:
    """What the tools need, and the SDK's server that offers them."""

    def __init__(self, store: str | None, *, prefixed: bool = False) -> None:
        """`prefixed`: every tool is called memory_..., for clients in which names of servers collide."""
        self._store = store
        self._prefixed = prefixed
        self._names = {calling(tool.name) if prefixed else tool.name: tool for tool in TOOLS}
        self._memory: Memory | None = None
        self._opening = threading.Lock()
        self._reading = ThreadPoolExecutor(THREADS, "recollect-read")
        self._sweeps = Sweeps(store)
        self._calls = 0

    def server(self) -> Server[Any]:
        """A server of the SDK whose tools are ours."""
        from recollect import __version__

        server: Server[Any] = Server(
            "recollect",
            version=__version__,
            title="Recollect",
            instructions=instructions(prefix=self._prefixed),
            on_list_tools=self._list,
            on_call_tool=self._call,
        )
        server.middleware.clear()  # what it traces would be someone's past
        return server

    # -- the protocol's side -----------------------------------------------------------------

    async def _list(self, context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(
            tools=[_offer(tool, name) for name, tool in self._names.items() if tool.listed]
        )

    async def _call(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        tool = self._names.get(params.name)
        if tool is None:
            raise MCPError(code=INVALID_PARAMS, message=f"Unknown tool: {one_line(params.name, 80)}")
        self._calls += 1
        try:
            arguments = checked(tool.schema, params.arguments or {})
            return _result(await self._answer(tool, arguments, context))
        except StoreMissing as error:
            return _failure(str(error), "call ingest_sessions to make one from this machine's logs")
        except RecollectError as error:
            return _failure(str(error), error.hint)
        except Exception as error:
            return _failure(f"this is a bug in Recollect: {type(error).__name__}: {error}", "")
        finally:
            self._calls -= 1

    async def _answer(self, tool: Tool, arguments: dict[str, Any], context: Context) -> Answer:
        if self._calls > CALLS_MAX:
            raise RecollectError("too many calls at once", hint="wait for answers before asking for more")
        if tool.name == "ingest_sessions":
            return await self._sweeps.answer(context.session.report_progress)
        return await asyncio.get_running_loop().run_in_executor(
            self._reading, self._read, tool, arguments, _client(context)
        )

    # -- in the reading threads --------------------------------------------------------------

    def _read(self, tool: Tool, arguments: dict[str, Any], client: str) -> Answer:
        memory = self._open_memory(create=not tool.read_only)
        memory.capture()  # what was said since the last hook is worth finding too
        if tool.read_only:
            from recollect.mcp.answers import ANSWERS

            return ANSWERS[tool.name](memory, **arguments)
        from recollect.mcp.writing import WRITES

        return WRITES[tool.name](memory, client, **arguments)

    def _open_memory(self, *, create: bool) -> Memory:
        with self._opening:
            if self._memory is None:
                from recollect.config import load_config
                from recollect.memory import Memory

                self._memory = Memory.open(config=load_config(self._store), create=create)
            return self._memory


def _client(context: Context) -> str:
    """What the client calls itself."""
    told = context.session.client_params
    return one_line(told.client_info.name, 60) if told is not None else ""


def _offer(tool: Tool, name: str) -> Offered:
    return Offered(
        name=name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.schema,
        output_schema=dict(tool.output) if tool.output is not None else None,
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.read_only,
            destructive_hint=False,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
    )


def _result(answer: Answer) -> CallToolResult:
    text = answer.text if answer.values is None else ascii_json(answer.values)
    return CallToolResult(content=[TextContent(text=text)], structured_content=answer.values)


def _failure(message: str, hint: str) -> CallToolResult:
    """What went wrong and what to try, so that a model can do better."""
    told = ellipsis(printable(message), _ERROR_CELLS) + (f"\ntry: {printable(hint)}" if hint else "")
    return CallToolResult(content=[TextContent(text=told)], is_error=True)


_ERROR_CELLS = 1_000

"""The server over standard input and output: one message a line, read and written by the SDK's own types.

A line that is no message is answered with an error and forgotten. When the input ends, answers under way get
a moment; then the process leaves, also from the midst of a tool's work.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)

from recollect.mcp.server import Service
from recollect.mcp.wire import LINE_BYTES_MAX, Oversized, Wire, leave, lines, write
from recollect.values.text import size

END_SECONDS = 1.5  # from the end of input to that of the process, at the latest

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


def serve(wire: Wire, store: str | None, *, prefixed: bool = False) -> None:
    """Answer until the input ends."""
    anyio.run(_serve, wire, Service(store, prefixed=prefixed))


async def _serve(wire: Wire, service: Service) -> None:
    server = service.server()
    async with _connection(wire) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


@asynccontextmanager
async def _connection(wire: Wire) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """The streams that a server runs on."""
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception]()
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage]()
    unanswered: set[RequestId | None] = set()

    async def receive(arrived: asyncio.Queue[bytes | Oversized | None]) -> None:
        async with to_server:
            while (line := await arrived.get()) is not None:
                message = understood(line)
                if isinstance(message, JSONRPCError):
                    _put(wire, message)
                elif message is not None:
                    if isinstance(message, JSONRPCRequest):
                        unanswered.add(message.id)
                    await to_server.send(SessionMessage(message))
            while unanswered:
                await anyio.sleep(0.02)

    async def send() -> None:
        async with from_server:
            async for each in from_server:
                _put(wire, each.message)
                if isinstance(each.message, JSONRPCResponse | JSONRPCError):
                    unanswered.discard(each.message.id)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(receive, _arriving(wire))
        tasks.start_soon(send)
        yield incoming, outgoing


def _arriving(wire: Wire) -> asyncio.Queue[bytes | Oversized | None]:
    """Lines as a thread reads them, None at the end; they queue up here rather than block a client."""
    arrived: asyncio.Queue[bytes | Oversized | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def read(count: int) -> bytes:
        try:
            return os.read(wire.incoming, count)
        except OSError:
            return b""

    def pump() -> None:
        for line in lines(read):
            loop.call_soon_threadsafe(arrived.put_nowait, line)
        loop.call_soon_threadsafe(arrived.put_nowait, None)
        time.sleep(END_SECONDS)
        leave(0)

    threading.Thread(target=pump, daemon=True).start()
    return arrived


def _put(wire: Wire, message: JSONRPCMessage) -> None:
    # Not in a thread: while a client does not read, there is nothing else worth doing.
    write(wire, message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")


# -- lines that are no messages ------------------------------------------------------------

_ID = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,200}")'
_ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID)
_ID_LAST = re.compile(_ID + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')


def understood(line: bytes | Oversized) -> JSONRPCMessage | None:
    """The message on a line, or what to answer to one that is none; None for an empty line."""
    if isinstance(line, Oversized):
        found = _ID_FIRST.match(line.head) or _ID_LAST.search(line.tail)
        return _refusal(
            json.loads(found[1]) if found else None,
            INVALID_REQUEST,
            f"a message may have at most {size(LINE_BYTES_MAX)}",
        )
    if not line.strip():
        return None
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return _refusal_of(line)


def _refusal_of(line: bytes) -> JSONRPCError:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return _refusal(None, PARSE_ERROR, "this line is not JSON")
    id_ = value.get("id") if isinstance(value, dict) else None
    known = isinstance(id_, str | int) and not isinstance(id_, bool)
    return _refusal(id_ if known else None, INVALID_REQUEST, "this is not a JSON-RPC 2.0 message")


def _refusal(id_: str | int | None, code: int, why: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=id_, error=ErrorData(code=code, message=why))

"""The protocol: one JSON-RPC message a line, answered as chroma-mcp answers it, one after the other.

By hand and not with the SDK, which takes as much memory as everything else here together. A message that asks
for nothing gets no answer. While nobody asks, missing vectors are made.
"""

from __future__ import annotations

import json
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from recollect.chroma.tools import TOOLS, call
from recollect.mcp.wire import Oversized, Wire, leave, lines, write
from recollect.values.errors import RecollectError
from recollect.values.text import size

if TYPE_CHECKING:
    from recollect.chroma.database import Database

LINE_BYTES_MAX: Final = 32 << 20
END_SECONDS: Final = 1.5  # from the end of input to that of the process, at the latest
QUIET_SECONDS: Final = 0.05  # without a question, until vectors are made
PARENT_SECONDS: Final = 1.0  # between looks whether whoever started this is still there

_PROTOCOL: Final = "2024-11-05"
_HELLO: Final = {
    "protocolVersion": _PROTOCOL,
    "capabilities": {
        "experimental": {},
        "prompts": {"listChanged": False},
        "resources": {"subscribe": False, "listChanged": False},
        "tools": {"listChanged": False},
    },
    "serverInfo": {"name": "chroma", "version": "1.6.0"},
}
_PARSE_ERROR, _INVALID_REQUEST, _NO_METHOD, _INVALID_PARAMS = -32700, -32600, -32601, -32602

Open = Callable[[], "Database"]


def serve(wire: Wire, open_database: Open, parent: int) -> None:
    """Answer until the input ends, or whoever started this is gone."""
    arrived: queue.SimpleQueue[bytes | Oversized | None] = queue.SimpleQueue()
    threading.Thread(target=_pump, args=(wire, arrived), daemon=True).start()
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()
    server = Server(open_database)
    while (line := _next(arrived, server)) is not None:
        answer = server.answer(line)
        if answer is not None:
            write(wire, json.dumps(answer).encode("ascii") + b"\n")


def _next(arrived: queue.SimpleQueue[bytes | Oversized | None], server: Server) -> bytes | Oversized | None:
    """The next line; what waits to be done is done until it comes, once nobody asked for a moment."""
    patience = QUIET_SECONDS
    while server.has_work():
        try:
            return arrived.get(timeout=patience)
        except queue.Empty:
            patience = 0
            server.work()
    return arrived.get()


def _pump(wire: Wire, arrived: queue.SimpleQueue[bytes | Oversized | None]) -> None:
    def read(count: int) -> bytes:
        try:
            return os.read(wire.incoming, count)
        except OSError:
            return b""

    for line in lines(read, LINE_BYTES_MAX):
        arrived.put(line)
    arrived.put(None)
    time.sleep(END_SECONDS)
    leave(0)


def _leave_with(parent: int) -> None:
    """End when the parent has: its other children may hold our input open for ever."""
    while os.getppid() == parent:
        time.sleep(PARENT_SECONDS)
    leave(0)


class Server:
    """Messages in, answers out; the database is opened by the first call of a tool."""

    def __init__(self, open_database: Open) -> None:
        self._open = open_database
        self._database: Database | None = None

    def has_work(self) -> bool:
        """Whether something waits to be done that nobody asked for yet."""
        return self._database is not None and self._database.lacks_vectors()

    def work(self) -> None:
        """Do a little of it."""
        if self._database is not None:
            self._database.make_vectors()

    def answer(self, line: bytes | Oversized) -> dict[str, Any] | None:
        """What a line is answered with, None for nothing."""
        if isinstance(line, Oversized):
            return _error(None, _INVALID_REQUEST, f"a message may have at most {size(LINE_BYTES_MAX)}")
        if not line.strip():
            return None
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return _error(None, _PARSE_ERROR, "this line is not JSON")
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            is_answer = isinstance(message, dict) and ("result" in message or "error" in message)
            return None if is_answer else _error(None, _INVALID_REQUEST, "this is not a JSON-RPC 2.0 message")
        if "id" not in message:
            return None
        params = message.get("params")
        return self._result(message["id"], message["method"], params if isinstance(params, dict) else {})

    def _result(self, id_: Any, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if method == "tools/call":
            name, given = params.get("name"), params.get("arguments") or {}
            if not isinstance(name, str) or not isinstance(given, dict):
                return _error(id_, _INVALID_PARAMS, "a call names a tool, and has an object of arguments")
            return {"jsonrpc": "2.0", "id": id_, "result": self._call(name, given)}
        if method not in _FIXED:
            return _error(id_, _NO_METHOD, f"there is no method {method[:80]!r}")
        return {"jsonrpc": "2.0", "id": id_, "result": _FIXED[method]()}

    def _call(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        try:
            if self._database is None:
                self._database = self._open()
            texts, is_error = call(self._database, name, given)
        except RecollectError as error:
            texts, is_error = [f"Error executing tool {name}: {error}"], True
        except Exception as error:
            told = f"this is a bug in Recollect: {type(error).__name__}: {error}"
            texts, is_error = [f"Error executing tool {name}: {told}"], True
        return {"content": [{"type": "text", "text": text} for text in texts], "isError": is_error}


def _offer() -> dict[str, Any]:
    return {
        "tools": [
            {"name": tool.name, "description": tool.description, "inputSchema": tool.schema} for tool in TOOLS
        ]
    }


_FIXED: Final[Mapping[str, Callable[[], dict[str, Any]]]] = {
    "initialize": lambda: dict(_HELLO),
    "ping": dict,
    "tools/list": _offer,
    "prompts/list": lambda: {"prompts": []},
    "resources/list": lambda: {"resources": []},
    "resources/templates/list": lambda: {"resourceTemplates": []},
}


def _error(id_: Any, code: int, why: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": why}}

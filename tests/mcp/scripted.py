"""A scripted client that speaks MCP over plain pipes, so that it can also speak it badly."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import time
from collections.abc import Callable
from typing import Any

PATIENCE_SECONDS = 60.0

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "scripted", "version": "1"},
}


# A tool that takes a minute, and says so in a file once it has begun.
SLOW = """
import recollect.mcp.answers as answers
def slow(memory):
    import os, time
    open(os.environ["BEGUN"], "w").close()
    time.sleep(60)
answers.ANSWERS["memory_status"] = slow
"""


class Scripted:
    """A client that writes bytes and reads lines, and insists that each line is JSON-RPC."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._number = 0
        self._held = b""

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, method: str, params: Any = None, **more: Any) -> int:
        """Ask something; returns the id to wait for."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, **more}
        self.write(json.dumps(message if params is None else message | {"params": params}).encode() + b"\n")
        return self._number

    def read(self, seconds: float = PATIENCE_SECONDS) -> dict[str, Any]:
        """The next message."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as waiting:
            waiting.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._held:
                assert waiting.select(deadline - time.monotonic()), "no answer in time"
                piece = os.read(self.process.stdout.fileno(), 1 << 16)
                assert piece, f"the server left: {self._held!r}"
                self._held += piece
        line, _, self._held = self._held.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def ask(self, method: str, params: Any = None, **more: Any) -> dict[str, Any]:
        """The answer to one request; whatever else arrives before it is left out."""
        number = self.send(method, params, **more)
        while (answer := self.read()).get("id") != number:
            pass
        return answer

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of one tool."""
        result: dict[str, Any] = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        return result

    def text(self, tool: str, **arguments: Any) -> str:
        result = self.call(tool, **arguments)
        assert not result["isError"], result
        return str(result["content"][0]["text"])

    def hello(self) -> Scripted:
        assert "result" in self.ask("initialize", HELLO)
        self.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        return self

    def ended(self, seconds: float = 2.0) -> int:
        """Its exit code; it must have left by then."""
        return self.process.wait(seconds)


Start = Callable[..., Scripted]

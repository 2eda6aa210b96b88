"""The connections of the HTTP server: few at a time, and none that waits for long without a good request.

Whoever is on this machine can connect, and say nothing, or half of something, as often as they like. A
connection has `REQUEST_SECONDS` for a whole request that carries the token, counted from when it was made or
from the end of the last answer. While one is answered there is no limit: a tool may take its time, and a
stream stays open. When there are too many, the one that has waited the longest is cut for the newest.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 10.0
IDLE_SECONDS = 5  # between an answer and the first byte of the next request
CONNECTIONS_MAX = 256
# Taken in before anything else is done: far fewer than may be open, so that what somebody has sent along
# with their connection is read before it is the oldest one.
ACCEPTED_AT_ONCE = 16
BACKLOG = 4096  # may wait for that; whoever comes when it is full tries again after a second

Address = tuple[str, int]


def most_connections() -> int:
    """How many connections there may be: a quarter of the files that this process may open, at most."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return CONNECTIONS_MAX
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return CONNECTIONS_MAX if files < 0 else max(min(files // 4, CONNECTIONS_MAX), ACCEPTED_AT_ONCE)


class Connections:
    """Who is connected, by the address at the other end, as ASGI names it too."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: dict[Address, _Waiting] = {}  # the longest first
        self._answered: dict[Address, _Answered] = {}

    def add(self, address: Address, transport: asyncio.Transport) -> None:
        """Take in a new one, and cut the one that has waited the longest if there are too many now.

        Which is the new one, when all others are being answered.
        """
        self._wait(address, transport)
        if len(self._waiting) + len(self._answered) > self._most:
            next(iter(self._waiting.values())).transport.abort()
            self.remove(next(iter(self._waiting)))

    def remove(self, address: Address) -> None:
        self._answered.pop(address, None)
        if waiting := self._waiting.pop(address, None):
            waiting.end.cancel()

    def begin(self, address: Address) -> None:
        """A whole request has come that carries the token: it is answered, however long that takes."""
        if waiting := self._waiting.pop(address, None):
            waiting.end.cancel()
            self._answered[address] = _Answered(waiting.transport)
        if answered := self._answered.get(address):
            answered.requests += 1

    def end(self, address: Address) -> None:
        """That request is answered: the next one has its time, unless it was sent along and has begun."""
        if answered := self._answered.get(address):
            answered.requests -= 1
            if answered.requests <= 0:
                del self._answered[address]
                self._wait(address, answered.transport)

    def _wait(self, address: Address, transport: asyncio.Transport) -> None:
        end = asyncio.get_running_loop().call_later(REQUEST_SECONDS, transport.abort)
        self._waiting[address] = _Waiting(transport, end)


@dataclass(slots=True)
class _Answered:
    transport: asyncio.Transport
    requests: int = 0


@dataclass(frozen=True, slots=True)
class _Waiting:
    transport: asyncio.Transport
    end: asyncio.TimerHandle


def protocol_of(connections: Connections) -> type[asyncio.Protocol]:
    """uvicorn's protocol, with every connection told to `connections`."""

    class Told(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if self.client is None:  # gone already
                transport.abort()
            else:
                connections.add(self.client, transport)

        def connection_lost(self, exc: Exception | None) -> None:
            if self.client is not None:
                connections.remove(self.client)
            super().connection_lost(exc)

    return Told

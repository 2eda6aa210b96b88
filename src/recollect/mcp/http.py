"""The server over streamable HTTP, for clients that cannot start a process: this machine only, with a token.

Every request is judged before the SDK sees it: it must name us as its host, come from no web page but ours
(we have none), and carry the token. Whatever else it is, the answer is empty, so there is nothing to learn
by trying. The token goes to a file that only its owner can read, never to a screen or a log.
Nor does it help to connect and not to ask: `connections` keeps those few, and not for long.
"""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import anyio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.config import Config, load_config
from recollect.light.own_files import make_own_folder
from recollect.mcp.connections import (
    ACCEPTED_AT_ONCE,
    BACKLOG,
    IDLE_SECONDS,
    Connections,
    most_connections,
    protocol_of,
)
from recollect.mcp.server import Service
from recollect.values.errors import UsageError

HOST = "127.0.0.1"
TOKEN_FILE = "mcp-token"
TOKEN_CHARS_MIN = 16
_TOKEN_BYTES_MAX = 4096


def serve(
    store: str | None,
    port: int,
    token_file: str | None,
    say: Callable[[str], None],
    *,
    prefixed: bool = False,
) -> None:
    """Answer on one port of this machine until told to stop."""
    path = Path(token_file) if token_file else _token_path(load_config(store))
    token = token_of(path)
    with _bound(port) as listening:
        taken = listening.getsockname()[1]
        say(f"http://{HOST}:{taken}/mcp answers to the token in {path}")
        anyio.run(_serve, Service(store, prefixed=prefixed), listening, taken, token)


def _token_path(config: Config) -> Path:
    """Beside the store's file; of a store elsewhere, where its hooks would keep what they need."""
    return config.path.with_name(TOKEN_FILE) if config.path is not None else config.state / TOKEN_FILE


async def _serve(service: Service, listening: socket.socket, port: int, token: str) -> None:
    connections = Connections(most_connections())
    settings = uvicorn.Config(
        application(service, port, token, connections),
        http=protocol_of(connections),
        backlog=ACCEPTED_AT_ONCE,
        timeout_keep_alive=IDLE_SECONDS,
        lifespan="on",
        proxy_headers=False,  # whoever asks is who is connected, whatever a header says
        log_config=None,
        log_level="error",  # not a line for whatever is sent: nobody might be reading them
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=1,
        ws="none",
    )
    await _Server(settings).serve(sockets=[listening])


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # asyncio has one number for how many may wait and for how many it takes in at once.
        for each in sockets or ():
            each.listen(BACKLOG)


def application(service: Service, port: int, token: str, connections: Connections) -> ASGIApp:
    """The SDK's application behind the guard."""
    hosts = [f"{name}:{port}" for name in (HOST, "localhost")]
    origins = [f"http://{host}" for host in hosts]
    security = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)
    app = service.server().streamable_http_app(transport_security=security)
    return Guard(app, hosts, origins, token, connections)


class Guard:
    """Lets nothing through but what names us, comes from nowhere else, and has the token."""

    def __init__(
        self, app: ASGIApp, hosts: list[str], origins: list[str], token: str, connections: Connections
    ) -> None:
        assert token, "an empty token would let everyone in"
        self._app, self._hosts, self._origins = app, hosts, origins
        self._connections = connections
        self._bearer = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            headers = Headers(scope=scope)
            if status := self._refusal_status(headers):
                await Response(status_code=status)(scope, receive, send)
            else:
                await self._answer(headers, scope, receive, send)

    async def _answer(self, headers: Headers, scope: Scope, receive: Receive, send: Send) -> None:
        """Have a request answered; from when it is there as a whole its connection is not cut."""
        client, begun = scope["client"], False

        def begin() -> None:
            nonlocal begun
            if not begun:
                begun = True
                self._connections.begin(client)

        async def received() -> Message:
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body"):
                begin()
            return message

        if not has_body(headers):
            begin()
        try:
            await self._app(scope, received, send)
        finally:
            if begun:
                self._connections.end(client)

    def _refusal_status(self, headers: Headers) -> int:
        """The status of a refusal; 0 for none. A header that comes twice is not ours to choose from."""
        hosts, given = headers.getlist("host"), headers.getlist("authorization")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return 421
        if any(origin not in self._origins for origin in headers.getlist("origin")):
            return 403
        known = len(given) == 1 and hmac.compare_digest(given[0].encode("utf-8", "replace"), self._bearer)
        return 0 if known else 401


def has_body(headers: Headers) -> bool:
    """Whether more of a request follows its head."""
    return "transfer-encoding" in headers or headers.get("content-length", "0").strip("0") != ""


# -- the token -----------------------------------------------------------------------------


def token_of(path: Path) -> str:
    """The token in a file that only its owner can read; a missing one is made."""
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # neither a link nor a pipe
    try:
        if not os.path.lexists(path):
            _make(path, flags)
        file = os.open(path, os.O_RDONLY | flags)
        try:
            mode, token = os.fstat(file).st_mode, os.read(file, _TOKEN_BYTES_MAX).decode().strip()
        finally:
            os.close(file)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be the token's file: {error}") from error
    if not stat.S_ISREG(mode) or (os.name == "posix" and mode & 0o077):
        raise UsageError(f"{path}: others can read this", hint=f"chmod 600 {path}, and put in a new token")
    if len(token) < TOKEN_CHARS_MIN or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(
            f"{path}: not a token: it takes {TOKEN_CHARS_MIN} characters without blanks",
            hint="remove the file, and a token will be made",
        )
    return token


def _make(path: Path, flags: int) -> None:
    make_own_folder(path.parent)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | flags, 0o600)
    try:
        os.write(file, secrets.token_urlsafe(32).encode() + b"\n")
    finally:
        os.close(file)


def _bound(port: int) -> socket.socket:
    listening = socket.socket()
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
        listening.listen()  # whoever reads the address may connect at once
    except (OSError, OverflowError) as error:
        listening.close()
        raise UsageError(f"port {port} of {HOST} cannot be had: {error}", hint="name another") from error
    return listening

"""Over HTTP: this machine only, and nothing at all without the token, or with a foreign host or origin."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import re
import signal
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.mcp.conftest import machine, started
from tests.mcp.scripted import HELLO, SLOW, Scripted, Start

from recollect.mcp.connections import CONNECTIONS_MAX
from recollect.mcp.http import token_of
from recollect.values.errors import UsageError

GOOD = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


class Served:
    """A server over HTTP, and what it takes to be let in."""

    def __init__(self, scripted: Scripted, folder: Path) -> None:
        assert scripted.process.stderr is not None
        self.process = scripted.process
        self.said = scripted.process.stderr.readline().decode()
        found = re.match(r"http://127\.0\.0\.1:(\d+)/mcp ", self.said)
        assert found, self.said
        self.port = int(found[1])
        self.file = folder / "mcp-token"
        self.token = self.file.read_text().strip()

    def ask(
        self, method: str = "POST", path: str = "/mcp", body: bytes | None = None, **headers: str | None
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers, body. A header given as None is left out."""
        ours: dict[str, str | None] = {"Host": f"127.0.0.1:{self.port}", "Authorization": self.bearer, **GOOD}
        ours |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in ours.items():
                if value is not None:
                    connection.putheader(name, value.encode())
            sent = hello() if body is None and method == "POST" else body or b""
            connection.putheader("Content-Length", str(len(sent)))
            connection.endheaders(sent)
            answer = connection.getresponse()
            stream = answer.headers.get("content-type", "").startswith("text/event-stream")
            told = {name.lower(): value for name, value in answer.headers.items()}
            return answer.status, told, answer.fp.readline() if stream else answer.read()
        finally:
            connection.close()

    @property
    def bearer(self) -> str:
        return f"Bearer {self.token}"


def hello() -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}).encode()


@pytest.fixture(scope="module")
def served(stocked: Path) -> Iterator[Served]:
    with started(machine(stocked), "--http") as scripted:
        yield Served(scripted, stocked)


def test_the_sdk_s_client_gets_answers(served: Served) -> None:
    async def conversation() -> None:
        url, headers = f"http://127.0.0.1:{served.port}/mcp", {"Authorization": served.bearer}
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False) as connection,
            Client(streamable_http_client(url, http_client=connection)) as client,
        ):
            found = await client.call_tool("search_memory", {"query": "refresh token"})
            assert not found.is_error
            assert "refresh" in str(found.content)

    anyio.run(conversation)


TOKENS: dict[str, str | None] = {
    "right": "", "none": None, "wrong": "Bearer " + "x" * 43, "empty": "Bearer ", "bare": "bare",
    "basic": "basic", "longer": "longer",
}  # fmt: skip
HOSTS = {"own": "", "localhost": "localhost", "none": None, "foreign": "evil.example", "empty": " "}
ORIGINS = {
    "none": None,
    "own": "",
    "foreign": "http://evil.example",
    "null": "null",
    "other port": "http://127.0.0.1:1",
}


@pytest.mark.parametrize("how", ["GET", "POST", "OPTIONS", "DELETE", "HEAD", "PUT"])
@pytest.mark.parametrize("path", ["/mcp", "/", "/mcp/", "/other", "/.well-known/oauth-protected-resource"])
def test_only_the_right_combination_gets_anything(served: Served, how: str, path: str) -> None:
    """Every token, host and origin with every other: all but one are turned away with nothing said."""
    for token, host, origin in itertools.product(TOKENS, HOSTS, ORIGINS):
        right = token == "right" and host in ("own", "localhost") and origin in ("none", "own")
        if right:
            continue
        bearer = {
            "right": served.bearer,
            "bare": served.token,
            "basic": f"Basic {served.token}",
            "longer": served.bearer + "x",
        }.get(token, TOKENS[token])
        us = {"own": f"127.0.0.1:{served.port}", "localhost": f"localhost:{served.port}"}
        named, own = us.get(host, HOSTS[host]), f"http://{us['own']}"
        from_ = own if origin == "own" else ORIGINS[origin]
        try:
            status, headers, body = served.ask(how, path, Host=named, Authorization=bearer, Origin=from_)
        except ConnectionError:  # without a host it is no HTTP, and may be cut off in the midst of it
            assert host == "none"
            continue
        assert status in (400, 401, 403, 421), (token, host, origin)
        assert status != 400 or host == "none", "only the HTTP library itself answers so"
        assert body == b"" or status == 400
        assert not any(name.startswith("access-control") for name in headers)


def test_the_right_combination_gets_an_answer_without_headers_for_browsers(served: Served) -> None:
    for host, origin in itertools.product(("127.0.0.1", "localhost"), (None, "127.0.0.1", "localhost")):
        given = origin and f"http://{origin}:{served.port}"
        status, headers, _ = served.ask(Host=f"{host}:{served.port}", Origin=given)
        assert status == 200
        assert not any(name.startswith("access-control") for name in headers)
        assert "server" not in headers


def test_with_the_token_there_is_still_nothing_beside_the_endpoint(served: Served) -> None:
    for path in ("/", "/other", "/docs", "/openapi.json"):
        assert served.ask("GET", path)[0] == 404


def test_a_token_in_another_place_does_not_count(served: Served) -> None:
    assert served.ask(path=f"/mcp?token={served.token}", Authorization=None)[0] == 401
    assert served.ask(Authorization=None, Cookie=f"token={served.token}")[0] == 401
    assert served.ask(Authorization=None, X_Token=served.token)[0] == 401


def test_whoever_is_refused_is_told_so_though_they_are_still_talking(served: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)
    connection.request("POST", "/mcp", headers={"Content-Length": "50000"})
    time.sleep(0.2)
    for _ in range(50):
        connection.send(b"x" * 1000)
        time.sleep(0.001)
    assert connection.getresponse().status == 401
    connection.close()


def test_a_form_is_not_json(served: Served) -> None:
    assert served.ask(Content_Type="application/x-www-form-urlencoded")[0] == 400
    assert served.ask(Content_Type="text/plain")[0] == 400


def test_a_body_that_is_too_large_is_refused(served: Served) -> None:
    assert served.ask(body=b"x" * 5_000_000)[0] == 413


def test_it_listens_on_loopback_alone(served: Served) -> None:
    listening = []
    for table, any_ in (("/proc/net/tcp", "0" * 8), ("/proc/net/tcp6", "0" * 32)):
        if not Path(table).exists():
            pytest.skip("the kernel does not say who listens")
        for line in Path(table).read_text().splitlines()[1:]:
            address, port = line.split()[1].split(":")
            if int(port, 16) == served.port and line.split()[3] == "0A":
                listening.append(address)
                assert address != any_
    assert listening == ["0100007F"]


def test_the_address_is_told_and_the_token_is_not(served: Served) -> None:
    assert str(served.file) in served.said
    assert served.token not in served.said
    command = Path(f"/proc/{served.process.pid}/cmdline")
    assert not command.exists() or served.token.encode() not in command.read_bytes()
    assert stat.S_IMODE(served.file.stat().st_mode) == 0o600
    assert len(served.token) >= 32


def test_a_second_server_takes_another_port_and_the_same_token(
    served: Served, stocked: Path, environment: dict[str, str]
) -> None:
    with started(machine(stocked), "--http") as scripted:
        other = Served(scripted, stocked)
        assert other.port != served.port
        assert other.token == served.token
    with started(machine(stocked), "--http", "--port", str(served.port)) as scripted:
        assert scripted.ended(20) == 2
        assert scripted.process.stderr is not None
        assert b"cannot be had" in scripted.process.stderr.read()


def test_it_ends_when_told_to(store: Path, start: Start, tmp_path: Path) -> None:
    """Also while one client listens, another waits for an answer, and a third has not finished asking."""
    words = ("--http", "--token-file", str(tmp_path / "mcp-token"))
    served = Served(start(*words, before=SLOW, BEGUN=str(tmp_path / "begun")), tmp_path)
    headers = {**GOOD, "Authorization": served.bearer, "Mcp-Session-Id": served.ask()[1]["mcp-session-id"]}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "memory_status"}}
    listens, waits, asks = (http.client.HTTPConnection("127.0.0.1", served.port, timeout=10) for _ in "abc")
    asks.request("POST", "/mcp", headers={**headers, "Content-Length": "1000"})
    listens.request("GET", "/mcp", headers=headers)
    assert listens.getresponse().status == 200
    waits.request("POST", "/mcp", json.dumps(call), headers)
    while not (tmp_path / "begun").exists():
        time.sleep(0.01)
    served.process.send_signal(signal.SIGTERM)
    served.process.wait(4)
    for each in (listens, waits, asks):
        each.close()


HALF = {
    "silent": b"",
    "half a head": b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAuthoriza",
    "no token": b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Length: 1000\r\n\r\n{",
    "wrong token": b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAuthorization: Bearer x\r\n"
    b"Content-Length: 1000\r\n\r\n{",
    "half a body": b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAuthorization: BEARER\r\n"
    b"Content-Length: 1000\r\n\r\n{",
    "half a chunk": b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAuthorization: BEARER\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n400\r\n{",
}
HALF_OPEN = 3_000


class Crowded(Served):
    """A server with someone who listens and someone who waits for an answer, and a crowd of others."""

    def begin(self, begun: Path) -> list[socket.socket]:
        session = self.ask()[1]["mcp-session-id"]
        headers = {**GOOD, "Authorization": self.bearer, "Mcp-Session-Id": session}
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "memory_status"}}
        listens, waits = (http.client.HTTPConnection("127.0.0.1", self.port, timeout=60) for _ in "ab")
        listens.request("GET", "/mcp", headers=headers)
        assert listens.getresponse().status == 200
        waits.request("POST", "/mcp", json.dumps(call), headers)
        while not begun.exists():
            time.sleep(0.01)
        assert listens.sock
        assert waits.sock
        return [listens.sock, waits.sock]

    def half_open(self, kind: str) -> socket.socket:
        said = HALF[kind].replace(b"PORT", str(self.port).encode()).replace(b"BEARER", self.bearer.encode())
        made = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        made.sendall(said)
        return made


def is_cut(connection: socket.socket) -> bool:
    """Whether the other side has ended it, whatever it said before."""
    connection.setblocking(False)
    try:
        while connection.recv(65536):
            pass
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


@pytest.fixture
def many_files() -> Iterator[None]:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= hard < HALF_OPEN + 500:
        pytest.skip("this user may not open so many files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, HALF_OPEN + 500), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


FEW_FILES = "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))\n"
HASTY = "import recollect.mcp.connections as it\nit.REQUEST_SECONDS = 2\n"


@pytest.mark.usefixtures("store", "many_files")
def test_three_thousand_half_open_requests_keep_out_no_good_one(start: Start, tmp_path: Path) -> None:
    """Nor do they cut off who is being answered, though the server may open no more than 1,024 files."""
    words = ("--http", "--token-file", str(tmp_path / "mcp-token"))
    before, begun = FEW_FILES + SLOW, tmp_path / "begun"
    served = Crowded(start(*words, before=before, BEGUN=str(begun)), tmp_path)
    with contextlib.ExitStack() as stack:
        answered = [stack.enter_context(each) for each in served.begin(begun)]
        kinds = itertools.islice(itertools.cycle(HALF), HALF_OPEN)
        crowd = [stack.enter_context(served.half_open(kind)) for kind in kinds]
        assert served.ask()[0] == 200
        assert not any(map(is_cut, answered))
        assert sum(not is_cut(each) for each in crowd) <= CONNECTIONS_MAX
        if Path("/proc").exists():
            assert len(os.listdir(f"/proc/{served.process.pid}/fd")) < CONNECTIONS_MAX + 100


@pytest.mark.usefixtures("store")
def test_a_request_that_does_not_come_is_not_waited_for(start: Start, tmp_path: Path) -> None:
    """Also where a byte comes now and then; but an answer takes as long as it takes."""
    words = ("--http", "--token-file", str(tmp_path / "mcp-token"))
    begun = tmp_path / "begun"
    served = Crowded(start(*words, before=HASTY + SLOW, BEGUN=str(begun)), tmp_path)
    with contextlib.ExitStack() as stack:
        answered = [stack.enter_context(each) for each in served.begin(begun)]
        waiting = {kind: stack.enter_context(served.half_open(kind)) for kind in HALF}
        idle = stack.enter_context(contextlib.closing(http.client.HTTPConnection("127.0.0.1", served.port)))
        idle.request("GET", "/", headers={"Authorization": served.bearer})
        idle.getresponse().read()
        assert idle.sock
        waiting["idle"] = idle.sock
        ends = time.monotonic() + 60
        while waiting and time.monotonic() < ends:
            time.sleep(0.05)
            for kind, connection in list(waiting.items()):
                if is_cut(connection):
                    del waiting[kind]
                elif kind not in ("silent", "idle"):
                    with contextlib.suppress(OSError):
                        connection.send(b"a")
        assert not waiting
        assert not any(map(is_cut, answered))


class TestToken:
    def test_it_is_made_once_and_only_its_owner_can_read_it(self, tmp_path: Path) -> None:
        old = os.umask(0)
        try:
            made = token_of(tmp_path / "deep" / "token")
        finally:
            os.umask(old)
        assert token_of(tmp_path / "deep" / "token") == made
        assert stat.S_IMODE((tmp_path / "deep" / "token").stat().st_mode) == 0o600
        assert stat.S_IMODE((tmp_path / "deep").stat().st_mode) == 0o700
        assert token_of(tmp_path / "other") != made

    @pytest.mark.parametrize("token", ["", "\n", "with blanks in between", "x" * 15, "ä" * 20, "\x00" * 20])
    def test_what_is_no_token_refuses_to_start(self, tmp_path: Path, token: str) -> None:
        file = tmp_path / "token"
        file.touch(0o600)
        file.write_text(token)
        with pytest.raises(UsageError, match="not a token"):
            token_of(file)
        assert file.read_text() == token

    @pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o604])
    def test_a_file_others_can_read_refuses_to_start(self, tmp_path: Path, mode: int) -> None:
        file = tmp_path / "token"
        file.write_text("x" * 40)
        file.chmod(mode)
        with pytest.raises(UsageError, match="others can read"):
            token_of(file)

    def test_links_pipes_and_folders_are_no_token_files(self, tmp_path: Path) -> None:
        (tmp_path / "token").touch(0o600)
        (tmp_path / "token").write_text("x" * 40)
        (tmp_path / "link").symlink_to(tmp_path / "token")
        (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
        os.mkfifo(tmp_path / "pipe", 0o600)
        (tmp_path / "folder").mkdir(0o700)
        for name in ("link", "dangling", "pipe", "folder"):
            with pytest.raises(UsageError):
                token_of(tmp_path / name)
        assert not (tmp_path / "nowhere").exists()


def test_what_a_test_asks_is_what_is_sent() -> None:
    """The test of the test: the hello that every refusal is compared with is a good one."""
    message: dict[str, Any] = json.loads(hello())
    assert message["method"] == "initialize"

"""An endpoint: what goes out, what comes back, and what is done when it fails. The server is on loopback."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from email.utils import formatdate
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.models import stand_in

from recollect.search.embed import embedder, endpoint
from recollect.search.embed.contract import Embedder
from recollect.search.embed.endpoint import Endpoint, EndpointEmbedder, from_settings
from recollect.testing.embedders import BLANK, EmbedderContract
from recollect.values.errors import EmbedderFailed, RecollectError, UsageError

KEY = "sk-very-secret"
SECRET_TEXT = "the passphrase of the vault"


class Server(ThreadingHTTPServer):
    """Answers as OpenAI does; `script` holds what it does first, one item a request."""

    daemon_threads = True
    dims = 12

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Callable[[Handler, dict[str, Any]], None]] = []
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a client that gave up


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, dict(self.headers), body))
        if self.server.script:
            self.server.script.pop(0)(self, body)
        else:
            self.answer(200, good(body))

    def answer(self, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        pass


def good(body: dict[str, Any], dims: int = Server.dims) -> dict[str, Any]:
    data = [{"index": n, "embedding": stand_in(text, dims)} for n, text in enumerate(body["input"])]
    return {"object": "list", "data": data[::-1], "model": body["model"]}


def says(status: int, content: Any = None, **headers: str) -> Callable[[Handler, dict[str, Any]], None]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler, body: handler.answer(status, good(body) if content is None else content, named)


def hangs_up(handler: Handler, body: dict[str, Any]) -> None:
    handler.close_connection = True


@pytest.fixture
def server() -> Iterator[Server]:
    yield from serve()


def serve() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


class TestEndpoint(EmbedderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def make(cls) -> Iterator[Callable[[], Embedder]]:
        for server in serve():
            values = {"url": server.url, "model": "small", "dims": server.dims}
            yield partial(embedder, "openai", settings={"openai": values})


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def remote(server: Server, waits: list[float]) -> EndpointEmbedder:
    made = Endpoint(server.url, "small", server.dims, key_env="KEY", timeout=5)
    return EndpointEmbedder(made, KEY, sleep=waits.append)


def changed(remote: EndpointEmbedder, **values: Any) -> EndpointEmbedder:
    return EndpointEmbedder(replace(remote._endpoint, **values), KEY, sleep=remote._sleep)


class TestRequests:
    def test_a_request_is_what_openai_takes(self, server: Server, remote: EndpointEmbedder) -> None:
        remote.encode(["token", "", "git"])
        ((path, headers, body),) = server.requests
        assert path == "/v1/embeddings"
        assert headers["Authorization"] == f"Bearer {KEY}"
        assert body == {"model": "small", "input": ["token", "git"], "encoding_format": "float"}

    def test_blank_texts_send_nothing(self, server: Server, remote: EndpointEmbedder) -> None:
        remote.encode(BLANK)
        remote.encode_query(" ")
        assert server.requests == []

    def test_prefixes_and_dims_are_sent_when_set(self, server: Server, remote: EndpointEmbedder) -> None:
        made = changed(remote, text_prefix="passage: ", query_prefix="query: ", send_dims=True)
        made.encode(["token"])
        made.encode_query("token")
        assert [body["input"] for _, _, body in server.requests] == [["passage: token"], ["query: token"]]
        assert all(body["dimensions"] == server.dims for _, _, body in server.requests)

    def test_a_query_in_the_address_stays_behind_the_path(
        self, server: Server, remote: EndpointEmbedder
    ) -> None:
        changed(remote, url=f"{server.url}/?api-version=1").encode(["token"])
        assert server.requests[0][0] == "/v1/embeddings?api-version=1"

    def test_texts_are_batched_by_count_and_by_bytes(self, server: Server, remote: EndpointEmbedder) -> None:
        changed(remote, batch=3).encode(["token"] * 7)
        assert [len(body["input"]) for _, _, body in server.requests] == [3, 3, 1]
        server.requests.clear()
        changed(remote, batch=1000).encode(["x" * 8000] * 70)
        assert [len(body["input"]) for _, _, body in server.requests] == [31, 31, 8]

    @given(
        sizes=st.lists(st.integers(0, endpoint.REQUEST_BYTES_MAX), max_size=30), count_max=st.integers(1, 5)
    )
    def test_batches_hold_everything_in_order_within_the_limits(
        self, sizes: list[int], count_max: int
    ) -> None:
        items = [(row, bytes(size)) for row, size in enumerate(sizes)]
        parts = list(endpoint._batches(items, count_max))
        assert [item for part in parts for item in part] == items
        assert all(0 < len(part) <= count_max for part in parts)
        assert all(sum(len(text) for _, text in part) <= endpoint.REQUEST_BYTES_MAX for part in parts)

    @given(text=st.text(), most=st.integers(1, 40))
    def test_a_long_text_is_cut_at_a_whole_character(self, text: str, most: int) -> None:
        made = EndpointEmbedder(Endpoint("http://localhost", "small", 3, text_bytes_max=most))
        sent = made._clip("", text)
        whole = text.encode("utf-8", "replace")
        assert whole.startswith(sent)
        assert len(sent) <= most
        assert len(sent) > most - 4 or sent == whole
        sent.decode()

    def test_redirects_are_not_followed(self, server: Server, remote: EndpointEmbedder) -> None:
        server.script = [says(307, {}, Location=f"{server.url}/embeddings")]
        with pytest.raises(EmbedderFailed, match="307"):
            remote.encode(["token"])
        assert len(server.requests) == 1

    def test_proxies_of_the_environment_are_not_used(
        self, remote: EndpointEmbedder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")
        assert remote.encode(["token"]).any()

    def test_the_estimate_sends_nothing_and_knows_the_price(
        self, server: Server, remote: EndpointEmbedder
    ) -> None:
        texts = ["x" * 350, "", "x" * 1_000_000]
        without = remote.estimate(texts)
        assert (without.texts, without.dollars) == (2, None)
        assert without.tokens == math.ceil((350 + 8191) / endpoint.BYTES_PER_TOKEN)
        assert changed(remote, price=2.0).estimate(iter(texts)).dollars == without.tokens * 2 / 1e6
        assert server.requests == []

    def test_the_revision_is_of_what_vectors_depend_on(self, remote: EndpointEmbedder) -> None:
        more = [{"url": "http://localhost/v2"}, {"model": "large"}, {"dims": 5}, {"send_dims": True}]
        more += [{"text_prefix": "a"}, {"text_bytes_max": 9}, {"revision": "2"}]
        assert len({remote.revision, *(changed(remote, **one).revision for one in more)}) == len(more) + 1
        for same in ({"timeout": 1}, {"batch": 2}, {"price": 1.0}, {"key_env": "X"}, {"query_prefix": "q"}):
            assert changed(remote, **same).revision == remote.revision


class TestFailures:
    @pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
    def test_what_may_pass_is_tried_again(
        self, status: int, server: Server, remote: EndpointEmbedder, waits: list[float]
    ) -> None:
        expected = remote.encode(["token"])
        server.script = [says(status, {}), says(status, {})]
        assert remote.encode(["token"]).tobytes() == expected.tobytes()
        assert len(waits) == 2
        assert 0.25 <= waits[0] <= 0.5 <= waits[1] <= 1.0

    def test_tries_have_an_end(self, server: Server, remote: EndpointEmbedder, waits: list[float]) -> None:
        server.script = [says(500, {})] * 50
        with pytest.raises(EmbedderFailed, match="500"):
            remote.encode(["token"])
        assert len(server.requests) == endpoint.TRIES == len(waits) + 1
        assert sum(waits) < 60

    @pytest.mark.parametrize("kind", ["seconds", "date"])
    def test_the_server_may_say_how_long_to_wait(
        self, kind: str, server: Server, remote: EndpointEmbedder, waits: list[float]
    ) -> None:
        after = "7" if kind == "seconds" else formatdate(time.time() + 8, usegmt=True)
        server.script = [says(429, {}, Retry_After=after)]
        remote.encode(["token"])
        assert 5 < waits[0] <= 8

    def test_a_server_that_asks_for_an_hour_is_not_waited_for(
        self, server: Server, remote: EndpointEmbedder, waits: list[float]
    ) -> None:
        server.script = [says(429, {}, Retry_After="3600")]
        with pytest.raises(EmbedderFailed, match="429"):
            remote.encode(["token"])
        assert waits == []

    @given(value=st.text() | st.from_regex(r"[0-9.]{1,30}") | st.just("Thu, 99 Dec 2099 99:99:99 GMT"))
    def test_any_retry_after_is_a_number_of_seconds(self, value: str) -> None:
        assert 0 <= endpoint._seconds(value) < math.inf

    @pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
    def test_a_plain_no_is_not_tried_again(
        self, status: int, server: Server, remote: EndpointEmbedder
    ) -> None:
        server.script = [says(status, {"error": {"code": "invalid_model"}})]
        with pytest.raises(EmbedderFailed, match=rf"{status} \(invalid_model\)") as caught:
            remote.encode(["token"])
        assert caught.value.hint
        assert len(server.requests) == 1

    def test_a_connection_that_breaks_is_tried_again(
        self, server: Server, remote: EndpointEmbedder, waits: list[float]
    ) -> None:
        server.script = [hangs_up, hangs_up]
        assert remote.encode(["token"]).any()
        assert len(waits) == 2

    def test_no_server_is_an_error_that_says_so(self, remote: EndpointEmbedder) -> None:
        with pytest.raises(EmbedderFailed, match="no answer"):
            changed(remote, url="http://127.0.0.1:9").encode(["token"])

    def test_silence_ends_with_the_timeout(self, server: Server, remote: EndpointEmbedder) -> None:
        free = threading.Event()

        def silent(handler: Handler, body: dict[str, Any]) -> None:
            free.wait(30)

        server.script = [silent] * endpoint.TRIES
        with pytest.raises(EmbedderFailed, match="TimeoutError"):
            changed(remote, timeout=0.05).encode(["token"])
        free.set()

    def test_an_answer_that_drips_ends_with_the_timeout(
        self, server: Server, remote: EndpointEmbedder
    ) -> None:
        free = threading.Event()

        def drips(handler: Handler, body: dict[str, Any]) -> None:
            handler.send_response(200)
            handler.end_headers()
            while not free.wait(0.02):
                handler.wfile.write(b" ")

        server.script = [drips] * endpoint.TRIES
        with pytest.raises(EmbedderFailed, match="TimeoutError"):
            changed(remote, timeout=0.2).encode(["token"])
        free.set()

    def test_an_answer_without_end_is_cut(self, server: Server, remote: EndpointEmbedder) -> None:
        server.script = [says(200, b" " * (2 << 20))]
        with pytest.raises(EmbedderFailed, match="too long"):
            remote.encode(["token"])

    def test_vectors_of_another_length_are_refused(self, server: Server, remote: EndpointEmbedder) -> None:
        with pytest.raises(EmbedderFailed, match="do not have 5 numbers") as caught:
            changed(remote, dims=5).encode(["token"])
        assert "dims" in caught.value.hint

    def test_an_answer_with_a_text_too_few_is_tried_again(
        self, server: Server, remote: EndpointEmbedder, waits: list[float]
    ) -> None:
        server.script = [lambda handler, body: handler.answer(200, {"data": good(body)["data"][1:]})]
        assert remote.encode(["token", "git"]).any(axis=1).all()
        assert len(waits) == 1

    @given(
        content=st.binary()
        | st.recursive(
            st.none() | st.booleans() | st.floats() | st.text(max_size=4) | st.just(10**400),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.sampled_from(["data", "index", "embedding", "error", "code"]), inner)
            ),
        ).map(lambda value: json.dumps(value).encode())
        | st.lists(st.none() | st.floats() | st.text(max_size=2), min_size=2, max_size=2).map(
            lambda row: json.dumps({"data": [{"index": 0, "embedding": row}]}).encode()
        )
    )
    def test_any_answer_is_vectors_or_a_refusal(self, content: bytes) -> None:
        endpoint._code(content)
        try:
            vectors = endpoint._vectors(content, 1, 2)
        except endpoint._Refused:
            return
        assert vectors.shape == (1, 2)
        assert np.isfinite(vectors).all()

    @pytest.mark.parametrize(
        "script",
        [
            says(401, {"error": {"message": f"Incorrect key {KEY}: {SECRET_TEXT}", "code": KEY}}),
            says(400, {"error": {"code": SECRET_TEXT}}),
            says(500, f"{KEY} {SECRET_TEXT}".encode()),
            says(200, f"{KEY} {SECRET_TEXT}".encode()),
            hangs_up,
        ],
    )
    def test_neither_key_nor_text_stands_in_an_error(
        self, script: Any, server: Server, remote: EndpointEmbedder, capfd: pytest.CaptureFixture[str]
    ) -> None:
        server.script = [script] * endpoint.TRIES
        with pytest.raises(EmbedderFailed) as caught:
            remote.encode([SECRET_TEXT])
        error = caught.value
        assert error.__cause__ is None
        assert error.__suppress_context__
        shown = f"{error} {error.hint} {remote!r} {remote._line!r} {capfd.readouterr()}"
        assert KEY not in shown
        assert SECRET_TEXT not in shown


class TestEndpointSettings:
    GOOD: ClassVar[dict[str, Any]] = {"url": "https://host/v1", "model": "m", "dims": 3, "key_env": "KEY"}

    def test_the_key_comes_from_the_variable_that_is_named(self) -> None:
        made = from_settings(self.GOOD, {"KEY": f" {KEY}\n"})
        assert made._line._headers["Authorization"] == f"Bearer {KEY}"
        without = {name: value for name, value in self.GOOD.items() if name != "key_env"}
        assert "Authorization" not in from_settings(without, {"KEY": KEY})._line._headers

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            ({"url": None}, "url is not set"),
            ({"model": None}, "model is not set"),
            ({"dims": None}, "dims is not set"),
            ({"dims": "3"}, "type int"),
            ({"dims": True}, "type int"),
            ({"dims": 0}, "above 0"),
            ({"batch": -1}, "above 0"),
            ({"timeout": "1"}, "type float"),
            ({"send_dims": 1}, "type bool"),
            ({"modle": "m"}, "no setting 'modle'"),
            ({"url": "ftp://host"}, "like https"),
            ({"url": "https://"}, "like https"),
            ({"url": "https://me:pw@host/v1"}, "like https"),
            ({"url": "https://[bad"}, "like https"),
            ({"url": "https://host:x/v1"}, "like https"),
            ({"url": "https://host/\r\nX: y"}, "like https"),
            ({"url": "http://host/v1"}, "in the clear"),
            ({"key_env": KEY}, "not the key itself"),
            ({"key_env": "UNSET"}, "UNSET holds no key"),
            ({"key_env": "BAD"}, "BAD holds no key"),
        ],
    )
    def test_what_is_off_is_named_and_no_secret_shown(self, change: dict[str, Any], why: str) -> None:
        values = {name: value for name, value in {**self.GOOD, **change}.items() if value is not None}
        with pytest.raises(UsageError, match=why) as caught:
            from_settings(values, {"KEY": KEY, "BAD": f"{KEY}\r\nX: y"})
        assert KEY not in str(caught.value) + caught.value.hint
        assert "pw" not in str(caught.value)

    def test_a_key_may_go_to_this_machine_without_https(self) -> None:
        for host in ("localhost", "127.0.0.1", "[::1]"):
            assert from_settings({**self.GOOD, "url": f"http://{host}:11434/v1"}, {"KEY": KEY}).dims == 3


def test_failures_are_ours_and_have_their_own_exit_code() -> None:
    assert issubclass(EmbedderFailed, RecollectError)
    assert EmbedderFailed.exit_code == 9

"""An endpoint that speaks OpenAI's `/embeddings`: OpenAI itself, or a server of one's own.

The only embedder that sends text to another machine, and only when a person named it with an address. A
request goes to that address and nowhere else: no proxy from the environment, no redirect. The key comes from
the variable that the settings name; neither it nor a text nor the words of an answer stand in any error.

Limits are kept in bytes: a token is at least one byte of text, so what is below a limit in bytes is below
it in tokens, whatever tokenizer the server has.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import math
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from recollect.search.embed.contract import Idf, Vectors, unit_rows
from recollect.values.errors import EmbedderFailed, UsageError

REQUEST_BYTES_MAX = 250_000  # of text; OpenAI takes 300,000 tokens
TRIES = 6
WAIT_SECONDS = 0.5  # after the first failure, then twice as long each time
WAIT_SECONDS_MAX = 60.0  # a server that asks for more is not waited for
BYTES_PER_TOKEN = 3.5  # for the estimate alone; agent logs have 3.7 by cl100k_base
NUMBER_BYTES_MAX = 64  # of one number in an answer


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The settings, by the names they have in the config file."""

    url: str  # up to and without /embeddings
    model: str
    dims: int
    key_env: str = ""  # the variable that holds the key; none for a server that wants none
    send_dims: bool = False  # ask for `dims`, for models that can give vectors of several lengths
    text_prefix: str = ""
    query_prefix: str = ""
    revision: str = ""  # change it when the model behind the same name has changed
    batch: int = 64  # texts in a request
    text_bytes_max: int = 8_191
    timeout: float = 60.0  # seconds for a request and its whole answer
    price: float | None = None  # dollars per million tokens


@dataclass(frozen=True, slots=True)
class Estimate:
    """What embedding would take: `dollars` is None where no price is set."""

    texts: int
    tokens: int
    dollars: float | None


class EndpointEmbedder:
    """Batches, retries and checks. Threads may share one."""

    def __init__(
        self, endpoint: Endpoint, key: str = "", *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.name = f"endpoint-{endpoint.model}"
        self.dims = endpoint.dims
        self.revision = _revision(endpoint)
        self._endpoint = endpoint
        self._host = urlsplit(endpoint.url).hostname
        self._line = _Line(endpoint, key)
        self._sleep = sleep

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One unit row per text; blank ones are zeros and are not sent."""
        return self._encode(self._endpoint.text_prefix, texts)

    def encode_query(self, text: str, idf: Idf | None = None) -> Vectors:
        """The vector to search with: one request. `idf` is not used, a server weighs nothing."""
        vector: Vectors = self._encode(self._endpoint.query_prefix, [text])[0]
        return vector

    def estimate(self, texts: Iterable[str]) -> Estimate:
        """What `encode` would send, before anything is sent; the tokens are told from the bytes."""
        sizes = [len(self._clip(self._endpoint.text_prefix, text)) for text in texts if text.strip()]
        tokens = math.ceil(sum(sizes) / BYTES_PER_TOKEN)
        price = self._endpoint.price
        return Estimate(len(sizes), tokens, None if price is None else tokens * price / 1e6)

    def _encode(self, prefix: str, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dims), dtype=np.float32)
        sent = [(row, self._clip(prefix, text)) for row, text in enumerate(texts) if text.strip()]
        for part in _batches(sent, self._endpoint.batch):
            vectors[[row for row, _ in part]] = self._ask([text.decode() for _, text in part])
        return unit_rows(vectors)

    def _clip(self, prefix: str, text: str) -> bytes:
        """The UTF-8 that is sent, cut at a whole character."""
        most = self._endpoint.text_bytes_max
        content = (prefix + text[:most]).encode("utf-8", "replace")[:most]
        return content.decode("utf-8", "ignore").encode()

    def _ask(self, texts: list[str]) -> Vectors:
        """One request, again and again while that may help."""
        body: dict[str, Any] = {"model": self._endpoint.model, "input": texts, "encoding_format": "float"}
        if self._endpoint.send_dims:
            body["dimensions"] = self.dims
        wait = WAIT_SECONDS
        for left in reversed(range(TRIES)):
            try:
                return _vectors(self._line.post(json.dumps(body).encode()), len(texts), self.dims)
            except _Retry as error:
                if not left or error.after > WAIT_SECONDS_MAX:
                    raise EmbedderFailed(f"{self._host}: {error}", hint=error.hint) from None
                # Spread out, so that processes that were refused together do not come back together.
                self._sleep(max(error.after, wait * random.uniform(0.5, 1)))
                wait = min(wait * 2, WAIT_SECONDS_MAX)
            except _Refused as error:
                raise EmbedderFailed(f"{self._host}: {error}", hint=error.hint) from None
        raise AssertionError("the last try returns or raises")


def from_settings(values: Mapping[str, Any], environ: Mapping[str, str]) -> EndpointEmbedder:
    """The embedder that the settings describe; nothing is sent yet."""
    endpoint = _parse(values)
    return EndpointEmbedder(endpoint, _key(endpoint, environ))


class _Refused(Exception):
    """The server's no, or an answer that is none; without a word of what it said."""

    def __init__(self, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.hint = hint


class _Retry(_Refused):
    """A no that may be a yes later; `after` is how many seconds the server asked for."""

    def __init__(self, why: str, hint: str = "", after: float = 0.0) -> None:
        super().__init__(why, hint)
        self.after = after


class _Line:
    """Where requests go, each by a connection of its own; the only place that knows the key."""

    def __init__(self, endpoint: Endpoint, key: str) -> None:
        parts = urlsplit(endpoint.url)
        self._kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._host, self._port = parts.hostname or "", parts.port
        self._path = f"{parts.path.rstrip('/')}/embeddings" + (f"?{parts.query}" if parts.query else "")
        self._headers = {"Content-Type": "application/json", "User-Agent": "recollect"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._timeout = endpoint.timeout
        self._bytes_max = (1 << 20) + endpoint.batch * endpoint.dims * NUMBER_BYTES_MAX

    def post(self, body: bytes) -> bytes:
        """The body of a good answer."""
        end = time.monotonic() + self._timeout
        with closing(self._kind(self._host, self._port, timeout=self._timeout)) as connection:
            try:
                connection.request("POST", self._path, body, self._headers)
                with connection.getresponse() as response:
                    content = self._read(response, end)
            except (OSError, http.client.HTTPException) as error:
                hint = "check the address and the network"
                raise _Retry(f"no answer ({type(error).__name__})", hint) from None
        _check_status(response, content)
        return content

    def _read(self, response: http.client.HTTPResponse, end: float) -> bytes:
        parts: list[bytes] = []
        size = 0
        while part := response.read1(1 << 16):
            parts.append(part)
            size += len(part)
            if time.monotonic() > end:
                raise TimeoutError  # it drips: the socket's own timeout begins anew with every byte
            if size > self._bytes_max:
                raise _Refused("the answer is too long for what was asked")
        return b"".join(parts)


def _check_status(response: http.client.HTTPResponse, content: bytes) -> None:
    status = response.status
    if status == 200:
        return
    why = f"the server answered {status}{_code(content)}"
    if status in (408, 409, 425, 429) or status >= 500:
        raise _Retry(why, "try again later", _seconds(response.getheader("Retry-After", "")))
    if status in (401, 403):
        raise _Refused(why, "check the key in the variable that `key_env` names")
    if 300 <= status < 400:
        raise _Refused(why, "redirects are not followed; set `url` to the address itself")
    raise _Refused(why, "check `url`, `model` and `text_bytes_max`")


def _code(content: bytes) -> str:
    """The error's code when it is one plain word: its sentence may repeat a key or a text."""
    try:
        code = json.loads(content)["error"]["code"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""
    return f" ({code})" if isinstance(code, str) and re.fullmatch(r"[a-z_]{1,40}", code) else ""


def _seconds(retry_after: str) -> float:
    """A number of seconds or a date; 0 for anything else."""
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", retry_after.strip()):
        return float(retry_after)
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0


def _vectors(content: bytes, count: int, dims: int) -> Vectors:
    """The answer's vectors in the order of the texts."""
    try:
        data = json.loads(content)["data"]
        found = {item["index"]: item["embedding"] for item in data}
        rows = [found[index] for index in range(count)]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise _Retry(f"the answer does not hold {count} embeddings") from None
    if any(not isinstance(row, list) or len(row) != dims for row in rows):
        raise _Refused(f"the embeddings do not have {dims} numbers each", "set `dims` to the model's own")
    try:
        with np.errstate(over="ignore"):
            vectors = np.array(rows, dtype=np.float32).reshape(count, dims)
    except (ValueError, TypeError, OverflowError):
        raise _Refused("the embeddings are not made of numbers") from None
    if not np.isfinite(vectors).all():
        raise _Refused("the embeddings are not made of finite numbers")
    return vectors


def _batches(items: Sequence[tuple[int, bytes]], count_max: int) -> Iterator[list[tuple[int, bytes]]]:
    """The items in order, as many together as one request may hold."""
    part: list[tuple[int, bytes]] = []
    size = 0
    for item in items:
        if part and (len(part) == count_max or size + len(item[1]) > REQUEST_BYTES_MAX):
            yield part
            part, size = [], 0
        part.append(item)
        size += len(item[1])
    if part:
        yield part


def _revision(endpoint: Endpoint) -> str:
    """Everything that the vectors of texts depend on, so not the query's prefix."""
    kept = (endpoint.url, endpoint.model, endpoint.dims, endpoint.send_dims, endpoint.text_prefix)
    whole = repr((*kept, endpoint.text_bytes_max, endpoint.revision))
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:12]


_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "float | None": (int, float),
}


def _parse(values: Mapping[str, Any]) -> Endpoint:
    """Settings as the config file has them, or a `UsageError` that names the one that is off."""
    kinds = {field.name: _KINDS[str(field.type)] for field in fields(Endpoint)}
    for name, value in values.items():
        if name not in kinds:
            known = ", ".join(kinds)
            raise UsageError(f"embedder openai: there is no setting {name!r}", hint=f"there are {known}")
        if not isinstance(value, kinds[name]) or (type(value) is bool) != (kinds[name] == (bool,)):
            raise UsageError(f"embedder openai: {name} should be of the type {kinds[name][-1].__name__}")
    for name in ("dims", "batch", "text_bytes_max", "timeout"):
        if values.get(name, 1) <= 0:
            raise UsageError(f"embedder openai: {name} should be above 0")
    for name in ("url", "model", "dims"):
        if name not in values:
            raise UsageError(f"embedder openai: {name} is not set", hint="docs/embedders.md has an example")
    endpoint = Endpoint(**values)
    _check_url(endpoint)
    return endpoint


def _check_url(endpoint: Endpoint) -> None:
    try:
        parts = urlsplit(endpoint.url)
        host, plain = parts.hostname, parts.scheme == "http"
        good = parts.scheme in ("http", "https") and host and parts.username is None and parts.port != 0
    except ValueError:
        good = False
    if not good or not re.fullmatch(r"[!-~]+", endpoint.url):
        raise UsageError("embedder openai: url should be like https://HOST/v1, without a user's name")
    if plain and endpoint.key_env and host not in ("localhost", "127.0.0.1", "::1"):
        raise UsageError("embedder openai: the key would go over the network in the clear", hint="use https")


def _key(endpoint: Endpoint, environ: Mapping[str, str]) -> str:
    """The key, never shown: a person may have put it where the variable's name belongs."""
    if not endpoint.key_env:
        return ""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", endpoint.key_env):
        raise UsageError("embedder openai: key_env should be the name of a variable, not the key itself")
    key = environ.get(endpoint.key_env, "").strip()
    if not re.fullmatch(r"[!-~]+", key):
        raise UsageError(
            f"embedder openai: the variable {endpoint.key_env} holds no key",
            hint="set it, or leave key_env out for a server that wants none",
        )
    return key

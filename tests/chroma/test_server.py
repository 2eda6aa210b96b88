"""The protocol, and the process: it says nothing but answers, and ends with whoever started it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from benchmarks.chroma_servers import Client
from hypothesis import given
from hypothesis import strategies as st
from tests.chroma.conftest import Hashed
from tests.support.examples import examples

from recollect.chroma.database import Database, Fleeting
from recollect.chroma.server import LINE_BYTES_MAX, Server
from recollect.mcp.wire import Oversized
from recollect.values.errors import StoreError

PATIENCE_SECONDS = 60.0  # a second does; this is for a machine that does ten other things


def server() -> Server:
    return Server(lambda: Database(Fleeting(), "x", Hashed()))


def ask(asked: Server, method: str, **params: Any) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    answer = asked.answer(json.dumps(message).encode())
    assert answer is not None
    assert (answer["jsonrpc"], answer["id"]) == ("2.0", 7)
    return answer


def test_it_introduces_itself_as_chroma_mcp_does() -> None:
    hello = ask(server(), "initialize", protocolVersion="2025-06-18", capabilities={})["result"]
    assert hello["protocolVersion"] == "2024-11-05"
    assert hello["serverInfo"] == {"name": "chroma", "version": "1.6.0"}
    assert hello["capabilities"]["tools"] == {"listChanged": False}
    assert ask(server(), "ping")["result"] == {}
    for method, part in (("prompts/list", "prompts"), ("resources/list", "resources")):
        assert ask(server(), method)["result"] == {part: []}


def test_its_thirteen_tools_take_what_those_of_chroma_mcp_take() -> None:
    tools = {each["name"]: each["inputSchema"] for each in ask(server(), "tools/list")["result"]["tools"]}
    assert {name: _taken(schema) for name, schema in tools.items()} == {
        "chroma_list_collections": "limit? offset?",
        "chroma_create_collection": "collection_name embedding_function_name? metadata?",
        "chroma_peek_collection": "collection_name limit?",
        "chroma_get_collection_info": "collection_name",
        "chroma_get_collection_count": "collection_name",
        "chroma_modify_collection": "collection_name new_name? new_metadata?",
        "chroma_fork_collection": "collection_name new_collection_name",
        "chroma_delete_collection": "collection_name",
        "chroma_add_documents": "collection_name documents ids metadatas?",
        "chroma_query_documents": "collection_name query_texts n_results? where? where_document? include?",
        "chroma_get_documents": "collection_name ids? where? where_document? include? limit? offset?",
        "chroma_update_documents": "collection_name ids embeddings? metadatas? documents?",
        "chroma_delete_documents": "collection_name ids",
    }
    assert tools["chroma_query_documents"]["properties"]["include"] == {
        "default": ["documents", "metadatas", "distances"],
        "items": {"type": "string"},
        "title": "Include",
        "type": "array",
    }
    assert tools["chroma_list_collections"]["properties"]["limit"] == {
        "anyOf": [{"type": "integer"}, {"type": "null"}],
        "default": None,
        "title": "Limit",
    }


def _taken(schema: dict[str, Any]) -> str:
    """The arguments of a tool in their order, those that may be left out with a mark."""
    return " ".join(
        name if name in schema.get("required", []) else f"{name}?" for name in schema["properties"]
    )


def test_what_asks_for_nothing_is_not_answered_and_what_is_no_message_is() -> None:
    asked = server()
    for line in (
        b"",
        b"  ",
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
    ):
        assert asked.answer(line) is None
    for line, code in ((b"no json", -32700), (b"[1]", -32600), (b"{}", -32600), (b"5", -32600)):
        answer = asked.answer(line)
        assert answer is not None
        assert (answer["id"], answer["error"]["code"]) == (None, code)
    assert ask(asked, "no/such")["error"]["code"] == -32601
    assert ask(asked, "tools/call", name=5)["error"]["code"] == -32602
    assert ask(asked, "tools/call", name="chroma_list_collections", arguments=[1])["error"]["code"] == -32602
    large = asked.answer(Oversized(b"{", b"}"))
    assert large is not None
    assert large["error"]["code"] == -32600


def test_a_database_that_cannot_be_opened_is_an_answer_and_is_tried_again() -> None:
    tries = []

    def opened() -> Database:
        tries.append(1)
        if len(tries) == 1:
            raise StoreError("the disk is away", hint="")
        return Database(Fleeting(), "x", Hashed())

    asked = Server(opened)
    first = ask(asked, "tools/call", name="chroma_list_collections")["result"]
    assert first["isError"]
    assert "the disk is away" in first["content"][0]["text"]
    assert not ask(asked, "tools/call", name="chroma_list_collections")["result"]["isError"]


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda parts: st.one_of(
        st.lists(parts, max_size=3), st.dictionaries(st.text(max_size=5), parts, max_size=3)
    ),
    max_leaves=8,
)
NAMES = (
    "collection_name",
    "ids",
    "documents",
    "metadatas",
    "where",
    "where_document",
    "limit",
    "n_results",
    "query_texts",
    "include",
    "embeddings",
)
TOOL_NAMES = st.sampled_from(
    (
        "add_documents",
        "get_documents",
        "query_documents",
        "update_documents",
        "peek_collection",
        "create_collection",
        "nope",
    )
)


@examples(200)
@given(tool=TOOL_NAMES, arguments=st.dictionaries(st.sampled_from(NAMES), JSON, max_size=6))
def test_whatever_a_call_brings_it_is_answered(tool: str, arguments: dict[str, Any]) -> None:
    asked = server()
    ask(
        asked,
        "tools/call",
        name="chroma_add_documents",
        arguments={"collection_name": "docs", "ids": ["a"], "documents": ["x"]},
    )
    answer = ask(
        asked, "tools/call", name=f"chroma_{tool}", arguments={"collection_name": "docs", **arguments}
    )["result"]
    assert "this is a bug" not in answer["content"][0]["text"]
    json.dumps(answer).encode("ascii")


# -- as a process --------------------------------------------------------------------------------------


def words(folder: Path) -> list[str]:
    return [
        sys.executable,
        "-m",
        "recollect",
        "--store",
        str(folder / "memory.h5"),
        "chroma",
        "--data-dir",
        str(folder / "chroma"),
    ]


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "HOME": str(folder)}


def test_it_prints_nothing_but_answers_and_ends_with_its_input(folder: Path) -> None:
    client = Client(words(folder), environment(folder))
    added = client.call(
        "chroma_add_documents", {"collection_name": "docs", "ids": ["a"], "documents": ["kept"]}
    )
    assert not added.is_error, added
    asked = client.call("chroma_query_documents", {"collection_name": "docs", "query_texts": ["kept"]})
    assert json.loads(asked.texts[0])["distances"] == [[pytest.approx(0, abs=1e-6)]]
    client.close()
    assert client.process.returncode == 0
    assert client.noise == []
    again = Client(words(folder), environment(folder))
    assert again.call("chroma_get_collection_count", {"collection_name": "docs"}).texts == ["1"]
    again.close()


def test_what_was_acknowledged_survives_a_kill(folder: Path) -> None:
    client = Client(words(folder), environment(folder))
    for number in range(5):
        client.call(
            "chroma_add_documents", {"collection_name": "docs", "ids": [f"d{number}"], "documents": ["x"]}
        )
    client.process.kill()
    client.close()
    again = Client(words(folder), environment(folder))
    assert json.loads(again.call("chroma_get_documents", {"collection_name": "docs"}).texts[0])["ids"] == [
        f"d{n}" for n in range(5)
    ]
    again.close()


def test_it_ends_with_its_parent_although_its_input_stays_open(folder: Path) -> None:
    """Another process may hold the pipe for ever, as one that the parent started does."""
    reading, writing = os.pipe()
    program = (
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen({words(folder)!r}, stdin={reading}, stdout=subprocess.PIPE)\n"
        "child.stdout.readline()\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, pass_fds=[reading], env=environment(folder)
    )
    os.close(reading)
    os.write(writing, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while _is_running(child):
        assert time.monotonic() < deadline, "it outlives whoever started it"
        time.sleep(0.05)
    os.close(writing)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return "zombie" not in _state(process)


def _state(process: int) -> str:
    path = Path(f"/proc/{process}/status")
    return path.read_text() if path.exists() else ""


def test_a_chroma_on_a_server_is_for_chroma_mcp_itself(folder: Path) -> None:
    for kind in ("http", "cloud"):
        done = subprocess.run(
            [*words(folder), "--client-type", kind, "--host", "h", "--port", "1", "--ssl", "no"],
            env=environment(folder), capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert "talks to a Chroma elsewhere" in done.stderr
        assert done.stdout == ""


def test_a_line_has_room_for_what_a_client_sends() -> None:
    assert LINE_BYTES_MAX >= 32 << 20

"""Whatever comes in, only JSON-RPC goes out, every bad request gets an error, and the process stays.

And it leaves when its client does: within two seconds, also from the midst of a tool's work.
"""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from tests.mcp.scripted import HELLO, SLOW, Scripted, Start

from recollect.mcp.server import CALLS_MAX
from recollect.mcp.tools import ANSWER_TOKENS_MAX
from recollect.values.text import tokens


def alive(client: Scripted) -> bool:
    return client.ask("ping")["result"] == {}


class TestBadRequests:
    @pytest.mark.parametrize(
        "line", [b"hello", b"{", b"\xff\xfe\x00", b'{"a": 1}}', b"[" * 100_000, b"Content-Length: 12\r"]
    )
    def test_garbage_is_answered_with_a_parse_error(self, lasting: Scripted, line: bytes) -> None:
        lasting.write(line + b"\n")
        answer = lasting.read()
        assert (answer["id"], answer["error"]["code"]) == (None, -32700)
        assert alive(lasting)

    @pytest.mark.parametrize("line", [b"", b"  ", b"\r"])
    def test_an_empty_line_is_nothing(self, lasting: Scripted, line: bytes) -> None:
        lasting.write(line + b"\n")
        number = lasting.send("ping")
        assert lasting.read()["id"] == number

    @pytest.mark.parametrize(
        ("message", "id_"),
        [
            ({"jsonrpc": "2.0", "id": 7, "method": 5}, 7),
            ({"jsonrpc": "2.0", "id": "seven", "method": "ping", "params": [1]}, "seven"),
            ({"jsonrpc": "1.0", "id": 7, "method": "ping"}, 7),
            ({"id": 7, "method": "ping"}, 7),
            ({"jsonrpc": "2.0", "id": {"a": 1}, "method": 5}, None),
            ([{"jsonrpc": "2.0", "id": 7, "method": "ping"}], None),
            ("ping", None),
            (None, None),
        ],
    )
    def test_what_is_json_but_no_message_is_an_invalid_request(
        self, lasting: Scripted, message: Any, id_: Any
    ) -> None:
        lasting.write(json.dumps(message).encode() + b"\n")
        answer = lasting.read()
        assert (answer["id"], answer["error"]["code"]) == (id_, -32600)
        assert alive(lasting)

    def test_a_line_in_pieces_is_one_line(self, lasting: Scripted) -> None:
        lasting.write(b'{"jsonrpc":"2.0","id":9')
        time.sleep(0.2)
        lasting.write(b'9,"method":"pi')
        time.sleep(0.2)
        lasting.write(b'ng"}\n')
        assert lasting.read() == {"jsonrpc": "2.0", "id": 99, "result": {}}

    def test_half_a_line_at_the_end_of_input_is_no_reason_to_stay(self, client: Scripted) -> None:
        client.write(b'{"jsonrpc":"2.0","id":9')
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.ended() == 0

    @pytest.mark.parametrize("id_last", [True, False])
    def test_a_request_of_50_mb_gets_its_error(self, lasting: Scripted, id_last: bool) -> None:
        head, tail = (b"", b',"id":5,"jsonrpc":"2.0"') if id_last else (b'"jsonrpc":"2.0","id":5,', b"")
        before = peak_mb(lasting)
        lasting.write(b"{" + head + b'"method":"tools/call","params":{"name":"search_memory","arguments":')
        lasting.write(b'{"query":"' + b"x" * 50_000_000 + b'"}}' + tail + b"}\n")
        answer = lasting.read()
        assert (answer["id"], answer["error"]["code"]) == (5, -32600)
        assert alive(lasting)
        assert peak_mb(lasting) - before < 45, "of 50"

    def test_a_request_of_a_few_megabytes_is_a_tool_s_own_error(self, lasting: Scripted) -> None:
        result = lasting.call("search_memory", query="x" * 5_000_000)
        assert result["isError"]
        assert len(result["content"][0]["text"]) < 500

    def test_an_unknown_method_is_said_to_be_unknown(self, lasting: Scripted) -> None:
        assert lasting.ask("memories/list")["error"]["code"] == -32601
        assert lasting.ask("tools/list/please")["error"]["code"] == -32601
        assert lasting.ask("resources/list")["error"]["code"] == -32601

    def test_an_unknown_tool_is_an_error_of_the_protocol(self, lasting: Scripted) -> None:
        answer = lasting.ask("tools/call", {"name": "forget_everything\x1b[2J", "arguments": {}})
        assert answer["error"]["code"] == -32602
        assert "\x1b" not in answer["error"]["message"]

    @pytest.mark.parametrize(
        "params", [[], {}, {"name": 5}, {"name": "memory_status", "arguments": []}, {"arguments": {}}]
    )
    def test_wrong_types_around_a_tool_s_arguments_are_refused(self, lasting: Scripted, params: Any) -> None:
        assert lasting.ask("tools/call", params)["error"]["code"] in (-32602, -32600)
        assert alive(lasting)

    @pytest.mark.parametrize(
        "arguments",
        [
            {"query": 5},
            {"query": ["x"]},
            {"query": {"x": 1}},
            {"query": True},
            {"query": ""},
            {},
            {"query": "x", "k": "ten"},
            {"query": "x", "k": True},
            {"query": "x", "k": 0},
            {"query": "x", "k": 51},
            {"query": "x", "k": 1.5},
            {"query": "x", "mode": "magic"},
            {"query": "x", "budget_tokens": 1_000_000},
            {"query": "x", "limit": 5},
            {"query": None},
            {"query": "x" * 10_001},
        ],
    )
    def test_wrong_arguments_are_errors_a_model_can_act_on(
        self, lasting: Scripted, arguments: dict[str, Any]
    ) -> None:
        result = lasting.call("search_memory", **arguments)
        assert result["isError"]
        assert "Traceback" not in result["content"][0]["text"]
        assert "bug" not in result["content"][0]["text"]

    @pytest.mark.parametrize(
        "query", ['refresh "never closed', "refresh is:nothing", "refresh (", "refresh /[/"]
    )
    def test_a_query_that_is_off_is_answered_with_a_note(self, lasting: Scripted, query: str) -> None:
        found = lasting.text("search_memory", query=query)
        assert "refresh" in found
        assert "taken as text" in found

    def test_null_arguments_count_as_none_at_all(self, lasting: Scripted) -> None:
        answer = lasting.ask("tools/call", {"name": "memory_status", "arguments": None})
        assert not answer["result"]["isError"]
        assert not lasting.call("search_memory", query="parser", project=None, k=None)["isError"]
        assert "result" in lasting.ask("tools/list", params=None)

    def test_before_the_handshake_nothing_is_told(self, store: Path, start: Start) -> None:
        client = start()
        assert "error" in client.ask("tools/call", {"name": "memory_status", "arguments": {}})
        assert "result" in client.ask("initialize", HELLO)

    def test_a_flood_is_answered_request_by_request(self, lasting: Scripted) -> None:
        """Written without reading, as a careless client does."""
        pings = [lasting.send("ping") for _ in range(3_000)]
        call = {"name": "search_memory", "arguments": {"query": "parser", "budget_tokens": 400}}
        calls = [lasting.send("tools/call", call) for _ in range(300)]
        answers = [lasting.read() for _ in range(len(pings) + len(calls))]
        assert sorted(answer["id"] for answer in answers) == pings + calls
        assert all("result" in answer for answer in answers)
        assert alive(lasting)

    def test_calls_past_a_limit_are_refused_and_not_queued(
        self, store: Path, start: Start, tmp_path: Path
    ) -> None:
        client = start(before=SLOW, BEGUN=str(tmp_path / "begun")).hello()
        call = {"name": "memory_status", "arguments": {}}
        numbers = [client.send("tools/call", call) for _ in range(CALLS_MAX + 3)]
        refused = [client.read() for _ in range(3)]
        assert [answer["id"] for answer in refused] == numbers[-3:]
        assert all("too many calls" in str(answer["result"]["content"]) for answer in refused)


class TestNoise:
    NOISY = """
import ctypes, os, sys, warnings
import recollect.mcp.answers as answers
def noisy(memory):
    print("print"); print("to the real one", file=sys.__stdout__, flush=True)
    warnings.warn("a warning"); os.write(1, b"raw bytes\\n"); os.system("echo from a child")
    libc = ctypes.CDLL(None); libc.puts(b"from C"); libc.fflush(None)
    return answers.Answer("done, and stdin has " + repr(sys.stdin.read()))
answers.ANSWERS["memory_status"] = noisy
"""

    # Once the wire is claimed, whoever imports anything hears about it.
    LOUD = """
import builtins, os
import recollect.mcp.wire as wire
real, claim = builtins.__import__, wire.claim
heard = set()
def loud(name, *rest, **named):
    if name not in heard and "." not in name:
        heard.add(name); print("importing", name, flush=True); os.write(1, b"raw\\n")
    return real(name, *rest, **named)
def loud_from_now_on():
    claimed, builtins.__import__ = claim(), loud
    return claimed
wire.claim = loud_from_now_on
"""

    def test_print_warnings_children_and_c_reach_stderr_only(self, store: Path, start: Start) -> None:
        client = start(before=self.NOISY, RECOLLECT_DEBUG="1").hello()
        assert client.text("memory_status") == "done, and stdin has ''"
        assert alive(client)
        client.process.kill()
        assert client.process.stderr is not None
        said = client.process.stderr.read().decode()
        for each in ("print", "the real one", "a warning", "raw bytes", "from a child", "from C"):
            assert each in said

    def test_what_is_printed_while_importing_misses_the_wire_too(self, store: Path, start: Start) -> None:
        client = start(before=self.LOUD).hello()
        assert "<recollect-memory" in client.text("search_memory", query="parser")
        client.process.kill()
        assert client.process.stderr is not None
        assert b"importing numpy" in client.process.stderr.read()

    def test_stderr_is_silent_by_default(self, client: Scripted) -> None:
        client.write(b"garbage\n")
        client.read()
        client.call("search_memory", query="parser")
        client.call("read_memory", id="nothing")
        client.process.kill()
        assert client.process.stderr is not None
        assert client.process.stderr.read() == b""

    def test_an_exception_in_a_tool_is_its_result_and_no_traceback(self, store: Path, start: Start) -> None:
        before = """
import recollect.mcp.answers as answers
def broken(memory):
    raise ZeroDivisionError("division by \\x1b[31mzero")
answers.ANSWERS["memory_status"] = broken
"""
        client = start(before=before).hello()
        result = client.call("memory_status")
        assert result["isError"]
        assert "ZeroDivisionError: division by \\x1b[31mzero" in result["content"][0]["text"]
        assert "Traceback" not in json.dumps(result)
        assert not client.call("search_memory", query="parser")["isError"]


class TestEnds:
    def test_it_leaves_when_its_input_ends(self, client: Scripted) -> None:
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.ended() == 0

    def test_it_leaves_before_anyone_said_anything(self, store: Path, start: Start) -> None:
        client = start()
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.ended(10) == 0  # it may still be importing

    def test_answers_under_way_are_given_when_the_input_ends(self, client: Scripted) -> None:
        client.call("search_memory", query="parser")  # everything is loaded
        number = client.send("tools/call", {"name": "search_memory", "arguments": {"query": "test"}})
        assert client.process.stdin is not None
        client.process.stdin.close()
        answer = client.read()
        assert answer["id"] == number
        assert not answer["result"]["isError"]
        assert client.ended() == 0

    @pytest.mark.parametrize("how", ["stdin", "stdout", "term", "int"])
    def test_it_leaves_from_the_midst_of_a_tool(
        self, store: Path, start: Start, tmp_path: Path, how: str
    ) -> None:
        client = start(before=SLOW, BEGUN=str(tmp_path / "begun")).hello()
        client.send("tools/call", {"name": "memory_status", "arguments": {}})
        while not (tmp_path / "begun").exists():
            time.sleep(0.01)
        assert alive(client), "pings are answered meanwhile"
        self._leave(client, how)
        client.ended()
        assert not family(client.process.pid)

    @staticmethod
    def _leave(client: Scripted, how: str) -> None:
        assert client.process.stdin is not None
        assert client.process.stdout is not None
        if how == "stdin":
            client.process.stdin.close()
        elif how == "stdout":
            client.process.stdout.close()
            client.send("ping")
        else:
            client.process.send_signal(signal.SIGTERM if how == "term" else signal.SIGINT)

    def test_it_leaves_when_nobody_reads_any_more(self, client: Scripted) -> None:
        """Its pipe is full, it cannot write, and still it notices that the input ended."""
        assert client.process.stdin is not None
        for _ in range(5_000):
            client.send("ping")
        client.process.stdin.close()
        client.ended()

    def test_a_closed_stderr_is_none_of_its_concern(self, store: Path, start: Start) -> None:
        client = start(before="import os; os.close(2)").hello()
        assert not client.call("search_memory", query="parser")["isError"]


class TestSize:
    def test_an_answer_never_exceeds_its_budget(self, lasting: Scripted) -> None:
        for budget in (400, 500, 1_000, ANSWER_TOKENS_MAX):
            text = lasting.text("search_memory", query="the a to of in", k=50, budget_tokens=budget)
            assert tokens(text) <= budget
            assert text.startswith("<recollect-memory")


def peak_mb(client: Scripted) -> float:
    """The most memory it ever had."""
    status = Path(f"/proc/{client.process.pid}/status")
    if not status.exists():
        pytest.skip("the kernel does not say how much memory a process had")
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1e3


def family(pid: int) -> list[int]:
    """The processes that a process left behind, in its session."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid or (int(fields[2]) == pid and int(folder.name) != os.getpid()):
            found.append(int(folder.name))
    return found

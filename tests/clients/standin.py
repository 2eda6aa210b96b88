"""What answers for the model: a loopback server that plays scripted turns and keeps every request.

It speaks the APIs the clients speak: Anthropic's messages, and those of `wires`, which are given Anthropic's
blocks; OpenAI's responses takes its own items too. A prompt says which script its conversation plays
("play:NAME"); the answers of one script are given in order, the last again and again. Clients ask the model
on the side too (titles, summaries), which advances no script.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.clients.wires import chat_answer, chat_events, gemini_answer, gemini_events, response_item

Block = dict[str, Any]

SIDE_TEXT = "A side answer."
SUMMARY = "<analysis>scripted</analysis>\n<summary>\nWhat was said, in the stand-in's words.\n</summary>"

_PLAY = re.compile(r"play:(\w+)")
# What harness and hooks put around a prompt quotes older prompts, and their scripts with them.
_ASIDE = re.compile(
    r"<recollect-memory .*?</recollect-memory[^>]*>|<system-reminder>.*?</system-reminder>", re.DOTALL
)
# Some ask on the side with all their tools: Grok for a line of its dashboard, Qwen for its own memory.
_ASKED_ASIDE = ("Write an ultra-short dashboard line", "Managed memory has TWO directories")
FACTS = "facts"
_EXTRACTING = ("Below is a part of one session",)
_COMPACTING = ("Your task is to create a detailed summary", "CONTEXT CHECKPOINT COMPACTION")


def text(words: str) -> Block:
    return {"type": "text", "text": words}


def thinking(words: str) -> Block:
    return {"type": "thinking", "thinking": words, "signature": "c2lnbmF0dXJl" * 20}


def use(name: str, /, **arguments: Any) -> Block:
    """Claude calls a tool."""
    return {"type": "tool_use", "name": name, "input": arguments}


def message(words: str) -> Block:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}]}


def reasoning(words: str) -> Block:
    return {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": words}],
        "encrypted_content": "ZW5j" * 30,
    }


def call(name: str, *, namespace: str = "", **arguments: Any) -> Block:
    """Codex calls a tool."""
    item = {"type": "function_call", "name": name, "arguments": json.dumps(arguments)}
    return {**item, "namespace": namespace} if namespace else item


@dataclass(frozen=True)
class Request:
    """One request as it came; `script` and `turn` say what it was answered with, "" on the side."""

    path: str
    body: dict[str, Any]
    script: str
    turn: int

    @property
    def messages(self) -> list[Block]:
        """The conversation as the model sees it; what stands beside it (instructions, tools) is not in it."""
        return _said(self.body)

    @property
    def tools(self) -> list[str]:
        """The names of the tools on offer; those of a namespace as `namespace.name`."""
        names = []
        for tool in self.body.get("tools") or []:
            inner = [f"{tool['name']}.{one['name']}" for one in tool.get("tools") or []]
            inner += [one["name"] for one in tool.get("functionDeclarations") or []]
            one = tool.get("function") or tool
            names += inner or [str(one.get("name") or one.get("type"))]
        return names

    @property
    def words(self) -> str:
        """Every text of the conversation."""
        return "\n".join(_texts(self.messages))

    @property
    def results(self) -> dict[str, str]:
        """What each tool call came to, by the id of the call: `toolu_SCRIPT_TURN_BLOCK`."""
        found = {}
        for one in self.messages:
            for block in _blocks(one):
                if block.get("type") == "tool_result":
                    found[str(block["tool_use_id"])] = "\n".join(_texts(block.get("content")))
                if response := block.get("functionResponse"):
                    found[str(response["id"])] = "\n".join(_texts(response.get("response")))
            if str(one.get("type", "")).endswith("_output"):
                found[str(one["call_id"])] = "\n".join(_texts(one.get("output")))
            if one.get("role") == "tool":
                found[str(one["tool_call_id"])] = "\n".join(_texts(one.get("content")))
        return found


# What the model says next; one that has to look first (at an id in a result) is a function of the request.
Turn = list[Block] | Callable[[Request], list[Block]]


class StandIn:
    """Listens on a free port of this machine from `with` to its end."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.troubles: list[str] = []
        self._scripts: dict[str, list[Turn]] = {}
        self._turns: dict[str, int] = {}
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.standin = self

    def __enter__(self) -> StandIn:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def script(self, name: str, *turns: Turn) -> str:
        """Learn a script; returns the prompt's word that starts it."""
        with self._lock:
            self._scripts[name] = list(turns)
        return f"play:{name}"

    def asked(self, script: str) -> list[Request]:
        """The requests that were answered from a script, in order."""
        with self._lock:
            return [request for request in self.requests if request.script == script]

    def answer(self, path: str, body: dict[str, Any]) -> tuple[str, list[Block]]:
        """Keep the request and choose what it gets: a name that no other answer has, and its blocks."""
        name = "" if _is_aside(body) else _chosen(body)
        with self._lock:
            turns = self._scripts.get(name, [])
            turn = self._turns.get(name, 0)
            self._turns[name] = turn + 1
            request = Request(path, body, name if turns else "", turn)
            self.requests.append(request)
        if not turns:
            return f"side_{turn}", []
        played = turns[min(turn, len(turns) - 1)]
        return f"{name}_{turn}", played(request) if callable(played) else played


def _chosen(body: dict[str, Any]) -> str:
    """The script that the newest prompt asks for; what Recollect itself asks plays `FACTS`."""
    if _asks_for(body, _EXTRACTING):
        return FACTS
    found = _PLAY.findall(_ASIDE.sub("", "\n".join(_prompts(body))))
    return found[-1] if found else ""


def _is_aside(body: dict[str, Any]) -> bool:
    """No part of the conversation: nothing to do it with, or one tool that must be called."""
    forced = isinstance(body.get("tool_choice"), dict) and body["tool_choice"].get("type") == "function"
    return not body.get("tools") or forced or _asks_for(body, _ASKED_ASIDE) or _summarises(body)


def _summarises(body: dict[str, Any]) -> bool:
    return _asks_for(body, _COMPACTING)


def _asks_for(body: dict[str, Any], marks: Sequence[str]) -> bool:
    said = _prompts(body)
    return bool(said) and any(mark in said[-1] for mark in marks)


def _said(body: dict[str, Any]) -> list[Block]:
    said = body.get("messages") or body.get("input") or body.get("contents") or []
    return [one for one in said if isinstance(one, dict)]


def _prompts(body: dict[str, Any]) -> list[str]:
    """What the user's side says in words, in order."""
    found = []
    for one in _said(body):
        if one.get("role") == "user":
            content = one.get("content")
            found += [content] if isinstance(content, str) else []
            found += [
                block["text"]
                for block in _blocks(one)
                if block.get("type") in ("text", "input_text") or ("type" not in block and "text" in block)
            ]
    return found


def _blocks(one: Block) -> list[Block]:
    content = one.get("content") or one.get("parts")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _texts(value: Any) -> Iterator[str]:
    """Every string under keys that hold text, wherever it stands."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, dict):
        for key in ("text", "thinking", "content", "output", "input", "arguments", "summary", "parts"):
            if key in value:
                yield from _texts(value[key])


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    standin: StandIn

    def handle_error(self, *_: object) -> None:
        error = sys.exception()
        if not isinstance(error, ConnectionError):  # a client that was killed leaves its connections
            self.standin.troubles.append(repr(error))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._json({"object": "list", "data": [], "models": []})

    def do_HEAD(self) -> None:
        self._json({})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens"):
            self._json({"input_tokens": len(raw) // 4})
        elif path.endswith("/v1/messages"):
            self._claude(json.loads(raw))
        elif path.endswith("/v1/responses"):
            self._codex(json.loads(raw))
        elif path.endswith("/chat/completions"):
            self._chat(json.loads(raw))
        elif path.endswith(("GenerateContent", ":generateContent")):
            self._gemini(path, json.loads(raw))
        elif path.endswith(":countTokens"):
            self._json({"totalTokens": len(raw) // 4})
        else:
            self._json({}, 404)

    def _claude(self, body: dict[str, Any]) -> None:
        answer = self._message("/v1/messages", body)
        if body.get("stream"):
            self._events(_claude_events(answer))
        else:
            self._json(answer)

    def _chat(self, body: dict[str, Any]) -> None:
        answer = self._message("/chat/completions", body)
        if body.get("stream"):
            self._events(chat_events(answer), end=b"data: [DONE]\n\n")
        else:
            self._json(chat_answer(answer))

    def _gemini(self, path: str, body: dict[str, Any]) -> None:
        model = path.rpartition("/")[2].partition(":")[0]
        answer = self._message("/generateContent", {**body, "model": model})
        if path.endswith(":streamGenerateContent"):
            self._events(gemini_events(answer))
        else:
            self._json(gemini_answer(answer))

    def _message(self, path: str, body: dict[str, Any]) -> Block:
        """The answer as Anthropic's API gives it."""
        name, blocks = self.server.standin.answer(path, body)
        if not blocks:
            blocks = [text(SUMMARY if _summarises(body) else SIDE_TEXT)]
        blocks = [
            {**block, "id": f"toolu_{name}_{index}"} if block["type"] == "tool_use" else block
            for index, block in enumerate(blocks)
        ]
        return {
            "id": f"msg_{name}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": blocks,
            "stop_sequence": None,
            "usage": _USAGE,
            "stop_reason": "tool_use" if any(one["type"] == "tool_use" for one in blocks) else "end_turn",
        }

    def _codex(self, body: dict[str, Any]) -> None:
        name, items = self.server.standin.answer("/v1/responses", body)
        if not items:
            items = [message(SUMMARY if _summarises(body) else SIDE_TEXT)]
        numbered = []
        for index, item in enumerate(map(response_item, items)):
            numbered.append({**item, "id": f"item_{name}_{index}"})
            if item["type"].endswith("_call"):
                numbered[-1]["call_id"] = f"toolu_{name}_{index}"
        self._events(_codex_events(f"resp_{name}", numbered))

    def _json(self, value: object, code: int = 200) -> None:
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _events(self, events: Sequence[Block], end: bytes = b"") -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in events:
            kind = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{kind}data: {json.dumps(event)}\n\n".encode())
        self.wfile.write(end)


_USAGE = {
    "input_tokens": 100,
    "output_tokens": 40,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 300,
}


def _claude_events(answer: Block) -> list[Block]:
    begun = {**answer, "content": [], "stop_reason": None}
    events: list[Block] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(answer["content"]):
        empty, deltas = _in_pieces(block)
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    ended = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ended, "usage": answer["usage"]})
    return [*events, {"type": "message_stop"}]


def _in_pieces(block: Block) -> tuple[Block, list[Block]]:
    """A block as it is begun, and what then comes to it."""
    if block["type"] == "text":
        return {**block, "text": ""}, [{"type": "text_delta", "text": block["text"]}]
    if block["type"] == "thinking":
        return {**block, "thinking": "", "signature": ""}, [
            {"type": "thinking_delta", "thinking": block["thinking"]},
            {"type": "signature_delta", "signature": block["signature"]},
        ]
    return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]


def _codex_events(response: str, items: Sequence[Block]) -> list[Block]:
    events: list[Block] = [{"type": "response.created", "response": {"id": response}}]
    for index, item in enumerate(items):
        events.append({"type": "response.output_item.added", "output_index": index, "item": item})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    usage = {
        "input_tokens": 1000,
        "input_tokens_details": {"cached_tokens": 400},
        "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 20},
        "total_tokens": 1050,
    }
    return [*events, {"type": "response.completed", "response": {"id": response, "usage": usage}}]

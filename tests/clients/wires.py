"""An answer in Anthropic's blocks, as other APIs have it: OpenAI's chat completions and responses, Gemini's.

One script of turns plays on all of them. What each says of its own usage is the same for every answer.
"""

from __future__ import annotations

import json
from typing import Any

Block = dict[str, Any]

CHAT_USAGE = {
    "prompt_tokens": 1000,
    "prompt_tokens_details": {"cached_tokens": 400},
    "completion_tokens": 50,
    "completion_tokens_details": {"reasoning_tokens": 20},
    "total_tokens": 1050,
}
GEMINI_USAGE = {
    "promptTokenCount": 1000,
    "cachedContentTokenCount": 400,
    "candidatesTokenCount": 30,
    "thoughtsTokenCount": 20,
    "totalTokenCount": 1050,
}


def chat_answer(answer: Block) -> Block:
    """The whole answer, for a request that asks for no stream."""
    said: Block = {"role": "assistant", "content": ""}
    calls = []
    for delta in _chat_deltas(answer["content"]):
        calls += delta.pop("tool_calls", [])
        for key, words in delta.items():
            said[key] = said.get(key, "") + words
    if calls:
        said["tool_calls"] = calls
    choice = {"index": 0, "message": said, "finish_reason": _chat_reason(answer)}
    return {**_chat_head(answer, "chat.completion"), "choices": [choice], "usage": CHAT_USAGE}


def chat_events(answer: Block) -> list[Block]:
    head = _chat_head(answer, "chat.completion.chunk")
    deltas = [{"role": "assistant", "content": ""}, *_chat_deltas(answer["content"])]
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    ended = {"index": 0, "delta": {}, "finish_reason": _chat_reason(answer)}
    return [*chunks, {**head, "choices": [ended]}, {**head, "choices": [], "usage": CHAT_USAGE}]


def _chat_head(answer: Block, kind: str) -> Block:
    return {"id": answer["id"], "object": kind, "created": 1_790_000_000, "model": answer["model"]}


def _chat_reason(answer: Block) -> str:
    return "tool_calls" if answer["stop_reason"] == "tool_use" else "stop"


def _chat_deltas(blocks: list[Block]) -> list[Block]:
    deltas: list[Block] = []
    called = 0
    for block in blocks:
        if block["type"] == "text":
            deltas.append({"content": block["text"]})
        elif block["type"] == "thinking":
            deltas.append({"reasoning_content": block["thinking"]})
        else:
            made = {"name": block["name"], "arguments": json.dumps(block["input"])}
            deltas.append(
                {"tool_calls": [{"index": called, "id": block["id"], "type": "function", "function": made}]}
            )
            called += 1
    return deltas


def gemini_events(answer: Block) -> list[Block]:
    """One event for each part; the last says why it ends and what it cost."""
    events = [_gemini_event(answer, [_gemini_part(block)]) for block in answer["content"]]
    events[-1]["candidates"][0]["finishReason"] = "STOP"
    events[-1]["usageMetadata"] = GEMINI_USAGE
    return events


def gemini_answer(answer: Block) -> Block:
    whole = _gemini_event(answer, [_gemini_part(block) for block in answer["content"]])
    whole["candidates"][0]["finishReason"] = "STOP"
    return {**whole, "usageMetadata": GEMINI_USAGE}


def _gemini_event(answer: Block, parts: list[Block]) -> Block:
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}}
    return {"candidates": [candidate], "modelVersion": answer["model"], "responseId": answer["id"]}


def _gemini_part(block: Block) -> Block:
    if block["type"] == "text":
        return {"text": block["text"]}
    if block["type"] == "thinking":
        return {"text": block["thinking"], "thought": True}
    made = {"id": block["id"], "name": block["name"], "args": block["input"]}
    return {"functionCall": made, "thoughtSignature": "c2lnbmVk"}


def response_item(block: Block) -> Block:
    """An item of OpenAI's responses; one that is an item already stays as it is."""
    if block["type"] == "text":
        content = [{"type": "output_text", "text": block["text"]}]
        return {"type": "message", "role": "assistant", "content": content}
    if block["type"] == "thinking":
        summary = [{"type": "summary_text", "text": block["thinking"]}]
        return {"type": "reasoning", "summary": summary, "encrypted_content": block["signature"]}
    if block["type"] == "tool_use":
        return {"type": "function_call", "name": block["name"], "arguments": json.dumps(block["input"])}
    return block

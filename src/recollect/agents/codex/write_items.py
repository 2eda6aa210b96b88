"""Blocks as the response items of a Codex rollout, whichever agent they come from.

An item that came from Codex goes back as it was, but for its id and what else only its own session
knows. A message is nevertheless made anew out of its blocks, since of one with several parts only
some may have been chosen.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from recollect.agents.codex.check import CALLS, NAME_MAX, NAMED, PHASES, is_whole
from recollect.agents.session_lines import plain_json
from recollect.values.conversation import NO_RESULT, Block, Message
from recollect.values.fidelity import Fidelity

Item = dict[str, Any]

_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_SAID = ("text", "image", "document")
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_-]")
_OWN = ("id", "internal_chat_message_metadata_passthrough")


class Items:
    """Makes items of turns, in order; `fidelity` is told what became of each block."""

    def __init__(self, fidelity: Fidelity) -> None:
        self._fidelity = fidelity
        self._results: dict[str, str] = {}  # calls so far, and of what type the result of each is

    def of(self, turn: Message) -> Iterator[tuple[int, Item]]:
        """The items of a turn, each with its time, 0 where that is not known."""
        in_row = turn.role == "user"  # what a user says in a row is one item
        numbered = [(-1 if in_row and b.type in _SAID else n, b) for n, b in enumerate(turn.blocks)]
        for _, group in groupby(numbered, lambda each: each[0]):
            blocks = [block for _, block in group]
            if item := self._item(turn.role, blocks):
                yield blocks[0].time_ms or turn.time_ms, item

    def _item(self, role: str, blocks: Sequence[Block]) -> Item:
        """The item that blocks in a row are, {} if they can be none."""
        block, kept = blocks[0], self._fidelity.kept
        if block.type in _SAID:
            return self._answer(block) if role == "assistant" else self._prompt(blocks)
        if block.type == "tool_use":
            kept["call"] += 1
            item = _call(block)
            self._results[block.call] = CALLS[item["type"]]
            return item
        if block.type == "tool_result":
            kept["result"] += 1
            return self._result(block, self._results[block.call])
        kept["encrypted thought" if block.type == "reasoning" else block.type.replace("_", " ")] += 1
        return _native(block)

    def _answer(self, block: Block) -> Item:
        self._fidelity.kept["answer"] += 1
        item = {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": block.text}],
        }
        phase = (block.native or {}).get("phase")
        return {**item, "phase": phase} if phase in PHASES else item

    def _prompt(self, blocks: Sequence[Block]) -> Item:
        self._fidelity.kept["text of the user's side"] += sum(block.type == "text" for block in blocks)
        parts = [part for block in blocks if (part := self._part(block.body))]
        return {"type": "message", "role": "user", "content": parts} if parts else {}

    def _result(self, block: Block, kind: str) -> Item:
        if kind_of(block) == kind:
            return {**_native(block), "call_id": block.call}
        if kind == "tool_search_output":
            found: dict[str, Any] = {"status": "completed", "execution": "client", "tools": []}
            return {"type": kind, "call_id": block.call, **found}
        # Codex has no field for it; what the result says stays.
        failed = block.body.get("is_error") is True and block.body.get("content") != NO_RESULT
        self._fidelity.left_out["mark of a failed result"] += failed
        return {"type": kind, "call_id": block.call, "output": self._output(block.body.get("content"))}

    def _output(self, content: object) -> str | list[dict[str, Any]]:
        if type(content) is not list:
            return content if type(content) is str else ""
        parts = [part for body in content if type(body) is dict and (part := self._part(body))]
        if any(part["type"] != "input_text" for part in parts):
            return parts
        return "\n".join(part["text"] for part in parts)

    def _part(self, body: dict[str, Any]) -> dict[str, Any]:
        """A part of a message or of a result, {} for what cannot be one."""
        kind, text = body.get("type"), body.get("text")
        if kind == "image":
            url = _image_url(body.get("source"))
            (self._fidelity.kept if url else self._fidelity.left_out)["image"] += 1
            return {"type": "input_image", "image_url": url} if url else {}
        if kind == "document":
            self._fidelity.folded["document"] += 1
            text = _document(body)
        elif kind == "tool_reference":
            self._fidelity.folded["reference to a tool"] += 1
            text = f"[tool {body.get('tool_name')}]"
        return {"type": "input_text", "text": text} if type(text) is str and text.strip() else {}


def kind_of(block: Block) -> str:
    """The type of the Codex item that a block can go back as, "" where there is none."""
    return str(block.native["type"]) if block.native and is_whole(block.native) else ""


def _call(block: Block) -> Item:
    kind, given = kind_of(block), block.body.get("input")
    if kind in CALLS:
        item = {**_native(block), "call_id": block.call}
        return {**item, "name": _name(item.get("name"))} if kind in NAMED else item
    name = _name(block.body.get("name"))
    patch = given.get("input") if type(given) is dict and len(given) == 1 else None
    if name == "apply_patch" and type(patch) is str:
        return {"type": "custom_tool_call", "call_id": block.call, "name": name, "input": patch}
    return {"type": "function_call", "name": name, "arguments": plain_json(given), "call_id": block.call}


def _native(block: Block) -> Item:
    """An item of Codex's as it was, without what only its session knows."""
    native = block.native or {}
    own = _OWN[1:] if native["type"] == "image_generation_call" else _OWN  # those are known by their id
    return {key: value for key, value in native.items() if key not in own}


def _name(value: object) -> str:
    return _NOT_IN_NAME.sub("_", value)[:NAME_MAX] if type(value) is str and value else "unknown"


def _image_url(source: object) -> str:
    """Where an image is, or what it is, as the API takes it; "" for what is none."""
    given = source if type(source) is dict else {}
    url, data = given.get("url"), given.get("data")
    if type(url) is str:
        return url if url.startswith(("https://", "data:image/")) else ""
    if type(data) is not str or given.get("media_type") not in _IMAGES:
        return ""
    try:
        whole = base64.b64encode(base64.b64decode("".join(data.split()), validate=True)).decode()
    except ValueError:
        return ""
    return f"data:{given['media_type']};base64,{whole}" if whole else ""


def _document(body: dict[str, Any]) -> str:
    """What a document says where that is plain text, else what it is called."""
    source = body.get("source")
    data = source.get("data") if type(source) is dict and source.get("type") == "text" else None
    title = body.get("title")
    name = f"[document {title}]" if type(title) is str and title else "[document]"
    return f"{name}\n{data}" if type(data) is str else name

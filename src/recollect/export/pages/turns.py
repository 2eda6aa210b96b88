"""Messages as the turns a person reads: each call with its result, thoughts as text, pictures only if sound.

Nothing of a block gets here but what is meant to be read: no signature, no encrypted thought, no ids of
requests. A picture is taken only if its bytes are of the kind it says, one of four that hold no script.
"""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from recollect.agents.fields import dict_of, list_of, text_of
from recollect.values.conversation import Block, Message

Kind = Literal["text", "thinking", "call", "result", "image", "document"]
Speaker = Literal["user", "assistant", "harness", "note"]

DEPTH_MAX = 300  # of the input of a call


@dataclass(frozen=True, slots=True)
class Part:
    """A text, a thought, a call, a result, a file. `data`: a picture that may be shown."""

    kind: Kind
    entry: str = ""
    text: str = ""
    tool: str = ""
    call: str = ""
    input: Any = None
    failed: bool = False
    media_type: str = ""
    size_bytes: int = 0
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side said at once; an assistant's turn has the results of its calls."""

    speaker: Speaker
    parts: tuple[Part, ...]
    agent: str = ""
    session: str = ""
    model: str = ""
    time_ms: int = 0


def turns(messages: Iterable[Message], left_out: Counter[str]) -> list[Turn]:
    """The turns in order; what cannot be read is counted."""
    found: list[Turn] = []
    tools: dict[tuple[str, str], str] = {}
    for message in messages:
        if message.setup:
            left_out["setup by the client"] += 1
            continue
        parts = tuple(
            _named(part, message.session, tools)
            for block in message.blocks
            for part in _parts(block, left_out)
        )
        if found and _answers(message, found[-1]):
            found[-1] = replace(found[-1], parts=_interleaved(found[-1].parts, parts))
        elif parts:
            found.append(
                Turn(_speaker(message), parts, message.agent, message.session, message.model, message.time_ms)
            )
    return found


# -- turns ----------------------------------------------------------------------------------------


def _speaker(message: Message) -> Speaker:
    if message.note:
        return "note"
    return "harness" if message.meta else message.role


def _answers(message: Message, last: Turn) -> bool:
    """Whether a message is nothing but results of what was called last."""
    only = message.role == "user" and all(block.type.endswith("tool_result") for block in message.blocks)
    return only and last.speaker == "assistant" and last.session == message.session


def _named(part: Part, session: str, tools: dict[tuple[str, str], str]) -> Part:
    """A part that knows its tool: a result tells only the id of its call."""
    if part.kind == "call":
        tools[session, part.call] = part.tool
    if part.kind == "result":
        return replace(part, tool=tools.get((session, part.call), ""))
    return part


def _interleaved(said: tuple[Part, ...], results: tuple[Part, ...]) -> tuple[Part, ...]:
    """Each result, and what files came with it, right behind its call."""
    behind: dict[str, list[Part]] = {}
    for part in results:
        behind.setdefault(part.call, []).append(part)
    found: list[Part] = []
    for part in said:
        found.append(part)
        if part.kind == "call":
            found += behind.pop(part.call, [])
    return (*found, *(part for parts in behind.values() for part in parts))


# -- parts ----------------------------------------------------------------------------------------


def _parts(block: Block, left_out: Counter[str]) -> Iterator[Part]:
    body, kind = block.body, block.type
    if kind == "text":
        if block.text.strip():
            yield Part("text", block.entry, block.text)
    elif kind in ("thinking", "redacted_thinking"):
        if (thought := text_of(body.get("thinking"))).strip():
            yield Part("thinking", block.entry, thought)
        else:
            left_out["unreadable thought"] += 1
    elif kind.endswith("tool_use"):
        given = body.get("input")
        if _is_deep(given):
            left_out["input nested too deeply"] += 1
            given = None
        yield Part(
            "call", block.entry, tool=text_of(body.get("name")), call=text_of(body.get("id")), input=given
        )
    elif kind.endswith("tool_result"):
        yield from _result(block, left_out)
    elif kind in ("image", "document"):
        yield _file(block.entry, body)
    else:
        left_out["block of another kind"] += 1


def _result(block: Block, left_out: Counter[str]) -> Iterator[Part]:
    content, call = block.body.get("content"), text_of(block.body.get("tool_use_id"))
    inner = [dict_of(each) for each in list_of(content)]
    texts = [text_of(each.get("text")) for each in inner if each.get("type") == "text"]
    text = content if type(content) is str else "\n".join(texts)
    yield Part("result", block.entry, text, call=call, failed=block.body.get("is_error") is True)
    for each in inner:
        if each.get("type") in ("image", "document"):
            yield replace(_file(block.entry, each), call=call)
        elif each.get("type") != "text":
            left_out["part of a result that is no text"] += 1


def _is_deep(value: Any) -> bool:
    """Whether a value is nested as only an attack would be: writing it out would exhaust the stack."""
    level = [value]
    for _ in range(DEPTH_MAX):
        held = (each.values() if type(each) is dict else list_of(each) for each in level)
        level = [inner for each in held for inner in each if type(inner) in (dict, list)]
        if not level:
            return False
    return True


def _file(entry: str, body: dict[str, Any]) -> Part:
    kind: Kind = "image" if body.get("type") == "image" else "document"
    source = dict_of(body.get("source"))
    media_type, data = text_of(source.get("media_type")), text_of(source.get("data"))
    if source.get("type") == "text":
        return Part(kind, entry, data, media_type=media_type, size_bytes=len(data.encode("utf-8", "replace")))
    held = _decoded(data)
    shown = held if kind == "image" and _is_sound(media_type, held) else b""
    return Part(kind, entry, media_type=media_type, size_bytes=len(held), data=shown)


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        return b""


_BEGINNINGS = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}


def _is_sound(media_type: str, data: bytes) -> bool:
    """Whether bytes are a picture of a kind that a page may show, and of the kind they are said to be."""
    begins = data.startswith(_BEGINNINGS.get(media_type, ()))
    return begins and (media_type != "image/webp" or data[8:12] == b"WEBP")

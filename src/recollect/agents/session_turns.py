"""The turns of a conversation as every agent's writer needs them, whatever its file looks like."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from recollect.values.conversation import Block, Conversation, Message, paired, said
from recollect.values.errors import NotFound
from recollect.values.fidelity import Fidelity

_BEGINNING = "[What was said before this is not part of the conversation any more.]"
_THOUGHTS = ("thinking", "redacted_thinking")
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")

Usable = Callable[[Block, Message], Block | None]


def turns(conversation: Conversation, usable: Usable, fidelity: Fidelity) -> list[Message]:
    """What was said, beginning with the user: every call answered, no thought that leads nowhere.

    `usable` gives a block as it may stand in the file, None for one that may not, and counts what it changed.
    """
    found, done = paired(_usable(conversation.messages, usable, fidelity))
    fidelity.added["result for a call without one"] += done["call without result"]
    fidelity.folded["result without its call"] += done["result without call"]
    fidelity.left_out["call said twice"] += done["call said twice"]
    found = [turn for each in found if (turn := _without_open_thoughts(each, fidelity)).blocks]
    if not any(block.text for turn in found for block in turn.blocks):
        raise NotFound("there is no conversation to write: nothing that was said is left")
    if found[0].role == "assistant":
        fidelity.added["note at the beginning"] += 1
        found.insert(0, said(_BEGINNING, time_ms=found[0].time_ms))
    for turn in found:
        fidelity.kept.update(_NAMES[turn.role, block.type] for block in turn.blocks)
    return found


def picture_of(body: Any) -> tuple[str, str] | None:
    """The type and the bytes of an image that every API takes; None for any other."""
    source = body.get("source") if type(body) is dict and body.get("type") == "image" else None
    if type(source) is not dict or source.get("type") != "base64":
        return None
    kind, data = source.get("media_type"), source.get("data")
    if kind not in _IMAGES or type(data) is not str or _BASE64.fullmatch(data) is None:
        return None
    return str(kind), data


def parts_of(body: dict[str, Any], fidelity: Fidelity) -> list[dict[str, Any]]:
    """The texts and images of a result; what is neither is left out, a tool that is not loaded named."""
    content = body.get("content")
    parts = [{"type": "text", "text": content}] if type(content) is str else content
    found: list[dict[str, Any]] = []
    for part in parts if type(parts) is list else ():
        kind = part.get("type") if type(part) is dict else None
        if kind == "tool_reference":
            fidelity.folded["reference to a tool"] += 1
            found.append({"type": "text", "text": f"[tool {part.get('tool_name')}]"})
        elif (kind == "text" and type(part.get("text")) is str) or picture_of(part):
            found.append(part)
        else:
            fidelity.left_out[str(kind)] += 1
    return found


def _usable(messages: Sequence[Message], usable: Usable, fidelity: Fidelity) -> Iterator[Message]:
    for message in messages:
        if message.setup:
            fidelity.left_out["instructions that are given anew"] += 1
            continue
        blocks = tuple(block for each in message.blocks if (block := usable(each, message)) is not None)
        if blocks:
            yield replace(message, blocks=blocks)


def _without_open_thoughts(turn: Message, fidelity: Fidelity) -> Message:
    """An answer without the thoughts it ends in: an API takes none that lead nowhere."""
    blocks = turn.blocks
    while blocks and blocks[-1].type in _THOUGHTS:
        fidelity.left_out["thought without an answer"] += 1
        blocks = blocks[:-1]
    return replace(turn, blocks=blocks)


_NAMES = {
    ("user", "text"): "text of the user's side", ("assistant", "text"): "answer",
    ("assistant", "thinking"): "thought", ("assistant", "tool_use"): "call",
    ("user", "tool_result"): "result", ("user", "image"): "image",
}  # fmt: skip

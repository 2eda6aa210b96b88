"""A stranger's words on their way into an agent's past: text that no harness heeds, and no controls in it.

What this person's own agents logged is handed on to the byte. An imported log may have been written to be
handed on, so its texts are made safe first (`recollect.agents.tags`): what reads as a tag of a harness loses
its bracket, what cannot be seen or would steer a terminal is shown as an escape. A thought is signed, or
sealed, as it was: one that would have to change is left out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from recollect.agents.tags import safe
from recollect.values.conversation import Block, Conversation, Message
from recollect.values.stored import StoredEntry

LEFT_OUT = "thought of an imported log"

_SIGNED = ("thinking", "redacted_thinking")
_SEALED = "encrypted_content"


def neutral(conversation: Conversation) -> Conversation:
    """The same conversation, made safe and marked."""
    left_out = Counter(conversation.left_out)
    messages = tuple(
        made for each in conversation.messages if (made := neutral_message(each, left_out)).blocks
    )
    return replace(
        conversation,
        messages=messages,
        title=safe(conversation.title),
        cwd=safe(conversation.cwd),
        project=safe(conversation.project),
        branch=safe(conversation.branch),
        left_out=+left_out,
        imported=True,
    )


def neutral_message(message: Message, left_out: Counter[str]) -> Message:
    """A message made safe; it may have no blocks left."""
    blocks = tuple(made for block in message.blocks if (made := neutral_block(block)) is not None)
    left_out[LEFT_OUT] += len(message.blocks) - len(blocks)
    return replace(message, blocks=blocks, model=safe(message.model), message_id=safe(message.message_id))


def neutral_block(block: Block) -> Block | None:
    """A block made safe, None for one that must not be changed and would have to be."""
    body, native = _safe(block.body), _safe(block.native)
    if (body, native) == (block.body, block.native):
        return block
    sealed = block.type in _SIGNED or (block.native is not None and _SEALED in block.native)
    return None if sealed else replace(block, body=body, native=native)


def neutral_entry(stored: StoredEntry) -> StoredEntry:
    """An entry as it is, or made safe if it is imported."""
    if not stored.imported:
        return stored
    return replace(stored, entry=replace(stored.entry, text=safe(stored.entry.text)))


def _safe(value: Any) -> Any:
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, dict):
        return {_safe(key): _safe(each) for key, each in value.items()}
    return [_safe(each) for each in value] if isinstance(value, list) else value

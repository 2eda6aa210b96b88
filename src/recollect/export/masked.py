"""A conversation without its secrets, for whoever it is handed to.

All texts are looked at together, so that a key named in one place is masked in every other. A
signed thought or an encrypted item holds only as it was, so it is never changed; one whose words
hold a secret is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from recollect.redact import has_secret, redact_object
from recollect.values.conversation import Block, Conversation, Message

_SIGNED = ("thinking", "redacted_thinking")
_PICTURES = ("image", "document")
_MASKED = "[redacted:"
_LEFT_OUT = "thought that holds a secret"


def masked(conversation: Conversation) -> tuple[Conversation, Counter[str]]:
    """The same conversation with its secrets masked, and how many there were of each kind."""
    left_out = Counter(conversation.left_out)
    messages = [_without_leaks(message, left_out) for message in conversation.messages]
    given = [conversation.title, [_maskable(block) for message in messages for block in message.blocks]]
    (title, bodies), found = redact_object(given)
    changed = iter(bodies)
    made = tuple(_changed(message, changed) for message in messages)
    kept = tuple(message for message in made if message.blocks)
    return replace(conversation, messages=kept, title=title, left_out=left_out), found


def without_altered(conversation: Conversation) -> Conversation:
    """The same without thoughts in which a secret was erased: what signs them does not fit them any more."""
    messages = [
        replace(each, blocks=tuple(block for block in each.blocks if not _is_altered(block)))
        for each in conversation.messages
    ]
    return replace(conversation, messages=tuple(each for each in messages if each.blocks))


def _is_altered(block: Block) -> bool:
    return block.type in _SIGNED and _MASKED in str(block.body.get("thinking"))


def _without_leaks(message: Message, left_out: Counter[str]) -> Message:
    kept = tuple(block for block in message.blocks if not _leaks(block))
    left_out[_LEFT_OUT] += len(message.blocks) - len(kept)
    return replace(message, blocks=kept)


def _leaks(block: Block) -> bool:
    """Whether a thought says a secret, in words that must not be changed, or one was erased in it."""
    if block.type not in _SIGNED:
        return False
    thought = block.body.get("thinking")
    return type(thought) is str and (has_secret(thought) or _MASKED in thought)


def _maskable(block: Block) -> list[Any]:
    """What of a block may be changed: nothing that is signed, encrypted or a picture's bytes."""
    body = None if block.type in _SIGNED or block.type in _PICTURES else without_pictures(block.body)
    native = None
    if block.native is not None and "encrypted_content" not in block.native:
        native = without_pictures(block.native)
    return [body, native]


def without_pictures(value: Any) -> Any:
    """The same without pictures, whose bytes are no text; `put_back` puts them where they were."""
    if isinstance(value, dict):
        if value.get("type") in _PICTURES or "image_url" in value:
            return {"type": value.get("type")}
        return {key: without_pictures(each) for key, each in value.items()}
    return [without_pictures(each) for each in value] if isinstance(value, list) else value


def put_back(changed: Any, value: Any) -> Any:
    if isinstance(value, dict):
        if value.get("type") in _PICTURES or "image_url" in value:
            return value
        # Keys may have been masked too, so that only their order tells which is which.
        pairs = zip(changed.items(), value.values(), strict=True)
        return {key: put_back(each, original) for (key, each), original in pairs}
    if isinstance(value, list):
        return [put_back(each, original) for each, original in zip(changed, value, strict=True)]
    return changed


def _changed(message: Message, bodies: Iterator[list[Any]]) -> Message:
    blocks = []
    for block in message.blocks:
        body, native = next(bodies)
        blocks.append(
            replace(
                block,
                body=block.body if body is None else put_back(body, block.body),
                native=block.native if native is None else put_back(native, block.native),
            )
        )
    return replace(message, blocks=tuple(blocks))

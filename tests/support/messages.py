"""Messages of a conversation, each in a word."""

from __future__ import annotations

from typing import Any

from recollect.values.conversation import Block, Message


def text(words: str) -> Block:
    return Block({"type": "text", "text": words})


def use(call: str, **given: Any) -> Block:
    return Block({"type": "tool_use", "id": call, "name": "Bash", "input": given})


def result(call: str, words: str = "done") -> Block:
    return Block({"type": "tool_result", "tool_use_id": call, "content": words})


def answer(*blocks: Block, id_: str = "", session: str = "s") -> Message:
    return Message("assistant", blocks, "claude", session, message_id=id_)


def turn(*blocks: Block, session: str = "s") -> Message:
    return Message("user", blocks, "claude", session)

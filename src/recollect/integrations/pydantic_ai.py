"""The message history of a Pydantic AI agent, kept in a memory.

    history = History("chat-17", "agent.h5")
    result = await agent.run("which installer?", message_history=await history.messages())
    await history.add(result.new_messages())

Pydantic AI has no interface for a store; what it promises is `ModelMessagesTypeAdapter`, by which messages
are JSON and come back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from recollect.integrations.items import Items, Said
from recollect.integrations.opened import Where, missing

try:
    from pydantic_ai.messages import ModelMessagesTypeAdapter
except ImportError as error:
    raise missing("pydantic-ai", error) from error

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

CHANNEL = "pydantic-ai"

# Of the parts of a message the first of these says whose it is.
_ROLES = {"user-prompt": "user", "tool-return": "tool", "retry-prompt": "tool", "system-prompt": "system"}


class History:
    """The messages of one conversation, as the session `pydantic-ai/ID` of a memory."""

    def __init__(self, session_id: str, memory: Where = None) -> None:
        """A memory, or where its store is; by default the person's own."""
        self.session_id = session_id
        self._items = Items(memory, CHANNEL, session_id)

    async def messages(self, limit: int | None = None) -> list[ModelMessage]:
        """All messages in order, or the last few."""
        kept = await self._items.in_thread(self._items.last, limit)
        found: list[ModelMessage] = ModelMessagesTypeAdapter.validate_python(kept)
        return found

    async def add(self, messages: Sequence[ModelMessage]) -> None:
        """Keep messages: durable when it returns, all of them or none."""
        told = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
        await self._items.in_thread(self._items.add, [_said(message) for message in told])

    async def clear(self) -> None:
        """Take all messages out."""
        await self._items.in_thread(self._items.clear)

    async def close(self) -> None:
        """Close the store, unless the memory was handed over."""
        await self._items.in_thread(self._items.close)


def _said(message: Mapping[str, Any]) -> Said:
    """A message with its words."""
    parts = message.get("parts") or []
    text = "\n".join(filter(None, map(_words, parts)))
    if message.get("kind") == "response":
        return Said(message, text, "assistant")
    kinds = {str(part.get("part_kind")) for part in parts}
    return Said(message, text, next((role for kind, role in _ROLES.items() if kind in kinds), "note"))


def _words(part: Any) -> str:
    """The texts in a part: what was said, what a tool was asked, and what it answered."""
    if isinstance(part, str):
        return part
    if isinstance(part, list | tuple):
        return "\n".join(filter(None, map(_words, part)))
    if not isinstance(part, Mapping):
        return ""
    if str(part.get("part_kind", "")).endswith("tool-call"):
        return f"{part.get('tool_name')}\n{_words(part.get('args')) or part.get('args') or ''}"
    return _words(part.get("content") or "")

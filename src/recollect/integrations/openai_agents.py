"""A `Session` of the OpenAI Agents SDK: what was said in it is kept in a memory, and found there.

session = MemorySession("chat-17", "agent.h5")
await Runner.run(agent, "which installer does this team use?", session=session)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.integrations.items import Items, Said
from recollect.integrations.opened import Where, missing

try:
    from agents.memory import SessionSettings
except ImportError as error:
    raise missing("openai-agents", error) from error

if TYPE_CHECKING:
    from agents import TResponseInputItem

CHANNEL = "openai-agents"

_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}


class MemorySession:
    """The items of one conversation, as the session `openai-agents/ID` of a memory."""

    def __init__(
        self, session_id: str, memory: Where = None, *, session_settings: SessionSettings | None = None
    ) -> None:
        """A memory, or where its store is; by default the person's own."""
        self.session_id = session_id
        self.session_settings: SessionSettings | None = session_settings or SessionSettings()
        self._items = Items(memory, CHANNEL, session_id)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """All items in order, or the last few: as many as is said here, or in the session's settings."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        # SQLite, which the SDK's own sessions are kept in, takes a number below zero for none.
        return await self._items.in_thread(self._items.last, limit if limit is None or limit >= 0 else None)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Keep items: durable when it returns, all of them or none."""
        await self._items.in_thread(self._items.add, [_said(item) for item in items])

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the last item out; None where there is none."""
        return await self._items.in_thread(self._items.pop)

    async def clear_session(self) -> None:
        """Take all items out."""
        await self._items.in_thread(self._items.clear)

    async def close(self) -> None:
        """Close the store, unless the memory was handed over."""
        await self._items.in_thread(self._items.close)


def _said(item: Any) -> Said:
    """An item with its words: what was said, what a tool was asked, and what it answered."""
    kind = str(item.get("type") or "message")
    if kind.endswith("_output"):
        return Said(item, _words(item.get("output")), "tool")
    if kind.endswith("_call"):
        parts = (item.get("name"), item.get("arguments"), item.get("input"), item.get("queries"))
        return Said(item, "\n".join(filter(None, map(_words, parts))), "assistant")
    if kind == "reasoning":
        return Said(item, _words(item.get("summary")), "assistant")
    return Said(item, _words(item.get("content")), _ROLES.get(str(item.get("role")), "note"))


def _words(content: Any) -> str:
    """The texts in a content, whichever form it has."""
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple):
        return "\n".join(filter(None, map(_words, content)))
    if isinstance(content, dict):
        return _words(content.get("text") or content.get("refusal") or content.get("transcript") or "")
    return ""

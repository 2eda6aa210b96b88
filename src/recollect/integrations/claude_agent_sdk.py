"""A `SessionStore` of the Claude Agent SDK: its sessions are kept in a memory as those of Claude Code are.

    store = SessionStore("agent.h5")
    options = ClaudeAgentOptions(session_store=store)

An append is durable when it returns. What the SDK mirrors and what Claude Code writes to its log on disk are
the same lines, so a session that comes both ways is there once.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from recollect.integrations.opened import Opened, Where, missing
from recollect.values.mirrored import MirrorKey

try:
    import anyio.to_thread
    from claude_agent_sdk import fold_session_summary
except ImportError as error:
    raise missing("claude-agent-sdk", error) from error

if TYPE_CHECKING:
    from claude_agent_sdk import (
        SessionKey,
        SessionListSubkeysKey,
        SessionStoreEntry,
        SessionStoreListEntry,
        SessionSummaryEntry,
    )

    from recollect.memory.mirrors import Mirrors

_Answer = TypeVar("_Answer")


class SessionStore:
    """All six methods of the SDK's `SessionStore`. Every call is carried out in a thread of its own."""

    def __init__(self, memory: Where = None) -> None:
        """A memory, or where its store is; by default the person's own."""
        self._opened, self._opening = Opened(memory), threading.Lock()
        self._mirrors: Mirrors | None = None

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Keep entries: those whose uuid is there already are not kept again."""
        told: list[Any] = entries
        if told:
            await self._ask(lambda mirrors: mirrors.append(_named(key), told, _fold_of(key)))

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Everything that was appended under this key, or None."""
        found = await self._ask(lambda mirrors: mirrors.load(_named(key)))
        return cast("list[SessionStoreEntry] | None", found)

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """The sessions of a project, with the time something of them was last stored."""
        listed = await self.list_session_summaries(project_key)
        return [{"session_id": each["session_id"], "mtime": each["mtime"]} for each in listed]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """The same with the summaries that the SDK made."""
        fold = _fold_of({"project_key": project_key, "session_id": ""})
        found = await self._ask(lambda mirrors: mirrors.sessions(project_key, fold))
        return [{"session_id": each.session, "mtime": each.time_ms, "data": each.data} for each in found]

    async def delete(self, key: SessionKey) -> None:
        """Let a session be gone, with its subagents; or what one of them said."""
        await self._ask(lambda mirrors: mirrors.delete(_named(key)))

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Where the subagents of a session are."""
        return await self._ask(lambda mirrors: mirrors.subpaths(key["project_key"], key["session_id"]))

    async def aclose(self) -> None:
        """Close the store, unless the memory was handed over."""
        await anyio.to_thread.run_sync(self._opened.close)

    async def _ask(self, verb: Callable[[Mirrors], _Answer]) -> _Answer:
        return await anyio.to_thread.run_sync(functools.partial(self._carry_out, verb))

    def _carry_out(self, verb: Callable[[Mirrors], _Answer]) -> _Answer:
        with self._opening:
            mirrors = self._mirrors = self._mirrors or self._opened.memory.mirrors("claude")
        return verb(mirrors)


def _named(key: SessionKey) -> MirrorKey:
    return MirrorKey(key["project_key"], key["session_id"], key.get("subpath") or "")


def _fold_of(key: SessionKey) -> Callable[[dict[str, Any] | None, list[Any]], dict[str, Any]]:
    """How the SDK makes a summary of entries and the one before; its times are the store's business."""

    def fold(data: dict[str, Any] | None, entries: list[Any]) -> dict[str, Any]:
        before: Any = None if data is None else {"session_id": key["session_id"], "mtime": 0, "data": data}
        made: dict[str, Any] = fold_session_summary(before, key, entries)["data"]
        return made

    return fold

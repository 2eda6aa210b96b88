"""A checkpointer of LangGraph: its threads are kept in a memory, and what was said in them is found.

    graph = builder.compile(checkpointer=MemorySaver("agent.h5"))

A thread is the session `langgraph/ID` of a memory. Each value of a channel is a note under a name that its
version makes, each checkpoint one that names versions, and beside both stand what was written since and which
checkpoint is the newest. What a step was given and what tasks wrote are the words that notes are found by.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import itertools
import json
import random
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any

from recollect.integrations.items import item_of, note_of
from recollect.integrations.opened import Opened, Where, missing
from recollect.values.notes import NewNote

try:
    from langgraph.checkpoint.base import (
        WRITES_IDX_MAP,
        BaseCheckpointSaver,
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
        get_checkpoint_id,
        get_checkpoint_metadata,
        writes_sort_key,
    )
except ImportError as error:
    raise missing("langgraph", error) from error

CHANNEL = "langgraph"

_CHECKPOINT, _VALUE, _WRITES, _NEWEST = "checkpoint", "value", "writes", "newest"
_INPUT = "__start__"  # the channel that a graph is given its input in
_ROLES = {"human": "user", "ai": "assistant", "tool": "tool", "function": "tool", "system": "system"}

Config = Any  # a `RunnableConfig`
Item = dict[str, Any]


class MemorySaver(BaseCheckpointSaver[str]):
    """Every method that a checkpointer must have, and `copy_thread`."""

    def __init__(self, memory: Where = None, *, serde: Any = None) -> None:
        """A memory, or where its store is; by default the person's own."""
        super().__init__(serde=serde)
        self._opened, self._lock = Opened(memory), threading.RLock()

    def close(self) -> None:
        """Close the store, unless the memory was handed over."""
        self._opened.close()

    # -- what a checkpointer does ----------------------------------------------------------

    def get_tuple(self, config: Config) -> CheckpointTuple | None:
        """A checkpoint by its id, or the newest of its namespace."""
        thread, namespace = _thread(config), _namespace(config)
        with self._lock:
            id_ = get_checkpoint_id(config) or self._newest(thread, namespace)
            (found,) = self._items(thread, [_name(_CHECKPOINT, namespace, id_)]) if id_ else (None,)
            return self._tuple(thread, found) if found is not None else None

    def list(
        self,
        config: Config | None,
        *,
        filter: dict[str, Any] | None = None,
        before: Config | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, the newest of each thread and namespace first."""
        with self._lock:
            found = sorted(self._checkpoints(config), key=lambda each: each[1]["id"], reverse=True)
            earlier = get_checkpoint_id(before) if before else None
            wanted = (each for each in found if not earlier or each[1]["id"] < earlier)
            made = (self._tuple(thread, item) for thread, item in wanted)
            kept = (each for each in made if _has(each.metadata, filter or {}))
            listed = [*itertools.islice(kept, limit if limit is None else max(limit, 0))]
        yield from listed

    def put(
        self,
        config: Config,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> Config:
        """Keep a checkpoint and the values that are new in it, with one write."""
        thread, namespace, id_ = _thread(config), _namespace(config), checkpoint["id"]
        values: Mapping[str, Any] = checkpoint["channel_values"]
        rest = {name: value for name, value in checkpoint.items() if name != "channel_values"}
        item = {
            "kind": _CHECKPOINT,
            "namespace": namespace,
            "id": id_,
            "parent": get_checkpoint_id(config),
            "checkpoint": self._packed(rest),
            "metadata": self._packed(get_checkpoint_metadata(config, metadata)),
        }
        text, role = _said(values[_INPUT]) if _INPUT in new_versions and _INPUT in values else ("", "system")
        with self._lock:
            newest = max(id_, self._newest(thread, namespace) or "")
            notes = [
                self._note(
                    thread,
                    _name(_VALUE, namespace, channel, version),
                    {"kind": _VALUE, "value": self._packed(values[channel]) if channel in values else None},
                )
                for channel, version in new_versions.items()
            ]
            notes.append(self._note(thread, _name(_CHECKPOINT, namespace, id_), item, text, role))
            told = {"kind": _NEWEST, "id": newest}
            notes.append(self._note(thread, _name(_NEWEST, namespace), told))
            self._opened.memory.save_batch(notes)
        return _config(thread, namespace, id_)

    def put_writes(
        self, config: Config, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a task wrote after a checkpoint; what it wrote before stays, but errors and the like."""
        thread, namespace, id_ = _thread(config), _namespace(config), config["configurable"]["checkpoint_id"]
        name = _name(_WRITES, namespace, id_)
        with self._lock:
            (held,) = self._items(thread, [name])
            item: Item = held or {"kind": _WRITES, "writes": []}
            there = {(write["task"], write["index"]): write for write in item["writes"]}
            said = [item.get("said") or ["", "assistant"]]
            for position, (channel, value) in enumerate(writes):
                index = WRITES_IDX_MAP.get(channel, position)
                if index < 0 or (task_id, index) not in there:
                    told = {"task": task_id, "path": task_path, "index": index, "channel": channel}
                    there[task_id, index] = {**told, "value": self._packed(value)}
                    said += [_said(value)] if not channel.startswith(("__", "branch:")) else []
            text = "\n".join(filter(None, (words for words, _ in said)))
            item = {**item, "writes": list(there.values()), "said": [text, said[-1][1]]}
            self._opened.memory.save_batch([self._note(thread, name, item, text, said[-1][1])])

    def delete_thread(self, thread_id: str) -> None:
        """Let everything of a thread be gone."""
        with self._lock:
            memory, session = self._opened.memory, _session(str(thread_id))
            memory.delete([note.id for note in memory.notes(session=session)], session=session)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Let another thread have all that one has: every checkpoint, value and write."""
        with self._lock:
            memory = self._opened.memory
            notes = list(memory.notes(session=_session(str(source_thread_id))))
            copies = [
                self._note(str(target_thread_id), note.id, item_of(memory, note), note.text, note.role)
                for note in notes
            ]
            if copies:
                memory.save_batch(copies)

    def get_next_version(self, current: str | int | None, channel: None) -> str:
        """A version that no other branch of a thread comes to, behind the one before."""
        number = int(str(current).partition(".")[0]) if current is not None else 0
        return f"{number + 1:032}.{random.random():016}"

    # -- the same for a loop ---------------------------------------------------------------

    async def aget_tuple(self, config: Config) -> CheckpointTuple | None:
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: Config | None,
        *,
        filter: dict[str, Any] | None = None,
        before: Config | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        def found() -> list[CheckpointTuple]:
            return [*self.list(config, filter=filter, before=before, limit=limit)]

        for each in await asyncio.to_thread(found):
            yield each

    async def aput(
        self,
        config: Config,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> Config:
        return await _done(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: Config, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await _done(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        await _done(self.delete_thread, thread_id)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await _done(self.copy_thread, source_thread_id, target_thread_id)

    # -- underneath ------------------------------------------------------------------------

    def _note(self, thread: str, name: str, item: Item, text: str = "", role: str = "system") -> NewNote:
        return note_of(item, text, role, session=_session(thread), channel=CHANNEL, id_=name)

    def _items(self, thread: str, names: Sequence[str]) -> Sequence[Item | None]:
        memory = self._opened.memory
        found = memory.get_many(names, session=_session(thread))
        return [item_of(memory, note) if note is not None else None for note in found]

    def _newest(self, thread: str, namespace: str) -> str | None:
        (found,) = self._items(thread, [_name(_NEWEST, namespace)])
        return found["id"] if found is not None else None

    def _checkpoints(self, config: Config | None) -> Iterable[tuple[str, Item]]:
        """The checkpoints that a config asks for, each with its thread; without one those of all threads."""
        memory, start = self._opened.memory, f"{CHANNEL}/"
        session = _session(_thread(config)) if config else ""
        wanted = config["configurable"] if config else {}
        for note in memory.notes(session=session, channel=CHANNEL):
            item = item_of(memory, note) if note.id.startswith(_CHECKPOINT) else {}
            is_named = wanted.get("checkpoint_id") in (None, item.get("id"))
            if item and is_named and wanted.get("checkpoint_ns") in (None, item.get("namespace")):
                yield note.session.removeprefix(start), item

    def _tuple(self, thread: str, item: Item) -> CheckpointTuple:
        """A checkpoint with the values of its channels, and what was written since."""
        namespace = item["namespace"]
        checkpoint = self._unpacked(item["checkpoint"])
        versions = checkpoint["channel_versions"]
        names = [_name(_VALUE, namespace, channel, version) for channel, version in versions.items()]
        writes, *held = self._items(thread, [_name(_WRITES, namespace, item["id"]), *names])
        values = {
            channel: self._unpacked(value["value"])
            for channel, value in zip(versions, held, strict=True)
            if value is not None and value["value"] is not None
        }
        ordered = sorted(
            writes["writes"] if writes is not None else (),
            key=lambda write: writes_sort_key(write["path"], write["task"], write["index"]),
        )
        checkpoint["channel_values"] = values
        return CheckpointTuple(
            config=_config(thread, namespace, item["id"]),
            checkpoint=checkpoint,
            metadata=self._unpacked(item["metadata"]),
            parent_config=_config(thread, namespace, item["parent"]) if item["parent"] else None,
            pending_writes=[
                (each["task"], each["channel"], self._unpacked(each["value"])) for each in ordered
            ],
        )

    def _packed(self, value: Any) -> Sequence[str]:
        kind, data = self.serde.dumps_typed(value)
        return [kind, base64.b64encode(data).decode("ascii")]

    def _unpacked(self, packed: Sequence[str]) -> Any:
        kind, data = packed
        return self.serde.loads_typed((kind, base64.b64decode(data)))


async def _done(verb: Any, *given: Any) -> Any:
    """Carry out a verb while the loop goes on; whoever is cancelled meanwhile only no longer waits."""
    return await asyncio.shield(asyncio.to_thread(verb, *given))


def _thread(config: Config) -> str:
    return str(config["configurable"]["thread_id"])


def _namespace(config: Config) -> str:
    return str(config["configurable"].get("checkpoint_ns", ""))


def _session(thread: str) -> str:
    return f"{CHANNEL}/{thread}"


def _config(thread: str, namespace: str, id_: str) -> Config:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": id_}}


def _name(kind: str, *parts: Any) -> str:
    """The name of a note: of what it is, whatever characters and lengths the parts have."""
    told = json.dumps([str(part) for part in parts]).encode("ascii")
    return f"{kind}-{hashlib.blake2b(told, digest_size=16).hexdigest()}"


def _has(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(metadata.get(name) == value for name, value in wanted.items())


def _said(value: Any) -> tuple[str, str]:
    """The words in a value of a channel, and whose the last of them are."""
    if isinstance(value, str):
        return value, "note"
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        found = [each for each in map(_said, value) if each[0]]
        return "\n".join(words for words, _ in found), found[-1][1] if found else "system"
    text, kind = getattr(value, "text", None), str(getattr(value, "type", ""))
    if kind not in _ROLES or not isinstance(text, str):
        return "", "system"
    called = getattr(value, "tool_calls", [])
    calls = [f"{each.get('name')} {json.dumps(each.get('args'), default=str)}" for each in called]
    return "\n".join(filter(None, [str(text), *calls])), _ROLES[kind]

"""Which records of a Qwen Code transcript its next request would be made of.

Pure: records in, records out. Each record names the one it follows, and the last one written is where the
session goes on: what was rewound hangs on no path from there. A compression stands for all before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recollect.agents.fields import dict_of, list_of, text_of
from recollect.agents.qwen.parts import parts_of

_SPEAKING = ("user", "assistant", "tool_result")
_BESIDE = (
    "session_sources_snapshot",
    "session_artifact_event",
    "session_artifact_snapshot",
    "managed_session_header_v1",
    "managed_session_event_v1",
    "managed_session_commit_v1",
)  # no part of the chain


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """A record of a transcript; `at` is its place in the file, `line` its bytes."""

    at: int
    body: dict[str, Any]
    line: bytes = b""

    @property
    def type(self) -> str:
        return text_of(self.body.get("type"))

    @property
    def subtype(self) -> str:
        return text_of(self.body.get("subtype"))

    @property
    def uuid(self) -> str:
        return text_of(self.body.get("uuid"))

    @property
    def parts(self) -> list[dict[str, Any]]:
        return parts_of(self.body.get("message"))

    @property
    def speaks(self) -> bool:
        return self.type in _SPEAKING and self.subtype != "realtime_message"

    @property
    def compressed(self) -> list[Any]:
        """The history that a compression left, [] for any other record."""
        is_one = self.type == "system" and self.subtype == "chat_compression"
        return list_of(dict_of(self.body.get("systemPayload")).get("compressedHistory")) if is_one else []


def path_to(records: Sequence[Record], leaf: Record | None = None) -> list[Record]:
    """From the root to a record, the last one of the chain if none is named."""
    chained = [record for record in records if record.uuid and record.subtype not in _BESIDE]
    by_uuid: dict[str, Record] = {}
    for record in chained:
        by_uuid.setdefault(record.uuid, record)
    at = leaf or (chained[-1] if chained else None)
    path: list[Record] = []
    seen: set[int] = set()
    while at is not None and at.at not in seen:
        seen.add(at.at)
        path.append(at)
        at = by_uuid.get(text_of(at.body.get("parentUuid")))
    return path[::-1]


def last_compression(path: Sequence[Record]) -> int:
    """Where in a path the last compression is, -1 where there is none."""
    return next((at for at in reversed(range(len(path))) if path[at].compressed), -1)


def not_taken(records: Sequence[Record], path: Sequence[Record]) -> Counter[str]:
    """Why each message that is not among those taken is not."""
    on_path = {record.at for record in path}
    have = {record.at for record in path[max(last_compression(path), 0) :]}
    why: Counter[str] = Counter()
    for record in records:
        if record.speaks and record.at not in have:
            is_before = record.at in on_path
            why["message before a compaction" if is_before else "message of another branch"] += 1
    return why


def left(records: Sequence[Record], path: Sequence[Record]) -> list[list[Record]]:
    """The messages of branches that were left, each branch in file order."""
    have = {record.uuid for record in path}
    branches: dict[str, list[Record]] = {}
    for record in records:
        if record.uuid and record.uuid not in have and record.subtype not in _BESIDE:
            parent = text_of(record.body.get("parentUuid"))
            branch = branches.setdefault(record.uuid, branches.get(parent, []))
            branch += [record] if record.speaks else []
    return [branch for branch in {id(each): each for each in branches.values()}.values() if branch]

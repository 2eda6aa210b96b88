"""Which records of a pi session its next request would be made of.

Pure: records in, records out. Each record names the one it follows; the last one written is where the session
goes on. A compaction stands for all before it but what it names as kept, and a later edit changes what the
model is shown of a record, or takes it out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from recollect.agents.fields import dict_of, text_of

_SPEAKING = ("user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage")


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """A record but the first; `at` is its place in the file, `line` its bytes."""

    at: int
    id: str
    parent: str
    body: dict[str, Any]
    line: bytes = b""

    @property
    def type(self) -> str:
        return text_of(self.body.get("type"))

    @property
    def message(self) -> dict[str, Any]:
        """What is said; what an extension says is a message too."""
        if self.type == "custom_message":
            return {"role": "custom", "content": self.body.get("content")}
        return dict_of(self.body.get("message")) if self.type == "message" else {}

    @property
    def role(self) -> str:
        return text_of(self.message.get("role"))

    @property
    def speaks(self) -> bool:
        return self.role in _SPEAKING


def linked(bodies: Iterable[tuple[int, dict[str, Any], bytes]]) -> list[Record]:
    """Records with what each follows: in version 1, which has no ids, the one before it."""
    found: list[Record] = []
    for at, body, line in bodies:
        if body.get("type") == "session":
            continue
        id_ = text_of(body.get("id"))
        before = found[-1].id if found and not id_ else ""
        found.append(Record(at, id_ or f"line {at}", text_of(body.get("parentId")) or before, body, line))
    return found


def path_to(records: Sequence[Record], leaf: Record | None = None) -> list[Record]:
    """From the root to a record, the last one of the file if none is named."""
    by_id = {record.id: record for record in records}
    at = leaf or (records[-1] if records else None)
    path: list[Record] = []
    seen: set[int] = set()
    while at is not None and at.at not in seen:
        seen.add(at.at)
        path.append(at)
        at = by_id.get(at.parent) if at.parent else None
    return path[::-1]


def last_compaction(path: Sequence[Record]) -> Record | None:
    return next((record for record in reversed(path) if record.type == "compaction"), None)


def shown(path: Sequence[Record]) -> list[Record]:
    """Of a path what the model would be shown, in that order and as edited."""
    compaction = last_compaction(path)
    context = list(path)
    if compaction is not None:
        at = path.index(compaction)
        first = next((n for n in range(at) if _is_first_kept(path[n], compaction)), at)
        kept = [record for record in path[first:at] if record.type != "compaction"]
        context = [compaction, *kept, *path[at + 1 :]]
    edits = {
        text_of(record.body.get("targetId")): record.body.get("replacement")
        for record in context
        if record.type == "context_edit"
    }
    return [_edited(record, edits[record.id]) if record.id in edits else record for record in context]


def not_shown(records: Sequence[Record], path: Sequence[Record], context: Sequence[Record]) -> Counter[str]:
    """Why each message that is not among those shown is not."""
    on_path, have = {record.at for record in path}, {record.at for record in context}
    why: Counter[str] = Counter()
    for record in records:
        if record.speaks and record.at not in have:
            is_before = record.at in on_path
            why["message before a compaction" if is_before else "message of another branch"] += 1
    return why


def left(records: Sequence[Record], path: Sequence[Record]) -> list[list[Record]]:
    """The messages of branches that were left, each branch in file order."""
    have = {record.id for record in path}
    branches: dict[str, list[Record]] = {}
    for record in records:
        if record.id not in have:
            branch = branches.setdefault(record.id, branches.get(record.parent, []))
            branch += [record] if record.speaks else []
    return [branch for branch in {id(each): each for each in branches.values()}.values() if branch]


def _is_first_kept(record: Record, compaction: Record) -> bool:
    """Whether a compaction keeps this record and all behind it; version 1 counts lines."""
    index = compaction.body.get("firstKeptEntryIndex")
    if type(index) is int and not text_of(compaction.body.get("firstKeptEntryId")):
        return record.at >= index
    return record.id == text_of(compaction.body.get("firstKeptEntryId"))


def _edited(record: Record, replacement: Any) -> Record:
    """A record with other words, or with none where it was taken out of what is shown."""
    content = dict_of(replacement).get("content", [])
    key = "message" if record.type == "message" else ""
    body = {**record.body, key: {**record.message, "content": content}} if key else record.body
    return replace(record, body=body if key else {**record.body, "content": content})

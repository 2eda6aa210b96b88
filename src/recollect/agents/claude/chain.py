"""Which records of a Claude Code transcript its next request would be made of.

Pure: records in, records out. The tree of `parentUuid` is not the conversation. Parallel calls
fork it, so that a walk from the leaf to the root loses every second result; rows of one answer lie
on several branches; and a compaction may keep messages from before its boundary, which then follow
its summary. What a walk loses is found again by the ids of answers and of calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from recollect.agents.fields import dict_of, list_of, text_of

CHAIN = ("user", "assistant", "system", "attachment", "progress")


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """A record of the chain, or a `last-prompt`; `at` is its place in the file, `line` its bytes."""

    at: int
    body: dict[str, Any]
    line: bytes = b""

    @property
    def type(self) -> str:
        return text_of(self.body.get("type"))

    @property
    def uuid(self) -> str:
        return text_of(self.body.get("uuid"))

    @property
    def parent(self) -> str:
        return text_of(self.body.get("parentUuid"))

    @property
    def message(self) -> dict[str, Any]:
        return dict_of(self.body.get("message"))

    @property
    def content(self) -> list[dict[str, Any]]:
        """The blocks of its message; a plain text is one block."""
        content = self.body["message"] if "content" not in self.message else self.message["content"]
        if type(content) is str:
            return [{"type": "text", "text": content}]
        return [dict_of(block) for block in list_of(content)]

    @property
    def speaks(self) -> bool:
        return self.type in ("user", "assistant") and "message" in self.body

    @property
    def is_boundary(self) -> bool:
        return self.type == "system" and self.body.get("subtype") == "compact_boundary"

    @property
    def answer(self) -> str:
        """What all rows of one answer share."""
        return text_of(self.message.get("id")) or self.uuid


def resumed(records: Sequence[Record], *, side: bool, leaf: Record | None = None) -> list[Record]:
    """The records of the conversation as it stands at `leaf`, or where the agent would go on.

    An answer's rows stand together, its results right behind them. `side`: a subagent's own file.
    """
    own = [record for record in records if side or record.body.get("isSidechain") is not True]
    by_uuid = {record.uuid: record for record in own if record.uuid and record.type in CHAIN}
    own = [record for record in own if by_uuid.get(record.uuid, record) is record]  # copied: the last counts
    leaf = leaf or _live_leaf(own)
    if leaf is None:
        return []
    boundaries = [record for record in own if record.is_boundary and record.at < leaf.at]
    return list(_in_order(_path(leaf, by_uuid, _new_parents(boundaries, by_uuid), own), own))


def last_boundary(records: Iterable[Record]) -> Record | None:
    """The last compaction of the conversation itself."""
    found = None
    for record in records:
        if record.is_boundary and record.body.get("isSidechain") is not True:
            found = record
    return found


def not_taken(records: Iterable[Record], taken: Sequence[Record]) -> Counter[str]:
    """Why each message that is not among those taken is not."""
    have = {record.uuid for record in taken}
    restart = next((record.at for record in taken if record.is_boundary), -1)
    why: Counter[str] = Counter()
    for record in records:
        if not record.speaks or record.uuid in have:
            continue
        if record.body.get("isSidechain") is True:
            why["message of a subagent"] += 1
        else:
            why["message before a compaction" if record.at < restart else "message of another branch"] += 1
    return why


def left(records: Iterable[Record], taken: Sequence[Record]) -> list[list[Record]]:
    """The messages of branches that were left behind the last compaction, each branch in file order.

    A record that says nothing of what it follows is on no branch.
    """
    have = {record.uuid for record in taken}
    restart = next((record.at for record in taken if record.is_boundary), -1)
    branches: dict[str, list[Record]] = {}
    for record in records:
        is_own = record.type in CHAIN and record.body.get("isSidechain") is not True
        is_own = is_own and "parentUuid" in record.body
        if is_own and record.uuid not in have and record.at >= restart:
            branch = branches.setdefault(record.uuid, branches.get(record.parent, []))
            branch += [record] if record.speaks else []
    return [branch for branch in {id(each): each for each in branches.values()}.values() if branch]


def _live_leaf(own: Sequence[Record]) -> Record | None:
    """Where the agent would go on: at what was said last, unless it noted another place after that."""
    noted = next((record for record in reversed(own) if record.type == "last-prompt"), None)
    spoken = next((record for record in reversed(own) if _is_leaf(record)), None)
    if noted is None or (spoken is not None and spoken.at > noted.at):
        return spoken
    wanted = text_of(noted.body.get("leafUuid"))
    named = next((record for record in reversed(own) if wanted and record.uuid == wanted), None)
    return named or spoken


def _is_leaf(record: Record) -> bool:
    return record.speaks and bool(record.uuid) and not record.body.get("teamName")


def _path(
    leaf: Record, by_uuid: dict[str, Record], relinked: dict[str, str], own: Sequence[Record]
) -> list[Record]:
    """From the root, or the last compaction, to the leaf."""
    path = [leaf]
    seen = {leaf.at}
    while not path[-1].is_boundary:
        parent = relinked.get(path[-1].uuid, path[-1].parent)
        above = by_uuid.get(parent) or (_written_before(path[-1], own) if parent else None)
        if above is None or above.at in seen:
            break
        seen.add(above.at)
        path.append(above)
    return path[::-1]


def _written_before(record: Record, own: Sequence[Record]) -> Record | None:
    """What stands above a record whose parent is lost: the agent would forget all before it."""
    above = None
    for other in own:
        if other.at >= record.at:
            break
        above = other if other.uuid and other.type in CHAIN else above
    return above


def _new_parents(boundaries: Sequence[Record], by_uuid: dict[str, Record]) -> dict[str, str]:
    """Other parents for what compactions kept of the time before, and for what then went on from there.

    What was kept follows the record that the boundary names; whatever hung on that follows what was kept.
    """
    parents: dict[str, str] = {}
    for boundary in boundaries:
        metadata = dict_of(boundary.body.get("compactMetadata"))
        parts = dict_of(metadata.get("preservedMessages")), dict_of(metadata.get("preservedSegment"))
        anchor = next((text_of(part["anchorUuid"]) for part in parts if "anchorUuid" in part), "")
        kept = [uuid for uuid in _kept_uuids(metadata, by_uuid) if uuid in by_uuid and uuid != anchor]
        if not kept or anchor not in by_uuid:
            continue
        parents.update({each.uuid: kept[-1] for each in by_uuid.values() if each.parent == anchor})
        parents.update(zip(kept, [anchor, *kept], strict=False))
    return parents


def _kept_uuids(metadata: dict[str, Any], by_uuid: dict[str, Record]) -> list[str]:
    """The uuids a compaction kept, in order."""
    messages = dict_of(metadata.get("preservedMessages"))
    for key in ("allUuids", "uuids"):
        if uuids := [uuid for uuid in list_of(messages.get(key)) if type(uuid) is str]:
            return list(dict.fromkeys(uuids))
    segment = dict_of(metadata.get("preservedSegment"))
    head, at = text_of(segment.get("headUuid")), text_of(segment.get("tailUuid"))
    found: list[str] = []
    while at in by_uuid and at not in found:
        found.append(at)
        at = "" if at == head else by_uuid[at].parent
    return found[::-1] if found and found[-1] == head else []


def _in_order(path: Sequence[Record], own: Sequence[Record]) -> Iterator[Record]:
    """The path, each answer's rows from wherever they lie, then its results, then what else was said."""
    rows: dict[str, list[Record]] = {}
    results: dict[str, Record] = {}
    for record in own:
        if record.type == "assistant" and record.speaks:
            rows.setdefault(record.answer, []).append(record)
        elif record.type == "user" and record.speaks:
            for call in _results(record):
                results.setdefault(call, record)
    given: set[int] = set()
    for record in path:
        if record.at in given:
            continue
        answers = record.type == "assistant" and record.speaks
        group = rows[record.answer] if answers else [record]
        answering = [results[call] for row in group for call in _calls(row) if call in results]
        for each in dict.fromkeys([*group, *answering]):
            if each.at not in given:
                given.add(each.at)
                yield each


def _calls(record: Record) -> list[str]:
    if record.type != "assistant":
        return []
    return [text_of(block.get("id")) for block in record.content if block.get("type") == "tool_use"]


def _results(record: Record) -> list[str]:
    found = [block for block in record.content if block.get("type") == "tool_result"]
    return [text_of(block.get("tool_use_id")) for block in found]

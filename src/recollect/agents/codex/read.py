"""Codex sessions as conversations: as the agent itself would resume them, or entry by entry.

Response items are what the model saw; events only repeat them. A rollout is a list of changes to a
history, not the history. A compaction replaces all before it, a rollback takes turns away again,
and a paginated fork begins with lines of another session's file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from recollect.agents.codex.read_blocks import is_typed, message_of_item
from recollect.agents.decode import BadLine, decode
from recollect.agents.fields import count_of, dict_of, lines_of, list_of, text_of, time_of
from recollect.agents.sessions import StoredFile
from recollect.values.conversation import Block, Conversation, Message, Role
from recollect.values.errors import NotFound
from recollect.values.ids import entry_id
from recollect.values.records import Kind
from recollect.values.records import Role as FileRole

if TYPE_CHECKING:
    from recollect.values.stored import Session, StoredEntry


@dataclass(frozen=True, slots=True)
class _Item:
    """A response item and where it stands."""

    body: dict[str, Any]
    time_ms: int
    entry: str
    model: str


FilesOf = Callable[[str], Sequence[StoredFile]]


def conversation(
    session: Session, files_of: FilesOf, *, until: StoredEntry | None = None, before_compaction: bool = False
) -> Conversation:
    """A whole session as it would be resumed; at the entry `until`, or before it was last compacted."""
    facts = session.facts
    left_out: Counter[str] = Counter()
    lines = list(_lines(facts.id, files_of, left_out))
    rest: list[bytes] = []
    if until is not None:
        end = _end_of(until, lines, facts.id)
        lines, rest = lines[:end], lines[end:]
    if before_compaction:
        end = _compaction(lines, facts.id)
        lines, rest = lines[:end], lines[end:] + rest
    items = _history(lines, left_out)
    items += _outputs(items, rest)
    return Conversation(
        tuple(_messages(items, facts.id, left_out)),
        title=facts.headline,
        cwd=facts.cwd,
        project=facts.project,
        branch=facts.branch,
        agents=("codex",),
        left_out=left_out,
    )


def message_of(stored: StoredEntry, line: bytes, again: bytes = b"") -> Message | None:
    """The message that one entry is, None where it is no part of a conversation.

    `again` is the line behind it where that says the same: an event comes before the item that it tells of.
    """
    kind, entry = stored.entry.kind, stored.entry
    if kind in (Kind.EVENT, Kind.UNKNOWN):
        return None
    item = _item_of(_record_in(line))
    if item is None and (item := _item_of(_record_in(again))) is not None:
        return message_of_item(
            item, stored.session, entry=stored.id, time_ms=entry.time_ms, model=entry.model, part=0
        )
    if item is not None:
        part = int(stored.id.partition(".")[2] or 0)
        return message_of_item(
            item, stored.session, entry=entry_id(line, 0), time_ms=entry.time_ms, model=entry.model, part=part
        )
    # An event: the item that repeats it is another entry's line.
    role: Role = "assistant" if kind in (Kind.ANSWER, Kind.THOUGHT, Kind.CALL) else "user"
    body = {"type": "text", "text": entry.text}
    if kind is Kind.THOUGHT:
        body = {"type": "thinking", "thinking": entry.text}
    return (
        Message(
            role,
            (Block(body, stored.id, time_ms=entry.time_ms),),
            "codex",
            stored.session,
            entry.time_ms,
            entry.model if role == "assistant" else "",
            note=kind is Kind.SUMMARY,
            meta=kind in (Kind.CONTEXT, Kind.RESULT),
        )
        if entry.text
        else None
    )


# -- the lines of a thread


def _lines(thread: str, files_of: FilesOf, left_out: Counter[str]) -> Iterator[bytes]:
    """A thread's lines, with those of another's file that it begins with."""
    seen: set[str] = set()
    parts: list[list[bytes]] = []
    end = -1  # how many ordinals of the file at hand belong to the thread; -1 for all
    while thread and thread not in seen:
        seen.add(thread)
        held = _up_to(_own_lines(thread, files_of, left_out), end)
        parts.append(held)
        base = next((base for line in held[:1] if (base := _base(line))), {})
        end = count_of(base.get("end_ordinal_exclusive"))
        thread = text_of(base.get("thread_id")) if end else ""
    for part in reversed(parts):
        yield from part


def _own_lines(thread: str, files_of: FilesOf, left_out: Counter[str]) -> list[bytes]:
    """The newest file of a thread: one that was reverted has several."""
    try:
        files = files_of(thread)
    except NotFound:
        left_out["history that is in a session not stored"] += 1
        return []
    held = [each for each in files if each.source.file.role is FileRole.MAIN and not each.source.superseded]
    held.sort(key=lambda each: PurePath(each.source.file.path).name)
    return [line.data for each in held[-1:] for line in each.lines()]


def _base(line: bytes) -> dict[str, Any]:
    record = _record_in(line) if b'"history_base"' in line else {}
    return dict_of(dict_of(record.get("payload")).get("history_base"))


def _up_to(lines: list[bytes], end: int) -> list[bytes]:
    if end < 0:
        return lines
    return [line for n, line in enumerate(lines) if count_of(_record_in(line).get("ordinal", n)) < end]


def _end_of(wanted: StoredEntry, lines: Sequence[bytes], session: str) -> int:
    """How many lines there are up to an entry; where an event says it first, up to the item that does."""
    line_id = wanted.id.partition(".")[0]
    at = next((n for n, line in enumerate(lines) if entry_id(line, 0) == line_id), -1)
    if at < 0:
        raise NotFound(
            f"entry {wanted.id} is no part of the conversation of session {session}",
            hint="`recollect show SESSION` lists its entries",
        )
    if _item_of(_record_in(lines[at])) is None and wanted.entry.text:
        for n in range(at + 1, min(at + _TWIN_LINES_MAX, len(lines))):
            item = _item_of(_record_in(lines[n])) or {}
            texts = [
                text_of(dict_of(p).get("text")) for k in ("content", "summary") for p in list_of(item.get(k))
            ]
            if wanted.entry.text in texts:
                return n + 1
    return at + 1


def _compaction(lines: Sequence[bytes], session: str) -> int:
    for n in range(len(lines) - 1, -1, -1):
        record = _record_in(lines[n]) if b'"compacted"' in lines[n] else {}
        if record.get("type") == "compacted":
            return _without_summary(lines[:n], text_of(dict_of(record.get("payload")).get("message")))
    raise NotFound(f"session {session} was never compacted", hint="leave out --before-compaction")


def _without_summary(lines: Sequence[bytes], summary: str) -> int:
    """How many lines there are before the answer that became the summary: Codex logs it as an answer."""
    for n in range(len(lines) - 1, max(len(lines) - _TWIN_LINES_MAX, 0) - 1, -1):
        item = _item_of(_record_in(lines[n]))
        if item is not None:
            said = lines_of(item.get("content")) if item.get("role") == "assistant" else ""
            return n if said and summary.endswith(said) else len(lines)
    return len(lines)


# -- the history they come to


def _history(lines: Sequence[bytes], left_out: Counter[str]) -> list[_Item]:
    """The items the next request would be made of."""
    items: list[_Item] = []
    model = ""
    for line in lines:
        record = _record_in(line)
        payload = dict_of(record.get("payload"))
        time_ms = time_of(record.get("timestamp"))
        if (item := _item_of(record)) is not None:
            items.append(_Item(item, time_ms, entry_id(line, 0), model))
        elif record.get("type") == "turn_context":
            model = text_of(payload.get("model")) or model
        elif record.get("type") == "compacted":
            left_out["item before a compaction"] += len(items)
            items = [_Item(each, time_ms, "", model) for each in _replacement(payload, items)]
        elif payload.get("type") == "thread_rolled_back":
            kept = _rolled_back(items, count_of(payload.get("num_turns")))
            left_out["item of a turn taken back"] += len(items) - len(kept)
            items = kept
        elif "items" in record:  # the oldest era: one document
            documents = [dict_of(each) for each in list_of(record["items"])]
            items += [_Item(each, time_of(each.get("timestamp")), "", model) for each in documents]
    return items


def _item_of(record: dict[str, Any]) -> dict[str, Any] | None:
    """The response item that a line is, None for any other line; before September 2025 they were bare."""
    payload = record.get("payload")
    if type(payload) is dict:
        return payload if record.get("type") == "response_item" else None
    return record if "record_type" not in record and text_of(record.get("type")) else None


def _replacement(payload: dict[str, Any], items: Sequence[_Item]) -> list[dict[str, Any]]:
    """What a compaction puts in the place of all before it."""
    if type(payload.get("replacement_history")) is list:
        return [dict_of(each) for each in payload["replacement_history"]]
    summary = {"type": "input_text", "text": text_of(payload.get("message"))}
    typed = [item.body for item in items if is_typed(item.body)]
    return [*typed, {"type": "message", "role": "user", "content": [summary]}]


def _rolled_back(items: list[_Item], turns: int) -> list[_Item]:
    starts = [n for n, item in enumerate(items) if is_typed(item.body)]
    return items[: starts[-min(turns, len(starts))]] if turns and starts else items


def _outputs(items: Sequence[_Item], rest: Sequence[bytes]) -> list[_Item]:
    """The results of calls that are still open, from the lines that come after."""
    asked = {_call_id(item.body) for item in items if text_of(item.body.get("type")).endswith("_call")}
    asked -= {_call_id(item.body) for item in items if text_of(item.body.get("type")).endswith("_output")}
    found = []
    for line in rest if asked - {""} else ():
        record = _record_in(line)
        item = _item_of(record) or {}
        if text_of(item.get("type")).endswith("_output") and _call_id(item) in asked:
            found.append(_Item(item, time_of(record.get("timestamp")), entry_id(line, 0), ""))
    return found


def _call_id(item: dict[str, Any]) -> str:
    return text_of(item.get("call_id")) or text_of(item.get("id"))


def _messages(items: Sequence[_Item], session: str, left_out: Counter[str]) -> list[Message]:
    """Items as turns: what the model says until someone else speaks is one message."""
    found: list[Message] = []
    for item in items:
        made = message_of_item(item.body, session, entry=item.entry, time_ms=item.time_ms, model=item.model)
        if made is None:
            left_out["bookkeeping item"] += 1
        elif found and found[-1].role == made.role == "assistant":
            found[-1] = replace(found[-1], blocks=found[-1].blocks + made.blocks)
        else:
            found.append(made)
    return found


def _record_in(line: bytes) -> dict[str, Any]:
    try:
        return dict_of(decode(line)[0])
    except BadLine:
        return {}


_TWIN_LINES_MAX = 12

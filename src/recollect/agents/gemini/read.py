"""Gemini CLI's chats as conversations: as the client itself would resume them, or entry by entry.

A log is a list of changes to a list of messages. `$set` with messages is the list anew, in a poorer form:
of a message that was stated before, what was stated holds. Results stand with their calls; the message that
gives them to the model repeats them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from recollect.agents.decode import BadLine, decode
from recollect.agents.fields import dict_of, list_of, text_of, time_of
from recollect.agents.gemini.message import (
    RESULTS_AGAIN,
    is_setup,
    is_summary,
    response_text,
    said_text,
    thought_text,
    without_hooks,
)
from recollect.agents.sessions import StoredFile
from recollect.values.conversation import Block, Conversation, Message
from recollect.values.errors import NotFound
from recollect.values.ids import entry_id
from recollect.values.records import Kind
from recollect.values.records import Role as FileRole

if TYPE_CHECKING:
    from recollect.values.stored import Session, StoredEntry

_AGENT = "gemini"
_FAILED = ("error", "cancelled")

Record = dict[str, Any]
FilesOf = Callable[[str], Sequence[StoredFile]]


def conversation(
    session: Session, files_of: FilesOf, *, until: StoredEntry | None = None, before_compaction: bool = False
) -> Conversation:
    """A whole chat as it would be resumed; at the entry `until`, or before it was last cut down."""
    facts = session.facts
    chats = _chats(files_of(facts.id))
    if until is not None:
        chats = _up_to(until, chats, facts.id)
    if before_compaction:
        chats = _before_compaction(chats, facts.id)
    left_out: Counter[str] = Counter()
    stated: dict[str, tuple[Record, bytes]] = {}
    for lines in chats:
        for record, line in _history(lines, left_out):
            stated.setdefault(text_of(record.get("id")), (record, line))
    messages = [
        made for record, line in stated.values() for made in _messages_of(record, facts.id, entry_id(line, 0))
    ]
    return Conversation(
        tuple(messages),
        title=facts.headline,
        cwd=facts.cwd,
        project=facts.project,
        branch=facts.branch,
        agents=(_AGENT,),
        left_out=+left_out,
    )


def message_of(stored: StoredEntry, line: bytes, again: bytes = b"") -> Message | None:
    """The message that one entry is, None where it is no part of a conversation."""
    entry = stored.entry
    body: Record = {"type": "text", "text": entry.text} if entry.text.strip() else {}
    if entry.kind is Kind.THOUGHT and body:
        body = {"type": "thinking", "thinking": entry.text}
    elif entry.kind is Kind.CALL and entry.call:
        body = {"type": "tool_use", "id": entry.call, "name": entry.tool, "input": _object(entry.text)}
    elif entry.kind is Kind.RESULT and entry.call:
        body = {"type": "tool_result", "tool_use_id": entry.call, "content": entry.text}
    elif entry.kind is Kind.IMAGE:
        pictures = list(_pictures(list_of(_record_in(line).get("content"))))
        body = pictures[0] if pictures else {}
    if not body or entry.kind in (Kind.EVENT, Kind.UNKNOWN):
        return None
    is_models = entry.kind in (Kind.ANSWER, Kind.THOUGHT, Kind.CALL)
    return Message(
        "assistant" if is_models else "user",
        (Block(body, stored.id, time_ms=entry.time_ms),),
        _AGENT,
        stored.session,
        entry.time_ms,
        entry.model if is_models else "",
        note=entry.kind is Kind.SUMMARY,
        meta=entry.kind is Kind.CONTEXT,
    )


# -- the lines of a chat


def _chats(files: Sequence[StoredFile]) -> list[list[bytes]]:
    """The lines of each file of a chat.

    One that is resumed in another minute begins a second file, with next to nothing in it. A log beside the
    document that it began as states all of that.
    """
    chats = (FileRole.MAIN, FileRole.SUBAGENT)
    held = {
        each.source.file.path: each
        for each in files
        if each.source.file.role in chats and not each.source.superseded
    }
    names = sorted((path for path in held if path + "l" not in held), key=lambda path: PurePath(path).name)
    return [[line.data for line in held[name].lines()] for name in names]


def _up_to(wanted: StoredEntry, chats: Sequence[list[bytes]], session: str) -> list[list[bytes]]:
    line_id = wanted.id.partition(".")[0]
    for at, lines in enumerate(chats):
        for number, line in enumerate(lines, 1):
            if entry_id(line, 0) == line_id:
                return [*chats[:at], lines[:number]]
    raise NotFound(
        f"entry {wanted.id} is no part of the conversation of session {session}",
        hint="`recollect show SESSION` lists its entries",
    )


def _before_compaction(chats: Sequence[list[bytes]], session: str) -> list[list[bytes]]:
    """Up to where a summary took the place of what was said."""
    for at in range(len(chats) - 1, -1, -1):
        for number in range(len(chats[at]) - 1, -1, -1):
            record = _record_in(chats[at][number])
            if any(is_summary(said_text(each)) for each in _told_anew(record) or [record]):
                return [*chats[:at], chats[at][:number]]
    raise NotFound(f"session {session} was never compacted", hint="leave out --before-compaction")


# -- the list they come to


def _history(lines: Sequence[bytes], left_out: Counter[str]) -> list[tuple[Record, bytes]]:
    """The messages that are left, each with the line that stated it best."""
    stated: dict[str, tuple[Record, bytes]] = {}
    ids: dict[str, None] = {}
    for line in lines:
        record = _record_in(line)
        back, id_ = record.get("$rewindTo"), text_of(record.get("id"))
        if type(back) is str and back in ids:
            names = list(ids)
            gone = names[names.index(back) :]
            left_out["message taken back"] += len(gone)
            ids = {name: None for name in names if name not in gone}
        elif anew := _told_anew(record):
            for each in anew:
                stated.setdefault(text_of(each.get("id")), (each, line))
            before, ids = ids, {text_of(each.get("id")): None for each in anew}
            left_out["message that was cut"] += len(before.keys() - ids.keys()) if len(anew) > 1 else 0
        elif id_:
            stated[id_] = (record, line)
            ids[id_] = None
    again = {id_ + RESULTS_AGAIN for id_ in stated}
    return [stated[id_] for id_ in ids if id_ not in again]


def _told_anew(record: Record) -> list[Record]:
    """The messages of a list that takes the place of all before it."""
    return [each for each in map(dict_of, list_of(dict_of(record.get("$set")).get("messages"))) if each]


# -- what each of them says


def _messages_of(record: Record, session: str, entry: str) -> Iterator[Message]:
    time_ms = time_of(record.get("timestamp"))
    if record.get("type") == "user":
        text = without_hooks(said_text(record))
        blocks = [{"type": "text", "text": text}] if text.strip() else []
        blocks += _pictures(list_of(record.get("content")))
        if blocks:
            made = tuple(Block(each, entry, time_ms=time_ms) for each in blocks)
            note, setup = is_summary(text), is_setup(text)
            yield Message("user", made, _AGENT, session, time_ms, note=note, meta=setup, setup=setup)
    elif record.get("type") == "gemini":
        calls = [dict_of(each) for each in list_of(record.get("toolCalls"))]
        said = [*_thoughts(record), *_words(record), *map(_use, calls)]
        model, id_ = text_of(record.get("model")), text_of(record.get("id"))
        if said:
            made = tuple(Block(each, entry, time_ms=time_ms) for each in said)
            yield Message("assistant", made, _AGENT, session, time_ms, model, id_)
        if results := [_result(call) for call in calls if list_of(call.get("result"))]:
            given = tuple(Block(each, entry, time_ms=time_ms) for each in results)
            yield Message("user", given, _AGENT, session, time_ms)


def _thoughts(record: Record) -> Iterator[Record]:
    told = [thought_text(dict_of(each)) for each in list_of(record.get("thoughts"))]
    parts = map(dict_of, list_of(record.get("content")))
    told = told or [text_of(part.get("text")) for part in parts if part.get("thought") is True]
    yield from ({"type": "thinking", "thinking": each} for each in told if each)


def _words(record: Record) -> Iterator[Record]:
    if text := said_text(record):
        yield {"type": "text", "text": text}


def _use(call: Record) -> Record:
    name, given = text_of(call.get("name")) or "tool", dict_of(call.get("args"))
    return {"type": "tool_use", "id": text_of(call.get("id")), "name": name, "input": given}


def _result(call: Record) -> Record:
    parts = [dict_of(part) for part in list_of(call.get("result"))]
    given = [dict_of(dict_of(part.get("functionResponse")).get("response")) for part in parts]
    text = "\n".join(filter(None, map(response_text, given)))
    pictures = list(_pictures(parts))
    content = [{"type": "text", "text": text}, *pictures] if pictures else text
    body = {"type": "tool_result", "tool_use_id": text_of(call.get("id")), "content": content}
    failed = call.get("status") in _FAILED or any("error" in each for each in given)
    return {**body, "is_error": True} if failed else body


def _pictures(parts: Sequence[Any]) -> Iterator[Record]:
    for part in map(dict_of, parts):
        inline = dict_of(part.get("inlineData"))
        data, kind = text_of(inline.get("data")), text_of(inline.get("mimeType"))
        if data and kind:
            name = "image" if kind.startswith("image/") else "document"
            yield {"type": name, "source": {"type": "base64", "media_type": kind, "data": data}}


def _object(text: str) -> Record:
    try:
        return dict_of(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _record_in(line: bytes) -> Record:
    """A line of a log, or the piece of a document that is one message."""
    try:
        return dict_of(decode(line.lstrip(b", \t\r\n"))[0])
    except BadLine:
        return {}

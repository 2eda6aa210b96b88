"""Qwen Code's sessions as conversations: as the agent itself would resume them, or entry by entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from recollect.agents.decode import BadLine, decode
from recollect.agents.fields import dict_of, list_of, text_of, time_of
from recollect.agents.qwen.chain import Record, last_compression, left, not_taken, path_to
from recollect.agents.qwen.parts import parts_of, result_text, said_kinds
from recollect.agents.sessions import StoredFile
from recollect.values.conversation import Block, Conversation, Message
from recollect.values.errors import NotFound
from recollect.values.ids import entry_id
from recollect.values.records import Kind, Relation, Role

if TYPE_CHECKING:
    from recollect.values.stored import Session, StoredEntry, StoredLine

_AGENT = "qwen"


def conversation(
    session: Session,
    files_of: Callable[[str], Sequence[StoredFile]],
    *,
    until: StoredEntry | None = None,
    before_compaction: bool = False,
) -> Conversation:
    """A whole session as it would be resumed; at the entry `until`, or before it was last compressed."""
    facts = session.facts
    records = _records_of(session, files_of)
    path = path_to(records, _record_of(until, records, facts.id) if until is not None else None)
    if before_compaction:
        if last_compression(path) < 0:
            raise NotFound(f"session {facts.id} was never compacted", hint="leave out --before-compaction")
        path = path[: last_compression(path)]
    return Conversation(
        tuple(_messages(path, facts.id)),
        title=facts.headline,
        cwd=facts.cwd,
        project=facts.project,
        branch=facts.branch,
        agents=(_AGENT,),
        left_out=not_taken(records, path),
    )


def left_branches(
    session: Session, files_of: Callable[[str], Sequence[StoredFile]], /
) -> list[tuple[bytes, int]]:
    """The branches that were left: the first line of each, and how many messages it has."""
    records = _records_of(session, files_of)
    return [(branch[0].line, len(branch)) for branch in left(records, path_to(records))]


def message_of(stored: StoredEntry, line: bytes, again: bytes = b"") -> Message | None:
    """The message that one entry is, None where it is no part of a conversation."""
    record = Record(0, _body_of(line), line)
    if record.compressed and stored.entry.kind is Kind.SUMMARY:
        return next(_history(record, stored.session), None)
    part = int(stored.id.partition(".")[2] or 0)
    block = [block for first, block in _blocks(record) if first <= part][-1:]
    return _message(record, block, stored.session) if record.speaks and block else None


def _records_of(session: Session, files_of: Callable[[str], Sequence[StoredFile]]) -> list[Record]:
    """The records of the one file that holds most of a session: moved or copied, it is in the store twice."""
    role = Role.SUBAGENT if session.facts.relation is Relation.SUBAGENT else Role.MAIN
    held = [each for each in files_of(session.facts.id) if not each.source.superseded]
    held = [each for each in held if each.source.file.role is role] or held
    file = max(held, key=lambda each: each.source.lines, default=None)
    return list(_records(file.lines())) if file is not None else []


def _records(lines: Iterable[StoredLine]) -> Iterator[Record]:
    for at, line in enumerate(lines):
        if body := _body_of(line.data):
            yield Record(at, body, line.data)


def _body_of(line: bytes) -> dict[str, Any]:
    try:
        return dict_of(decode(line)[0])
    except BadLine:
        return {}


def _record_of(until: StoredEntry, records: Sequence[Record], session: str) -> Record:
    wanted = until.id.partition(".")[0]
    for record in records:
        if entry_id(record.line, 0) == wanted and record.uuid:
            return record
    raise NotFound(
        f"entry {until.id} is no part of the conversation of session {session}",
        hint="`recollect show SESSION` lists its entries",
    )


def _messages(path: Sequence[Record], session: str) -> Iterator[Message]:
    start = last_compression(path)
    if start >= 0:
        yield from _history(path[start], session)
    for record in path[start + 1 :]:
        blocks = [block for _, block in _blocks(record)]
        if record.speaks and blocks:
            yield _message(record, blocks, session)


def _history(record: Record, session: str) -> Iterator[Message]:
    """What a compression left: a summary in the user's place, then what it kept."""
    time_ms = time_of(record.body.get("timestamp"))
    for at, content in enumerate(map(dict_of, record.compressed)):
        is_answer = content.get("role") == "model"
        blocks = tuple(
            Block(_body(part), entry_id(record.line, 0), None, record.uuid, time_ms)
            for part in parts_of(content)
        )
        if blocks:
            role: Any = "assistant" if is_answer else "user"
            own = f"{record.uuid}/{at}" if is_answer else ""
            yield Message(
                role, blocks, _AGENT, session, time_ms, message_id=own, note=at == 0 and not is_answer
            )


def _message(record: Record, blocks: Sequence[Block], session: str) -> Message:
    time_ms = time_of(record.body.get("timestamp"))
    if record.type == "assistant":
        model = text_of(record.body.get("model"))
        return Message("assistant", tuple(blocks), _AGENT, session, time_ms, model, record.uuid)
    texts = [block for block in blocks if block.type == "text"]
    told = record.body.get("provenance") in (None, "real_user") and record.type == "user"
    is_said = told and record.body.get("isSidechain") is not True
    kinds = said_kinds(record.parts, Kind.PROMPT if is_said else Kind.CONTEXT)
    return Message(
        "user", tuple(blocks), _AGENT, session, time_ms, meta=bool(texts) and Kind.PROMPT not in kinds
    )


def _blocks(record: Record) -> Iterator[tuple[int, Block]]:
    """Its blocks, each with the number of the first entry that the parser made of it."""
    part, time_ms = 0, time_of(record.body.get("timestamp"))
    for body in record.parts:
        yield part, Block(_body(body), entry_id(record.line, part), None, record.uuid, time_ms)
        inner = list_of(dict_of(body.get("functionResponse")).get("parts"))
        part += 1 + sum("inlineData" in dict_of(each) or "fileData" in dict_of(each) for each in inner)


def _body(part: dict[str, Any]) -> dict[str, Any]:
    """A part as others know it."""
    if asked := dict_of(part.get("functionCall")):
        call = {"id": text_of(asked.get("id")), "name": text_of(asked.get("name"))}
        return {"type": "tool_use", **call, "input": asked.get("args")}
    if given := dict_of(part.get("functionResponse")):
        response = dict_of(given.get("response"))
        content = [{"type": "text", "text": result_text(response)}]
        content += [_body(dict_of(each)) for each in list_of(given.get("parts"))]
        failed = {"is_error": True} if "error" in response else {}
        return {"type": "tool_result", "tool_use_id": text_of(given.get("id")), "content": content, **failed}
    if inline := dict_of(part.get("inlineData")):
        source = {"media_type": text_of(inline.get("mimeType")), "data": text_of(inline.get("data"))}
        return {"type": "image", "source": {"type": "base64", **source}}
    if part.get("thought") is True:
        return {"type": "thinking", "thinking": text_of(part.get("text"))}
    return {"type": "text", "text": text_of(part.get("text"))} if "text" in part else {"type": "part"}

"""pi's sessions as conversations: as the agent itself would go on with them, or entry by entry.

Instructions stand in the log as system messages and are left out: pi gives them anew. So are answers that
failed or were stopped, which it does not send again either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from recollect.agents.decode import BadLine, decode
from recollect.agents.fields import dict_of, text_of, time_of
from recollect.agents.pi.content import blocks_of, said_parts, shell_text
from recollect.agents.pi.tree import Record, last_compaction, left, linked, not_shown, path_to, shown
from recollect.agents.sessions import StoredFile
from recollect.values.conversation import Block, Conversation, Message
from recollect.values.errors import NotFound
from recollect.values.ids import entry_id
from recollect.values.records import Kind

if TYPE_CHECKING:
    from recollect.values.stored import Session, StoredEntry, StoredLine

_AGENT = "pi"
_SUMMARIES = ("compaction", "branch_summary")


def conversation(
    session: Session,
    files_of: Callable[[str], Sequence[StoredFile]],
    *,
    until: StoredEntry | None = None,
    before_compaction: bool = False,
) -> Conversation:
    """A whole session as it would be resumed; at the entry `until`, or before it was last compacted."""
    facts = session.facts
    records = _records_of(session, files_of)
    leaf = _record_of(until, records, facts.id) if until is not None else None
    path = path_to(records, leaf)
    if before_compaction:
        path = _before_compaction(path, facts.id)
    context = shown(path)
    left_out = not_shown(records, path, context)
    return Conversation(
        tuple(_messages(context, facts.id, left_out)),
        title=facts.headline,
        cwd=facts.cwd,
        project=facts.project,
        branch=facts.branch,
        agents=(_AGENT,),
        left_out=left_out,
    )


def left_branches(
    session: Session, files_of: Callable[[str], Sequence[StoredFile]], /
) -> list[tuple[bytes, int]]:
    """The branches that were left: the first line of each, and how many messages it has."""
    records = _records_of(session, files_of)
    return [(branch[0].line, len(branch)) for branch in left(records, path_to(records))]


def message_of(stored: StoredEntry, line: bytes, again: bytes = b"") -> Message | None:
    """The message that one entry is, None where it is no part of a conversation."""
    record = Record(0, "", "", _body_of(line), line)
    part = int(stored.id.partition(".")[2] or 0)
    block = [block for first, block in _blocks(record) if first <= part][-1:]
    if record.role == "system" or (stored.entry.kind is Kind.EVENT and record.role != "bashExecution"):
        return None
    return _message(record, block, stored.session) if block else None


def _records_of(session: Session, files_of: Callable[[str], Sequence[StoredFile]]) -> list[Record]:
    """The records of the one file that holds most of a session: moved or copied, it is in the store twice."""
    held = [each for each in files_of(session.facts.id) if not each.source.superseded]
    file = max(held, key=lambda each: each.source.lines, default=None)
    return linked(_bodies(file.lines())) if file is not None else []


def _bodies(lines: Iterable[StoredLine]) -> Iterator[tuple[int, dict[str, Any], bytes]]:
    for at, line in enumerate(lines):
        if body := _body_of(line.data):
            yield at, body, line.data


def _body_of(line: bytes) -> dict[str, Any]:
    try:
        return dict_of(decode(line)[0])
    except BadLine:
        return {}


def _record_of(until: StoredEntry, records: Sequence[Record], session: str) -> Record:
    wanted = until.id.partition(".")[0]
    for record in records:
        if entry_id(record.line, 0) == wanted:
            return record
    raise NotFound(
        f"entry {until.id} is no part of the conversation of session {session}",
        hint="`recollect show SESSION` lists its entries",
    )


def _before_compaction(path: Sequence[Record], session: str) -> list[Record]:
    """What was said up to the last compaction."""
    compaction = last_compaction(path)
    if compaction is None:
        raise NotFound(f"session {session} was never compacted", hint="leave out --before-compaction")
    return list(path[: path.index(compaction)])


def _messages(context: Sequence[Record], session: str, left_out: Counter[str]) -> Iterator[Message]:
    for record in context:
        blocks = [block for _, block in _blocks(record)]
        if record.role == "assistant" and record.message.get("stopReason") in ("error", "aborted"):
            left_out["answer that was not finished"] += 1
        elif record.role == "bashExecution" and record.message.get("excludeFromContext") is True:
            left_out["command that the model was not shown"] += 1
        elif record.role == "system":
            left_out["instructions that are given anew"] += 1
        elif blocks:
            yield _message(record, blocks, session)


def _message(record: Record, blocks: Sequence[Block], session: str) -> Message:
    time_ms, role = time_of(record.body.get("timestamp")), record.role
    if role == "assistant":
        model = text_of(record.message.get("model"))
        return Message("assistant", tuple(blocks), _AGENT, session, time_ms, model, record.id)
    texts = [block.text for block in blocks if block.type == "text"]
    is_said = role == "user" and any(
        kind is Kind.PROMPT and words.strip() for text in texts for kind, words in said_parts(text)
    )
    return Message(
        "user",
        tuple(blocks),
        _AGENT,
        session,
        time_ms,
        note=record.type in _SUMMARIES,
        meta=bool(texts) and not is_said,
    )


def _blocks(record: Record) -> Iterator[tuple[int, Block]]:
    """Its blocks, each with the number of the first entry that the parser made of it."""
    message, role = record.message, record.role
    time_ms = time_of(record.body.get("timestamp"))
    part = 0
    for body, native, entries in _bodies_of(record, message, role):
        yield part, Block(body, entry_id(record.line, part), native, text_of(record.body.get("id")), time_ms)
        part += entries


def _bodies_of(
    record: Record, message: dict[str, Any], role: str
) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None, int]]:
    """Each block as others know it, as pi wrote it, and how many entries it is."""
    if record.type in _SUMMARIES:
        yield {"type": "text", "text": text_of(record.body.get("summary"))}, None, 1
    elif role == "bashExecution":
        yield {"type": "text", "text": shell_text(message)}, None, 1
    elif role == "toolResult":
        parts = [_picture(block) or block for block in blocks_of(message.get("content"))]
        body = {"type": "tool_result", "tool_use_id": text_of(message.get("toolCallId")), "content": parts}
        failed = {"is_error": True} if message.get("isError") is True else {}
        yield {**body, **failed}, None, 1 + len(parts)
    elif role == "assistant":
        origin = {name: text_of(message.get(name)) for name in ("api", "provider")}
        for block in blocks_of(message.get("content")):
            yield _answer(block), {**_signature(block), **origin}, 1
    elif role in ("user", "custom", "hookMessage"):
        for block in blocks_of(message.get("content")):
            text = text_of(block.get("text"))
            entries = len(said_parts(text)) if role == "user" and block.get("type") == "text" else 1
            yield _picture(block) or {"type": text_of(block.get("type")), "text": text}, None, entries


def _answer(block: dict[str, Any]) -> dict[str, Any]:
    kind = block.get("type")
    if kind == "toolCall":
        call = {"id": text_of(block.get("id")), "name": text_of(block.get("name"))}
        return {"type": "tool_use", **call, "input": block.get("arguments")}
    if kind == "thinking":
        sealed = {"redacted": True} if block.get("redacted") is True else {}
        signature = text_of(block.get("thinkingSignature"))
        thought = text_of(block.get("thinking"))
        return {"type": "thinking", "thinking": thought, "signature": signature, **sealed}
    return {"type": text_of(kind), "text": text_of(block.get("text"))}


def _signature(block: dict[str, Any]) -> dict[str, Any]:
    """What a provider wants to see again with a text or a call."""
    names = ("textSignature", "thoughtSignature", "namespace")
    return {name: block[name] for name in names if type(block.get(name)) is str}


def _picture(block: dict[str, Any]) -> dict[str, Any] | None:
    if block.get("type") != "image":
        return None
    source = {"media_type": text_of(block.get("mimeType")), "data": text_of(block.get("data"))}
    return {"type": "image", "source": {"type": "base64", **source}}

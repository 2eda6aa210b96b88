"""Claude Code sessions as conversations: as the agent itself would resume them, or entry by entry.

What the model saw in the user's place is more than prompts. Texts of skills and commands stand in
user records and are kept as `meta`; a prompt typed while the agent was busy and a file named with
@ stand in attachments and are kept too. Every other attachment the harness makes anew, so it is
left out and counted, as are notices and errors of the API.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recollect.agents.claude.chain import CHAIN, Record, last_boundary, left, not_taken, resumed
from recollect.agents.claude.parse_blocks import speaker
from recollect.agents.decode import BadLine, decode
from recollect.agents.fields import dict_of, list_of, text_of, time_of
from recollect.agents.sessions import StoredFile
from recollect.values.conversation import Block, Conversation, Message
from recollect.values.errors import NotFound
from recollect.values.ids import entry_id
from recollect.values.records import Kind, Relation, Role

if TYPE_CHECKING:
    from recollect.values.stored import Session, StoredEntry, StoredLine


def conversation(
    session: Session,
    files_of: Callable[[str], Sequence[StoredFile]],
    *,
    until: StoredEntry | None = None,
    before_compaction: bool = False,
) -> Conversation:
    """A whole session as it would be resumed; at the entry `until`, or before it was last compacted."""
    facts = session.facts
    transcript = _transcript(session, files_of(facts.id))
    records = list(_records(transcript.lines())) if transcript is not None else []
    leaf = _record_of(until, records, facts.id) if until is not None else None
    if before_compaction:
        leaf = _before_compaction(records, leaf, facts.id)
    taken = resumed(records, side=facts.relation is Relation.SUBAGENT, leaf=leaf)
    left_out = not_taken(records, taken)
    return Conversation(
        tuple(_messages(taken, facts.id, left_out)),
        title=facts.headline,
        cwd=facts.cwd,
        project=facts.project,
        branch=facts.branch,
        agents=("claude",),
        left_out=left_out,
    )


def left_branches(
    session: Session, files_of: Callable[[str], Sequence[StoredFile]], /
) -> list[tuple[bytes, int]]:
    """The branches that were left: the first line of each, and how many messages it has."""
    transcript = _transcript(session, files_of(session.facts.id))
    records = list(_records(transcript.lines())) if transcript is not None else []
    taken = resumed(records, side=session.facts.relation is Relation.SUBAGENT)
    return [(branch[0].line, len(branch)) for branch in left(records, taken)]


def message_of(stored: StoredEntry, line: bytes, again: bytes = b"") -> Message | None:
    """The message that one entry is, None where it is no part of a conversation."""
    record = Record(0, _body_of(line), line)
    if record.speaks:
        part = int(stored.id.partition(".")[2] or 0)
        block = [block for first, block in _blocks(record) if first <= part][-1:]
        return _message(record, block, stored.session) if block else None
    if made := _attachment(record, stored.session):
        return made
    if not stored.entry.text:
        return None
    block = [Block({"type": "text", "text": stored.entry.text}, stored.id, None, record.uuid)]
    note = stored.entry.kind == Kind.SUMMARY
    return Message("user", tuple(block), "claude", stored.session, stored.entry.time_ms, note=note, meta=True)


def _transcript(session: Session, files: Sequence[StoredFile]) -> StoredFile | None:
    """The one file that holds most of a session: moved or copied, it is in the store twice."""
    role = Role.SUBAGENT if session.facts.relation is Relation.SUBAGENT else Role.MAIN
    held = [each for each in files if each.source.file.role is role and not each.source.superseded]
    return max(held, key=lambda each: each.source.lines, default=None)


def _records(lines: Iterable[StoredLine]) -> Iterator[Record]:
    for at, line in enumerate(lines):
        if line.type.partition("/")[0] in (*CHAIN, "last-prompt"):
            yield Record(at, _body_of(line.data), line.data)


def _body_of(line: bytes) -> dict[str, Any]:
    try:
        return dict_of(decode(line)[0])
    except BadLine:
        return {}


def _record_of(until: StoredEntry, records: Sequence[Record], session: str) -> Record:
    """The record of an entry, or the one of the chain before it where it is of no chain."""
    wanted = until.id.partition(".")[0]
    found = next((record for record in records if entry_id(record.line, 0) == wanted), None)
    if found is None or not found.uuid:
        raise NotFound(
            f"entry {until.id} is no part of the conversation of session {session}",
            hint="`recollect show SESSION` lists its entries",
        )
    return found


def _before_compaction(records: Sequence[Record], leaf: Record | None, session: str) -> Record:
    """What was said last before the conversation was compacted."""
    before = [record for record in records if leaf is None or record.at <= leaf.at]
    boundary = last_boundary(before)
    said = [record for record in before if boundary and record.at < boundary.at and _is_said(record)]
    if not said:
        raise NotFound(f"session {session} was never compacted", hint="leave out --before-compaction")
    return said[-1]


def _is_said(record: Record) -> bool:
    return record.speaks and bool(record.uuid) and record.body.get("isSidechain") is not True


def _messages(taken: Sequence[Record], session: str, left_out: Counter[str]) -> list[Message]:
    found: list[Message] = []
    for record in taken:
        if record.body.get("isApiErrorMessage") is True:
            left_out["error of the API"] += 1
        elif record.speaks:
            made = _message(record, [block for _, block in _blocks(record)], session)
            if found and made.message_id and made.message_id == found[-1].message_id:
                found[-1] = replace(found[-1], blocks=found[-1].blocks + made.blocks)
            elif made.blocks:
                found.append(made)
        elif attached := _attachment(record, session):
            found.append(attached)
        elif record.type != "progress" and not record.is_boundary:
            left_out["attached context" if record.type == "attachment" else "notice"] += 1
    return found


def _message(record: Record, blocks: Sequence[Block], session: str) -> Message:
    time_ms = time_of(record.body.get("timestamp"))
    if record.type == "assistant":
        model = text_of(record.message.get("model"))
        return Message("assistant", tuple(blocks), "claude", session, time_ms, model, record.answer)
    text = next((block.text for block in blocks if block.type == "text"), None)
    kind = Kind.PROMPT if text is None else speaker(text, record.body, 0)[0]
    return Message(
        "user",
        tuple(blocks),
        "claude",
        session,
        time_ms,
        note=kind is Kind.SUMMARY,
        meta=record.body.get("isMeta") is True or kind is Kind.CONTEXT,
    )


def _blocks(record: Record) -> Iterator[tuple[int, Block]]:
    """Its blocks, each with the number of the first entry that the adapter made of it."""
    part, time_ms = 0, time_of(record.body.get("timestamp"))
    for body in record.content:
        yield part, Block(body, entry_id(record.line, part), None, record.uuid, time_ms)
        inner = list_of(body.get("content")) if text_of(body.get("type")).endswith("tool_result") else []
        part += 1 + sum(dict_of(one).get("type") in ("image", "document") for one in inner)


def _attachment(record: Record, session: str) -> Message | None:
    """What a person gave the model by way of an attachment, None for all that the harness gave."""
    body = dict_of(record.body.get("attachment"))
    if body.get("type") == "queued_command":
        prompt = body.get("prompt")
        content = [{"type": "text", "text": prompt}] if type(prompt) is str else list_of(prompt)
        typed = body.get("commandMode") in ("prompt", None)
    elif body.get("type") == "file":
        content, typed = _file(body), False
    else:
        return None
    time_ms = time_of(record.body.get("timestamp"))
    blocks = [
        Block(dict_of(each), entry_id(record.line, part), None, record.uuid, time_ms)
        for part, each in enumerate(content)
    ]
    origin = text_of(dict_of(body.get("origin")).get("kind"))
    meta = not typed or body.get("isMeta") is True or origin not in ("", "human")
    return Message("user", tuple(blocks), "claude", session, time_ms, meta=meta) if blocks else None


def _file(body: dict[str, Any]) -> list[dict[str, Any]]:
    """A file that a prompt names with @, as blocks."""
    content = dict_of(body.get("content"))
    file = dict_of(content.get("file"))
    if content.get("type") == "image":
        source = {
            "type": "base64",
            "media_type": text_of(file.get("type")),
            "data": text_of(file.get("base64")),
        }
        return [{"type": "image", "source": source}] if source["data"] else []
    text = text_of(file.get("content"))
    return [{"type": "text", "text": f"[file {text_of(body.get('filename'))}]\n{text}"}] if text else []

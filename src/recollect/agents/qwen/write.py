"""A conversation as a transcript that `qwen --resume` opens as its own past.

One chain of records. Tokens are not written: what was spent was spent in the sessions this comes from.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from recollect.agents.qwen import paths
from recollect.agents.qwen.check import validate
from recollect.agents.session_lines import line_of, stamp
from recollect.agents.session_marks import mark_of, refuse_part, title_of
from recollect.agents.session_turns import parts_of, picture_of, turns
from recollect.agents.sessions import SessionFile
from recollect.light.sources import WRITTEN_BY
from recollect.values.conversation import Block, Conversation, Message
from recollect.values.fidelity import Fidelity

__all__ = ["render", "session_file", "validate"]

VERSION = "0.24.4"  # of the client: the newest that was seen to open these files

Record = dict[str, Any]

_NOT_IN_NAME = re.compile(r"[^a-zA-Z0-9]")


def session_file(
    conversation: Conversation,
    *,
    home: Path,
    environ: Mapping[str, str],
    folder: str,
    now_ms: int,
    seed: bytes,
) -> SessionFile:
    """A new session for Qwen Code, started in `folder`."""
    refuse_part(folder)
    session_id = str(UUID(bytes=hashlib.blake2b(seed, digest_size=16).digest(), version=4))
    data, fidelity = render(conversation, session_id=session_id, cwd=folder, now_ms=now_ms)
    (root,) = paths.roots(str(home), environ)
    path = Path(root, _NOT_IN_NAME.sub("-", folder), "chats", f"{session_id}.jsonl")
    problems = partial(validate, session_id=session_id)
    return SessionFile(session_id, data, path, f"qwen --resume {session_id}", fidelity, problems)


def render(conversation: Conversation, *, session_id: str, cwd: str, now_ms: int) -> tuple[bytes, Fidelity]:
    """The file's bytes, and what became of each part. `cwd` is where it will be resumed."""
    fidelity = Fidelity(left_out=conversation.left_out.copy())
    said = turns(conversation, partial(_block, fidelity=fidelity), fidelity)
    envelope = {"sessionId": session_id, "cwd": cwd, "version": VERSION, **mark_of(conversation)}
    if conversation.branch:
        envelope["gitBranch"] = conversation.branch
    title = title_of(conversation, session_id[:8])
    named = {"type": "system", "provenance": "system", "subtype": "custom_title"}
    payload = {"customTitle": title, "titleSource": "manual"}
    records = [*_records(said, now_ms, fidelity), (now_ms, {**named, "systemPayload": payload})]
    return b"".join(map(line_of, _chained(records, envelope, session_id))), fidelity


def _chained(records: Sequence[tuple[int, Record]], envelope: Record, session_id: str) -> Iterator[Record]:
    """The records with ids, each behind the one before."""
    parent = None
    for number, (time_ms, record) in enumerate(records):
        own = str(uuid5(UUID(session_id), str(number)))
        yield {"uuid": own, "parentUuid": parent, **envelope, "timestamp": stamp(time_ms), **record}
        parent = own


# -- what is said


def _block(block: Block, message: Message, *, fidelity: Fidelity) -> Block | None:
    """A block as it may stand in the file, None for one that may not."""
    answers = message.role == "assistant"
    thought = block.body.get("thinking")
    if block.type == "text" and block.text.strip():
        return block
    if block.type == "thinking" and answers and type(thought) is str and thought.strip():
        return block
    if block.type == "tool_use" and answers and block.call:
        given, name = block.body.get("input"), block.body.get("name")
        named = name if type(name) is str and name else "unknown"
        body = {"name": named, "input": given if type(given) is dict else {"input": given}}
        return replace(block, body={**block.body, **body})
    if block.type == "tool_result" and not answers and block.call:
        return block
    if picture_of(block.body) and not answers:
        return block
    names = {"text": "empty text", "thinking": "thought that cannot be read"}
    fidelity.left_out[names.get(block.type, block.type) or "block of no type"] += 1
    return None


# -- how it is written


def _records(messages: Sequence[Message], now_ms: int, fidelity: Fidelity) -> Iterator[tuple[int, Record]]:
    last_ms = 0
    tools: dict[str, str] = {}
    for message in messages:
        last_ms = min(message.time_ms or last_ms or now_ms, now_ms)
        if message.role == "assistant":
            tools |= {block.call: block.body["name"] for block in message.blocks if block.type == "tool_use"}
            said = {"role": "model", "parts": [_spoken(block) for block in message.blocks]}
            record = {"type": "assistant", "provenance": "assistant_output", "message": said}
            yield last_ms, {**record, "model": message.model or "unknown"}
            continue
        for block in message.blocks:
            if block.type == "tool_result":
                yield last_ms, _result(block, tools.get(block.call, "unknown"), fidelity)
        others = [_part(block.body) for block in message.blocks if block.type != "tool_result"]
        if others:
            put_in = {
                "provenance": "system",
                "subtype": "notification",
                "systemPayload": {"displayText": WRITTEN_BY},
            }
            who = put_in if message.note or message.meta else {"provenance": "real_user"}
            yield last_ms, {"type": "user", **who, "message": {"role": "user", "parts": others}}


def _spoken(block: Block) -> Record:
    if block.type == "thinking":
        return {"text": block.body["thinking"], "thought": True}
    if block.type == "tool_use":
        call = {"id": block.call, "name": block.body["name"], "args": block.body["input"]}
        return {"functionCall": call}
    return {"text": block.text}


def _result(block: Block, tool: str, fidelity: Fidelity) -> Record:
    parts = parts_of(block.body, fidelity)
    text = "\n".join(part["text"] for part in parts if part.get("type") == "text")
    failed = block.body.get("is_error") is True
    given: Record = {"id": block.call, "name": tool, "response": {"error" if failed else "output": text}}
    if pictures := [_part(part) for part in parts if picture_of(part)]:
        given["parts"] = pictures
    told = {"callId": block.call, "status": "error" if failed else "success"}
    message = {"role": "user", "parts": [{"functionResponse": given}]}
    return {"type": "tool_result", "provenance": "tool_result", "message": message, "toolCallResult": told}


def _part(body: Record) -> Record:
    if picture := picture_of(body):
        return {"inlineData": {"data": picture[1], "mimeType": picture[0]}}
    return {"text": body["text"]}

"""A conversation as a session file that `pi --session` opens as its own past.

One chain of records, the last of which is where pi goes on. A thought keeps its signature where pi wrote it;
pi itself shows another model's thoughts to the next one as text. Tokens are written as 0: what was spent was
spent in the sessions this comes from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from recollect.agents.pi.check import ID_CHARS, VERSION, validate
from recollect.agents.pi.paths import session_folder
from recollect.agents.session_ids import new_id
from recollect.agents.session_lines import line_of, stamp
from recollect.agents.session_marks import mark_of, refuse_part, title_of
from recollect.agents.session_turns import parts_of, picture_of, turns
from recollect.agents.sessions import SessionFile
from recollect.light.sources import WRITTEN_BY
from recollect.values.conversation import Block, Conversation, Message
from recollect.values.fidelity import Fidelity

__all__ = ["render", "session_file", "validate"]

Record = dict[str, Any]

_NO_COST = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0)
_NO_USAGE = {
    **dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "totalTokens"), 0),
    "cost": _NO_COST,
}


def session_file(
    conversation: Conversation,
    *,
    home: Path,
    environ: Mapping[str, str],
    folder: str,
    now_ms: int,
    seed: bytes,
) -> SessionFile:
    """A new session for pi, started in `folder`."""
    refuse_part(folder)
    session_id = new_id(now_ms, seed)
    data, fidelity = render(conversation, session_id=session_id, cwd=folder, now_ms=now_ms)
    begun = stamp(now_ms).replace(":", "-").replace(".", "-")
    path = Path(session_folder(home, environ, folder), f"{begun}_{session_id}.jsonl")
    problems = partial(validate, session_id=session_id)
    return SessionFile(session_id, data, path, f"pi --session {session_id}", fidelity, problems)


def render(conversation: Conversation, *, session_id: str, cwd: str, now_ms: int) -> tuple[bytes, Fidelity]:
    """The file's bytes, and what became of each part. `cwd` is where it will be resumed."""
    fidelity = Fidelity(left_out=conversation.left_out.copy())
    said = turns(conversation, partial(_block, fidelity=fidelity), fidelity)
    ours = mark_of(conversation)
    head = {"type": "session", "version": VERSION, "id": session_id, "timestamp": stamp(now_ms), "cwd": cwd}
    title = title_of(conversation, session_id[:8])
    named = {"type": "session_info", "name": title}
    records = [(now_ms, named), *_records(said, now_ms, fidelity)]
    return b"".join(map(line_of, [{**head, **ours}, *_chained(records, session_id, ours)])), fidelity


def _chained(records: Sequence[tuple[int, Record]], session_id: str, ours: Record) -> Iterator[Record]:
    """The records with ids, each behind the one before."""
    parent = None
    taken: set[str] = set()
    for number, (time_ms, record) in enumerate(records):
        own = uuid5(UUID(session_id), str(number)).hex
        own = own if own[:ID_CHARS] in taken else own[:ID_CHARS]
        taken.add(own)
        yield {
            "type": record["type"],
            "id": own,
            "parentId": parent,
            "timestamp": stamp(time_ms),
            **record,
            **ours,
        }
        parent = own


# -- what is said


def _block(block: Block, message: Message, *, fidelity: Fidelity) -> Block | None:
    """A block as it may stand in the file, None for one that may not."""
    answers = message.role == "assistant"
    if block.type == "text" and block.text.strip():
        return block
    if block.type == "thinking" and answers and (_is_signed(block, message) or _says(block.body)):
        return block
    if block.type == "tool_use" and answers and block.call:
        given = block.body.get("input")
        name = block.body.get("name")
        body = {"name": name if type(name) is str and name else "unknown"}
        return replace(
            block, body={**block.body, **body, "input": given if type(given) is dict else {"input": given}}
        )
    if block.type == "tool_result" and not answers and block.call:
        return block
    if picture_of(block.body) and not answers:
        return block
    names = {"text": "empty text", "thinking": "thought that cannot be read"}
    fidelity.left_out[names.get(block.type, block.type) or "block of no type"] += 1
    return None


def _says(body: Record) -> bool:
    return type(body.get("thinking")) is str and bool(body["thinking"].strip())


def _is_signed(block: Block, message: Message) -> bool:
    """Whether a thought is pi's own, to be given back to the model that had it."""
    return message.agent == "pi" and bool(block.body.get("signature")) and block.native is not None


# -- how it is written


def _records(messages: Sequence[Message], now_ms: int, fidelity: Fidelity) -> Iterator[tuple[int, Record]]:
    last_ms = 0
    tools: dict[str, str] = {}
    for message in messages:
        last_ms = min(message.time_ms or last_ms or now_ms, now_ms)
        if message.role == "assistant":
            tools |= {block.call: block.body["name"] for block in message.blocks if block.type == "tool_use"}
            yield last_ms, _said(_answer(message), last_ms)
            continue
        for block in message.blocks:
            if block.type == "tool_result":
                yield last_ms, _said(_result(block, tools.get(block.call, ""), fidelity), last_ms)
        others = [_part(block.body) for block in message.blocks if block.type != "tool_result"]
        if others and (message.note or message.meta):
            yield (
                last_ms,
                {"type": "custom_message", "customType": WRITTEN_BY, "content": others, "display": True},
            )
        elif others:
            yield last_ms, _said({"role": "user", "content": others}, last_ms)


def _said(message: Record, time_ms: int) -> Record:
    return {"type": "message", "message": {**message, "timestamp": time_ms}}


def _answer(message: Message) -> Record:
    """An answer; one of another agent says so, and pi then knows that no signature in it holds."""
    origin = next((block.native for block in message.blocks if block.native), None) or {}
    is_own = message.agent == "pi" and bool(origin.get("provider") and origin.get("api"))
    calls = any(block.type == "tool_use" for block in message.blocks)
    return {
        "role": "assistant",
        "content": [_spoken(block, is_own=is_own) for block in message.blocks],
        "api": origin["api"] if is_own else WRITTEN_BY,
        "provider": origin["provider"] if is_own else message.agent or WRITTEN_BY,
        "model": message.model or "unknown",
        "usage": _NO_USAGE,
        "stopReason": "toolUse" if calls else "stop",
    }


def _spoken(block: Block, *, is_own: bool) -> Record:
    body, native = block.body, (block.native or {}) if is_own else {}
    signed = {key: value for key, value in native.items() if key not in ("api", "provider")}
    if block.type == "thinking":
        sealed = {"redacted": True} if body.get("redacted") is True else {}
        signature = body.get("signature") if is_own else ""
        held = {"thinkingSignature": signature, **sealed} if signature else {}
        return {"type": "thinking", "thinking": body.get("thinking") or "", **held}
    if block.type == "tool_use":
        return {
            "type": "toolCall",
            "id": block.call,
            "name": body["name"],
            "arguments": body["input"],
            **signed,
        }
    return {"type": "text", "text": block.text, **signed}


def _result(block: Block, tool: str, fidelity: Fidelity) -> Record:
    return {
        "role": "toolResult",
        "toolCallId": block.call,
        "toolName": tool or "unknown",
        "content": [_part(part) for part in parts_of(block.body, fidelity)],
        "isError": block.body.get("is_error") is True,
    }


def _part(body: Record) -> Record:
    if picture := picture_of(body):
        return {"type": "image", "data": picture[1], "mimeType": picture[0]}
    return {"type": "text", "text": body["text"]}

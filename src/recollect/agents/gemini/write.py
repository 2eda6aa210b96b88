"""A conversation as a chat that `gemini --resume ID` opens as its own past.

A result stands with the call it answers: the client makes the turn that gives it to the model of that.
Text that begins with `/` or `?` the client takes for a command and drops; such a prompt is written behind a
word of ours. Every record says that we wrote it, and of which session.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from recollect.agents.fields import dict_of, json_of, list_of, text_of
from recollect.agents.gemini import hooks
from recollect.agents.gemini.paths import owner_of, project_hash, projects_of
from recollect.agents.session_lines import file_problems, line_of
from recollect.agents.session_marks import mark_of, refuse_part, title_of
from recollect.agents.sessions import SessionFile
from recollect.values.conversation import Block, Conversation, Message, paired
from recollect.values.errors import NotFound
from recollect.values.fidelity import Fidelity

__all__ = ["session_file", "validate"]

Record = dict[str, Any]

_NAME_CHARS_MAX = 64
_NAME = re.compile(r"[^A-Za-z0-9_.-]")
_SLUG = re.compile(r"[^a-z0-9]+")
_DROPPED = ("/", "?", "<session_context>", "<hook_context>")
_SAID = "[prompt] "
_MODEL = "gemini"


def session_file(
    conversation: Conversation,
    *,
    home: Path,
    environ: Mapping[str, str],
    folder: str,
    now_ms: int,
    seed: bytes,
) -> SessionFile:
    """A new chat for Gemini CLI, started in `folder`."""
    refuse_part(folder)
    session_id = str(uuid.UUID(bytes=hashlib.blake2b(seed, digest_size=16).digest(), version=4))
    fidelity = Fidelity(left_out=conversation.left_out.copy())
    mark = mark_of(conversation)
    messages = list(_messages(conversation.messages, now_ms, fidelity))
    if not messages:
        raise NotFound("there is no conversation to write: nothing that was said is left")
    title = title_of(conversation)
    head = {
        "sessionId": session_id,
        "projectHash": project_hash(folder),
        "startTime": _stamp(now_ms),
        "lastUpdated": _stamp(now_ms),
        "kind": "main",
        **({"summary": title} if title else {}),
    }
    named = [
        {"id": str(uuid.uuid5(uuid.UUID(session_id), str(n))), **each} for n, each in enumerate(messages)
    ]
    data = b"".join(line_of({**record, **mark}) for record in (head, *named))
    begun = _stamp(now_ms)[:16].replace(":", "-")
    chats = Path(hooks.roots(str(home), environ)[0], _short_name(home, environ, folder), hooks.CHATS)
    path = chats / f"session-{begun}-{session_id[:8]}.jsonl"
    problems = partial(validate, session_id=session_id)
    return SessionFile(session_id, data, path, f"gemini --resume {session_id}", fidelity, problems)


def validate(data: bytes, session_id: str) -> list[str]:
    """What is wrong with bytes that are meant to be this chat."""
    found = list(file_problems(data, session_id, lambda record: bool({"id", "sessionId"} & record.keys())))
    if found:
        return found
    head, *messages = (json.loads(line) for line in data.splitlines())
    if head.get("sessionId") != session_id or not text_of(head.get("projectHash")):
        found.append("line 1: not the head of this chat")
    ids = Counter(text_of(message.get("id")) for message in messages)
    found += [f"two messages are {id_!r}" for id_, count in ids.items() if count > 1]
    for number, message in enumerate(messages, 2):
        if message.get("type") not in ("user", "gemini"):
            found.append(f"line {number}: no message of a side")
        for call in map(dict_of, list_of(message.get("toolCalls"))):
            if not list_of(call.get("result")):
                found.append(f"line {number}: a call without its result")
    return found if messages else [*found, "nothing is said"]


def _short_name(home: Path, environ: Mapping[str, str], folder: str) -> str:
    """The name of the project's folder: as the client knows it, else as it will choose it."""
    own = Path(hooks.folder(str(home), environ))
    known = projects_of(own)
    if folder in known:
        return known[folder]
    tmp = own / "tmp"
    names = sorted(each.name for each in tmp.iterdir()) if tmp.is_dir() else []
    owners = {name: owner_of(tmp / name) for name in names}
    for name, owner in owners.items():
        if owner == folder:
            return name
    slug = _SLUG.sub("-", os.path.basename(folder).lower()).strip("-") or "project"
    taken = {*known.values(), *(name for name, owner in owners.items() if owner)}
    number = 0
    while (name := f"{slug}-{number}" if number else slug) in taken:
        number += 1
    return name


# -- what is said


def _messages(messages: Sequence[Message], now_ms: int, fidelity: Fidelity) -> Iterator[Record]:
    usable = [message for message in messages if not message.setup]
    fidelity.left_out["instructions that are given anew"] += len(messages) - len(usable)
    turns, done = paired(_joined(usable))
    fidelity.added["result for a call without one"] += done["call without result"]
    fidelity.folded["result without its call"] += done["result without call"]
    fidelity.left_out["call said twice"] += done["call said twice"]
    results = {block.call: block for turn in turns for block in turn.blocks if block.type == "tool_result"}
    last_ms = 0
    for turn in turns:
        last_ms = turn.time_ms or last_ms
        time = _stamp(min(last_ms or now_ms, now_ms))
        if turn.role == "user":
            if parts := list(_asked(turn.blocks, fidelity)):
                yield {"timestamp": time, "type": "user", "content": parts}
        else:
            yield from _answered(turn, results, time, fidelity)


def _joined(messages: Sequence[Message]) -> list[Message]:
    """The same with what one answer says in one message, where it was read entry by entry."""
    found: list[Message] = []
    for message in messages:
        if found and _is_more(found[-1], message):
            found[-1] = replace(found[-1], blocks=found[-1].blocks + message.blocks)
        else:
            found.append(message)
    return found


def _is_more(last: Message, message: Message) -> bool:
    same = (last.session, last.time_ms) == (message.session, message.time_ms)
    return same and last.role == message.role == "assistant" and not message.message_id


def _asked(blocks: Sequence[Block], fidelity: Fidelity) -> Iterator[Record]:
    """A person's turn; the first words decide whether the client keeps it."""
    is_first = True
    for block in blocks:
        if block.type == "text" and block.text.strip():
            fidelity.kept["text"] += 1
            is_dropped = is_first and block.text.lstrip().startswith(_DROPPED)
            fidelity.added["word before a prompt that reads as a command"] += is_dropped
            yield {"text": (_SAID if is_dropped else "") + block.text}
            is_first = False
        elif part := _picture(block.body, fidelity):
            yield part
        elif block.type not in ("tool_result", "text", "image", "document"):
            fidelity.left_out[block.type or "block of no type"] += 1


def _answered(turn: Message, results: Mapping[str, Block], time: str, fidelity: Fidelity) -> Iterator[Record]:
    """An answer in as many messages as it needs: in each, thoughts come first, then text, then calls."""
    made = _Answer(time, turn.model)
    for block in turn.blocks:
        if block.type == "thinking" and text_of(block.body.get("thinking")).strip():
            if made.text or made.calls:
                yield made.record
                made = _Answer(time, turn.model)
            fidelity.kept["thought"] += 1
            made.thoughts.append({"subject": "", "description": block.body["thinking"], "timestamp": time})
        elif block.type == "text" and block.text.strip():
            if made.calls:
                yield made.record
                made = _Answer(time, turn.model)
            fidelity.kept["text"] += 1
            made.text.append(block.text)
        elif block.type == "tool_use":
            fidelity.kept["call"] += 1
            made.calls.append(_call(block, results[block.call], time, fidelity))
        elif block.type in ("thinking", "redacted_thinking"):
            fidelity.left_out["thought that cannot be read"] += 1
        elif block.type != "text":
            fidelity.left_out[block.type or "block of no type"] += 1
    if made.text or made.calls or made.thoughts:
        yield made.record


class _Answer:
    """One message of the model's."""

    def __init__(self, time: str, model: str) -> None:
        self._time, self._model = time, model
        self.thoughts: list[Record] = []
        self.text: list[str] = []
        self.calls: list[Record] = []

    @property
    def record(self) -> Record:
        return {
            "timestamp": self._time,
            "type": "gemini",
            "content": "\n\n".join(self.text),
            "thoughts": self.thoughts,
            "model": self._model or _MODEL,
            **({"toolCalls": self.calls} if self.calls else {}),
        }


def _call(block: Block, result: Block, time: str, fidelity: Fidelity) -> Record:
    name = _NAME.sub("_", text_of(block.body.get("name")))[:_NAME_CHARS_MAX] or "tool"
    content = result.body.get("content")
    parts = [content] if type(content) is str else list_of(content)
    texts = [each if type(each) is str else text_of(dict_of(each).get("text")) for each in parts]
    text = "\n".join(filter(None, texts))
    failed = result.body.get("is_error") is True
    pictures = [part for each in map(dict_of, parts) if (part := _picture(each, fidelity))]
    answer = {"id": block.call, "name": name, "response": {"error" if failed else "output": text}}
    given = block.body.get("input")
    fidelity.kept["result"] += 1
    return {
        "id": block.call,
        "name": name,
        "args": given if type(given) is dict else {"input": given if type(given) is str else json_of(given)},
        "result": [{"functionResponse": answer}, *pictures],
        "status": "error" if failed else "success",
        "timestamp": time,
    }


def _picture(body: Record, fidelity: Fidelity) -> Record:
    """An image or a document as the API takes it; {} for anything else."""
    if body.get("type") not in ("image", "document"):
        return {}
    source = dict_of(body.get("source"))
    data, kind = text_of(source.get("data")), text_of(source.get("media_type"))
    if source.get("type") != "base64" or not data or not kind:
        fidelity.left_out[f"{body['type']} that is elsewhere"] += 1
        return {}
    fidelity.kept[body["type"]] += 1
    return {"inlineData": {"mimeType": kind, "data": data}}


def _stamp(time_ms: int) -> str:
    moment = datetime.fromtimestamp(time_ms // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{time_ms % 1000:03}Z"

"""A conversation as a session file that `claude --resume` opens as its own past.

One record a content block, as Claude Code writes them, in a chain without forks. Ids come from the
session's id and the place in the file, so the same conversation gives the same bytes. Tokens are
written as 0: what was spent was spent in the sessions this comes from, and whoever adds up logs
must not find it twice.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import unicodedata
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from recollect.agents.claude import paths
from recollect.agents.claude.check import validate
from recollect.agents.session_lines import line_of, stamp
from recollect.agents.session_marks import mark_of, refuse_part, title_of
from recollect.agents.sessions import SessionFile
from recollect.light.sources import WRITTEN_BY, WRITTEN_KEY, is_uuid
from recollect.values.conversation import Block, Conversation, Message, paired, said
from recollect.values.errors import NotFound, UsageError
from recollect.values.fidelity import Fidelity, folded_thinking

__all__ = ["render", "session_file", "target", "validate"]

VERSION = "2.1.197"  # of the client: the newest that was seen to open these files

_FOLDER_UNITS_MAX = 200
_LONE = re.compile("[\ud800-\udfff]")
_NOT_IN_ID = re.compile(r"[^A-Za-z0-9_-]")
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_BEGINNING = "[What was said before this is not part of the conversation any more.]"


def session_file(
    conversation: Conversation,
    *,
    home: Path,
    environ: Mapping[str, str],
    folder: str,
    now_ms: int,
    seed: bytes,
) -> SessionFile:
    """A new session for Claude Code, started in `folder`."""
    session_id = str(uuid.UUID(bytes=hashlib.blake2b(seed, digest_size=16).digest(), version=4))
    data, fidelity = render(
        conversation,
        session_id=session_id,
        cwd=folder,
        version=VERSION,
        branch=conversation.branch,
        now_ms=now_ms,
    )
    path = target(home, environ, folder, session_id)
    problems = partial(validate, session_id=session_id)
    return SessionFile(session_id, data, path, f"claude --resume {session_id}", fidelity, problems)


def render(
    conversation: Conversation, *, session_id: str, cwd: str, version: str, branch: str, now_ms: int
) -> tuple[bytes, Fidelity]:
    """The file's bytes, and what became of each part. `cwd` is where it will be resumed."""
    _refuse_id(session_id)
    fidelity = Fidelity(left_out=conversation.left_out.copy())
    messages = _messages(conversation, fidelity)
    envelope = {
        "isSidechain": False,
        "userType": "external",
        "cwd": cwd,
        "sessionId": session_id,
        "version": version,
        "gitBranch": branch,
        **mark_of(conversation),
    }
    records = list(_records(messages, envelope, session_id))
    newest = max(now_ms, *(time_ms for time_ms, _ in records))
    for time_ms, record in records:
        record["timestamp"] = stamp(time_ms or newest)
    records[-1][1]["timestamp"] = stamp(newest)  # where the agent goes on is where the newest record is
    title = title_of(conversation, session_id[:8])
    named = {"type": "custom-title", "customTitle": title, "sessionId": session_id, WRITTEN_KEY: WRITTEN_BY}
    return b"".join(map(line_of, [*(record for _, record in records), named])), fidelity


def target(home: str | Path, environ: Mapping[str, str], cwd: str, session_id: str) -> Path:
    """Where Claude Code, started in `cwd`, looks for this session."""
    _refuse_id(session_id)
    refuse_part(cwd)
    root = Path(paths.folder(str(home), environ))
    name = environ.get("CLAUDE_CODE_PROJECT_DIR_NAME", "") if environ.get("CLAUDE_CONFIG_DIR") else ""
    if not name or not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        name = _project(root / "projects", os.path.realpath(cwd))
    return root / "projects" / name / f"{session_id}.jsonl"


def _refuse_id(session_id: str) -> None:
    if not is_uuid(session_id):
        raise UsageError(f"{session_id!r} cannot be a session's id", hint="Claude Code takes only UUIDs")


def _project(projects: Path, folder: str) -> str:
    """The name of a folder's project: the agent shortens long ones in a way of its own."""
    units = unicodedata.normalize("NFC", folder).encode("utf-16-le", "surrogatepass")
    letters = [chr(int.from_bytes(units[n : n + 2], "little")) for n in range(0, len(units), 2)]
    name = "".join(each if each.isascii() and each.isalnum() else "-" for each in letters)
    if len(name) <= _FOLDER_UNITS_MAX:
        return name
    short = name[:_FOLDER_UNITS_MAX] + "-"
    known = sorted(path.name for path in projects.glob(f"{short}*") if path.is_dir())
    return known[0] if known else short + _hash(letters)


def _hash(letters: Sequence[str]) -> str:
    """What tells long names apart: the sum that JavaScript programs make of a string, to base 36."""
    number = 0
    for each in letters:
        number = (number * 31 + ord(each)) & 0xFFFFFFFF
    number = abs(number - (1 << 32) if number >> 31 else number)
    digits = ""
    while number or not digits:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits


# -- what is said


def _messages(conversation: Conversation, fidelity: Fidelity) -> list[Message]:
    """The turns as the API takes them."""
    turns, done = paired(_usable(conversation.messages, fidelity))
    fidelity.added["result for a call without one"] += done["call without result"]
    fidelity.folded["result without its call"] += done["result without call"]
    fidelity.left_out["call said twice"] += done["call said twice"]
    turns = [message for turn in turns if (message := _without_open_thoughts(turn, fidelity)).blocks]
    if not any(block.text for turn in turns for block in turn.blocks):
        raise NotFound("there is no conversation to write: nothing that was said is left")
    if turns[0].role == "assistant":
        fidelity.added["note at the beginning"] += 1
        turns.insert(0, said(_BEGINNING, time_ms=turns[0].time_ms))
    for turn in turns:
        fidelity.kept.update(_NAMES[turn.role, block.type] for block in turn.blocks)
    return turns


def _usable(messages: Sequence[Message], fidelity: Fidelity) -> Iterator[Message]:
    for message in messages:
        if message.setup and message.agent != "claude":
            fidelity.left_out["instructions of the other agent"] += 1
            continue
        blocks = tuple(
            block for each in message.blocks if (block := _block(each, message, fidelity)) is not None
        )
        if blocks:
            yield replace(message, blocks=blocks)


def _without_open_thoughts(message: Message, fidelity: Fidelity) -> Message:
    """An answer without the thoughts that it ends in: the API takes none that lead nowhere."""
    blocks = message.blocks
    while blocks and blocks[-1].type in ("thinking", "redacted_thinking"):
        fidelity.left_out["thought without an answer"] += 1
        blocks = blocks[:-1]
    return replace(message, blocks=blocks)


def _block(block: Block, message: Message, fidelity: Fidelity) -> Block | None:
    """A block as it may stand in the file, None for one that may not."""
    body = block.body
    if block.type == "text":
        return _text(block, block.text, "empty text", fidelity)
    if block.type in ("thinking", "redacted_thinking"):
        if message.agent == "claude" and message.role == "assistant" and _is_signed(body):
            return block
        folded = _text(block, folded_thinking(body), "thought that cannot be read", fidelity)
        fidelity.folded["thought"] += folded is not None
        return folded
    if block.type == "tool_use" and message.role == "assistant" and block.call:
        return replace(block, body=_call(body))
    if block.type == "tool_result" and message.role == "user" and block.call:
        return replace(block, body=_result(body, fidelity))
    if message.role == "user" and _is_picture(body):
        return block
    fidelity.left_out[block.type or "block of no type"] += 1
    return None


def _text(block: Block, text: str, empty: str, fidelity: Fidelity) -> Block | None:
    if text.strip():
        return replace(block, body={"type": "text", "text": text})
    fidelity.left_out[empty] += 1
    return None


def _is_signed(body: dict[str, Any]) -> bool:
    """Whether a thought can be given back as it was: what must be mended does not fit its signature."""
    key = "signature" if body.get("type") == "thinking" else "data"
    whole = json.dumps(body, ensure_ascii=False)
    return bool(body.get(key)) and type(body[key]) is str and not _LONE.search(whole)


def _call(body: dict[str, Any]) -> dict[str, Any]:
    given = body.get("input")
    return {
        "type": "tool_use",
        "id": _in_id(body.get("id")),
        "name": _in_id(body.get("name"))[:128] or "unknown",
        "input": given if type(given) is dict else {"input": given},
    }


def _result(body: dict[str, Any], fidelity: Fidelity) -> dict[str, Any]:
    result = {**body, "tool_use_id": _in_id(body.get("tool_use_id"))}
    content = body.get("content")
    if type(content) is list:
        result["content"] = [part for each in content if (part := _part(each, fidelity))]
    elif type(content) is not str:
        result["content"] = ""
    return result


def _part(part: Any, fidelity: Fidelity) -> dict[str, Any]:
    """A part of a result, {} for what cannot be one; a tool that is not loaded here is only named."""
    kind = part.get("type") if type(part) is dict else None
    if kind == "tool_reference":
        fidelity.folded["reference to a tool"] += 1
        return {"type": "text", "text": f"[tool {part.get('tool_name')}]"}
    if (kind == "text" and _says(part)) or _is_picture(part):
        return dict(part)
    fidelity.left_out["empty text" if kind == "text" else str(kind)] += 1
    return {}


def _is_picture(body: Any) -> bool:
    """Whether it is an image or document that the API takes."""
    source = body.get("source") if type(body) is dict else None
    if type(source) is not dict or body.get("type") not in ("image", "document"):
        return False
    if body["type"] == "document" or source.get("type") != "base64":
        return body["type"] == "document" or str(source.get("url")).startswith("https://")
    data = source.get("data")
    return source.get("media_type") in _IMAGES and type(data) is str and _BASE64.fullmatch(data) is not None


def _says(part: dict[str, Any]) -> bool:
    return type(part.get("text")) is str and bool(part["text"].strip())


def _in_id(value: object) -> str:
    return _NOT_IN_ID.sub("_", value) if type(value) is str else ""


# -- how it is written


def _records(
    messages: Sequence[Message], envelope: dict[str, Any], session_id: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each record with its time, 0 where that is not known."""
    parent, number, last_ms = None, 0, 0
    answers: set[str] = set()
    for message in messages:
        for blocks, inner in _inner(message, answers, session_id, number):
            own = str(uuid.uuid5(uuid.UUID(session_id), str(number)))
            last_ms = blocks[0].time_ms or message.time_ms or last_ms
            record = {"parentUuid": parent, **envelope, "type": message.role, "message": inner, "uuid": own}
            if message.role == "user" and (message.note or message.meta):
                record["isMeta"] = True
            if message.session:
                record["forkedFrom"] = {
                    "sessionId": message.session,
                    "messageUuid": blocks[0].uuid or blocks[0].entry,
                }
            yield last_ms, record
            parent, number = own, number + 1


def _inner(
    message: Message, answers: set[str], session_id: str, number: int
) -> Iterator[tuple[list[Block], dict[str, Any]]]:
    """A message in the parts that are records: an answer by block, each result for itself."""
    if message.role == "user":
        results = [[block] for block in message.blocks if block.type == "tool_result"]
        others = [block for block in message.blocks if block.type != "tool_result"]
        for blocks in [*results, others]:
            if blocks:
                plain = len(blocks) == 1 and blocks[0].text
                yield blocks, {"role": "user", "content": plain or [block.body for block in blocks]}
        return
    own = message.message_id if message.agent == "claude" else ""
    if not own or own in answers or _NOT_IN_ID.search(own):
        own = "msg_" + uuid.uuid5(uuid.UUID(session_id), f"answer {number}").hex
    answers.add(own)
    calls = any(block.type == "tool_use" for block in message.blocks)
    for block in message.blocks:
        yield (
            [block],
            {
                "id": own,
                "type": "message",
                "role": "assistant",
                "model": message.model if message.agent == "claude" and message.model else "<synthetic>",
                "content": [block.body],
                "stop_reason": "tool_use" if calls else "end_turn",
                "stop_sequence": None,
                "usage": dict(_NO_USAGE),
            },
        )


_NO_USAGE = {
    "input_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 0,
}
_NAMES = {
    ("user", "text"): "text of the user's side", ("assistant", "text"): "answer",
    ("assistant", "thinking"): "signed thought", ("assistant", "redacted_thinking"): "signed thought",
    ("assistant", "tool_use"): "call", ("user", "tool_result"): "result", ("user", "image"): "image",
    ("user", "document"): "document",
}  # fmt: skip

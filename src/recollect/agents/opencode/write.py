"""A conversation as a document that `opencode import` takes and `opencode --session` goes on with.

OpenCode keeps its sessions in a database that only its client writes. What is written here is what its own
export gives: a call and its result are one part. Every part that may says that it is ours, as does
the session. Tokens are written as 0: what was spent was spent in the sessions this comes from.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from recollect.agents.fields import dict_of, text_of
from recollect.agents.opencode.check import validate
from recollect.agents.opencode.paths import roots, settings_file
from recollect.agents.session_lines import line_of
from recollect.agents.session_marks import mark_of, refuse_part, title_of
from recollect.agents.session_turns import parts_of, picture_of, turns
from recollect.agents.sessions import SessionFile
from recollect.light.sources import WRITTEN_BY
from recollect.values.conversation import Block, Conversation, Message
from recollect.values.fidelity import Fidelity

__all__ = ["render", "session_file", "validate"]

Record = dict[str, Any]

VERSION = "1.18.33"  # of the client: the newest that was seen to take these documents
FOLDER = "recollect"  # in OpenCode's own: where the documents lie that it is to take

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_NO_TOKENS = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
_SETTINGS_BYTES_MAX = 1 << 20


def session_file(
    conversation: Conversation,
    *,
    home: Path,
    environ: Mapping[str, str],
    folder: str,
    now_ms: int,
    seed: bytes,
) -> SessionFile:
    """A new session for OpenCode, started in `folder`."""
    refuse_part(folder)
    ids = _Ids(now_ms, seed)
    model = _model(home, environ)
    data, fidelity = render(conversation, ids=ids, cwd=folder, now_ms=now_ms, model=model)
    path = Path(roots(home, environ)[0], FOLDER, f"{ids.session}.json")
    command = f"opencode import {shlex.quote(str(path))} && opencode --session {ids.session}"
    problems = partial(validate, session_id=ids.session)
    return SessionFile(ids.session, data, path, command, fidelity, problems)


def render(
    conversation: Conversation, *, ids: _Ids, cwd: str, now_ms: int, model: tuple[str, str]
) -> tuple[bytes, Fidelity]:
    """The document's bytes, and what became of each part. `cwd` is where it will be resumed."""
    fidelity = Fidelity(left_out=conversation.left_out.copy())
    said = turns(conversation, partial(_block, fidelity=fidelity), fidelity)
    # What is known of a part goes to the model's provider, by the provider's name.
    ours = {WRITTEN_BY: mark_of(conversation)}
    title = title_of(conversation, ids.session[-8:])
    info = {
        "id": ids.session,
        "slug": WRITTEN_BY,
        "projectID": "global",
        "directory": cwd,
        "title": title,
        "version": VERSION,
        "metadata": ours,
        "time": {"created": now_ms, "updated": now_ms},
    }
    writing = _Writing(ids, cwd, now_ms, model, ours, fidelity)
    return line_of({"info": info, "messages": list(writing.messages(said))}), fidelity


class _Ids:
    """Ids as OpenCode makes them: they stand in order of time, those of sessions the newest first."""

    def __init__(self, now_ms: int, seed: bytes) -> None:
        self._seed = seed
        self._next = now_ms * 0x1000
        self.session = f"ses_{~self._next & 0xFFFFFFFFFFFF:012x}{self._rest('session')}"

    def new(self, prefix: str) -> str:
        self._next += 1
        return f"{prefix}_{self._next & 0xFFFFFFFFFFFF:012x}{self._rest(str(self._next))}"

    def _rest(self, of: str) -> str:
        digest = hashlib.blake2b(
            of.encode(), key=hashlib.blake2b(self._seed).digest(), digest_size=14
        ).digest()
        return "".join(_DIGITS[byte % len(_DIGITS)] for byte in digest)


def _block(block: Block, message: Message, *, fidelity: Fidelity) -> Block | None:
    """A block as it may stand in the document, None for one that may not."""
    answers = message.role == "assistant"
    if block.type == "text" and block.text.strip():
        return block
    if block.type == "thinking" and answers and text_of(block.body.get("thinking")).strip():
        return block
    if block.type == "tool_use" and answers and block.call:
        given, name = block.body.get("input"), text_of(block.body.get("name"))
        whole = given if type(given) is dict else {"input": given}
        return replace(block, body={**block.body, "name": name or "unknown", "input": whole})
    if block.type == "tool_result" and not answers and block.call:
        return block
    if picture_of(block.body) and not answers:
        return block
    names = {"text": "empty text", "thinking": "thought that cannot be read"}
    fidelity.left_out[names.get(block.type, block.type) or "block of no type"] += 1
    return None


class _Writing:
    """Messages and their parts, in order."""

    def __init__(
        self, ids: _Ids, cwd: str, now_ms: int, model: tuple[str, str], ours: Record, fidelity: Fidelity
    ) -> None:
        self._ids, self._cwd, self._now_ms, self._ours = ids, cwd, now_ms, ours
        self._provider, self._model = model
        self._fidelity = fidelity
        self._last_ms = 0

    def messages(self, said: Sequence[Message]) -> Iterator[Record]:
        results = {block.call: block for turn in said for block in turn.blocks if block.type == "tool_result"}
        asked = ""
        for turn in said:
            self._last_ms = min(max(turn.time_ms, self._last_ms) or self._now_ms, self._now_ms)
            blocks = [block for block in turn.blocks if block.type != "tool_result"]
            if not blocks:
                continue
            id_ = self._ids.new("msg")
            own = {"id": id_, "sessionID": self._ids.session, "role": turn.role}
            if turn.role == "user":
                asked = id_
                model = {"providerID": self._provider, "modelID": self._model}
                info = {**own, "time": {"created": self._last_ms}, "agent": "build", "model": model}
            else:
                info = {**own, **self._answer(turn, asked)}
            parts = [self._part(block, turn, id_, results.get(block.call)) for block in blocks]
            yield {"info": info, "parts": parts}

    def _answer(self, turn: Message, asked: str) -> Record:
        calls = any(block.type == "tool_use" for block in turn.blocks)
        return {
            "time": {"created": self._last_ms, "completed": self._last_ms},
            "parentID": asked,
            "modelID": turn.model or self._model,
            "providerID": self._provider,
            "mode": "build",
            "agent": "build",
            "path": {"cwd": self._cwd, "root": "/"},
            "cost": 0,
            "tokens": _NO_TOKENS,
            "finish": "tool-calls" if calls else "stop",
        }

    def _part(self, block: Block, turn: Message, message: str, result: Block | None) -> Record:
        own = {"id": self._ids.new("prt"), "sessionID": self._ids.session, "messageID": message}
        ours, time = {"metadata": self._ours}, {"start": self._last_ms, "end": self._last_ms}
        if block.type == "tool_use":
            return {**own, "type": "tool", **self._call(block, result), **ours}
        if picture := picture_of(block.body):
            kind, data = picture
            url = f"data:{kind};base64,{data}"
            return {**own, "type": "file", "mime": kind, "filename": WRITTEN_BY, "url": url}
        if block.type == "thinking":
            thought = text_of(block.body.get("thinking"))
            return {**own, "type": "reasoning", "text": thought, "time": time, **ours}
        spoken: Record = {**own, "type": "text", "text": block.text, **ours}
        if turn.role == "assistant":
            return {**spoken, "time": time}
        return {**spoken, "synthetic": True} if turn.note or turn.meta else spoken

    def _call(self, block: Block, result: Block | None) -> Record:
        parts = parts_of(result.body, self._fidelity) if result is not None else []
        texts = [text_of(part.get("text")) for part in parts if part.get("type") == "text"]
        self._fidelity.left_out["image of a result"] += len(parts) - len(texts)
        output = "\n".join(texts)
        failed = result is None or result.body.get("is_error") is True
        state = {
            "input": block.body["input"],
            "time": {"start": self._last_ms, "end": self._last_ms},
            **(
                {"status": "error", "error": output or "it failed"}
                if failed
                else {"status": "completed", "output": output, "title": "", "metadata": {}}
            ),
        }
        return {"tool": block.body["name"], "callID": block.call, "state": state}


def _model(home: Path, environ: Mapping[str, str]) -> tuple[str, str]:
    """Provider and model that this person uses, as their settings say: a session goes on with its last."""
    try:
        with open(settings_file(home, environ), "rb") as file:
            named = text_of(dict_of(json.loads(file.read(_SETTINGS_BYTES_MAX))).get("model"))
    except (OSError, ValueError, RecursionError):
        named = ""
    provider, _, model = named.partition("/")
    return (provider, model) if provider and model else (WRITTEN_BY, "unknown")

"""A conversation as a rollout that `codex resume` opens as its own past.

Response items are what the model is sent; the event beside a message is how the client shows it.
Items have no ids here, and instructions and environment are left out: Codex gives those anew, and
the API takes an item with an id only together with all that it was made with.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from recollect.agents.codex import paths
from recollect.agents.codex.check import ALONE, CALL_ID_MAX, OUTPUTS, validate
from recollect.agents.codex.write_items import Item, Items, kind_of
from recollect.agents.session_ids import new_id
from recollect.agents.session_lines import line_of, stamp
from recollect.agents.session_marks import refuse_part, title_of
from recollect.agents.sessions import SessionFile
from recollect.light.sources import WRITTEN_BY, WRITTEN_FROM_KEY, is_uuid
from recollect.values.conversation import Block, Conversation, Message, paired, said
from recollect.values.errors import NotFound, UsageError
from recollect.values.fidelity import Fidelity, folded_thinking

__all__ = ["OPENAI", "new_id", "provider", "render", "session_file", "target", "validate"]

VERSION = "0.166.0"  # of the client: the newest that was seen to open these files

OPENAI = "openai"

Record = dict[str, Any]

_BEGINNING = "[What was said before this is not part of the conversation any more.]"
# Codex cuts longer outputs when it resumes, unless their line says how many tokens they may have.
_WHOLE_BYTES_MAX = 8_000
_LONE = re.compile("[\ud800-\udfff]")


def session_file(
    conversation: Conversation,
    *,
    home: Path,
    environ: Mapping[str, str],
    folder: str,
    now_ms: int,
    seed: bytes,
) -> SessionFile:
    """A new session for Codex, started in `folder`."""
    session_id = new_id(now_ms, seed)
    data, fidelity = render(
        conversation,
        session_id=session_id,
        cwd=folder,
        version=VERSION,
        branch=conversation.branch,
        now_ms=now_ms,
        model_provider=provider(home, environ),
    )
    path = target(home, environ, session_id, now_ms)
    problems = partial(validate, session_id=session_id)
    return SessionFile(session_id, data, path, f"codex resume {session_id}", fidelity, problems)


def render(
    conversation: Conversation,
    *,
    session_id: str,
    cwd: str,
    version: str,
    branch: str,
    now_ms: int,
    model_provider: str = OPENAI,
) -> tuple[bytes, Fidelity]:
    """The file's bytes, and what became of each part. `cwd` is where it will be resumed.

    Codex opens a thread only where `model_provider` is the one it is set to.
    """
    _refuse_id(session_id)
    refuse_part(cwd)
    fidelity = Fidelity(left_out=conversation.left_out.copy())
    turns = _turns(conversation.messages, fidelity)
    if not any(map(_words, turns)):
        raise NotFound("there is no conversation to write: nothing that was said is left")
    meta = {
        "id": session_id,
        "timestamp": stamp(now_ms),
        "cwd": cwd,
        "originator": WRITTEN_BY,
        "cli_version": version,
        "source": "cli",
        "model_provider": model_provider,
        **_origin(conversation),
        **({"git": {"branch": branch}} if branch else {}),
    }
    records = [_record("session_meta", meta, now_ms), *_records(_begun(turns, fidelity), now_ms, fidelity)]
    if title := title_of(conversation):
        named = {"type": "thread_name_updated", "thread_id": session_id, "thread_name": title}
        records.append(_record("event_msg", named, now_ms))
    return b"".join(map(line_of, records)), fidelity


def target(home: str | Path, environ: Mapping[str, str], session_id: str, now_ms: int) -> Path:
    """Where Codex looks for a session that began at this moment: in folders of the local date."""
    _refuse_id(session_id)
    begun = time.strftime("%Y-%m-%dT%H-%M-%S", time.localtime(now_ms // 1000))
    folder = Path(paths.folder(str(home), environ), "sessions", *begun[:10].split("-"))
    return folder / f"rollout-{begun}-{session_id}.jsonl"


def provider(home: str | Path, environ: Mapping[str, str]) -> str:
    """Whose models Codex is set to use."""
    import tomllib

    try:
        settings = tomllib.loads(Path(paths.folder(str(home), environ), "config.toml").read_text("utf-8"))
    except (OSError, ValueError):
        return OPENAI
    name = settings.get("model_provider")
    return name if type(name) is str and name else OPENAI


def _refuse_id(session_id: str) -> None:
    if not is_uuid(session_id):
        raise UsageError(f"{session_id!r} cannot be a session's id", hint="Codex takes only UUIDs")


def _origin(conversation: Conversation) -> dict[str, str]:
    """The session it begins with: of several, Codex can name only one, and only by a UUID."""
    first = next(iter(conversation.sessions), "")
    if is_uuid(first):
        return {"forked_from_id": first}
    return {WRITTEN_FROM_KEY: first} if first else {}


# -- what is said


def _turns(messages: Sequence[Message], fidelity: Fidelity) -> list[Message]:
    """The turns as the API takes them: calls with their results, thoughts with what they led to."""
    turns, done = paired(_usable(messages, fidelity))
    fidelity.added["result for a call without one"] += done["call without result"]
    fidelity.folded["result without its call"] += done["result without call"]
    fidelity.left_out["call said twice"] += done["call said twice"]
    return [turn for each in turns if (turn := _without_open_thoughts(each, fidelity)).blocks]


def _begun(turns: list[Message], fidelity: Fidelity) -> list[Message]:
    """The same with a word of the user's side: a thread without any is in no list of Codex's."""
    if any(turn.role == "user" and _words(turn) for turn in turns):
        return turns
    fidelity.added["note at the beginning"] += 1
    return [said(_BEGINNING, time_ms=turns[0].time_ms), *turns]


def _usable(messages: Sequence[Message], fidelity: Fidelity) -> Iterator[Message]:
    for place, message in enumerate(messages):
        if message.setup:
            fidelity.left_out["instructions that are given anew"] += 1
            continue
        taken = [
            block
            for at, each in enumerate(message.blocks)
            if (block := _block(each, message, f"call_{place}_{at}", fidelity)) is not None
        ]
        if taken:
            yield replace(message, blocks=tuple(taken))


def _block(block: Block, message: Message, free_id: str, fidelity: Fidelity) -> Block | None:
    """A block that may stand in the file, None for one that may not. `free_id`: for a call without id."""
    kind = kind_of(block)
    if kind in ALONE[message.role]:
        return replace(block, body={"type": kind})
    if block.type in ("thinking", "redacted_thinking"):
        return _text_of_thought(block, fidelity)
    if block.type == "text" and not block.text.strip():
        fidelity.left_out["empty text"] += 1
        return None
    if block.type == "tool_use" and message.role == "assistant":
        return replace(block, body={**block.body, "id": _call_id(block.call) or free_id})
    if block.type == "tool_result" and message.role == "user":
        return replace(block, body={**block.body, "tool_use_id": _call_id(block.call)})
    if block.type == "text" or (block.type in ("image", "document") and message.role == "user"):
        return block
    fidelity.left_out[block.type or "block of no type"] += 1
    return None


def _text_of_thought(block: Block, fidelity: Fidelity) -> Block | None:
    """A thought as text: only Codex's own, encrypted ones can be thoughts here."""
    text = folded_thinking(block.body)
    if not text:
        fidelity.left_out["thought that cannot be read"] += 1
        return None
    fidelity.folded["thought"] += 1
    return replace(block, body={"type": "text", "text": text})


def _without_open_thoughts(turn: Message, fidelity: Fidelity) -> Message:
    """An answer without the thoughts it ends in: the API takes none that lead nowhere."""
    blocks = turn.blocks
    while blocks and blocks[-1].type == "reasoning":
        fidelity.left_out["thought without an answer"] += 1
        blocks = blocks[:-1]
    return replace(turn, blocks=blocks)


def _call_id(call: str) -> str:
    """A call's id as the API takes it: one that is too long gives way to its hash."""
    call = _LONE.sub("\ufffd", call)
    if len(call) <= CALL_ID_MAX:
        return call
    return "call_" + hashlib.sha256(call.encode()).hexdigest()[:32]


def _words(turn: Message) -> str:
    return "\n".join(block.text for block in turn.blocks if block.text)


# -- how it is written


def _records(turns: Sequence[Message], now_ms: int, fidelity: Fidelity) -> Iterator[Record]:
    items = Items(fidelity)
    spoken = [at for at, turn in enumerate(turns) if turn.role == "user" and _words(turn)]
    typed = [at for at in spoken if not turns[at].note and not turns[at].meta]
    shown = frozenset(typed or spoken[:1])
    last_ms = 0
    for at, turn in enumerate(turns):
        for time_ms, item in items.of(turn):
            last_ms = time_ms or last_ms
            yield _record("response_item", item, min(last_ms or now_ms, now_ms))
            if item["type"] == "message" and (turn.role == "assistant" or at in shown):
                yield from (
                    _record("event_msg", event, min(last_ms or now_ms, now_ms)) for event in _events(item)
                )


def _events(item: Item) -> Iterator[dict[str, Any]]:
    """How the client shows a message to a person."""
    texts = [part["text"] for part in item["content"] if "text" in part]
    if item["role"] == "assistant":
        phase = {"phase": item["phase"]} if "phase" in item else {}
        yield from ({"type": "agent_message", "message": text, **phase} for text in texts)
    elif texts:
        yield {
            "type": "user_message",
            "message": "\n".join(texts),
            "images": [],
            "local_images": [],
            "text_elements": [],
        }


def _record(kind: str, payload: dict[str, Any], time_ms: int) -> Record:
    record = {"timestamp": stamp(time_ms), "type": kind, "payload": payload}
    size = _size(payload["output"]) if payload.get("type") in OUTPUTS and "output" in payload else 0
    if size > _WHOLE_BYTES_MAX:
        record["metadata"] = {"fallback_token_limit_override": size}  # a token has a byte or more
    return record


def _size(output: object) -> int:
    if type(output) is list:
        return sum(_size(part.get("text")) for part in output)
    return len(output.encode("utf-8", "surrogatepass")) if type(output) is str else 0

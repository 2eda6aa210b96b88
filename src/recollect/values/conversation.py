"""A conversation as values, whichever agent had it: what readers make and writers write.

Blocks have the shape of Anthropic's API: `text`, `thinking`, `redacted_thinking`, `tool_use`,
`tool_result`, `image`, `document`. `body` of a block is the very object of a log that has such
blocks, and `native` the very item of a log that has others; neither is ever changed, as a signature
holds only for what was signed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Role = Literal["user", "assistant"]

NO_RESULT = "[no result was recorded]"


@dataclass(frozen=True, slots=True)
class Block:
    """One content block. `entry` is the id of the entry it is; `uuid` and `time_ms` are its record's.

    `native` is the item it came from, as it was, where its agent's log has no such blocks.
    """

    body: dict[str, Any]
    entry: str = ""
    native: dict[str, Any] | None = None
    uuid: str = ""
    time_ms: int = 0

    @property
    def type(self) -> str:
        kind = self.body.get("type")
        return kind if type(kind) is str else ""

    @property
    def text(self) -> str:
        """The text of a text block, "" for any other."""
        text = self.body.get("text") if self.type == "text" else ""
        return text if type(text) is str else ""

    @property
    def call(self) -> str:
        """The id of the call that this block is, or is the result of."""
        key = {"tool_use": "id", "tool_result": "tool_use_id"}.get(self.type, "")
        call = self.body.get(key)
        return call if type(call) is str else ""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of one side. `message_id` is the agent's own id of an answer.

    `note`: a separator of ours, or a summary that took the place of what was said. `meta`: in a
    user's place, but no person typed it. `setup`: what a harness tells each conversation anew
    (instructions, environment): it crosses to no other agent.
    """

    role: Role
    blocks: tuple[Block, ...]
    agent: str
    session: str
    time_ms: int = 0
    model: str = ""
    message_id: str = ""
    note: bool = False
    meta: bool = False
    setup: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said, in order, and what of the log was not taken: why, and how often.

    `imported`: it is out of an imported log, title and all, and was made safe.
    """

    messages: tuple[Message, ...]
    title: str = ""
    cwd: str = ""
    project: str = ""
    branch: str = ""
    agents: tuple[str, ...] = ()
    left_out: Counter[str] = field(default_factory=Counter)
    imported: bool = False

    @property
    def sessions(self) -> tuple[str, ...]:
        """The sessions it is taken from, in the order they first speak."""
        return tuple(dict.fromkeys(message.session for message in self.messages if message.session))


def said(text: str, *, agent: str = "", session: str = "", time_ms: int = 0) -> Message:
    """Words of our own in the user's place."""
    return Message("user", (Block({"type": "text", "text": text}),), agent, session, time_ms, note=True)


def paired(messages: Iterable[Message]) -> tuple[list[Message], Counter[str]]:
    """The same with every call answered by the turn that follows it, and what had to be done for that.

    A result comes right behind its call, wherever it stood. A call without one gets an error in
    its place, a result without a call becomes text. An id that two calls bear is kept by the first.
    Parts of one answer that only results keep apart become one.
    """
    done: Counter[str] = Counter()
    given = _joined(_distinct(messages, done))
    results = {block.call: block for message in given for block in message.blocks if _is_result(block)}
    calls = {block.call for message in given for block in message.blocks if block.type == "tool_use"}
    found: list[Message] = []
    for message in given:
        if message.role == "assistant":
            found.append(message)
            found += _answers(message, results, done)
        elif blocks := tuple(_spoken(message.blocks, calls, done)):
            found.append(replace(message, blocks=blocks))
    return found, +done


def _answers(message: Message, results: dict[str, Block], done: Counter[str]) -> Iterator[Message]:
    """The turn that answers a message's calls, if it makes any."""
    calls = [block.call for block in message.blocks if block.type == "tool_use"]
    done["call without result"] += sum(call not in results for call in calls)
    blocks = tuple(results.get(call) or Block(_missing(call)) for call in calls)
    if blocks:
        yield replace(message, role="user", blocks=blocks, model="", message_id="")


def _spoken(blocks: Sequence[Block], calls: set[str], done: Counter[str]) -> Iterator[Block]:
    """What a user's turn says itself; results that no call asked for as text."""
    for block in blocks:
        if not _is_result(block):
            yield block
        elif block.call not in calls:
            done["result without call"] += 1
            yield from _loose(block)


def _joined(messages: Iterable[Message]) -> list[Message]:
    found: list[Message] = []
    last = -1  # where the last answer is, while nothing but results came after it
    for message in messages:
        if message.role == "user":
            last = last if all(map(_is_result, message.blocks)) else -1
        elif last >= 0 and _answer(found[last]) == _answer(message) and message.message_id:
            found[last] = replace(found[last], blocks=found[last].blocks + message.blocks)
            continue
        else:
            last = len(found)
        found.append(message)
    return found


def _answer(message: Message) -> tuple[str, str]:
    return message.session, message.message_id


def _distinct(messages: Iterable[Message], done: Counter[str]) -> list[Message]:
    """Messages in which no two calls have the same id: what is the same twice goes, the rest is renamed."""
    ids = _Ids()
    found = []
    for message in messages:
        blocks = [ids.own(block, message.session) if block.call else block for block in message.blocks]
        done["call said twice"] += sum(
            own is None and block.type == "tool_use"
            for own, block in zip(blocks, message.blocks, strict=True)
        )
        if kept := tuple(block for block in blocks if block is not None):
            found.append(replace(message, blocks=kept))
    return found


class _Ids:
    """The ids that calls and results have taken so far."""

    def __init__(self) -> None:
        self._calls: dict[str, dict[str, Any]] = {}
        self._answered: set[str] = set()
        self._other: dict[tuple[str, str], str] = {}  # (session, id) of calls that go by another id

    def own(self, block: Block, session: str) -> Block | None:
        """The block under an id that is its own; None for one that was there before."""
        key = (session, block.call)
        if block.type == "tool_use" and block.call in self._calls:
            if self._calls[block.call] == block.body:
                return None
            self._other[key] = self._free(block.call)
        named = _named(block, self._other[key]) if key in self._other else block
        if named.type == "tool_use":
            self._calls[named.call] = block.body
        elif named.call in self._answered:
            return None
        else:
            self._answered.add(named.call)
        return named

    def _free(self, call: str) -> str:
        number = 2
        while f"{call}_{number}" in self._calls:
            number += 1
        return f"{call}_{number}"


def _named(block: Block, call: str) -> Block:
    key = "id" if block.type == "tool_use" else "tool_use_id"
    native = {**block.native, "call_id": call} if block.native is not None else None
    return replace(block, body={**block.body, key: call}, native=native)


def _is_result(block: Block) -> bool:
    return block.type == "tool_result"


def _missing(call: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": NO_RESULT, "is_error": True}


def _loose(block: Block) -> Iterator[Block]:
    """A result as blocks that may stand alone."""
    content = block.body.get("content")
    parts = [{"type": "text", "text": content}] if type(content) is str else content
    for part in parts if type(parts) is list else ():
        if type(part) is not dict:
            continue
        if part.get("type") == "text":
            yield Block({"type": "text", "text": f"[result] {part.get('text')}"}, block.entry)
        elif part.get("type") in ("image", "document"):
            yield Block(part, block.entry)

"""Turns, as a written session has them and as a request has them: in one form, so that they can be compared.

The clients change a few things on the way; each is named here, and nothing else is let pass.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from tests.clients.sessions import Source
from tests.clients.standin import Block, Request, text

Turn = tuple[str, list[Block]]

GO_ON = "Go on from there."
CALLS = ("function_call", "custom_tool_call", "local_shell_call", "tool_search_call")
SIDES = ("user", "assistant")

_REMINDER = re.compile(r"<system-reminder>.*</system-reminder>\s*", re.DOTALL)


@dataclass(frozen=True)
class Carried:
    """A session that was written for an agent, and its file as it was then."""

    agent: str
    session: str
    data: bytes
    masked: dict[str, int]

    @property
    def records(self) -> list[Block]:
        return [json.loads(line) for line in self.data.split(b"\n")[:-1]]


def written(carried: Carried) -> list[Turn]:
    """What the agent should say its past is."""
    if carried.agent == "claude":
        spoken = [record["message"] for record in carried.records if record["type"] in SIDES]
        return _as_read(claude_turns(spoken))
    items = [record["payload"] for record in carried.records if record["type"] == "response_item"]
    return [codex_turn(item) for item in items]


def _as_read(turns: list[Turn]) -> list[Turn]:
    """What Claude Code makes of turns that end without an answer, or call a tool by its old name."""
    renamed = [
        (role, [{**block, "name": "Agent"} if block.get("name") == "Task" else block for block in blocks])
        for role, blocks in turns
    ]
    role, blocks = renamed[-1]
    if role == "user":
        more = [text("Continue from where you left off.")] if blocks[-1]["type"] == "tool_result" else []
        renamed[-1:] = [(role, [*blocks, *more]), ("assistant", [text("No response requested.")])]
    return renamed


def asked(agent: str, request: Request) -> list[Turn]:
    """The turns of a request without those of the harness, and without the prompt that `go_on` adds."""
    if agent == "claude":
        turns = claude_turns(request.messages)
        role, blocks = turns.pop()
        assert role == "user"
        assert blocks.pop()["text"].endswith(GO_ON)
        assert not blocks
        return turns
    turns = [codex_turn(item) for item in request.messages if not of_harness(item)]
    assert json.dumps(turns.pop()).count(GO_ON) == 1
    return turns


def claude_turns(messages: Iterable[Block]) -> list[Turn]:
    """What each side says until the other one speaks: to the API that is one turn, however it is cut.

    The client joins texts of the user's side that follow one another with a line break: so they are here.
    """
    spoken = [each for each in messages if each["role"] in SIDES]
    turns = []
    for role, group in groupby(spoken, key=lambda each: str(each["role"])):
        blocks = [block for each in group for block in claude_blocks(each["content"])]
        turns.append((role, list(joined(blocks)) if role == "user" else blocks))
    return [turn for turn in turns if turn[1]]


def claude_blocks(content: str | list[Block]) -> Iterator[Block]:
    """Blocks without marks for the cache, and without what the harness tells each conversation anew."""
    for block in [text(content)] if isinstance(content, str) else content:
        if block["type"] != "text" or not _REMINDER.fullmatch(block["text"]):
            yield {key: value for key, value in block.items() if key != "cache_control"}


def joined(blocks: Iterable[Block]) -> Iterator[Block]:
    for is_text, group in groupby(blocks, key=lambda block: bool(block["type"] == "text")):
        row = list(group)
        yield from [text("\n".join(block["text"].strip("\n") for block in row))] if is_text else row


def codex_turn(item: Block) -> Turn:
    """An item without its id, which no written one has, and without fields that say nothing."""
    body = {key: value for key, value in item.items() if key != "id" and value is not None}
    return str(body.get("role", "")), [body]


def of_harness(item: Block) -> bool:
    return item.get("role") == "developer" or "<environment_context>" in json.dumps(item.get("content", ""))


def thoughts(turns: Iterable[Turn]) -> list[str]:
    """The signatures and encrypted contents in order."""
    blocks = [block for _, blocks in turns for block in blocks]
    held = [block.get("signature") or block.get("encrypted_content") for block in blocks]
    return [thought for thought in held if thought]


def check_pairs(agent: str, turns: list[Turn]) -> None:
    """Every call is answered by the turn that follows it, and nothing else is."""
    called: list[str] = []
    for role, blocks in turns:
        if agent == "claude" and role == "user":
            assert [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"] == called
            called = []
        assert agent == "codex" or role == "user" or not called
        called += [block["id"] for block in blocks if block["type"] == "tool_use"]
        called += [block["call_id"] for block in blocks if block["type"] in CALLS]
        for block in blocks:
            if block["type"].endswith("_output"):
                called.remove(block["call_id"])
    assert not called


def check_told(source: Source, turns: list[Turn]) -> None:
    """What was said is told in order, and nothing that is no part of it."""
    words = json.dumps(turns, ensure_ascii=False)
    at = 0
    for mark in source.told:
        found = words.find(json.dumps(mark, ensure_ascii=False)[1:-1], at)
        assert found >= 0, (mark, words[at:])
        at = found + 1
    assert not [mark for mark in source.lost if mark in words]


def as_sent(turns: Iterable[Turn]) -> list[Turn]:
    """Turns without what may differ between a session and its copy.

    - What the user's side gives at once comes in another order: Claude Code sends results as they came in, we
      write them as they were called; it sends a file named with @ in front of its prompt, we write it behind.
    - How closely Codex shall look at a picture in a prompt (`detail`) is not written.
    """
    found = []
    for role, blocks in turns:
        plain = [json.loads(json.dumps(block), object_hook=_without_detail) for block in blocks]
        found.append((role, sorted(plain, key=_in_order) if role == "user" else plain))
    return found


def _without_detail(value: Block) -> Block:
    return {key: each for key, each in value.items() if key != "detail" or value.get("type") != "input_image"}


def _in_order(block: Block) -> str:
    return json.dumps(block, sort_keys=True)

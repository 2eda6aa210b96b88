"""Hand-written conversations (`tests/search/talks/*.txt`) as the log files agents would have written of them.

    === AGENT START FOLDER BRANCH          a session begins
    [user #marker] text                    one entry, until the next line that opens one
    [call TOOL] {...}, a path or a command
    [result] and [error]                   what the call gave back

A marker names an entry. Its id is known before anything is ingested, because an entry's id comes
from the bytes of its line, and every entry here has a line of its own.
"""

from __future__ import annotations

import datetime
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import ROOT

from recollect.values.ids import line_key

FOLDER = ROOT / "tests" / "search" / "talks"

_SESSION = re.compile(r"=== (?P<agent>claude|codex) (?P<start>\S+) (?P<folder>\S+) (?P<branch>\S+)")
_ENTRY = re.compile(r"\[(?P<kind>user|assistant|thought|call|result|error)(?P<rest>[^\]\n]*)\] ?(?P<text>.*)")
_PATH_TOOLS = ("Read",)


@dataclass
class Said:
    """One entry of a conversation."""

    kind: str
    tool: str
    markers: list[str]
    text: str


@dataclass
class Talk:
    """One conversation, and the session it becomes."""

    id: str
    agent: str
    start: datetime.datetime
    folder: str
    branch: str
    said: list[Said]

    def lines(self) -> list[tuple[Said | None, bytes]]:
        """The lines of its log, each with the entry that it is for."""
        writer = _claude if self.agent == "claude" else _codex
        return [
            (said, json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode())
            for said, record in writer(self)
        ]

    @property
    def name(self) -> str:
        if self.agent == "claude":
            return f"claude/projects/{re.sub(r'[^a-z]', '-', self.folder)}/{self.id}.jsonl"
        return f"codex/sessions/rollout-{self.start:%Y-%m-%dT%H-%M-%S}-{self.id}.jsonl"


def read_talks() -> list[Talk]:
    """Every conversation, in the order they were written down."""
    talks: list[Talk] = []
    for path in sorted(FOLDER.glob("*.txt")):
        for line in path.read_text("utf-8").splitlines():
            if session := _SESSION.fullmatch(line):
                talks.append(_begun(len(talks), session))
            elif entry := _ENTRY.fullmatch(line):
                tool, markers = _rest(entry["rest"])
                talks[-1].said.append(Said(entry["kind"], tool, markers, entry["text"]))
            else:
                talks[-1].said[-1].text += "\n" + line
    for talk in talks:
        talk.said[-1].text = talk.said[-1].text.rstrip("\n")
    return talks


def write_logs(talks: list[Talk], folder: Path) -> dict[str, set[str]]:
    """Write every talk's log; returns the ids of the entries that each marker names."""
    ids: dict[str, set[str]] = defaultdict(set)
    for talk in talks:
        path = folder / talk.name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = talk.lines()
        path.write_bytes(b"".join(data + b"\n" for _, data in lines))
        for said, data in lines:
            for marker in said.markers if said is not None else ():
                ids[marker].add(entry_id(data))
    return ids


def entry_id(data: bytes) -> str:
    """The id of the first entry of a line."""
    return f"{int.from_bytes(line_key(data)[:8], 'little'):016x}"[:12]


def _begun(number: int, match: re.Match[str]) -> Talk:
    start = datetime.datetime.fromisoformat(match["start"]).replace(tzinfo=datetime.UTC)
    session = f"{0x51A00000 + number * 0x1111:08x}-0000-4000-8000-{number:012}"
    return Talk(session, match["agent"], start, match["folder"], match["branch"], [])


def _rest(text: str) -> tuple[str, list[str]]:
    words = text.split()
    markers = [word[1:] for word in words if word.startswith("#")]
    return next((word for word in words if not word.startswith("#")), ""), markers


def _given(said: Said) -> Any:
    """The input of a tool call."""
    if said.text.startswith("{"):
        return json.loads(said.text)
    return {"file_path" if said.tool in _PATH_TOOLS else "command": said.text}


def _times(talk: Talk) -> Iterator[str]:
    moment = talk.start
    while True:
        yield moment.isoformat().replace("+00:00", ".000Z")
        moment += datetime.timedelta(seconds=47)


def _claude(talk: Talk) -> Iterator[tuple[Said, dict[str, Any]]]:
    parent, call = None, ""
    for number, (said, time) in enumerate(zip(talk.said, _times(talk), strict=False)):
        uuid = f"{talk.id[:8]}-0000-4000-8000-{number:012}"
        common = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": talk.folder,
            "sessionId": talk.id,
            "version": "2.1.150",
            "gitBranch": talk.branch,
        }
        if said.kind == "call":
            call = f"toolu_{talk.id[:8]}_{number}"
        role = "user" if said.kind in ("user", "result", "error") else "assistant"
        yield (
            said,
            {
                **common,
                "type": role,
                "message": _message(said, talk, number, call),
                "uuid": uuid,
                "timestamp": time,
            },
        )
        parent = uuid


def _message(said: Said, talk: Talk, number: int, call: str) -> dict[str, Any]:
    if said.kind == "user":
        return {"role": "user", "content": said.text}
    if said.kind in ("result", "error"):
        block = {"type": "tool_result", "tool_use_id": call, "content": said.text}
        return {"role": "user", "content": [{**block, "is_error": said.kind == "error"}]}
    blocks: dict[str, dict[str, Any]] = {
        "assistant": {"type": "text", "text": said.text},
        "thought": {"type": "thinking", "thinking": said.text, "signature": "ErUB"},
    }
    if said.kind == "call":
        block = {"type": "tool_use", "id": call, "name": said.tool, "input": _given(said)}
    else:
        block = blocks[said.kind]
    return {
        "id": f"msg_{talk.id[:8]}_{number}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5-20250929",
        "content": [block],
        "usage": {"input_tokens": 9, "output_tokens": 40},
    }


def _codex(talk: Talk) -> Iterator[tuple[Said | None, dict[str, Any]]]:
    times = _times(talk)

    def record(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        return {"timestamp": next(times), "type": kind, "payload": payload}

    git = {"commit_hash": "9f1c", "branch": talk.branch, "repository_url": ""}
    meta = {"id": talk.id, "cwd": talk.folder, "cli_version": "0.118.0", "git": git}
    yield None, record("session_meta", meta)
    yield None, record("turn_context", {"cwd": talk.folder, "model": "gpt-5.3-codex"})
    call = ""
    for number, said in enumerate(talk.said):
        if said.kind == "call":
            call = f"call_{number}"
        yield said, record("response_item", _item(said, call))
        if said.kind == "user":  # the screen's copy of it
            yield None, record("event_msg", {"type": "user_message", "message": said.text})


def _item(said: Said, call: str) -> dict[str, Any]:
    if said.kind in ("user", "assistant"):
        block = {"type": "input_text" if said.kind == "user" else "output_text", "text": said.text}
        return {"type": "message", "role": said.kind, "content": [block]}
    if said.kind == "thought":
        return {"type": "reasoning", "summary": [{"type": "summary_text", "text": said.text}]}
    if said.kind == "call" and said.tool == "apply_patch":
        return {"type": "custom_tool_call", "name": said.tool, "input": said.text, "call_id": call}
    if said.kind == "call":
        arguments = json.dumps({"command": ["bash", "-lc", said.text]})
        return {"type": "function_call", "name": said.tool, "arguments": arguments, "call_id": call}
    code = int(said.kind == "error")
    output = f"Exit code: {code}\nWall time: 0.2 seconds\nOutput:\n{said.text}"
    return {"type": "function_call_output", "call_id": call, "output": output}

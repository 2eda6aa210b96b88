"""Log files as agents write them, where agents write them, and the numbers of taking them in."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from tests.support import DATA

from recollect.intake.ingest import Report
from recollect.memory import Memory

FIXTURES = sorted(
    path for agent in ("claude", "codex") for path in (DATA / agent).rglob("*") if path.is_file()
)
LINE_FIXTURES = [path for path in FIXTURES if path.suffix == ".jsonl"]
WHOLE = {path: path.read_bytes() for path in FIXTURES}
WHOLE_LINES = [WHOLE[path] for path in LINE_FIXTURES]


def uuid_of(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def claude_path(root: Path, number: int) -> Path:
    """Where Claude Code would keep a session: recognised by place and name, whatever is in it."""
    return root / "projects" / "-work-demo" / f"{uuid_of(number)}.jsonl"


def codex_path(root: Path, number: int) -> Path:
    return root / "sessions" / "2026" / "01" / f"rollout-2026-01-02T03-04-05-{uuid_of(number)}.jsonl"


def write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def said(number: int, text: str, session: int = 1, **more: Any) -> bytes:
    """One Claude Code record: a prompt."""
    record = {
        "type": "user",
        "uuid": uuid_of(10_000 + number),
        "sessionId": uuid_of(session),
        "timestamp": f"2026-01-02T03:{number // 60 % 60:02d}:{number % 60:02d}.000Z",
        "cwd": "/srv/demo",
        "message": {"role": "user", "content": text},
        **more,
    }
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")


def answered(number: int, text: str, output: int, message: int, session: int = 1) -> bytes:
    """One Claude Code record: an answer with its tokens."""
    body = {
        "id": f"msg_{message:04d}", "role": "assistant", "model": "claude-opus-4-6",
        "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 10, "output_tokens": output},
    }  # fmt: skip
    return said(number, "", session, type="assistant", message=body, requestId=f"req_{message:04d}")


def adds_up(report: Report) -> bool:
    parts = report.taken + report.duplicate + report.bad + report.blank + report.waiting
    return report.lines == parts and report.bad == sum(report.bad_reasons.values())


def texts(memory: Memory, session: str) -> list[str]:
    return [stored.entry.text for stored in memory.show(session)]


def digest(path: Path) -> bytes:
    return hashlib.blake2b(path.read_bytes()).digest()


def placed(folder: Path, path: Path) -> Path:
    """Where a fixture's agent would have put it."""
    agent, *rest = path.relative_to(DATA).parts
    places = {"claude": ("projects", "-work-demo"), "codex": ("sessions", "2026")}
    return folder.joinpath("logs", *places[agent], *rest)

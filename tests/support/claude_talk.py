"""Conversations with Claude Code, said line by line, as the logs they leave and as a memory of them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.memories import open_memory

from recollect.memory import Memory


class Talk:
    """A Claude Code session, line by line."""

    def __init__(self, number: int, cwd: str) -> None:
        self.id = f"{number:08d}-0000-4000-8000-000000000000"
        self._cwd, self._lines, self._calls = cwd, list[str](), 0
        self._minute = number * 1000

    def user(self, text: str) -> None:
        self._add("user", text)

    def assistant(self, text: str) -> None:
        self._add("assistant", [{"type": "text", "text": text}])

    def answer(self, text: str, *, model: str, output_tokens: int) -> None:
        """An answer with what it took."""
        self.assistant(text)
        record = json.loads(self._lines[-1])
        record["message"] |= {"id": f"msg_{self.id[:8]}_{len(self._lines)}", "model": model}
        record["message"]["usage"] = {"input_tokens": 1, "output_tokens": output_tokens}
        self._lines[-1] = json.dumps(record)

    def call(self, tool: str, result: str, *, failed: bool = False, **arguments: Any) -> None:
        self._calls += 1
        name = f"toolu_{self.id[:8]}_{self._calls}"
        self._add("assistant", [{"type": "tool_use", "id": name, "name": tool, "input": arguments}])
        answer = {"type": "tool_result", "tool_use_id": name, "content": result, "is_error": failed}
        self._add("user", [answer])

    def fork(self, number: int) -> Talk:
        """The same lines in a session of their own, each with an id of its own, as a client forks."""
        copy = Talk(number, self._cwd)
        copy._lines = [line.replace(self.id[:24], copy.id[:24]) for line in self._lines]
        copy._minute, copy._calls = self._minute, self._calls
        return copy

    def forget(self) -> None:
        """The last line is lost, as when a session is killed."""
        self._lines.pop()

    def _add(self, role: str, content: Any) -> None:
        n = len(self._lines)
        self._lines.append(
            json.dumps(
                {
                    "type": role,
                    "sessionId": self.id,
                    "uuid": f"{self.id[:24]}{n:012d}",
                    "cwd": self._cwd,
                    "timestamp": f"2026-03-{1 + self._minute // 1000:02d}T{n // 60:02d}:{n % 60:02d}:00.000Z",
                    "message": {"role": role, "content": content},
                }
            )
        )

    def write(self, folder: Path) -> None:
        target = folder / "projects" / self._cwd.replace("/", "-")
        target.mkdir(parents=True, exist_ok=True)
        (target / f"{self.id}.jsonl").write_text("\n".join(self._lines) + "\n", "utf-8")


@contextlib.contextmanager
def remembered(folder: Path, *talks: Talk) -> Iterator[Memory]:
    """A memory of these talks and nothing else."""
    for talk in talks:
        talk.write(folder / "logs")
    with open_memory(folder / "memory.h5") as memory:
        memory.ingest([folder / "logs"])
        yield memory

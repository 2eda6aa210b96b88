"""A machine of its own for every test of the command line: home, settings, store, one time zone.

Every test runs on both engines; one that is about files or other processes is marked
`on_disk(reason)` and runs on HDF5 alone.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.support import DATA

from recollect.cli import main
from recollect.testing.reference import ENGINE


@dataclass(frozen=True)
class Answer:
    """What one command said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        assert self.out.isascii()
        assert self.out.count("\n{") == 0 or self.out.endswith("]}\n")
        found: dict[str, Any] = json.loads(self.out)
        return found


Recollect = Callable[..., Answer]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    on_disk = metafunc.definition.get_closest_marker("on_disk")
    metafunc.parametrize("engine", ["hdf5"] if on_disk else ["hdf5", "reference"])


@pytest.fixture
def store(engine: str, tmp_path: Path) -> Iterator[str]:
    """What names the store: a path, or the URL of one in this process, which is gone afterwards."""
    name = str(tmp_path / "memory.h5") if engine == "hdf5" else f"memory:{tmp_path}"
    yield name
    if engine == "reference":
        ENGINE.forget(name)


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty home; nothing of the machine the tests run on shows through."""
    home = tmp_path / "home"
    home.mkdir()
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "NO_COLOR", "RECOLLECT_DEBUG", "PYTHONUNBUFFERED"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("RECOLLECT_STORE", store)
    monkeypatch.setenv("RECOLLECT_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("RECOLLECT_PAGER", "")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(DATA.parent.parent / "src")]))
    time.tzset()
    yield home
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def recollect(capfd: pytest.CaptureFixture[str]) -> Recollect:
    """Run one command in this process."""

    def run(*words: str | os.PathLike[str]) -> Answer:
        capfd.readouterr()
        code = main([os.fspath(word) for word in words])
        out, err = capfd.readouterr()
        return Answer(code, out, err)

    return run


@pytest.fixture
def filled(recollect: Recollect) -> Recollect:
    """Commands over a store that holds the hand-written logs."""
    assert recollect("ingest", DATA, "--quiet").code == 0
    return recollect


class Log:
    """A Claude Code transcript being written."""

    def __init__(self, path: Path, session: str, **fields: Any) -> None:
        self.path, self.session, self.fields = path, session, fields
        self.lines: list[str] = []

    def record(self, kind: str, **fields: Any) -> Log:
        number = len(self.lines)
        common = {
            "uuid": f"00000000-0000-4000-8000-{number:012}",
            "sessionId": self.session,
            "cwd": "/home/ada/harbor",
            "version": "2.1.0",
            "gitBranch": "main",
            "timestamp": f"2026-03-02T09:00:{number % 60:02}.000Z",
        }
        self.lines.append(json.dumps({"type": kind, **common, **self.fields, **fields}))
        return self

    def prompt(self, text: str) -> Log:
        return self.record("user", message={"role": "user", "content": text})

    def answer(self, *blocks: dict[str, Any], model: str = "claude-opus-4-6", output: int = 10) -> Log:
        message = {
            "id": f"msg_{len(self.lines)}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": list(blocks),
            "usage": {"input_tokens": 5, "output_tokens": output},
        }
        return self.record("assistant", message=message)

    def raw(self, line: str) -> Log:
        self.lines.append(line)
        return self

    def write(self) -> Path:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("".join(line + "\n" for line in self.lines), "utf-8", "surrogatepass")
        return self.path


@pytest.fixture
def log(tmp_path: Path) -> Callable[..., Log]:
    """Begin a transcript under the person's own `~/.claude`."""

    def begin(session: str = "3f2a9c01-0000-4000-8000-000000000001", name: str = "", **fields: Any) -> Log:
        folder = tmp_path / "home" / ".claude" / "projects" / "-home-ada-harbor"
        return Log(folder / (name or f"{session}.jsonl"), session, **fields)

    return begin

"""A machine of its own for every test of the MCP server, with a small real store."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest
from tests.mcp.scripted import Scripted, Start

import recollect
from recollect.config import load_config
from recollect.memory import Memory

SOURCE = Path(recollect.__file__).parent.parent


@pytest.fixture(scope="session")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of the sample that comes with the package, and its indexes; made once."""
    folder = tmp_path_factory.mktemp("stocked")
    with (
        resources.as_file(resources.files("recollect") / "sample") as sample,
        Memory.open(config=load_config(environ=machine(folder))) as memory,
    ):
        memory.ingest([sample])
        memory.index()
    return folder


def machine(folder: Path) -> dict[str, str]:
    """An environment of nothing but this folder."""
    (folder / "home").mkdir(exist_ok=True)
    return {
        "HOME": str(folder / "home"),
        "RECOLLECT_STORE": str(folder / "memory.h5"),
        "RECOLLECT_CACHE": str(folder / "cache"),
        "RECOLLECT_CONFIG": str(folder / "config.toml"),
        "TZ": "UTC",
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(SOURCE),
    }


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """An empty home and no store; the test's own process has the same."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    ours = machine(tmp_path)
    for name, value in ours.items():
        monkeypatch.setenv(name, value)
    time.tzset()
    yield ours
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def store(stocked: Path, environment: dict[str, str]) -> Path:
    """A store that holds the sample, indexed."""
    path = Path(environment["RECOLLECT_STORE"])
    shutil.copy(stocked / "memory.h5", path)
    shutil.copytree(stocked / "cache", environment["RECOLLECT_CACHE"])
    return path


@pytest.fixture
def start(environment: dict[str, str]) -> Iterator[Start]:
    """Start servers as an agent does; `before` is a program that runs in the same process first."""
    with contextlib.ExitStack() as stack:

        def begin(*words: str, before: str = "", **more: str) -> Scripted:
            return stack.enter_context(started({**environment, **more}, *words, before=before))

        yield begin


@pytest.fixture
def client(store: Path, start: Start) -> Scripted:
    """A server over the sample, past the handshake."""
    return start().hello()


@pytest.fixture(scope="module")
def lasting(stocked: Path) -> Iterator[Scripted]:
    """One server over the sample for all tests of a module: whatever they do to it, it stays."""
    with started(machine(stocked)) as scripted:
        yield scripted.hello()


def command(*words: str, before: str = "") -> list[str]:
    """What an agent starts; `before` is a program that runs in the same process first."""
    program = f"{before}\nimport sys\nfrom recollect.cli import main\nsys.exit(main({['mcp', *words]!r}))"
    return [sys.executable, "-c", program]


@contextlib.contextmanager
def started(environment: dict[str, str], *words: str, before: str = "") -> Iterator[Scripted]:
    """A server that ends with the test."""
    process = subprocess.Popen(
        command(*words, before=before),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    try:
        yield Scripted(process)
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()

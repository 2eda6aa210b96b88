"""The SDK with the Claude Code that it brings along, offline: what it mirrors is what lies on disk, once."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import claude_agent_sdk
import pytest
from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, list_sessions_from_store, query
from tests.clients.standin import StandIn, text, use
from tests.support.memories import open_memory

from recollect.integrations.claude_agent_sdk import SessionStore
from recollect.memory import Memory

PROMPT = "play:one Wie groß ist der Hafen?"
ANSWERS = [[text("Ich sehe nach … ✓"), use("Bash", command="printf 'größe 1e-7'")], [text("Fünf Kähne 😀.")]]
AGAIN = [[text("Immer noch fünf Kähne.")]]


@pytest.fixture
def standin() -> Iterator[StandIn]:
    with StandIn() as standin:
        standin.script("one", *ANSWERS)
        standin.script("two", *AGAIN)
        yield standin
    assert not standin.troubles


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "home"
    (made / ".claude").mkdir(parents=True)
    (made / "harbor").mkdir()
    for name in [each for each in os.environ if each.startswith(("CLAUDE", "ANTHROPIC", "RECOLLECT", "XDG"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(made))
    return made


def asked(prompt: str, store: SessionStore, home: Path, url: str, **options: Any) -> str:
    """Ask the model through the SDK; returns the id of the session."""
    assert (Path(claude_agent_sdk.__file__).parent / "_bundled/claude").exists(), "the SDK brings no client"
    env = {
        "HOME": str(home),
        "ANTHROPIC_API_KEY": "sk-dummy",
        "ANTHROPIC_BASE_URL": url,
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",
    }
    settings = ClaudeAgentOptions(
        cwd=str(home / "harbor"), env=env, session_store=store, allowed_tools=["Bash"],
        setting_sources=["user"], **options,
    )  # fmt: skip

    async def ask() -> str:
        results = [
            each async for each in query(prompt=prompt, options=settings) if isinstance(each, ResultMessage)
        ]
        assert not results[-1].is_error, results
        return results[-1].session_id

    return asyncio.run(ask())


def said(memory: Memory, session: str) -> list[str]:
    kinds = ("PROMPT", "ANSWER", "CALL", "RESULT")
    return [each.entry.text for each in memory.show(session) if each.entry.kind.name in kinds]


def disk_logs(home: Path) -> list[Path]:
    return sorted((home / ".claude/projects").rglob("*.jsonl"))


def test_what_is_mirrored_is_what_lies_on_disk_and_is_there_once(home: Path, standin: StandIn) -> None:
    with open_memory(home / "memory.h5") as memory:
        store = SessionStore(memory)
        session = asked(PROMPT, store, home, standin.url)
        mirrored = said(memory, session)
        assert mirrored[0] == PROMPT
        assert mirrored[-1] == "Fünf Kähne 😀."
        lines = b"".join(memory.raw(session)).splitlines()
        (log,) = disk_logs(home)
        on_disk = log.read_bytes().splitlines()
        assert lines
        assert set(lines) <= set(on_disk)  # byte for byte
        report = memory.ingest([log])
        assert report.duplicate == len(lines)
        assert said(memory, session) == mirrored
        assert [each.facts.id for each in memory.sessions()] == [session]
        assert memory.search("Kähne").hits[0].session.facts.id == session
        listed = asyncio.run(list_sessions_from_store(store, directory=str(home / "harbor")))
        assert [(each.session_id, each.first_prompt) for each in listed] == [(session, PROMPT)]


def test_a_session_is_gone_on_with_from_the_store_alone_and_hooks_tell_nothing_twice(
    home: Path, standin: StandIn
) -> None:
    """The client's log is deleted; the hooks of `recollect init` see the copy that the SDK makes."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    words = [sys.executable, "-m", "recollect", "init", "--yes"]
    subprocess.run(words, env=environment, cwd=home, check=True, capture_output=True)
    with Memory.open() as memory:  # the person's own, in this home
        assert str(home) in memory.name
        store = SessionStore(memory)
        session = asked(PROMPT, store, home, standin.url)
        for log in disk_logs(home):
            log.unlink()
        assert asked("play:two Und heute früh?", store, home, standin.url, resume=session) == session
        (request,) = standin.asked("two")
        assert "Fünf Kähne 😀." in request.words
        memory.capture()
        memory.checkpoint()
        told = said(memory, session)
        assert told.count(PROMPT) == 1
        assert told[-2:] == ["play:two Und heute früh?", "Immer noch fünf Kähne."]
        assert len(told) == len(set(told))
        with memory.view() as view:
            paths = [each.file.path for each in view.sources()]
        assert any("claude-resume-" in path for path in paths), "no hook saw the copy"
        assert memory.check() == []

"""What Copilot CLI tells a hook, and what a hook tells it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from recollect.agents.copilot import hooks
from recollect.config import Config
from recollect.hooks import state as states
from recollect.light.project import project_of
from recollect.setup.agents import commands_of

SESSION = "c0c0c0c0-0000-4000-8000-00000000000a"
START = {"hook_event_name": "SessionStart", "session_id": SESSION, "cwd": "/w", "source": "new"}


def events_in(home: Path) -> Path:
    path = home / ".copilot/session-state" / SESSION / "events.jsonl"
    path.parent.mkdir(parents=True)
    line = {"type": "session.start", "data": {"sessionId": SESSION}, "id": "1", "parentId": None}
    path.write_text(json.dumps(line) + "\n")
    return path


def test_an_event_without_a_file_gets_that_of_its_session(tmp_path: Path) -> None:
    path = events_in(tmp_path)
    told = {**START, "source": "startup", "transcript_path": str(path)}
    assert hooks.heard(START, str(tmp_path), {}) == told
    assert hooks.heard(START, "/nowhere", {"COPILOT_HOME": str(tmp_path / ".copilot")}) == told


def test_a_subagent_has_no_file_and_a_path_in_the_place_of_an_id_none(tmp_path: Path) -> None:
    path = events_in(tmp_path)
    for session in ("another", "../session-state/" + SESSION, str(path.parent), 3, None):
        told = {**START, "session_id": session, "source": "resume"}
        assert hooks.heard(told, str(tmp_path), {}) == told
    named = {**START, "transcript_path": "/else"}
    assert hooks.heard(named, str(tmp_path), {})["transcript_path"] == "/else"


def test_what_the_session_is_called_lies_beside_its_events() -> None:
    events = f"/h/.copilot/session-state/{SESSION}/events.jsonl"
    (name,) = hooks.beside(events)
    assert hooks.transcript_of(name) == events
    assert hooks.transcript_of(events) == events
    assert hooks.beside(f"/h/.copilot/session-state/{SESSION}.jsonl") == ()
    assert hooks.transcript_of("/h/.copilot/session-store.db") == ""


def test_a_new_session_is_told_the_catalog_in_its_clients_words(tmp_path: Path) -> None:
    config = Config(tmp_path / "memory.h5", "here", cache=tmp_path / "cache")
    words = commands_of("copilot", config).hook
    state = next(word for word in words if word.startswith(str(tmp_path / "cache")))
    states.write_catalog(state, project_of("/w"), "Tides were asked about.")
    environ = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, *words[1:]],
        input=json.dumps(START),
        capture_output=True,
        text=True,
        check=True,
        env=environ,
    )
    assert json.loads(done.stdout) == {"additionalContext": "Tides were asked about."}
    resumed = {**START, "source": "resume"}
    again = subprocess.run(
        [sys.executable, *words[1:]],
        input=json.dumps(resumed),
        capture_output=True,
        text=True,
        check=True,
        env=environ,
    )
    assert again.stdout == ""

"""What Codex tells its `notify` program, and the rollout that is meant."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import SOURCE

from recollect.agents.codex.hooks import payload as payload_of
from recollect.agents.codex.hooks import rollout_of

THREAD = "01a1dfd5-51aa-7ac0-b2f2-f23a90d196b4"
BEGAN = int("01a1dfd551aa", 16) / 1000
TOLD = {
    "type": "agent-turn-complete",
    "thread-id": THREAD,
    "turn-id": "01a1dfd5-51c5-79e2-a0f1-c67152201b81",
    "cwd": "/w",
    "client": "codex_exec",
    "input-messages": ["hello"],
    "last-assistant-message": "done",
}


def test_a_finished_turn_is_told_as_a_stop(tmp_path: Path) -> None:
    rollout = _rollout(tmp_path, BEGAN, THREAD)
    assert payload_of(json.dumps(TOLD), "/home", {"CODEX_HOME": str(tmp_path)}) == {
        "hook_event_name": "Stop",
        "session_id": THREAD,
        "transcript_path": str(rollout),
        "cwd": "/w",
    }


def test_a_conversation_that_is_kept_nowhere_has_no_rollout(tmp_path: Path) -> None:
    payload = payload_of(json.dumps(TOLD), "/home", {"CODEX_HOME": str(tmp_path)})
    assert payload is not None
    assert payload["transcript_path"] == ""


@pytest.mark.parametrize(
    "told",
    [
        "",
        "{",
        "null",
        "[]",
        '"x"',
        "[" * 100_000,
        json.dumps({**TOLD, "type": "approval-requested"}),
        json.dumps({**TOLD, "thread-id": "../../../../etc/passwd"}),
        json.dumps({**TOLD, "thread-id": f"{THREAD}/../x"}),
        json.dumps({**TOLD, "thread-id": f"{THREAD}\n"}),
        json.dumps({**TOLD, "thread-id": 7}),
        json.dumps({name: value for name, value in TOLD.items() if name != "thread-id"}),
    ],
)
def test_anything_else_is_nothing(tmp_path: Path, told: str) -> None:
    assert payload_of(told, "/home", {"CODEX_HOME": str(tmp_path)}) is None


@given(value=st.recursive(st.none() | st.booleans() | st.text() | st.integers(), st.lists, max_leaves=3))
def test_no_value_of_a_field_is_trusted(value: Any) -> None:
    for name in TOLD:
        payload = payload_of(json.dumps({**TOLD, name: value}), "/home", {"CODEX_HOME": "/nowhere"})
        assert payload is None or all(isinstance(found, str) for found in payload.values())


@pytest.mark.parametrize("hours", [-14, 0, 14])
def test_the_clock_may_have_been_in_another_zone_when_the_thread_began(tmp_path: Path, hours: int) -> None:
    rollout = _rollout(tmp_path, BEGAN + hours * 3600, THREAD)
    assert rollout_of(THREAD, str(tmp_path)) == str(rollout)


def test_an_id_that_tells_its_day_costs_at_most_three_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in range(40):
        _rollout(tmp_path, BEGAN + 86_400 * (day + 5), f"01a1dfd5-51aa-7ac0-b2f2-{day:012x}")
    looked = _watch_folders(monkeypatch)
    assert rollout_of(THREAD, str(tmp_path)) == ""
    assert len(looked) == 3


def test_an_id_that_tells_no_day_is_looked_for_in_the_newest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = "0b6d6c7e-2c8b-4b43-9f5e-9d2b8f5d1c11"
    old = _rollout(tmp_path, BEGAN, "11111111-2c8b-4b43-9f5e-9d2b8f5d1c11")
    newest = _rollout(tmp_path, BEGAN + 86_400 * 40, thread)
    looked = _watch_folders(monkeypatch)
    assert rollout_of(thread, str(tmp_path)) == str(newest)
    assert str(old.parent) not in looked


def test_it_is_as_light_as_a_hook_must_be() -> None:
    code = "import sys, recollect.agents.codex.hooks; print(*sys.modules)"
    path = str(SOURCE)
    command = [sys.executable, "-S", "-c", code]
    ran = subprocess.run(command, env={"PYTHONPATH": path}, capture_output=True, text=True, check=True)
    assert not {"numpy", "h5py", "dataclasses", "pathlib", "datetime", "inspect"} & set(ran.stdout.split())


def _rollout(folder: Path, seconds: float, thread: str) -> Path:
    at = time.localtime(seconds)
    day = folder / "sessions" / time.strftime("%Y/%m/%d", at)
    day.mkdir(parents=True, exist_ok=True)
    path = day / f"rollout-{time.strftime('%Y-%m-%dT%H-%M-%S', at)}-{thread}.jsonl"
    path.write_text("{}\n")
    return path


def _watch_folders(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    looked: list[str] = []
    listed = os.listdir

    def watched(folder: str) -> list[str]:
        looked.append(folder)
        return listed(folder)

    monkeypatch.setattr(os, "listdir", watched)
    return looked

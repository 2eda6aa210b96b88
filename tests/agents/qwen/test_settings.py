"""Qwen Code's settings: our entries go in once and come out without a trace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.agents.editing.change import backup_path, carry_out
from recollect.agents.editing.commands import is_ours
from recollect.agents.editing.entries import server_command
from recollect.agents.qwen.settings import TIMEOUTS, QwenSettings
from recollect.config import Config
from recollect.hooks.run import EVENTS
from recollect.setup.agents import commands_of

SETTINGS = """{
  "model": {"name": "qwen3-coder-plus"},
      "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]},
  "mcpServers": {"tides": {"command": "tides"}}
}
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".qwen").mkdir()
    return tmp_path


def settings_of(home: Path, **environ: str) -> QwenSettings:
    commands = commands_of("qwen", Config(home / "memory.h5", "here"))
    return QwenSettings(commands, home, environ, home / "project")


@pytest.mark.parametrize("before", [SETTINGS, "{}", None])
def test_our_entries_go_in_once_and_come_out_without_a_trace(home: Path, before: str | None) -> None:
    path = home / ".qwen" / "settings.json"
    if before is not None:
        path.write_text(before)
    qwen = settings_of(home)
    carry_out(lambda: qwen.changes(hooks=True, mcp=True, project=False))
    assert qwen.changes(hooks=True, mcp=True, project=False) == []
    value = json.loads(path.read_text())
    assert is_ours(server_command(value["mcpServers"]["recollect"]))
    for event, groups in value["hooks"].items():
        ours = [h for group in groups for h in group["hooks"] if is_ours(h["command"])]
        assert [hook["timeout"] for hook in ours] == [TIMEOUTS[event]]
    state = qwen.state()
    assert [set(each.events) for each in state.hooks] == [set(EVENTS)]
    assert len(state.mcp) == 1
    assert state.problems == ()
    carry_out(lambda: qwen.removal(project=False))
    assert (path.read_text() if path.exists() else None) == before
    assert not backup_path(path).exists()


def test_what_another_has_there_stays(home: Path) -> None:
    path = home / ".qwen" / "settings.json"
    path.write_text(SETTINGS)
    carry_out(lambda: settings_of(home).changes(hooks=True, mcp=True, project=False))
    value = json.loads(path.read_text())
    assert value["hooks"]["Stop"][0] == {"hooks": [{"type": "command", "command": "say done"}]}
    assert value["mcpServers"]["tides"] == {"command": "tides"}


def test_a_project_gets_hooks_and_no_server(home: Path) -> None:
    (home / "project").mkdir()
    qwen = settings_of(home)
    carry_out(lambda: qwen.changes(hooks=True, mcp=True, project=True))
    path = home / "project" / ".qwen" / "settings.json"
    assert json.loads(path.read_text()).keys() == {"hooks"}
    carry_out(lambda: qwen.removal(project=True))
    assert not path.exists()


def test_what_keeps_hooks_from_running_is_told(home: Path) -> None:
    path = home / ".qwen" / "settings.json"
    qwen = settings_of(home)
    carry_out(lambda: qwen.changes(hooks=True, mcp=False, project=False))
    value = json.loads(path.read_text())
    del value["hooks"]["Stop"]
    path.write_text(json.dumps({**value, "disableAllHooks": True}))
    assert [problem.partition(": ")[2] for problem in qwen.state().problems] == [
        "no hook for Stop",
        "`disableAllHooks` is set, so no hook runs",
    ]
    path.write_text("{ // mine\n}")
    assert len(qwen.state().problems) == 1


def test_it_is_found_where_its_variable_says(home: Path) -> None:
    assert settings_of(home).found()
    assert not settings_of(home, QWEN_HOME=str(home / "elsewhere"), PATH="").found()

"""Copilot CLI's settings: our entries go in once and come out without a trace."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from recollect.agents.copilot.settings import TIMEOUTS, CopilotSettings
from recollect.agents.editing.change import Change, carry_out
from recollect.agents.editing.commands import is_ours
from recollect.config import Config
from recollect.setup.agents import commands_of
from recollect.values.errors import SettingsRefused

SERVERS = '{"mcpServers":  {"tides": {"type": "http", "url": "https://example.invalid/"}}}'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home/.copilot").mkdir(parents=True)
    return tmp_path / "home"


def copilot(home: Path, environ: Mapping[str, str] | None = None) -> CopilotSettings:
    config = Config(home / "memory.h5", "here", cache=home / "cache")
    return CopilotSettings(commands_of("copilot", config), home, environ or {}, home / "project")


def install(
    agent: CopilotSettings, *, hooks: bool = True, mcp: bool = True, project: bool = False
) -> list[Change]:
    return [change for change, _ in carry_out(lambda: agent.changes(hooks=hooks, mcp=mcp, project=project))]


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_hooks_and_server_go_in_once_and_are_seen(home: Path) -> None:
    (home / ".copilot/mcp-config.json").write_text(SERVERS)
    assert [change.path.name for change in install(copilot(home))] == ["recollect.json", "mcp-config.json"]
    hooks = json.loads((home / ".copilot/hooks/recollect.json").read_text())["hooks"]
    assert list(hooks) == list(TIMEOUTS)
    assert all(is_ours(hook["command"]) for (group,) in hooks.values() for hook in group["hooks"])
    server = json.loads((home / ".copilot/mcp-config.json").read_text())["mcpServers"]
    assert list(server) == ["tides", "recollect"]
    assert server["recollect"]["tools"] == ["*"]
    state = copilot(home).state()
    assert [tuple(found.events) for found in state.hooks] == [tuple(TIMEOUTS)]
    assert len(state.mcp) == 1
    assert state.problems == ()
    assert install(copilot(home)) == []


def test_what_goes_out_leaves_the_bytes_that_were_there(home: Path) -> None:
    (home / ".copilot/mcp-config.json").write_text(SERVERS)
    before = tree(home)
    install(copilot(home))
    carry_out(lambda: copilot(home).removal(project=False))
    assert tree(home) == before


def test_a_project_has_hooks_of_its_own_and_no_server(home: Path) -> None:
    install(copilot(home), project=True)
    assert list(tree(home)) == [str(home / "project/.github/hooks/recollect.json")]
    carry_out(lambda: copilot(home).removal(project=True))
    assert tree(home) == {}


def test_everything_is_where_its_variable_says(home: Path, tmp_path: Path) -> None:
    install(copilot(home, {"COPILOT_HOME": str(tmp_path / "moved")}))
    assert {Path(path).parent.name for path in tree(tmp_path / "moved")} == {"moved", "hooks"}
    assert tree(home) == {}


def test_an_event_that_is_missing_and_hooks_that_are_switched_off_are_told(home: Path) -> None:
    install(copilot(home), mcp=False)
    path = home / ".copilot/hooks/recollect.json"
    told = json.loads(path.read_text())
    del told["hooks"]["Stop"]
    path.write_text(json.dumps(told))
    (home / ".copilot/settings.json").write_text('{"disableAllHooks": true}')
    problems = copilot(home).state().problems
    assert ["no hook for Stop" in problems[0], "`disableAllHooks` is set" in problems[1]] == [True, True]


def test_a_file_that_is_no_json_is_left_alone(home: Path) -> None:
    path = home / ".copilot/mcp-config.json"
    path.write_text("// mine\n{}")
    with pytest.raises(SettingsRefused):
        copilot(home).changes(hooks=False, mcp=True, project=False)
    assert len(copilot(home).state().problems) == 1

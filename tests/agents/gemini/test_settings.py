"""Gemini CLI's settings: our entries go in once and come out without a trace; what it deletes when."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from recollect.agents.editing.change import Change, carry_out
from recollect.agents.editing.commands import is_ours
from recollect.agents.gemini.agent import AGENT
from recollect.agents.gemini.settings import RETENTION_DAYS, TIMEOUTS, GeminiSettings
from recollect.config import Config
from recollect.setup.agents import commands_of

SETTINGS = '{"security":  {"auth": {"selectedType": "gemini-api-key"}}, "hooks": {}}'


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    path = tmp_path / ".gemini/settings.json"
    path.parent.mkdir()
    path.write_text(SETTINGS)
    return path


def gemini(home: Path, environ: Mapping[str, str] | None = None) -> GeminiSettings:
    config = Config(home / "memory.h5", "here", cache=home / "cache")
    return GeminiSettings(commands_of("gemini", config), home, environ or {}, home / "project")


def install(agent: GeminiSettings, *, project: bool = False) -> list[Change]:
    return [change for change, _ in carry_out(lambda: agent.changes(hooks=True, mcp=True, project=project))]


def test_hooks_and_server_go_in_once_and_are_seen(tmp_path: Path, settings: Path) -> None:
    assert [change.path for change in install(gemini(tmp_path))] == [settings]
    told = json.loads(settings.read_text())
    assert list(told["hooks"]) == list(TIMEOUTS)
    hooks = [hook for (group,) in told["hooks"].values() for hook in group["hooks"]]
    assert all(is_ours(hook["command"]) and hook["timeout"] >= 1000 for hook in hooks)
    assert list(told["mcpServers"]) == ["recollect"]
    state = gemini(tmp_path).state()
    assert [tuple(found.events) for found in state.hooks] == [tuple(TIMEOUTS)]
    assert (len(state.mcp), state.problems) == (1, ())
    assert install(gemini(tmp_path)) == []


def test_what_goes_out_leaves_the_bytes_that_were_there(tmp_path: Path, settings: Path) -> None:
    install(gemini(tmp_path))
    carry_out(lambda: gemini(tmp_path).removal(project=False))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [settings]
    assert settings.read_text() == SETTINGS


def test_a_project_has_hooks_of_its_own_and_no_server(tmp_path: Path, settings: Path) -> None:
    install(gemini(tmp_path), project=True)
    own = tmp_path / "project/.gemini/settings.json"
    assert list(json.loads(own.read_text())) == ["hooks"]
    assert settings.read_text() == SETTINGS
    carry_out(lambda: gemini(tmp_path).removal(project=True))
    assert not own.exists()


def test_hooks_that_are_switched_off_or_missing_are_told(tmp_path: Path, settings: Path) -> None:
    install(gemini(tmp_path))
    told = json.loads(settings.read_text())
    del told["hooks"]["AfterAgent"]
    settings.write_text(json.dumps({**told, "hooksConfig": {"enabled": False}}))
    missing, off = gemini(tmp_path).state().problems
    assert "no hook for AfterAgent" in missing
    assert "`hooksConfig.enabled` is false" in off


@pytest.mark.parametrize(
    ("told", "days"),
    [
        ("{}", RETENTION_DAYS),
        ("// mine\n{}", RETENTION_DAYS),
        ('{"general": {"sessionRetention": {"enabled": false}}}', None),
        ('{"general": {"sessionRetention": {"maxAge": "7d"}}}', 7),
        ('{"general": {"sessionRetention": {"maxAge": "36h"}}}', 1),
        ('{"general": {"sessionRetention": {"maxAge": "4w"}}}', 28),
        ('{"general": {"sessionRetention": {"maxAge": "soon"}}}', RETENTION_DAYS),
        ('{"general": []}', RETENTION_DAYS),
        ("[]", RETENTION_DAYS),
    ],
)
def test_it_deletes_after_as_many_days_as_its_settings_say(
    tmp_path: Path, settings: Path, told: str, days: int | None
) -> None:
    settings.write_text(told)
    assert AGENT.deletes_after_days(tmp_path, {}) == days
    assert AGENT.deletes_after_days(Path("/nowhere"), {"GEMINI_CLI_HOME": str(tmp_path)}) == days

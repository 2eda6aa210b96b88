"""What `init` puts into the settings, the clients take; what `init --remove` leaves is the original."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.clients.clients import CLAUDES, Machine
from tests.clients.standin import StandIn, message, text

pytestmark = pytest.mark.agents

OWN = """\
{
  "cleanupPeriodDays": 90,
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "true", "timeout": 3}]}
    ]
  },
  "permissions": {"allow": ["Read"]}
}
"""


def settings(machine: Machine) -> dict[str, bytes]:
    """Every file in the home that is neither ours nor a conversation."""
    ours = (".local/", ".cache/", ".config/")
    found = (path for path in machine.home.rglob("*") if path.is_file())
    named = {path.relative_to(machine.home).as_posix(): path.read_bytes() for path in found}
    return {name: data for name, data in named.items() if not name.startswith(ours)}


def loaded(path: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(path.read_text("utf-8"))
    return found


def test_removing_restores_every_byte(machine: Machine) -> None:
    (machine.home / ".claude/settings.json").write_text(OWN)
    (machine.home / ".claude.json").write_text('{"numStartups": 3,\n "é": [1.50]}')
    before = settings(machine)
    machine.recollect("init", "--yes")
    machine.recollect("init", "--yes")
    changed = {name for name, data in settings(machine).items() if before.get(name) != data}
    assert {".claude/settings.json", ".claude.json", ".codex/config.toml"} <= changed
    machine.recollect("init", "--remove", "--yes")
    assert settings(machine) == before


def test_removing_from_a_home_without_settings_leaves_none(machine: Machine) -> None:
    before = settings(machine)
    machine.recollect("init", "--yes")
    machine.recollect("init", "--remove", "--yes")
    assert settings(machine) == before


@pytest.mark.usefixtures("claude")
@pytest.mark.parametrize("claude_client", CLAUDES)
def test_removing_after_conversations_leaves_what_claude_changed(machine: Machine, standin: StandIn) -> None:
    (machine.home / ".claude/settings.json").write_text(OWN)
    machine.claude(standin.script("before", [text("Yes.")]))
    machine.recollect("init", "--yes")
    machine.claude(standin.script("between", [text("Yes.")]))
    machine.settle()
    state = loaded(machine.home / ".claude.json")
    servers = state.pop("mcpServers")
    machine.recollect("init", "--remove", "--yes")
    assert isinstance(servers, dict)
    assert set(servers) == {"recollect"}
    assert (machine.home / ".claude/settings.json").read_text() == OWN
    left = loaded(machine.home / ".claude.json")
    assert left.pop("mcpServers", {}) == {}
    assert left == state


@pytest.mark.usefixtures("claude")
@pytest.mark.parametrize("claude_client", CLAUDES)
def test_once_removed_nothing_is_captured_and_nothing_injected(installed: Machine, standin: StandIn) -> None:
    installed.claude(standin.script("before", [text("Yes.")]))
    installed.settle()
    kept = installed.kept()
    installed.recollect("init", "--remove", "--yes")
    installed.claude(standin.script("after", [text("Yes.")]))
    assert installed.kept() == kept
    assert "recollect" not in json.dumps(standin.asked("after")[0].body)


@pytest.mark.usefixtures("codex")
def test_removing_restores_codex_settings_after_conversations(machine: Machine, standin: StandIn) -> None:
    path = machine.home / ".codex/config.toml"
    machine.codex(standin.script("before", [message("Yes.")]))
    before = path.read_bytes()
    machine.recollect("init", "--yes")
    assert path.read_bytes() != before
    machine.codex(standin.script("between", [message("Yes.")]))
    machine.recollect("init", "--remove", "--yes")
    assert path.read_bytes() == before
    assert not (machine.home / ".codex/hooks.json").exists()

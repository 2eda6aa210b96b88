"""The Claude Code plugin instead of `init`: hooks, tools and skill from one folder, no settings changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.clients.asking import ANSWER, CATALOG, QUESTION, check_answers, every_tool
from tests.clients.clients import Machine
from tests.clients.standin import Block, StandIn, text, use

import recollect

pytestmark = [pytest.mark.agents, pytest.mark.usefixtures("claude")]

FOLDER = str(Path(recollect.__file__).parent / "agents" / "claude" / "plugin")
PLUGIN = ("--plugin-dir", FOLDER, "--allowedTools", "Bash,mcp__plugin_recollect_recollect")


def tool(name: str, **arguments: object) -> Block:
    return use(f"mcp__plugin_recollect_recollect__{name}", **arguments)


def test_claude_code_finds_nothing_wrong_with_it(machine: Machine) -> None:
    assert machine.claude_command("plugin", "validate", "--strict", FOLDER).code == 0


def test_it_captures_tells_and_answers(machine: Machine, standin: StandIn) -> None:
    play = standin.script("first", [use("Bash", command="echo one", description="a step")], [text(ANSWER)])
    session = machine.claude(f"{play} {QUESTION}", *PLUGIN).session
    assert machine.lacks() == {}
    machine.settle()
    play = standin.script("ask", *every_tool(tool), [text("Found.")])
    machine.claude(play, *PLUGIN, MCP_CONNECTION_NONBLOCKING="0")
    first, last = standin.asked("ask")[0], standin.asked("ask")[-1]
    assert CATALOG in first.words
    assert "recollect:recall" in json.dumps(first.body)  # the skill
    check_answers(last.results, session)
    assert machine.lacks() == {}


def test_beside_init_nothing_is_kept_twice(installed: Machine, standin: StandIn) -> None:
    play = standin.script("first", [text(ANSWER)])
    session = installed.claude(f"{play} {QUESTION}", *PLUGIN).session
    installed.settle()
    shown = [one["id"] for one in installed.recollect("sessions", "--json").json["sessions"]]
    assert shown.count(session) == 1
    assert installed.lacks() == {}

"""The Claude Code plugin instead of `init`: hooks, tools and skill from one folder, no settings changed."""

from __future__ import annotations

import json
import shlex

import pytest
from tests.clients.asking import ANSWER, CATALOG, QUESTION, check_answers, every_tool
from tests.clients.clients import CLAUDES, Machine
from tests.clients.standin import Block, StandIn, text, use

pytestmark = [
    pytest.mark.agents,
    pytest.mark.usefixtures("claude"),
    pytest.mark.parametrize("claude_client", CLAUDES),
]

ALLOWED = ("--allowedTools", "Bash,mcp__plugin_recollect_recollect")


def tool(name: str, **arguments: object) -> Block:
    return use(f"mcp__plugin_recollect_recollect__{name}", **arguments)


@pytest.fixture
def folder(machine: Machine) -> str:
    return str(machine.recollect("hook", "plugin", "--json").json["plugin"])


def test_claude_code_finds_nothing_wrong_with_it(machine: Machine, folder: str) -> None:
    assert machine.claude_command("plugin", "validate", "--strict", folder).code == 0


def test_the_steps_that_are_told_install_it(machine: Machine) -> None:
    for step in machine.recollect("hook", "plugin", "--json").json["steps"]:
        assert machine.claude_command(*shlex.split(step)[1:]).code == 0
    (agent,) = machine.recollect("hook", "status", "--agent", "claude", "--json").json["agents"]
    assert [found["command"] for found in agent["hooks"]] == ["plugin recollect@recollect"]
    assert agent["problems"] == []
    machine.recollect("hook", "plugin", "--store", str(machine.home / "other.h5"))
    status = machine.recollect("hook", "status", "--store", str(machine.home / "other.h5"), "--json").json
    assert "names another store" in status["agents"][0]["problems"][0]


def test_it_captures_tells_and_answers(machine: Machine, folder: str, standin: StandIn) -> None:
    play = standin.script("first", [use("Bash", command="echo one", description="a step")], [text(ANSWER)])
    plugin = ("--plugin-dir", folder, *ALLOWED)
    session = machine.claude(f"{play} {QUESTION}", *plugin, PATH="/usr/bin:/bin").session
    assert machine.lacks() == {}
    machine.settle()
    play = standin.script("ask", *every_tool(tool), [text("Found.")])
    machine.claude(play, *plugin, PATH="/usr/bin:/bin", MCP_CONNECTION_NONBLOCKING="0")
    first, last = standin.asked("ask")[0], standin.asked("ask")[-1]
    assert CATALOG in first.words
    assert "recollect:recall" in json.dumps(first.body)  # the skill
    check_answers(last.results, session)
    assert machine.lacks() == {}


def test_beside_init_nothing_is_kept_twice(installed: Machine, folder: str, standin: StandIn) -> None:
    play = standin.script("first", [text(ANSWER)])
    session = installed.claude(f"{play} {QUESTION}", "--plugin-dir", folder, *ALLOWED).session
    installed.settle()
    shown = [one["id"] for one in installed.recollect("sessions", "--json").json["sessions"]]
    assert shown.count(session) == 1
    assert installed.lacks() == {}

"""What these versions of the clients write is understood, line by line; nothing of ours is installed here."""

from __future__ import annotations

import pytest
from tests.clients.clients import CLAUDES, Machine
from tests.clients.standin import StandIn, call, message, reasoning, text, thinking, use

pytestmark = pytest.mark.agents


def understood(machine: Machine) -> None:
    """A sweep takes every byte, and finds no line strange."""
    report = machine.recollect("ingest", "--json").json["report"]
    assert report["taken"] == report["lines"] > 0
    strange = ("bad", "lenient", "duplicate", "waiting", "unknown_types", "failed", "skipped")
    assert not any(report[name] for name in strange), report
    assert machine.lacks() == {}


@pytest.mark.usefixtures("claude")
@pytest.mark.parametrize("claude_client", CLAUDES)
def test_every_line_of_claude_code_is_understood(machine: Machine, standin: StandIn) -> None:
    play = standin.script(
        "all",
        [thinking("First."), text("I look."), use("Bash", command="seq 1 30000", description="a step")],
        [use("Agent", description="count", subagent_type="general-purpose", prompt="play:near Count.")],
        [use("Write", file_path=str(machine.work / "new.txt"), content="one\n"), use("NoSuchTool", a=1)],
        [use("TaskCreate", subject="later", description="a task")],
        [text("Done.")],
    )
    standin.script("near", [use("Bash", command="false", description="a step")], [text("One.")])
    session = machine.claude(f"{play} Do all.", "--allowedTools", "Bash,Agent,Write,TaskCreate").session
    machine.claude("/compact", "--resume", session)
    machine.claude(standin.script("rest", [text("After.")]), "--resume", session, "--fork-session")
    understood(machine)


@pytest.mark.usefixtures("codex")
def test_every_line_of_codex_is_understood(machine: Machine, standin: StandIn) -> None:
    free = "--dangerously-bypass-approvals-and-sandbox"
    play = standin.script(
        "all",
        [reasoning("**First**"), message("I look."), call("exec_command", cmd="seq 1 30000")],
        [call("spawn_agent", namespace="multi_agent_v1", message="play:near Count.")],
        [call("exec_command", cmd="sleep 1; false"), call("no_such_tool", a=1)],
        [message("Done.")],
    )
    standin.script("near", [call("exec_command", cmd="echo near")], [message("One.")])
    session = machine.codex(free, play).session
    limit = ("-c", "model_auto_compact_token_limit=500")
    machine.codex(free, *limit, "resume", session, standin.script("more", [message("More.")]))
    machine.codex(free, "fork", session, standin.script("rest", [message("After.")]))
    understood(machine)

"""Claude Code's conversations are in the store, whole, however they end. Nobody runs `ingest` here."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from tests.clients.clients import CLAUDES, Machine, kill, wait_for
from tests.clients.standin import StandIn, text, thinking, use

pytestmark = [
    pytest.mark.agents,
    pytest.mark.usefixtures("claude"),
    pytest.mark.parametrize("claude_client", CLAUDES),
]

TOOLS = ("--allowedTools", "Bash,Agent,Read")


def bash(command: str) -> dict[str, object]:
    return use("Bash", command=command, description="a step")


def endless(flag: Path) -> dict[str, object]:
    """A step that runs while the flag is there; it outlives its client, having a session of its own."""
    return bash(f"touch {flag}; while [ -e {flag} ]; do sleep 0.1; done")


def kinds(machine: Machine, session: str) -> list[str]:
    """The types of a transcript's lines."""
    return [json.loads(line)["type"] for line in machine.transcript(session).splitlines()]


def test_a_conversation_with_tool_calls_is_kept_when_the_client_has_exited(
    installed: Machine, standin: StandIn
) -> None:
    play = standin.script(
        "tools",
        [thinking("Two at once."), text("I look."), bash("echo one"), bash("echo bad >&2; exit 3")],
        [bash("seq 1 30000"), use("Read", file_path="/nonexistent/x")],
        [text("Done: é 中文 \u2028 and a nul \u0000.")],
    )
    session = installed.claude(f"{play} Look around.", *TOOLS).session
    assert installed.lacks() == {}
    assert any("tool-results" in path for path in installed.written())
    assert installed.exported(session) == installed.transcript(session)


def test_one_short_answer_is_kept(installed: Machine, standin: StandIn) -> None:
    """Its transcript does not exist yet when Stop's hook runs."""
    installed.claude(standin.script("short", [text("Yes.")]))
    assert installed.lacks() == {}


def test_subagents_are_kept_with_it(installed: Machine, standin: StandIn) -> None:
    common = {"description": "count", "subagent_type": "general-purpose"}
    play = standin.script(
        "parent",
        [use("Agent", **common, prompt="play:near Count.")],
        [use("Agent", **common, prompt="play:far Count too.", run_in_background=True)],
        [text("Both started.")],
    )
    standin.script("near", [bash("echo near")], [text("One.")])
    standin.script("far", [bash("sleep 1; echo far")], [text("Two.")])
    installed.claude(f"{play} Start two.", *TOOLS)
    agents = [path for path in installed.written() if "/subagents/" in path]
    assert len([path for path in agents if path.endswith(".jsonl")]) == 2
    assert len([path for path in agents if path.endswith(".meta.json")]) == 2
    assert installed.lacks() == {}


def test_a_resumed_conversation_is_kept(installed: Machine, standin: StandIn) -> None:
    session = installed.claude(standin.script("begin", [bash("echo one")], [text("Begun.")]), *TOOLS).session
    again = installed.claude(standin.script("go", [text("Gone on.")]), "--resume", session)
    assert again.session == session
    assert installed.lacks() == {}


def test_a_fork_is_kept_beside_what_it_was_forked_from(installed: Machine, standin: StandIn) -> None:
    session = installed.claude(standin.script("begin", [bash("echo one")], [text("Begun.")]), *TOOLS).session
    play = standin.script("fork", [text("Another way.")])
    fork = installed.claude(play, "--resume", session, "--fork-session").session
    assert fork != session
    assert installed.lacks() == {}
    assert {session, fork} <= {path.split("/")[-1][:-6] for path in installed.kept()}
    installed.claude(standin.script("more", [text("The first way.")]), "--resume", session)
    installed.settle()
    known = {each["id"]: each for each in installed.recollect("sessions", "--json").json["sessions"]}
    assert (known[session]["relation"], known[session]["parent"]) == ("none", "")
    assert (known[fork]["relation"], known[fork]["parent"]) == ("fork", session)


def test_a_compacted_conversation_is_kept_from_its_beginning(installed: Machine, standin: StandIn) -> None:
    session = installed.claude(standin.script("begin", [bash("echo one")], [text("Begun.")]), *TOOLS).session
    installed.claude(standin.script("more", [text("More.")]), "--resume", session)
    before = kinds(installed, session)
    installed.claude("/compact", "--resume", session)
    after = kinds(installed, session)
    assert after[: len(before)] == before
    assert "system" in after[len(before) :]  # the boundary: the hook did not stand in its way
    assert installed.lacks() == {}
    installed.claude(standin.script("rest", [text("After.")]), "--resume", session)
    assert installed.lacks() == {}


def test_a_cleared_conversation_and_the_one_after_it_are_kept(installed: Machine, standin: StandIn) -> None:
    """Claude Code writes two more lines of the old session after that session's SessionEnd."""
    session = installed.claude(standin.script("begin", [text("Begun.")])).session
    fresh = installed.claude("/clear", "--resume", session).session
    assert fresh != session
    assert installed.lacks() == {}


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_conversation_killed_half_way_is_kept(
    installed: Machine, standin: StandIn, how: signal.Signals
) -> None:
    """Killed in its first tool call: no hook has seen its transcript, and none will."""
    flag = installed.work / "running"
    play = standin.script("doomed", [text("I begin."), endless(flag)], [text("Never.")])
    process = installed.start_claude(f"{play} Run this.", *TOOLS)
    wait_for(flag.exists, "the tool never ran")
    installed.wait_for_log(str(flag))
    kill(process, how)
    flag.unlink()
    installed.settle()
    (path,) = installed.written()
    session = path.split("/")[-1][:-6]
    assert installed.exported(session) == installed.written()[path]
    assert installed.lacks() == {}
    installed.claude(standin.script("again", [text("Where were we?")]), "--resume", session)
    assert installed.lacks() == {}


def test_what_was_killed_is_kept_by_the_next_conversation_anywhere(
    installed: Machine, standin: StandIn
) -> None:
    flag = installed.work / "running"
    play = standin.script("doomed", [endless(flag)])
    process = installed.start_claude(play, *TOOLS)
    wait_for(flag.exists, "the tool never ran")
    installed.wait_for_log(str(flag))
    kill(process)
    flag.unlink()
    installed.claude(standin.script("other", [text("Something else.")]))
    assert len(installed.written()) == 2
    assert installed.lacks() == {}


def test_conversations_at_the_same_time_are_all_kept(installed: Machine, standin: StandIn) -> None:
    for number in range(4):
        standin.script(f"talk{number}", [bash(f"echo {number}")], [text(f"This was {number}.")])
    clients = [installed.start_claude(f"play:talk{number}", *TOOLS) for number in range(4)]
    for client in clients:
        client.communicate()
    assert [client.returncode for client in clients] == [0] * 4
    assert len(installed.written()) == 4
    assert installed.lacks() == {}


def test_what_hooks_kept_a_sweep_does_not_take_again(installed: Machine, standin: StandIn) -> None:
    installed.claude(standin.script("begin", [bash("seq 1 30000")], [text("Begun.")]), *TOOLS)
    installed.settle()
    report = installed.recollect("ingest", "--json").json["report"]
    assert (report["changed"], report["taken"], report["duplicate"]) == (0, 0, 0)

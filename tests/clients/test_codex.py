"""Codex's conversations are kept whole, and its model is given the past. Nobody runs `ingest` here.

Its hooks run unreviewed here; a person trusts them once, in `/hooks`. Until then there is `notify`.
"""

from __future__ import annotations

import json

import pytest
from tests.clients.asking import ANSWER, CATALOG, QUESTION, check_answers, every_tool
from tests.clients.clients import Machine, kill, wait_for
from tests.clients.standin import Block, StandIn, call, message, reasoning

pytestmark = [pytest.mark.agents, pytest.mark.usefixtures("codex")]

TRUST = "--dangerously-bypass-hook-trust"
# Without it the sandbox forbids what some calls here do, and a tool that is not read-only is refused.
FREE = ("--dangerously-bypass-approvals-and-sandbox", TRUST)


def shell(command: str) -> Block:
    return call("exec_command", cmd=command, yield_time_ms=20_000)


def tool(name: str, **arguments: object) -> Block:
    return call(name, namespace="mcp__recollect", **arguments)


def begin(machine: Machine, standin: StandIn) -> str:
    play = standin.script("begin", [message("I look."), shell("echo one")], [message("Begun.")])
    return machine.codex(*FREE, play).session


def ask(machine: Machine, prompt: str, *options: str) -> None:
    """A conversation whose first turn may call our tools: both clients begin while a server still starts."""
    machine.codex(*options, "-c", "mcp_servers.recollect.required=true", prompt)


def remember(machine: Machine, standin: StandIn) -> str:
    """One conversation about the quinces; its session."""
    session = machine.codex(TRUST, f"{standin.script('first', [message(ANSWER)])} {QUESTION}").session
    machine.settle()
    return session


def test_a_conversation_with_tool_calls_is_kept_when_the_client_has_exited(
    installed: Machine, standin: StandIn
) -> None:
    play = standin.script(
        "tools",
        [reasoning("**Two at once**"), message("I look."), shell("echo one"), shell("echo bad >&2; exit 3")],
        [shell("seq 1 30000"), call("no_such_tool", a=1)],
        [message("Done: é 中文.")],
    )
    session = installed.codex(*FREE, f"{play} Look around.").session
    assert installed.lacks() == {}
    assert installed.exported(session) == installed.transcript(session)


def test_hooks_alone_keep_it(installed: Machine, standin: StandIn) -> None:
    """Codex does not wait for its `notify`, so what holds when it has exited is the hooks' work."""
    play = standin.script("alone", [shell("echo one")], [message("Done.")])
    installed.codex(*FREE, "-c", "notify=[]", play)
    assert installed.lacks() == {}


def test_without_trusted_hooks_every_finished_turn_is_kept(installed: Machine, standin: StandIn) -> None:
    installed.codex(standin.script("untrusted", [shell("echo one")], [message("Done.")]))
    installed.settle()
    assert installed.lacks() == {}


def test_a_resumed_conversation_is_kept(installed: Machine, standin: StandIn) -> None:
    session = begin(installed, standin)
    again = installed.codex(*FREE, "resume", session, standin.script("go", [message("Gone on.")]))
    assert again.session == session
    assert installed.lacks() == {}


def test_a_fork_is_kept_beside_what_it_was_forked_from(installed: Machine, standin: StandIn) -> None:
    session = begin(installed, standin)
    fork = installed.codex(*FREE, "fork", session, standin.script("fork", [message("Another way.")]))
    assert fork.session != session
    assert installed.lacks() == {}


def test_a_compacted_conversation_is_kept_from_its_beginning(installed: Machine, standin: StandIn) -> None:
    session = begin(installed, standin)
    before = installed.transcript(session)
    limit = ("-c", "model_auto_compact_token_limit=500")
    installed.codex(*FREE, *limit, "resume", session, standin.script("go", [message("Gone on.")]))
    after = installed.transcript(session)
    assert after.startswith(before)
    assert '"type":"compacted"' in after.decode()
    assert installed.lacks() == {}


def test_subagents_are_kept_with_it(installed: Machine, standin: StandIn) -> None:
    spawn = call("spawn_agent", namespace="multi_agent_v1", message="play:near Count.")
    play = standin.script("parent", [spawn], [shell("sleep 1")], [message("Done.")])
    standin.script("near", [shell("echo near")], [message("One.")])
    installed.codex(*FREE, play)
    assert len(standin.asked("near")) == 2
    assert len(installed.written()) == 2
    assert installed.lacks() == {}


def test_a_conversation_killed_half_way_is_kept(installed: Machine, standin: StandIn) -> None:
    flag = installed.work / "running"
    endless = shell(f"touch {flag}; while [ -e {flag} ]; do sleep 0.1; done")
    play = standin.script("doomed", [message("I begin."), endless])
    process = installed.start_codex(*FREE, f"{play} Run this.")
    wait_for(flag.exists, "the tool never ran")
    kill(process)
    flag.unlink()
    installed.settle()
    (path,) = installed.written()
    session = path[-len(".jsonl") - 36 : -len(".jsonl")]
    assert installed.exported(session) == installed.written()[path]
    installed.codex(*FREE, "resume", session, standin.script("again", [message("Where were we?")]))
    assert installed.lacks() == {}


def test_the_first_conversation_ever_has_no_catalog_and_the_next_one_has(
    installed: Machine, standin: StandIn
) -> None:
    remember(installed, standin)
    installed.codex(TRUST, standin.script("second", [message("Yes.")]))
    assert CATALOG not in standin.asked("first")[0].words
    assert CATALOG in standin.asked("second")[0].words
    assert "quinces" in standin.asked("second")[0].words


def test_every_tool_answers_with_what_was_said(installed: Machine, standin: StandIn) -> None:
    session = remember(installed, standin)
    play = standin.script("ask", *every_tool(tool), [message("Found.")])
    ask(installed, f"{play} Ask your memory.", *FREE)
    check_answers(standin.asked("ask")[-1].results, session)


def test_reading_tools_need_no_approval(installed: Machine, standin: StandIn) -> None:
    """`codex exec` refuses what would need one; ours say that they only read."""
    names = ("memory_status", "list_threads")
    play = standin.script("ask", [tool(name) for name in names], [message("Found.")])
    ask(installed, play)
    assert "approval" not in json.dumps(standin.asked("ask")[-1].results)


def test_what_was_recalled_is_not_remembered_again(installed: Machine, standin: StandIn) -> None:
    canary = "xylotheque7341"
    play = standin.script("first", [message(f"The quinces hang in the {canary}, behind the blue curtain.")])
    first = installed.codex(TRUST, f"{play} {QUESTION}").session
    installed.settle()
    for turn in range(2):
        play = standin.script(
            f"ask{turn}",
            [
                tool("search_memory", query="quinces curtain"),
                tool("recall_context", search_terms=["quinces", "curtain"], question="Where do they hang?"),
            ],
            [message("I know now.")],
        )
        ask(installed, f"{play} Ask your memory.", *FREE)
        assert all(canary in answer for answer in standin.asked(f"ask{turn}")[-1].results.values())
        installed.settle()
    assert sum(canary.encode() in data for data in installed.kept().values()) == 3
    hits = installed.recollect("search", canary, "--mode", "text", "--json").json["hits"]
    assert [hit["session"] for hit in hits] == [first]

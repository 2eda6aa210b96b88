"""What Claude Code's model is given of the past: the catalog at the start, the tools when it asks."""

from __future__ import annotations

import json

import pytest
from tests.clients.asking import ANSWER, CATALOG, QUESTION, check_answers, every_tool
from tests.clients.clients import CLAUDES, Machine, wait_for
from tests.clients.standin import Block, StandIn, text, use
from tests.support.hook_calls import holding

pytestmark = [
    pytest.mark.agents,
    pytest.mark.usefixtures("claude"),
    pytest.mark.parametrize("claude_client", CLAUDES),
]


def ask(machine: Machine, prompt: str, **environment: str) -> None:
    """A conversation whose first turn may call our tools: both clients begin while a server still starts."""
    wait = {"MCP_CONNECTION_NONBLOCKING": "0"}
    machine.claude(prompt, "--allowedTools", "Bash,mcp__recollect", **wait, **environment)


def remember(machine: Machine, standin: StandIn) -> str:
    """One conversation about the quinces; its session."""
    session = machine.claude(f"{standin.script('first', [text(ANSWER)])} {QUESTION}").session
    machine.settle()
    return session


def tool(name: str, **arguments: object) -> Block:
    return use(f"mcp__recollect__{name}", **arguments)


def results(standin: StandIn, script: str) -> list[str]:
    """What the calls of a script came to, one a turn."""
    found = standin.asked(script)[-1].results
    return [found[key] for key in sorted(found)]


def test_the_first_conversation_ever_has_no_catalog_and_the_next_one_has(
    installed: Machine, standin: StandIn
) -> None:
    remember(installed, standin)
    installed.claude(standin.script("second", [text("Yes.")]))
    (first,), (second, *_) = standin.asked("first"), standin.asked("second")
    assert CATALOG not in first.words
    assert CATALOG in second.words
    assert "quinces" in second.words
    assert CATALOG not in json.dumps(second.body.get("system", ""))


def test_a_conversation_that_begins_while_another_is_put_in_order_is_told_of_it_once(
    installed: Machine, standin: StandIn
) -> None:
    """With its first prompt: the catalog comes when it has already started."""
    remember(installed, standin)
    (ready,) = installed.home.glob(".cache/recollect/hooks/*/catalogs/*.md")
    state, aside = ready.parents[1], ready.with_suffix(".later")
    ready.rename(aside)
    standin.script("second", [text("All is said.")])
    with holding(state / "settle", "WRITER"), installed.claude_terminal() as terminal:
        terminal.show("← for agents")
        wait_for(lambda: list(state.glob("untold/*")), "it was told at its start")
        aside.rename(ready)
        terminal.type("play:second")
        terminal.show("All is said.")
    words = standin.asked("second")[0].words
    assert words.count(CATALOG) == 1
    assert "quinces" in words


def test_the_catalog_is_what_the_command_shows(installed: Machine, standin: StandIn) -> None:
    remember(installed, standin)
    shown = installed.recollect("catalog", "--json").json
    installed.claude(standin.script("second", [text("Yes.")]))
    seen = standin.asked("second")[0].words
    body = [line for line in shown["text"].splitlines()[1:-1] if line.strip()]
    assert body
    assert [line for line in body if line not in seen] == []


def test_every_tool_answers_with_what_was_said(installed: Machine, standin: StandIn) -> None:
    session = remember(installed, standin)
    play = standin.script("ask", *every_tool(tool), [text("Found.")])
    ask(installed, f"{play} Ask your memory.")
    check_answers(standin.asked("ask")[-1].results, session)


def test_the_tools_are_on_offer_without_being_asked_for(installed: Machine, standin: StandIn) -> None:
    ask(installed, standin.script("first", [text("Yes.")]))
    named = json.dumps(standin.asked("first")[0].body)
    for name in ("search_memory", "read_memory", "recall_context", "list_threads", "memory_status"):
        assert f"mcp__recollect__{name}" in named


def test_a_conversation_is_found_by_the_next_one_at_once(installed: Machine, standin: StandIn) -> None:
    """Also by one that began before: its own server sees what came since."""
    play = standin.script("first", [text("The loft key is under pot seven.")])
    installed.claude(play)  # no settling: whatever is still at work, the answer is there
    play = standin.script("ask", [tool("search_memory", query="loft key pot")], [text("Found.")])
    ask(installed, play)
    assert "under pot seven" in results(standin, "ask")[0]


def test_what_was_recalled_is_not_remembered_again(installed: Machine, standin: StandIn) -> None:
    """Three rounds of recall; the word that only recalled text repeats has one hit, the first one."""
    canary = "xylotheque7341"
    play = standin.script("first", [text(f"The quinces hang in the {canary}, behind the blue curtain.")])
    first = installed.claude(f"{play} {QUESTION}").session
    installed.settle()
    hits = installed.recollect("search", canary, "--mode", "text", "--json").json["hits"]
    for turn in range(3):
        play = standin.script(
            f"ask{turn}",
            [
                tool("search_memory", query="quinces curtain"),
                tool("recall_context", search_terms=["quinces", "curtain"], question="Where do they hang?"),
            ],
            [
                tool("read_memory", id=hits[0]["id"], whole=True),
                use("Bash", command="recollect search 'quinces curtain'", description="ask by hand"),
            ],
            [text("I know now.")],
        )
        ask(installed, f"{play} Ask your memory.")
        assert all(canary in answer for answer in results(standin, f"ask{turn}"))
        installed.settle()
    # The transcripts are kept with all that, byte for byte; only found again it is not.
    assert sum(canary.encode() in data for data in installed.kept().values()) == 4
    again = installed.recollect("search", canary, "--mode", "text", "--json").json["hits"]
    assert [hit["session"] for hit in again] == [first]
    assert [hit["id"] for hit in again] == [hit["id"] for hit in hits]


def test_not_even_what_was_too_long_for_the_transcript(installed: Machine, standin: StandIn) -> None:
    """Claude Code puts an answer beyond its limit into a file of its own, which is taken in too."""
    canary = "xylotheque7341"
    words = f"The quinces hang in the {canary}. " + " ".join(f"Beam {one} is full." for one in range(500))
    first = installed.claude(f"{standin.script('first', [text(words)])} {QUESTION}").session
    installed.settle()
    (hit,) = installed.recollect("search", canary, "--mode", "text", "--json").json["hits"]
    call = tool("read_memory", id=hit["id"], whole=True)
    ask(installed, standin.script("ask", [call], [text("I know now.")]), MAX_MCP_OUTPUT_TOKENS="500")
    installed.settle()
    spilled = [data for path, data in installed.kept().items() if "/tool-results/" in path]
    assert any(canary.encode() in data for data in spilled)
    hits = installed.recollect("search", canary, "--mode", "text", "--json").json["hits"]
    assert [hit["session"] for hit in hits] == [first]

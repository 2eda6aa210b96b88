"""Claude Code as people use it, in a terminal: what is said there is kept too."""

from __future__ import annotations

import pytest
from tests.clients.clients import CLAUDES, Machine, wait_for
from tests.clients.standin import StandIn, text, use

pytestmark = [
    pytest.mark.agents,
    pytest.mark.usefixtures("claude"),
    pytest.mark.parametrize("claude_client", CLAUDES),
]


def wait_for_turns(machine: Machine, count: int) -> None:
    """What is typed before a turn is over would be queued."""
    wait_for(
        lambda: sum(data.count(b'"turn_duration"') for data in machine.written().values()) == count,
        f"there never were {count} turns",
    )


def test_a_terminal_session_is_kept_also_when_it_is_cleared_and_left(
    installed: Machine, standin: StandIn
) -> None:
    call = use("Bash", command="echo one", description="a step")
    standin.script("talk", [call], [text("The first is said.")])
    standin.script("next", [text("The second is said.")])
    with installed.claude_terminal() as terminal:
        terminal.show("← for agents")
        terminal.type("play:talk")
        terminal.show("The first is said.")
        wait_for_turns(installed, 1)
        terminal.type("/clear")
        installed.wait_for_log("<command-name>/clear</command-name>")
        terminal.type("play:next")
        terminal.show("The second is said.")
        wait_for_turns(installed, 2)
        terminal.type("/exit")
        assert terminal.end() == 0
    assert len(installed.written()) == 2
    assert installed.lacks() == {}


def test_a_terminal_session_is_kept_when_its_window_is_closed(installed: Machine, standin: StandIn) -> None:
    standin.script("talk", [text("All is said.")])
    with installed.claude_terminal() as terminal:
        terminal.show("← for agents")
        terminal.type("play:talk")
        terminal.show("All is said.")
        wait_for_turns(installed, 1)
    assert len(installed.written()) == 1
    assert installed.lacks() == {}
